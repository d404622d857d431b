"""Random worlds under random answers: nothing is lost, doubled, over-filled, negative or not a number.

The long form, thousands of episodes up to seven days, is `benchmarks/invariants.py`.
"""

from __future__ import annotations

import numpy as np
import pytest
from invariants import Watch
from wild import STYLES, answers, options

from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.sim.world import WorldOptions


def episode(batch, city, seed, ticks, style):
    """One watched episode."""
    rng = np.random.default_rng(seed)
    chosen = options(city, rng, ticks)
    batch.reset([chosen])
    watch = Watch(batch.world, 0)
    watch.state()
    for _ in range(ticks):
        batch.invalid[0] = int(rng.random() < 0.05)
        batch.counts[0] = 0 if batch.invalid[0] else answers(batch.world, 0, rng, style, batch.answers[0])
        watch.before()
        watch.after(float(batch.step()[0]))
        if batch.done[0]:
            return chosen
    raise AssertionError("the episode did not end")


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("ticks", [1, 7, 48])
def test_toy_episodes_hold(city_toy, style, ticks):
    batch = Batch(city_toy, 1)
    for seed in range(4):
        episode(batch, city_toy, [31, seed, ticks, STYLES.index(style)], ticks, style)


@pytest.mark.parametrize("style", STYLES)
def test_bengaluru_episodes_hold(city_blr, style):
    batch = Batch(city_blr, 1)
    for seed in range(3):
        episode(batch, city_blr, [32, seed, STYLES.index(style)], 48, style)


@pytest.mark.parametrize("name", ["toy", "blr"])
def test_a_long_episode_holds(request, name):
    city = request.getfixturevalue(f"city_{name}")
    episode(Batch(city, 1), city, [33], 300, "mixed")


@pytest.mark.parametrize("rule", ["baseline", "greedy_counting"])
def test_every_scenario_holds_under_the_built_in_rules(city_blr, rule):
    n = len(city_blr.scenarios)
    batch = Batch(city_blr, n)
    batch.reset([WorldOptions(5, s, 17 * 60) for s in city_blr.scenarios])
    watches = [Watch(batch.world, e) for e in range(n)]
    for _ in range(48):
        for watch in watches:
            watch.before()
        rewards = batch.play(rule, 1)[0]
        for watch, reward in zip(watches, rewards, strict=True):
            watch.after(float(reward))
    assert (batch.done == 1).all()


@pytest.mark.parametrize(("name", "share"), [("toy", 1.0), ("toy", 0.6), ("blr", 1.0), ("blr", 0.6)])
def test_a_city_where_everyone_asks_and_is_put_off_does_not_overflow(request, name, share):
    """Participation up to 1 with private cars, the most patient ones: lists and rows are long enough."""
    city = request.getfixturevalue(f"city_{name}")
    batch = Batch(city, 1, max_answers=city.constants.max_pending)
    persona = city.personas.names.index("PrivateOwner")
    batch.reset(
        [WorldOptions(4, city.scenario("baseline"), 17 * 60, persona=persona, participation=share, ticks=96)]
    )
    watch = Watch(batch.world, 0)
    for _ in range(96):
        cars = batch.world.view("CAR")[0]
        pending = cars[cars[:, r.C_STATE] == 1]
        now = 5 * batch.world.scalar(0, r.Y_TICK)
        left = pending[:, r.C_PAT] - (now - pending[:, r.C_TWAIT])
        n = 0
        for seq, patience in zip(pending[:, r.C_SEQ].tolist(), left.tolist(), strict=True):
            if patience >= 5:
                batch.answers[0, n, :6] = (seq, 1, -1, 1, patience // 5 * 5, 0)
                n += 1
        batch.counts[0] = n
        watch.before()
        watch.after(float(batch.step()[0]))


# --- refused answers ---------------------------------------------------------------------------------
BOOKED = ("TERM", "TSUM", "FLAG")  # what a penalty is written to; everything else is physics


def physics(world, e):
    """All rows of an environment apart from the penalties' books, as bytes."""
    f, i = world.f[e].copy(), world.i[e].copy()
    for name in BOOKED:
        row = f if name != "FLAG" else i
        world.layout.view(row, name)[:] = 0
    for block in ("TK", "EP"):
        for index in (r.T_FLAGS, r.T_FORMAT):
            world.layout.view(f, block)[index] = 0.0
    for index in (r.A_INVALID, r.A_REFUSED):
        world.layout.view(f, "EP")[index] = 0.0
    return f.tobytes() + i.tobytes() + world.u[e].tobytes()


@pytest.mark.parametrize("name", ["toy", "blr"])
def test_refused_answers_leave_the_world_as_no_answer_does(request, name):
    city = request.getfixturevalue(f"city_{name}")
    rng = np.random.default_rng(34)
    batch = Batch(city, 2)
    refused = {}
    for seed in range(6):
        batch.reset([options(city, np.random.default_rng([34, seed]), 300)] * 2)
        for _ in range(40):
            batch.world.copy(0, 1)
            n = answers(batch.world, 0, rng, "mixed", batch.answers[0])
            batch.counts[:], batch.invalid[:] = (n, 0), 0
            batch.step()
            codes = batch.answers[0, :n, r.D_CODE]
            kept = batch.answers[0, :n][codes != 0].copy()
            # once more from the same state: only the refused ones against silence
            batch.world.copy(1, 0)
            batch.answers[0, : len(kept)] = kept
            batch.counts[:] = (len(kept), 0)
            batch.step()
            again = batch.answers[0, : len(kept), r.D_CODE]
            for code in again[again != 0].tolist():
                refused[code] = refused.get(code, 0) + 1
            if (again != 0).all():
                assert physics(batch.world, 0) == physics(batch.world, 1)
            if batch.done.any():
                break
    assert {r.VERDICT_CODES[c] for c in refused} >= {"E_TIME_WINDOW", "E_DETOUR", "E_RATE", "E_UNKNOWN_CAR"}


def test_a_refused_text_costs_one_format_penalty_and_nothing_else(city_toy):
    batch = Batch(city_toy, 2)
    batch.reset([WorldOptions(3, city_toy.scenario("baseline"), 17 * 60)] * 2)
    for _ in range(30):
        batch.world.copy(0, 1)
        batch.counts[:], batch.invalid[:] = 0, (1, 0)
        rewards = batch.step()
        assert rewards[0] - rewards[1] == pytest.approx(-10.0 / city_toy.constants.n0_car_minutes)
        assert physics(batch.world, 0) == physics(batch.world, 1)
