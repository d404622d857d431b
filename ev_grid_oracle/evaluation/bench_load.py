"""The workload of the speed measurements: the reference evening with recorded baseline answers.

Scenario `baseline`, 17:00, weekday, summer, mixed fleet. The answers are recorded once and handed in
again, so that the timed part is the world alone: arrivals, charging, both power flows, verification,
reward and flags. Episodes are cut, not settled; what the settle costs is measured apart.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.axes import DEFAULT_TICKS
from ev_grid_oracle.schema.enums import Season
from ev_grid_oracle.sim.world import WorldOptions

START_MIN = 17 * 60
TICKS = DEFAULT_TICKS
MOST_REPEATS = 100


def evening(city: CityPack, seed: int, settle: bool = False) -> WorldOptions:
    """The reference evening of one seed."""
    return WorldOptions(seed, city.scenario("baseline"), START_MIN, season=Season.SUMMER, settle=settle)


@dataclass
class Workload:
    """A batch at tick 0 that can be put back there, and the answers of its evening.

    Attributes:
        answers: (T, E, MD, 8) int32 with `counts` (T, E); MD is the most answers given in a tick.
        occupancy_frac: mean share of slots in use over the recorded evenings.
    """

    batch: Batch
    answers: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int32]
    occupancy_frac: float
    _rows: tuple[npt.NDArray[np.float64], npt.NDArray[np.int32], npt.NDArray[np.uint64]]

    def rewind(self) -> None:
        """Back to tick 0."""
        w = self.batch.world
        w.f[:], w.i[:], w.u[:] = self._rows

    def run_at_once(self) -> None:
        """48 ticks in one call: env-major."""
        shape = self.counts.shape
        self.batch.run(self.answers, self.counts, np.zeros(shape, np.int32), np.zeros(shape))

    def run_tick_by_tick(self) -> None:
        """One call a tick: tick-major, as a policy outside the kernels needs it."""
        invalid, rewards = np.zeros((1, self.batch.n), np.int32), np.zeros((1, self.batch.n))
        for t in range(len(self.answers)):
            self.batch.run(self.answers[t : t + 1], self.counts[t : t + 1], invalid, rewards)


def workload(
    city: CityPack, envs: int, threads: int = 1, settle: bool = False, distinct: int | None = None
) -> Workload:
    """Record the evening on `distinct` seeds (default: all `envs`) and lay it out for `envs` environments."""
    n = min(envs, distinct or envs)
    most = packed(city).layout.dims["MP"]
    recorder = Batch(city, n, max_answers=most)
    recorder.reset([evening(city, seed) for seed in range(1, n + 1)])
    answers = np.zeros((TICKS, n, most, r.N_DCOL), np.int32)
    counts = np.zeros((TICKS, n), np.int32)
    slots, stations = int(city.stations.slots.sum()), len(city.stations.ids)
    occupancy = []
    for t in range(TICKS):
        recorder.play("baseline", 1, (answers[t : t + 1], counts[t : t + 1]))
        occupancy.append(float(recorder.world.view("ST_OCC")[:, :stations].sum(1).mean()) / slots)
    batch = Batch(city, envs, threads)
    batch.reset([evening(city, seed, settle) for seed in range(1, n + 1)], range(n))
    which = np.arange(envs) % n
    w = batch.world
    rows = (w.f[which].copy(), w.i[which].copy(), w.u[which].copy())
    cut = max(int(counts.max()), 1)
    load = Workload(
        batch, np.ascontiguousarray(answers[:, which, :cut]), np.ascontiguousarray(counts[:, which]),
        float(np.mean(occupancy)), rows,
    )  # fmt: skip
    load.rewind()
    return load


def seconds(
    work: Callable[[], None],
    before: Callable[[], None] | None = None,
    repeats: int = 5,
    at_least_s: float = 0.0,
    at_most_s: float = float("inf"),
) -> float:
    """Median seconds of `work`, after one run that does not count; `before` is not timed.

    At least `repeats` runs and `at_least_s` in all, so that short work is not judged by a few of them; no
    further run once `at_most_s` is used up.
    """
    times: list[float] = []
    warm = False
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()  # a collection in the middle would be timed as work
    try:
        while len(times) < repeats or sum(times) < at_least_s:
            if before is not None:
                before()
            start = perf_counter()
            work()
            if warm:
                times.append(perf_counter() - start)
                if sum(times) >= at_most_s or len(times) >= MOST_REPEATS:
                    break
            warm = True
    finally:
        if was_on:
            gc.enable()
    return median(times)
