"""The batched watch of benchmarks/invariants.py finds what the plain one of tests/sim finds, in the same words."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.sim.world import World, WorldOptions

ROOT = Path(__file__).resolve().parents[2]
TICKS = 30


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    """benchmarks/invariants.py as a module; tests/sim has a file of the same name, which it imports."""
    added = [str(ROOT / "tests" / "sim"), str(ROOT / "benchmarks")]
    sys.path[:0] = added
    try:
        spec = importlib.util.spec_from_file_location("bench_invariants", ROOT / "benchmarks" / "invariants.py")
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["bench_invariants"] = module
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.modules.pop("bench_invariants", None)
        for folder in added:
            sys.path.remove(folder)


@pytest.fixture(scope="module")
def played(city_toy: CityPack) -> tuple[Batch, bytes]:
    """A batch of one in the middle of a busy evening, and its snapshot."""
    batch = Batch(city_toy, 1)
    batch.reset([WorldOptions(5, city_toy.scenario("baseline"), 17 * 60)])
    batch.play("baseline", TICKS)
    return batch, batch.world.snapshot(0)


def _first(cars: np.ndarray, state: int) -> int:
    return int(np.flatnonzero(cars[:, r.C_STATE] == state)[0])


def _lost_row(w: World) -> None:
    w.view("CAR")[0, _first(w.view("CAR")[0], 5), r.C_STATE] = 0


def _double_number(w: World) -> None:
    cars = w.view("CAR")[0]
    a, b = np.flatnonzero((cars[:, r.C_STATE] > 0) & ((cars[:, r.C_FLAGS] & r.B_WALKIN) != 0))[:2]
    cars[a, r.C_SEQ] = cars[b, r.C_SEQ]


def _overfull(w: World) -> None:
    w.view("ST_OCC")[0, 0] += 1


def _full_battery(w: World) -> None:
    there = w.view("SLOT_CAR")[0] >= 0
    w.view("SLOT_G")[0][there] = 0.0


def _nan(w: World) -> None:
    w.view("FD_S")[0, 0] = np.nan


def _losses(w: World) -> None:
    w.view("FD_P")[0, 0] *= 0.5


def _counted(w: World) -> None:
    w.view("Y")[0, r.Y_NORM] += 1


def _future(w: World) -> None:
    cars = w.view("CAR")[0]
    cars[_first(cars, 5), r.C_TREQ] = 10_000


def _uncharged(w: World) -> None:
    cars = w.view("CAR")[0]
    cars[_first(cars, 5), r.C_SOC_BP] = 10_000


CORRUPTIONS: tuple[Callable[[World], None], ...] = (
    _lost_row, _double_number, _overfull, _full_battery, _nan, _losses, _counted, _future, _uncharged,
)  # fmt: skip


@pytest.mark.parametrize("corrupt", CORRUPTIONS, ids=lambda f: f.__name__[1:])
def test_both_watches_name_the_same_fault(
    bench: ModuleType, played: tuple[Batch, bytes], corrupt: Callable[[World], None]
) -> None:
    from invariants import Watch

    batch, blob = played
    batch.world.restore(0, blob)
    mine = bench.BatchWatch(batch.world)
    mine.begin([0])
    assert mine.faults == {}  # the untouched state is in order
    Watch(batch.world, 0).state()
    corrupt(batch.world)
    with pytest.raises(AssertionError) as plain:
        Watch(batch.world, 0).state()
    mine.begin([0])
    assert str(plain.value).splitlines()[0] == mine.faults[0]


def test_both_watches_pass_the_same_steps_and_notice_a_wrong_reward(
    bench: ModuleType, played: tuple[Batch, bytes]
) -> None:
    from invariants import Watch

    batch, blob = played
    batch.world.restore(0, blob)
    plain, mine, all_of_it = Watch(batch.world, 0), bench.BatchWatch(batch.world), np.ones(1, np.bool_)
    plain.tsum[:] = batch.world.view("TSUM")[0]
    mine.begin([0])
    mine._tsum[:] = batch.world.view("TSUM")
    for tick in range(10):
        plain.before()
        mine.before(all_of_it)
        rewards = batch.play("baseline", 1)[0]
        if tick == 9:
            rewards = rewards + 0.01
            with pytest.raises(AssertionError, match="not the sum"):
                plain.after(float(rewards[0]))
        else:
            plain.after(float(rewards[0]))
        mine.after(rewards, all_of_it)
        assert mine.faults == ({0: "the total is not the sum"} if tick == 9 else {})


def test_an_episode_does_not_depend_on_its_neighbours(bench: ModuleType, city_toy: CityPack) -> None:
    jobs = [(k, 12) for k in range(7)]
    found = {}
    for envs in (1, 3):
        keep: list = []
        ticks = bench.play(Batch(city_toy, envs), 3, jobs, keep, "toy")
        assert ticks == sum(x.ticks for x in keep)
        found[envs] = sorted(keep, key=lambda x: x.episode)
    assert found[1] == found[3]
    assert [x.episode for x in found[1]] == list(range(7))
    assert all(x.fault is None for x in found[1])
    assert sum(x.answers for x in found[1]) > 0
