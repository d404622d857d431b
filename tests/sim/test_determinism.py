"""The same seed, options and answers give the same world to the last bit, anywhere (cases ENV-01, -08, -11)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from inject import Rig, silent, story
from play_digest import trail
from wild import answers, options

from ev_grid_oracle.city.load import DATA
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import CarState, EventKind
from ev_grid_oracle.sim.world import World, WorldOptions

HERE = Path(__file__).parent


def elsewhere(city, seed, ticks, **env):
    """The trail as another process sees it."""
    done = subprocess.run(
        [sys.executable, str(HERE / "play_digest.py"), city, str(seed), str(ticks)],
        env={**os.environ, **env}, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def toy_trail(city_toy):
    return trail(city_toy, 5, 30)


@pytest.fixture(scope="module")
def blr_trail(city_blr):
    return trail(city_blr, 5, 20)


def test_twice_in_one_process(city_toy, city_blr, toy_trail, blr_trail):
    assert trail(city_toy, 5, 30) == toy_trail
    assert trail(city_blr, 5, 20) == blr_trail
    assert len(set(toy_trail)) == len(toy_trail)
    assert trail(city_toy, 6, 30)[0] != toy_trail[0]


@pytest.mark.parametrize(("row", "threads"), [(0, 1), (37, 1), (63, 2), (13, 2)])
def test_as_a_row_of_sixty_four_on_one_or_two_threads(city_toy, toy_trail, row, threads):
    assert trail(city_toy, 5, 30, n=64, row=row, threads=threads) == toy_trail


@pytest.mark.parametrize("threads", [1, 2])
def test_bengaluru_as_a_row(city_blr, blr_trail, threads):
    assert trail(city_blr, 5, 20, n=8, row=5, threads=threads) == blr_trail


def test_in_one_sweep_or_tick_by_tick(city_toy):
    """Recorded answers played in one call give what single steps gave."""
    a, b = Batch(city_toy, 3), Batch(city_toy, 3)
    chosen = [WorldOptions(s, city_toy.scenario("station_outage"), 17 * 60) for s in (1, 2, 3)]
    a.reset(chosen)
    given, counts = np.zeros((48, 3, 64, r.N_DCOL), np.int32), np.zeros((48, 3), np.int32)
    rewards = a.play("greedy_counting", 48, (given, counts))
    b.reset(chosen)
    for tick in range(48):
        b.answers[:], b.counts[:] = given[tick], counts[tick]
        assert (b.step() == rewards[tick]).all()
    assert [a.world.digest(e) for e in range(3)] == [b.world.digest(e) for e in range(3)]


@pytest.mark.parametrize("hashseed", ["0", "1"])
def test_env_01_in_another_process(toy_trail, hashseed):
    assert elsewhere("toy", 5, 30, PYTHONHASHSEED=hashseed) == toy_trail


def test_bengaluru_in_another_process(blr_trail):
    assert elsewhere("bengaluru", 5, 20, PYTHONHASHSEED="3") == blr_trail


@pytest.mark.slow
def test_on_another_cpu(tmp_path, toy_trail):
    """Without AVX2 and FMA in glibc, compiled for a generic CPU: no last bit differs."""
    found = elsewhere(
        "toy", 5, 30, EVGRID_CACHE_DIR=str(tmp_path), NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="",
        GLIBC_TUNABLES="glibc.cpu.hwcaps=-AVX2,-FMA", NPY_DISABLE_CPU_FEATURES="AVX2 FMA3",
    )  # fmt: skip
    assert found == toy_trail


def test_env_08_a_reset_keeps_nothing(city_toy):
    """Seeds 1, 2, 1 with an outage in between: first and third equal, second different."""
    batch = Batch(city_toy, 1)
    dark = story(city_toy, (0, EventKind.FEEDER_OUT, (0,), 1.0), (0, EventKind.SLOTS, (), 1.0))
    found = []
    for seed, scenario in ((1, "baseline"), (2, dark), (1, "baseline")):
        chosen = city_toy.scenario(scenario) if isinstance(scenario, str) else scenario
        batch.reset([WorldOptions(seed, chosen, 17 * 60)])
        found.append((batch.world.digest(0), batch.world.view("FD_BASEKW")[0].tolist()))
        batch.play("baseline", 20)
    assert found[0] == found[2]
    assert found[0][0] != found[1][0]
    assert (batch.world.view("FD_OUT") == 0.0).all()


# --- forks ----------------------------------------------------------------------------------------------
def test_env_11_what_ifs_do_not_change_the_run(city_toy, toy_trail):
    """Three previews before each step, one of them with refused answers: the run stays the same."""
    scenario = city_toy.scenarios[5 % len(city_toy.scenarios)]
    batch, fork = Batch(city_toy, 1), Batch(city_toy, 1)
    batch.reset([WorldOptions(5, scenario, 17 * 60, ticks=30)])
    found = [batch.world.digest(0)]
    rng, silly = np.random.default_rng([5, 7]), np.random.default_rng(41)
    for tick in range(30):
        for k in range(3):
            batch.world.copy(0, 0, fork.world)
            if k:
                fork.world.redraw(0, tick * 3 + k, 12)
            fork.counts[0] = answers(fork.world, 0, silly, "refused" if k == 2 else "mixed", fork.answers[0])
            fork.step()
            if not fork.done[0]:
                fork.play("greedy_counting", 3)
        batch.counts[0] = answers(batch.world, 0, rng, "mixed", batch.answers[0])
        reward = batch.step()
        found.append(batch.world.digest(0) + float(reward[0]).hex())
    assert found == toy_trail


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
    """A process that has never played this hour restores it: nothing may be missing (tables of the traffic)."""
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


# --- draws do not depend on actions -----------------------------------------------------------------
def test_two_policies_meet_the_same_cars_weather_and_jams(city_blr):
    """Requests, walk-ins' setting out, base load, traffic, sun: equal under greedy and under doing nothing."""
    city = replace(city_blr, constants=replace(city_blr.constants, max_cars=1500, max_pending=700))
    for seed in (3, 4):
        batch = Batch(city, 2)
        batch.reset([WorldOptions(seed, city.scenario("MonsoonStorm"), 17 * 60)] * 2)
        idle = Batch(city, 1)
        met: list[dict[tuple[int, int], tuple[int, ...]]] = [{}, {}]
        columns = [
            r.C_PERSONA, r.C_VEHICLE, r.C_NODE, r.C_TREQ, r.C_READY, r.C_SOC_BP, r.C_TGT_BP, r.C_URG_BP,
        ]  # fmt: skip
        for _ in range(40):
            world = batch.world
            world.copy(1, 0, idle.world)
            rewards = batch.play("greedy_counting", 1)
            assert np.isfinite(rewards).all()
            idle.counts[0] = 0
            idle.step()
            idle.world.copy(0, 1, world)
            for e in range(2):
                cars = world.view("CAR")[e]
                for car in cars[(cars[:, r.C_STATE] > 0) & (cars[:, r.C_SEQ] >= 0)]:
                    key = (int(car[r.C_FLAGS] & r.B_WALKIN), int(car[r.C_SEQ]))
                    met[e].setdefault(key, tuple(car[columns].tolist()))
            for name in ("FD_BASEKW", "FD_NOISE", "FD_KVA", "Z_DEMAND", "ST_BROKEN", "ST_PRICE"):
                assert (world.view(name)[0] == world.view(name)[1]).all(), name
            for index in (r.X_TRAFFIC, r.X_RENEW, r.X_CARBON, r.X_COMMON, r.X_TNOISE):
                assert world.view("X")[0, index] == world.view("X")[1, index]
            for index in (r.Y_JAM, r.Y_LINKSTATE, r.Y_SEQ, r.Y_WSEQ, r.Y_KEY):
                assert world.scalar(0, index) == world.scalar(1, index)
        both = met[0].keys() & met[1].keys()
        assert len([k for k in both if k[0] == 0]) > 200
        assert len([k for k in both if k[0] == 1]) > 300
        assert all(met[0][k] == met[1][k] for k in both)
