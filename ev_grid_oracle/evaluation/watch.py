"""What is kept of a block of episodes while it is played: receipts, series for figures, outcomes.

A receipt is the answers, the reward and the digest of the world of every tick: enough to play an episode again
and to name the tick in which a doctored one differs. Series are the state tick by tick, for a few episodes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.evaluation.outcomes import Outcomes, Stated
from ev_grid_oracle.reward.terms import TERM_NAMES
from ev_grid_oracle.schema import rows as r

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]

FACTS = {
    "energy_kwh": r.T_KWH, "renewable_kwh": r.T_RKWH, "requests": r.T_REQ, "walkins": r.T_WALK,
    "served": r.T_SERVED, "lost": r.T_LOST, "stranded": r.T_STRANDED, "walkin_lost": r.T_WLOST,
    "stressed_stations": r.T_STRESS_EV, "peak_feeders": r.T_PEAK_EV, "overload_kva_min": r.T_OVER_KVA,
    "overload_minutes": r.T_OVER_MIN, "flagged": r.T_FLAGS,
}  # fmt: skip
"""Series that are facts of the tick, by their name."""


@dataclass
class Record:
    """One episode, as it was played.

    Attributes:
        sources: decisions by what made them; `fallback_ticks` ticks with one by fallback or timeout.
        answers: (A, 8) int32 decision rows, tick after tick; counts (T,) int32 how many in each.
        refused: (T,) int32 texts that the parser refused.
        rewards: (T,) float64.
        digests: (T, 16) uint8, the world after each tick.
        series: name -> (T,) float64, ``settle/<term>`` (1,); None where none was asked for.
        stated: answers with a CONFIDENCE and what became of them.
    """

    sources: Counter[str]
    fallback_ticks: int
    answers: I32
    counts: I32
    refused: I32
    rewards: F64
    digests: npt.NDArray[np.uint8]
    series: dict[str, F64] | None = None
    stated: list[Stated] = field(default_factory=list)

    @property
    def end(self) -> str:
        """Digest of the world after the last tick, 32 hex digits."""
        return bytes(self.digests[-1]).hex()


class Watch:
    """Looks at `batch` after every tick of `ticks`.

    Args:
        series: environments whose state is kept tick by tick.
        outcomes: follow what becomes of each CONFIDENCE.
    """

    def __init__(self, batch: Batch, ticks: int, series: Sequence[int] = (), outcomes: bool = True) -> None:
        self._batch = batch
        self._ticks = ticks
        n = batch.n
        self._rewards = np.zeros((ticks, n))
        self._counts = np.zeros((ticks, n), np.int32)
        self._refused = np.zeros((ticks, n), np.int32)
        self._digests = np.zeros((ticks, n, 16), np.uint8)
        self._answers: list[list[I32]] = [[] for _ in range(n)]
        self._sources: list[Counter[str]] = [Counter() for _ in range(n)]
        self._fallback = [0] * n
        self._series = {e: _Series(batch, e, ticks) for e in series}
        self._outcomes = Outcomes(batch) if outcomes else None

    def after(
        self,
        t: int,
        answers: I32,
        counts: I32,
        refused: I32,
        rewards: F64,
        sources: Sequence[Mapping[str, int]],
    ) -> None:
        """Tick `t` was played: answers (E, MD, 8), counts, refused, rewards (E,), decisions by source."""
        self._rewards[t], self._counts[t], self._refused[t] = rewards, counts, refused
        for e in range(self._batch.n):
            self._digests[t, e] = np.frombuffer(bytes.fromhex(self._batch.world.digest(e)), np.uint8)
            if counts[e]:
                self._answers[e].append(answers[e, : counts[e]].copy())
            self._sources[e].update({k: int(v) for k, v in sources[e].items() if v})
            self._fallback[e] += int(any(sources[e].get(k) for k in ("fallback", "timeout")))
        for series in self._series.values():
            series.after(t)
        if self._outcomes is not None:
            self._outcomes.after(t, answers, counts, last=bool(self._batch.done.any()))

    def records(self, settles: Sequence[bool]) -> list[Record]:
        """What was kept, one record an environment; `settles`: which of them played their end out."""
        if self._outcomes is not None:
            self._outcomes.settle(np.array(settles, np.bool_))
        out = []
        for e in range(self._batch.n):
            rows = self._answers[e]
            out.append(
                Record(
                    self._sources[e],
                    self._fallback[e],
                    np.concatenate(rows) if rows else np.zeros((0, r.N_DCOL), np.int32),
                    self._counts[:, e].copy(),
                    self._refused[:, e].copy(),
                    self._rewards[:, e].copy(),
                    self._digests[:, e].copy(),
                    self._series[e].rows if e in self._series else None,
                    self._outcomes.stated[e] if self._outcomes is not None else [],
                )
            )
        return out


class _Series:
    """The state of environment `e` tick by tick."""

    def __init__(self, batch: Batch, e: int, ticks: int) -> None:
        world, pack = batch.world, batch.world.city.pack
        self._views = {
            n: world.view(n)[e] for n in ("Y", "X", "TK", "TERM", "ST_OCC", "ST_QN", "FD_S", "FD_SB")
        }
        self._slots = float(pack.stations.slots.sum())
        self._rated_kva = pack.grid.feeder_kva
        self._feeders = pack.grid.feeder_ids
        self._settle = world.view("SETT")[e]
        names = ["minute_of_day", "waiting_cars", "pending_cars", "queued_cars", "occupancy_frac",
                 "renewable_frac", *FACTS, *(f"reward/{n}" for n in TERM_NAMES), "total_reward"]  # fmt: skip
        names += [f"feeder_load_frac/{f}" for f in self._feeders]
        names += [f"feeder_base_frac/{f}" for f in self._feeders]
        self.rows: dict[str, F64] = {n: np.zeros(ticks) for n in names}

    def after(self, t: int) -> None:
        v, rows = self._views, self.rows
        y = v["Y"]
        pending, queued = int(y[r.Y_NPEND]) + int(y[r.Y_NDEF]), int(v["ST_QN"].sum())
        rows["minute_of_day"][t] = (int(y[r.Y_START]) + 5 * (int(y[r.Y_TICK]) - 1)) % 1440
        rows["waiting_cars"][t] = pending + queued
        rows["pending_cars"][t] = pending
        rows["queued_cars"][t] = queued
        rows["occupancy_frac"][t] = float(v["ST_OCC"].sum()) / self._slots
        rows["renewable_frac"][t] = v["X"][r.X_RENEW]
        for name, index in FACTS.items():
            rows[name][t] = v["TK"][index]
        # the settle is no part of the last tick's own reward: it is in the episode's terms
        last = y[r.Y_DONE] != 0
        own = v["TERM"].astype(np.float64) - (self._settle if last else 0.0)
        if last:
            rows.update({f"settle/{n}": self._settle[[k]].copy() for k, n in enumerate(TERM_NAMES)})
        for name, value in zip(TERM_NAMES, own, strict=True):
            rows[f"reward/{name}"][t] = value
        rows["total_reward"][t] = own.sum()
        for k, feeder in enumerate(self._feeders):
            rows[f"feeder_load_frac/{feeder}"][t] = v["FD_S"][k] / self._rated_kva[k]
            rows[f"feeder_base_frac/{feeder}"][t] = v["FD_SB"][k] / self._rated_kva[k]
