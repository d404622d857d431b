"""How the cost of a tick grows with environments and with stations.

Every point plays the same recorded evenings. A batch smaller than their number takes them in turn, group by group:
one environment that replayed one evening again and again would measure caches and branch predictors that know that
evening by heart. A larger batch holds every evening several times, each in rows of its own. All points are measured
in turns, round after round, because the speed of a machine drifts by more within minutes than the points differ.
Costs are processor time of the one thread that plays, so that a turn of another process is not counted; a busy
neighbour on the same core or cache still is, and a machine for this measurement should be quiet.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from statistics import median
from time import thread_time

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.evaluation.bench_load import TICKS, evening
from ev_grid_oracle.evaluation.bench_tiled import tiled_city
from ev_grid_oracle.schema import rows as r

ENVS = (1, 4, 16, 64, 256, 1024)
FACTORS = (1, 2, 4, 10)
EVENINGS = 64
ORDERS = ("at_once", "tick_by_tick")
AT_LEAST_S = 0.25
BAR = 1.4
"""No point may cost more than this times the cheapest one, per environment and station."""


class Evenings:
    """`n` recorded evenings of a city: states at tick 0, the baseline's answers, occupancy.

    Attributes:
        answers: (T, n, MD, 8) int32, `counts` (T, n); MD is the most answers given in a tick.
        occupancy_frac: mean share of slots in use.
    """

    def __init__(self, city: CityPack, n: int = EVENINGS) -> None:
        self.city, self.n = city, n
        most = packed(city).layout.dims["MP"]
        batch = Batch(city, n, max_answers=most)
        batch.reset([evening(city, seed) for seed in range(1, n + 1)])
        w = batch.world
        self._start = (w.f.copy(), w.i.copy(), w.u.copy())
        answers = np.zeros((TICKS, n, most, r.N_DCOL), np.int32)
        self.counts = np.zeros((TICKS, n), np.int32)
        slots, stations = int(city.stations.slots.sum()), len(city.stations.ids)
        occupied = []
        for t in range(TICKS):
            batch.play("baseline", 1, (answers[t : t + 1], self.counts[t : t + 1]))
            occupied.append(float(w.view("ST_OCC")[:, :stations].sum(1).mean()) / slots)
        self.answers = np.ascontiguousarray(answers[:, :, : max(int(self.counts.max()), 1)])
        self.occupancy_frac = float(np.mean(occupied))

    def rewind(self, batch: Batch, first: int) -> None:
        """Put evening `first` into environment 0, the next one into the next, over and over."""
        w = batch.world
        for at in range(0, batch.n, self.n):
            size = min(self.n, batch.n - at)
            here, there = slice(at, at + size), slice(first, first + size)
            w.f[here], w.i[here], w.u[here] = (part[there] for part in self._start)


class Group:
    """A batch of `envs` environments and the answers for each group of evenings that it plays in turn.

    Raises:
        ValueError: `envs` neither divides the number of evenings nor is a multiple of it.
    """

    def __init__(self, evenings: Evenings, envs: int) -> None:
        n = evenings.n
        if n % envs and envs % n:
            raise ValueError(f"{envs} environments and {n} evenings do not fit together.")
        self.evenings, self.batch = evenings, Batch(evenings.city, envs)
        size = min(envs, n)
        self.starts = range(0, n, size)
        copies = max(envs // n, 1)
        self._answers = [
            (
                np.ascontiguousarray(np.tile(evenings.answers[:, k : k + size], (1, copies, 1, 1))),
                np.ascontiguousarray(np.tile(evenings.counts[:, k : k + size], (1, copies))),
            )
            for k in self.starts
        ]
        self._invalid, self._rewards = np.zeros((TICKS, envs), np.int32), np.zeros((TICKS, envs))

    @property
    def evenings_a_pass(self) -> int:
        """Evenings that one pass plays."""
        return len(self.starts) * self.batch.n

    def play(self, k: int, order: str) -> None:
        """Group `k`, from tick 0 on: 48 ticks in one call, or one call a tick as a policy outside needs it."""
        answers, counts = self._answers[k]
        step = TICKS if order == "at_once" else 1
        for t in range(0, TICKS, step):
            span = slice(t, t + step)
            self.batch.run(answers[span], counts[span], self._invalid[span], self._rewards[span])

    def pass_s(self, order: str) -> float:
        """Processor seconds in which every evening is played; setting the states back is not timed."""
        taken: npt.NDArray[np.float64] = np.zeros(len(self.starts))
        for k, first in enumerate(self.starts):
            self.evenings.rewind(self.batch, first)
            begun = thread_time()
            self.play(k, order)
            taken[k] = thread_time() - begun
        return float(taken.sum())


def turn_s(group: Group, order: str) -> float:
    """Processor seconds of a pass: the quickest of one turn, short passes several times."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()  # a collection in the middle would be timed as work
    try:
        if group.evenings_a_pass <= EVENINGS:
            group.pass_s(order)  # does not count: memory and branches are new
        times = [group.pass_s(order)]
        while sum(times) < AT_LEAST_S:
            times.append(group.pass_s(order))
    finally:
        if was_on:
            gc.enable()
    return min(times)


