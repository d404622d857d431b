"""Same seed, options and answers, same world to the last bit, anywhere (cases ENV-01, -08, -11)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from inject import persona_of, story
from play_digest import trail
from wild import answers

from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import EventKind
from ev_grid_oracle.sim.world import WorldOptions

HERE = Path(__file__).parent


def elsewhere(city, seed, ticks, **env):
    """The trail as another process sees it."""
    done = subprocess.run(
        [sys.executable, str(HERE / "play_digest.py"), city, str(seed), str(ticks)],
        env={**os.environ, **env},
        check=True,
        capture_output=True,
        text=True,
    )
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
        "toy",
        5,
        30,
        EVGRID_CACHE_DIR=str(tmp_path),
        NUMBA_CPU_NAME="generic",
        NUMBA_CPU_FEATURES="",
        GLIBC_TUNABLES="glibc.cpu.hwcaps=-AVX2,-FMA",
        NPY_DISABLE_CPU_FEATURES="AVX2 FMA3",
    )
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


# --- draws do not depend on actions -----------------------------------------------------------------
def test_two_policies_meet_the_same_cars_weather_and_jams(city_blr):
    """Requests, walk-ins, base load, traffic, sun: equal under greedy and under doing nothing."""
    city = replace(city_blr, constants=replace(city_blr.constants, max_cars=1500, max_pending=700))
    for seed in (3, 4):
        batch = Batch(city, 2)
        batch.reset([WorldOptions(seed, city.scenario("MonsoonStorm"), 17 * 60)] * 2)
        idle = Batch(city, 1)
        met: list[dict[tuple[int, int], tuple[int, ...]]] = [{}, {}]
        columns = [
            r.C_VEHICLE,
            r.C_NODE,
            r.C_TREQ,
            r.C_READY,
            r.C_SOC_BP,
            r.C_TGT_BP,
            r.C_URG_BP,
        ]
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
                    met[e].setdefault(key, (*car[columns].tolist(), int(persona_of(car))))
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
