"""The trace: one versioned record of an episode, which statistics, pages, replay and training read.

A trace is columns (arrays with the tick as first axis) and a header; `Frame` is the view of one tick. Frames
hold the state after their tick: cars on the road, stations and feeders as the next tick finds them, powers as
the mean of the tick. What is hidden from an agent stands here too (walk-ins on the road, the seed): a trace
belongs to the host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.episode import capture as k
from ev_grid_oracle.episode.frame import SOURCES, Frame
from ev_grid_oracle.episode.interventions import Intervention
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.errors import TraceError

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
U64 = npt.NDArray[np.uint64]

__all__ = ["SOURCES", "TRACE_VERSION", "Frame", "Trace"]

TRACE_VERSION = 2
"""2 added `interventions`; files of version 1 are read as traces without any."""


@dataclass(frozen=True)
class Trace:
    """T frames of an episode.

    Attributes:
        header: versions, city, seed, scenario, options, policy, provenance; JSON-safe.
        heads: (T, ..) int32: tick, minute of day, counts, then flags, occupied and queued by station.
        numbers: (T, ..) float64: reward, grid, then terms, facts, kW by station, four values by feeder.
        words: (T, 2) uint64 digest of the world after the tick.
        answers: (A, 8) int32 decision rows with the verifier's code, tick after tick.
        cars: (M, 8) int32 cars on the road, tick after tick, see capture.R_*.
        texts: tick -> the agent's text, where there was one.
        accounts: (N_EP,) sums of the episode after the last frame (after the settle where it is over).
        settle: (N_TERMS,) part of the last tick's terms that comes from the settle; zeros before the end.
        start: snapshot of the world before the first frame, where that is not what `reset` gives.
        interventions: what a host did to the world beside the answers, in order; those after the last frame too.
    """

    header: Mapping[str, object]
    heads: I32
    numbers: F64
    words: U64
    answers: I32
    cars: I32
    texts: Mapping[int, str]
    accounts: F64
    settle: F64
    start: bytes = b""
    interventions: tuple[Intervention, ...] = ()
    _ends: dict[str, npt.NDArray[np.int64]] = field(default_factory=dict, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.heads)

    @property
    def done(self) -> bool:
        """The last frame ends the episode."""
        return len(self) > 0 and bool(self.heads[-1, k.H_DONE])

    @property
    def rewards(self) -> F64:
        """(T,) reward of every tick."""
        return self.numbers[:, k.G_REWARD].copy()

    @property
    def shape(self) -> tuple[int, int]:
        """(stations, feeders)."""
        n_s = (self.heads.shape[1] - k.N_HEAD - r.N_FLAGS) // 2
        return n_s, (self.numbers.shape[1] - k.N_GRID - r.N_TERMS - r.N_TK - n_s) // k.N_FEEDER

    def part(self, name: str, t: int) -> I32:
        """Rows of frame `t` of a ragged column, ``answers`` or ``cars``."""
        if name not in self._ends:
            count = self.heads[:, k.H_ANSWERS if name == "answers" else k.H_CARS]
            self._ends[name] = np.concatenate([[0], np.cumsum(count, dtype=np.int64)])
        ends = self._ends[name]
        rows: I32 = self.answers if name == "answers" else self.cars
        return rows[int(ends[t]) : int(ends[t + 1])]

    def interventions_at(self, tick: int) -> tuple[Intervention, ...]:
        """What was done to the world at the start of `tick`, in order."""
        return tuple(done for done in self.interventions if done.tick == tick)

    def frame(self, t: int) -> Frame:
        """The frame at place `t` (negative: from the end)."""
        if not -len(self) <= t < len(self):
            raise TraceError(f"The trace has {len(self)} frames, none at {t}.", "Frames count from 0.")
        return Frame(self, t % len(self))

    def __iter__(self) -> Iterator[Frame]:
        return (Frame(self, t) for t in range(len(self)))

    def save(self, path: str | Path) -> Path:
        """Write the trace to `path`, whole or not at all; returns it."""
        from ev_grid_oracle.episode.trace_io import save

        return save(self, Path(path))

    @staticmethod
    def load(path: str | Path) -> Trace:
        """Read a trace; `TraceError` says what is wrong with a file that is none."""
        from ev_grid_oracle.episode.trace_io import load

        return load(Path(path))