def bench_scaling(
    city: CityPack,
    envs: Sequence[int] = ENVS,
    factors: Sequence[int] = FACTORS,
    repeats: int = 5,
    say: Callable[[str], None] = lambda text: None,
    evenings: int = EVENINGS,
) -> dict[str, object]:
    """Every point in both orders, microseconds per tick, environment and station, and how far they spread.

    A point's cost is the median over `repeats` rounds; `quickest_us_...` is that of its quickest round, since what a
    neighbour takes is only ever added. `worst_over_fastest` is the dearest point's cost of one environment and station
    over the cheapest's, for each order, of the medians and (`..._quickest`) of the quickest rounds; one is a cost that
    grows exactly with the number of environments and stations. `met` goes by the medians.
    """
    recorded = []
    for factor in factors:
        pack = tiled_city(city, factor)
        say(f"recording {evenings} evenings of {len(pack.stations.ids)} stations")
        recorded.append(Evenings(pack, evenings))
    taken_s: dict[tuple[int, int, str], list[float]] = {}
    for turn in range(repeats):
        for k, played in enumerate(recorded):
            for n in envs:
                say(
                    f"{n} environments x {len(played.city.stations.ids)} stations, round {turn + 1} of {repeats}"
                )
                group = Group(played, n)
                for order in ORDERS:
                    taken_s.setdefault((k, n, order), []).append(turn_s(group, order))
    points: list[dict[str, object]] = []
    costs: dict[str, list[float]] = {order: [] for order in ORDERS}
    least: dict[str, list[float]] = {order: [] for order in ORDERS}
    for k, played in enumerate(recorded):
        stations = len(played.city.stations.ids)
        for n in envs:
            point: dict[str, object] = {"envs": n, "stations": stations, "occupancy": played.occupancy_frac}
            ticks = TICKS * max(n, evenings)
            for order in ORDERS:
                middle_s, quickest_s = median(taken_s[k, n, order]), min(taken_s[k, n, order])
                costs[order].append(1e6 * middle_s / (ticks * stations))
                least[order].append(1e6 * quickest_s / (ticks * stations))
                point[f"us_per_env_station_{order}"] = costs[order][-1]
                point[f"quickest_us_per_env_station_{order}"] = least[order][-1]
                point[f"ticks_per_s_{order}"] = ticks / middle_s
            points.append(point)
    spread = {order: max(values) / min(values) for order, values in costs.items()}
    return {
        "evenings": evenings,
        "rounds": repeats,
        "points": points,
        "worst_over_fastest": spread,
        "worst_over_fastest_quickest": {order: max(values) / min(values) for order, values in least.items()},
        "bar": BAR,
        "met": all(value <= BAR for value in spread.values()),
    }
