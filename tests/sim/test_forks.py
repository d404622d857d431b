"""Forks and snapshots: the true future stays the truth, a redrawn one tells nothing of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from inject import Rig, silent, story
from wild import options

from ev_grid_oracle.city.load import DATA
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import CarState, EventKind
from ev_grid_oracle.sim.world import World, WorldOptions


def test_a_true_fork_lives_the_true_future(city_toy):
    batch, fork = Batch(city_toy, 1), Batch(city_toy, 1)
    batch.reset([WorldOptions(8, city_toy.scenario("station_outage"), 17 * 60)])
    batch.play("greedy_counting", 10)
    batch.world.copy(0, 0, fork.world)
    a, b = batch.play("baseline", 38), fork.play("baseline", 38)
    assert (a == b).all()
    assert batch.world.digest(0) == fork.world.digest(0)


def test_a_snapshot_lives_on_as_the_original(city_toy):
    batch, other = Batch(city_toy, 1), Batch(city_toy, 2)
    batch.reset([WorldOptions(8, city_toy.scenario("station_outage"), 17 * 60)])
    batch.play("greedy_counting", 10)
    blob = batch.world.snapshot(0)
    other.world.restore(1, blob)
    assert other.world.digest(1) == batch.world.digest(0)
    assert other.world.snapshot(1) == blob


def test_a_snapshot_lives_on_in_another_city_object(city_blr):
    """Restored where this hour was never played: no travel table may be missing."""
    from ev_grid_oracle.city.load import _load

    batch = Batch(city_blr, 1)
    batch.reset([WorldOptions(3, city_blr.scenario("SilkBoardJam"), 17 * 60)])
    batch.play("greedy_counting", 10)
    blob = batch.world.snapshot(0)
    rewards = batch.play("greedy_counting", 20)
    fresh = Batch(_load.__wrapped__(str(DATA / "bengaluru")), 1)
    fresh.world.restore(0, blob)
    assert (fresh.play("greedy_counting", 20) == rewards).all()
    assert fresh.world.digest(0) == batch.world.digest(0)


def visible(world, e):
    """The observation row, the place of a travel table in this process left out."""
    o = world.observe(e)
    world.layout.view(o, "O_X")[r.OX_TRAVEL] = 0.0
    return o.tobytes()


@pytest.mark.parametrize("name", ["toy", "blr"])
def test_another_future_has_the_same_present(request, name):
    """Swapping the hidden future changes no bit of what an agent sees now, but what comes."""
    city = request.getfixturevalue(f"city_{name}")
    n = 6
    for seed in range(4):
        batch = Batch(city, n)
        chosen = replace(options(city, np.random.default_rng([42, seed]), 60), open_demand=True)
        batch.reset([chosen] * n)
        batch.play("baseline", 3 + 5 * seed)
        for e in range(1, n):
            batch.world.redraw(e, e, 20)
        first = visible(batch.world, 0)
        assert all(visible(batch.world, e) == first for e in range(1, n))
        flexible = {batch.world.scalar(e, r.Y_FLEX) for e in range(n)}
        assert len(flexible) == 1  # flexible cars are known, so their count is no matter of the future
        batch.play("baseline", 6)
        assert len({visible(batch.world, e) for e in range(n)}) == n


def test_the_same_future_is_the_same(city_toy):
    batch = Batch(city_toy, 3)
    batch.reset([WorldOptions(8, city_toy.scenario("baseline"), 17 * 60)] * 3)
    batch.play("baseline", 9)
    for e, future in enumerate((77, 77, 78)):
        batch.world.redraw(e, future, 39)
    batch.play("greedy_counting", 39)
    assert batch.world.digest(0) == batch.world.digest(1) != batch.world.digest(2)


def test_two_seeds_with_one_future_number_hide_nothing_of_the_truth(city_toy):
    """What is redrawn does not depend on the true keys: the same present, another seed, the same redraw."""
    batch = Batch(city_toy, 2)
    batch.reset([WorldOptions(8, city_toy.scenario("baseline"), 17 * 60)] * 2)
    batch.play("baseline", 9)
    batch.world.u[1] ^= np.uint64(0x123456789)  # another true future of the same present
    cars = batch.world.view("CAR")[1]
    for e in range(2):
        batch.world.redraw(e, 5, 39)
    assert (cars == batch.world.view("CAR")[0]).all()
    assert batch.world.digest(0) == batch.world.digest(1)


def test_a_redraw_keeps_no_unannounced_event(city_toy, city_blr):
    """Told events stay, untold ones go, whatever their tick; the past is kept."""
    for city in (city_toy, city_blr):
        batch = Batch(city, 1)
        for scenario in city.scenarios:
            batch.reset([WorldOptions(8, scenario, 17 * 60)])
            for tick in range(0, 48, 6):
                before = batch.world.view("EV")[0, : batch.world.scalar(0, r.Y_NEV)].copy()
                fork = World(city, 1)
                batch.world.copy(0, 0, fork)
                fork.redraw(0, 3, 12)
                kept = fork.view("EV")[0, : fork.scalar(0, r.Y_NEV)]
                assert batch.world.scalar(0, r.Y_TICK) == tick
                for event in kept:
                    told = event[r.E_TELL] >= 0 and event[r.E_TICK] - event[r.E_TELL] <= tick
                    assert event[r.E_TICK] <= tick or told, (scenario.name, event)
                hidden = (before[:, r.E_TICK] > tick) & (
                    (before[:, r.E_TELL] < 0) | (before[:, r.E_TICK] - before[:, r.E_TELL] > tick)
                )
                assert len(kept) == len(before) - hidden.sum()
                batch.play("baseline", 6)


def test_a_told_closure_brings_no_untold_one_along(city_toy):
    """Links change as whole states; a told change must not smuggle an untold earlier one into a redraw."""
    base = story(city_toy, (6, EventKind.LINK_CLOSED, (0,), 1.0), (12, EventKind.LINK_CLOSED, (9,), 1.0))
    scenario = replace(base, events=(base.events[0], replace(base.events[1], announced_ticks=12)))
    batch = Batch(city_toy, 1)
    batch.reset([WorldOptions(8, scenario, 17 * 60)])
    batch.world.redraw(0, 3, 30)
    batch.play("baseline", 14)
    world = batch.world
    closed = ~np.isfinite(world.bank.link_minutes[world.scalar(0, r.Y_TRAVEL)])
    assert closed[9]
    assert not closed[0]


def test_a_redraw_takes_and_gives_only_hidden_walkins(city_blr):
    batch = Batch(city_blr, 2)
    batch.reset([WorldOptions(8, city_blr.scenario("baseline"), 17 * 60)] * 2)
    batch.play("baseline", 9)

    def cars(e):
        rows = batch.world.view("CAR")[e]
        hidden = (
            (rows[:, r.C_STATE] == CarState.ENROUTE)
            & ((rows[:, r.C_FLAGS] & r.B_WALKIN) != 0)
            & ((rows[:, r.C_FLAGS] & r.B_ANN) == 0)
        )
        known = rows[(rows[:, r.C_STATE] > 0) & ~hidden]
        known[:, r.C_NEXT] = 0  # neighbours in a calendar cell may be others
        return sorted(map(tuple, known.tolist())), rows[hidden]

    batch.world.redraw(1, 4, 12)
    (known_a, hidden_a), (known_b, hidden_b) = cars(0), cars(1)
    assert known_a == known_b
    assert len(hidden_a) > 0
    assert len(hidden_b) > 0
    now = 5 * batch.world.scalar(1, r.Y_TICK)
    assert (hidden_b[:, r.C_TARR] >= now).all()
    assert (hidden_b[:, r.C_TREQ] < now).all()
    assert {tuple(x) for x in hidden_a.tolist()} != {tuple(x) for x in hidden_b.tolist()}


@pytest.mark.parametrize("ready", [19, 20, 21, 25])
def test_a_redraw_counts_a_flexible_car_due_now_right(city_toy, ready):
    """Redrawn at minute 20: the weights of a flexible car before, at and after its ready_by are kept."""
    rig = Rig(silent(city_toy))
    rig.car(patience=1000, flags=r.B_FLEX, ready=ready)
    for _ in range(4):
        rig.step()
    rig.world.redraw(0, 3, 6)
    for tick in range(4, 7):
        rig.step()
        minutes = range(5 * tick, 5 * tick + 5)
        assert rig.tk(r.T_WAIT) == pytest.approx(sum(0.1 if m < ready else 1.0 for m in minutes))
    assert (rig.y(r.Y_NORM), rig.y(r.Y_FLEX)) == (1, 0)
