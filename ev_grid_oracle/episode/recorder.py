"""Records frames while an episode is played: arrays that grow, filled by one kernel a tick."""

from __future__ import annotations

import platform
from collections.abc import Mapping

import numba
import numpy as np
import numpy.typing as npt

from ev_grid_oracle.episode import capture as k
from ev_grid_oracle.episode.interventions import H_INTERVENED, Intervention
from ev_grid_oracle.episode.trace import SOURCES, TRACE_VERSION, Trace
from ev_grid_oracle.protocol import PROTOCOL_VERSION
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.sim.world import SIM_VERSION, World
from ev_grid_oracle.version import __version__

I32 = npt.NDArray[np.int32]
_CARS_A_TICK = 64  # a first guess; arrays grow


class Recorder:
    """Frames of environment 0 of `world`.

    Args:
        ticks: frames to make room for.
        start: snapshot of the world before the first frame, where the trace begins in mid-episode.
    """

    def __init__(self, world: World, ticks: int, start: bytes = b"") -> None:
        d = world.layout.dims
        self._world = world
        self._start = start
        self._f, self._i, self._u = world.f[0], world.i[0], world.u[0]
        self._fw, self._iw = self._f.view(np.uint64), self._i.view(np.uint64)
        rows = min(ticks, 256)
        self._heads = np.zeros((rows, k.N_HEAD + r.N_FLAGS + 2 * d["S"]), np.int32)
        width = k.N_GRID + r.N_TERMS + r.N_TK + d["S"] + k.N_FEEDER * d["F"]
        self._numbers = np.zeros((rows, width))
        self._words = np.zeros((rows, 2), np.uint64)
        self._answers = np.zeros((rows * 8, r.N_DCOL), np.int32)
        self._cars = np.zeros((rows * _CARS_A_TICK + d["C"], k.N_ROAD), np.int32)
        self._n = self._a = self._c = 0
        self._max_cars = d["C"]
        self.texts: dict[int, str] = {}
        self.interventions: list[Intervention] = []

    def add(self, given: I32, n: int, refused: int, reward: float, source: str, text: str | None) -> None:
        """The frame of the tick just played with the first `n` judged answers of `given`."""
        t = self._n
        if t >= len(self._heads):
            self._heads, self._numbers, self._words = (
                _grown(a) for a in (self._heads, self._numbers, self._words)
            )
        while self._a + n > len(self._answers):
            self._answers = _grown(self._answers)
        while self._c + self._max_cars > len(self._cars):
            self._cars = _grown(self._cars)
        self._c = k.capture(
            self._f, self._i, self._u, self._fw, self._iw, self._world.at, given, n, refused, reward,
            SOURCES.index(source), t, self._heads, self._numbers, self._words, self._answers, self._a,
            self._cars, self._c,
        )  # fmt: skip
        tick = int(self._heads[t, k.H_TICK])
        self._heads[t, H_INTERVENED] = sum(done.tick == tick for done in self.interventions)
        self._a += n
        if text is not None:
            self.texts[tick] = text
        self._n += 1

    def trace(self, about: Mapping[str, object]) -> Trace:
        """What has been recorded so far; `about` says which episode it is."""
        world, n = self._world, self._n
        sources = np.bincount(self._heads[:n, k.H_SOURCE], minlength=len(SOURCES)).tolist()
        header = {
            "format": "evgrid-trace",
            "version": TRACE_VERSION,
            "package": __version__,
            "sim_version": SIM_VERSION,
            "protocol_version": PROTOCOL_VERSION,
            "city": {"id": world.city.pack.id, "sha256": world.city.pack.sha256},
            **about,
            "n0_car_minutes": world.city.pack.constants.n0_car_minutes,
            "stations": list(world.city.pack.stations.ids),
            "feeders": list(world.city.pack.grid.feeder_ids),
            "sources": {name: count for name, count in zip(SOURCES, sources, strict=True) if count},
            "provenance": {
                "python": platform.python_version(),
                "numpy": np.__version__,
                "numba": numba.__version__,
                "machine": platform.machine(),
                "system": platform.system(),
            },
        }
        return Trace(
            header,
            self._heads[:n].copy(),
            self._numbers[:n].copy(),
            self._words[:n].copy(),
            self._answers[: self._a].copy(),
            self._cars[: self._c].copy(),
            dict(self.texts),
            world.layout.view(self._f, "EP").astype(np.float64),
            world.layout.view(self._f, "SETT").astype(np.float64),
            self._start,
            tuple(self.interventions),
        )


def _grown(rows: npt.NDArray[np.generic]) -> npt.NDArray:  # type: ignore[type-arg]  # any of the column types
    return np.concatenate([rows, np.zeros_like(rows)])
