"""One tick of a trace, decoded where it is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.episode import capture as k
from ev_grid_oracle.episode.ids import NOBODY, car_id, walkin_id
from ev_grid_oracle.reward.terms import F_INVALID, FLAG_NAMES, PENALTY, TERM_NAMES
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import RATE_KW, ActionKind, Rate

if TYPE_CHECKING:
    from ev_grid_oracle.episode.trace import Trace

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]

SOURCES = ("policy", "planner", "llm", "fallback", "timeout", "skipped")
"""What acted in a tick; a frame holds the index."""

_KINDS = {int(a): a.name.lower() for a in ActionKind}
_RATES = {int(a): a.name.lower() for a in Rate}


@dataclass(frozen=True)
class Frame:
    """One tick of a trace."""

    trace: Trace
    place: int

    def _head(self, index: int) -> int:
        return int(self.trace.heads[self.place, index])

    def _number(self, index: int) -> float:
        return float(self.trace.numbers[self.place, index])

    def _cut(self, start: int, n: int) -> F64:
        return self.trace.numbers[self.place, start : start + n].copy()

    @property
    def tick(self) -> int:
        return self._head(k.H_TICK)

    @property
    def minute_of_day(self) -> int:
        return self._head(k.H_MINUTE)

    @property
    def done(self) -> int:
        """0 running, 1 terminated, 2 truncated."""
        return self._head(k.H_DONE)

    @property
    def source(self) -> str:
        return SOURCES[self._head(k.H_SOURCE)]

    @property
    def text(self) -> str | None:
        return self.trace.texts.get(self.tick)

    @property
    def interventions(self) -> list[dict[str, object]]:
        """What a host did to the world at the start of the tick, in order: kind and what was given."""
        done = self.trace.interventions_at(self.tick)
        return [{"kind": d.kind, "given": dict(d.given)} for d in done]

    @property
    def refused(self) -> bool:
        """The parser refused the tick's text."""
        return self._head(k.H_REFUSED) != 0

    @property
    def reward(self) -> float:
        return self._number(k.G_REWARD)

    @property
    def breakdown(self) -> dict[str, float]:
        """Terms and `total`; the settle is in the last frame's."""
        terms = self._cut(k.N_GRID, r.N_TERMS).tolist()
        return dict(zip((*TERM_NAMES, "total"), (*terms, self.reward), strict=True))

    @property
    def settle(self) -> dict[str, float] | None:
        """Part of the breakdown that comes from the settle, in the last frame of a finished episode."""
        if not self.done:
            return None
        return dict(zip(TERM_NAMES, self.trace.settle.tolist(), strict=True))

    @property
    def facts(self) -> F64:
        """(N_TK,) facts of the tick, see schema.rows ``T_*``."""
        return self._cut(k.N_GRID + r.N_TERMS, r.N_TK)

    @property
    def mean_renewable_frac(self) -> float:
        return self._number(k.G_MEANREN)

    @property
    def n0_car_minutes(self) -> float:
        """The city's N0, that terms are divided by."""
        return float(self.trace.header["n0_car_minutes"])  # type: ignore[arg-type]  # a number of the header

    @property
    def flags(self) -> dict[str, int]:
        """Flags raised, with their counts."""
        counts = self.trace.heads[self.place, k.N_HEAD : k.N_HEAD + r.N_FLAGS].tolist()
        return {name: count for name, count in zip(FLAG_NAMES, counts, strict=True) if count}

    @property
    def penalty_car_minutes(self) -> float:
        """What the flags cost: 10 each, but for the refused text, which `format` pays for."""
        counts = self.trace.heads[self.place, k.N_HEAD : k.N_HEAD + r.N_FLAGS]
        return PENALTY * float(counts.sum() - counts[F_INVALID])

    @property
    def digest(self) -> str:
        first, second = self.trace.words[self.place].tolist()
        return f"{first:016x}{second:016x}"

    @property
    def occupied(self) -> I32:
        """(S,) slots in use after the tick."""
        start = k.N_HEAD + r.N_FLAGS
        return self.trace.heads[self.place, start : start + self.trace.shape[0]].copy()

    @property
    def queued(self) -> I32:
        """(S,) cars queued after the tick."""
        n_s = self.trace.shape[0]
        start = k.N_HEAD + r.N_FLAGS + n_s
        return self.trace.heads[self.place, start : start + n_s].copy()

    @property
    def station_kw(self) -> F64:
        """(S,) mean power of the tick."""
        return self._cut(k.N_GRID + r.N_TERMS + r.N_TK, self.trace.shape[0])

    @property
    def feeders(self) -> F64:
        """(4, F) kVA, kVA of base load alone, present rating kVA, thermal state."""
        n_s, n_f = self.trace.shape
        start = k.N_GRID + r.N_TERMS + r.N_TK + n_s
        return self._cut(start, k.N_FEEDER * n_f).reshape(k.N_FEEDER, n_f)

    @property
    def answers(self) -> list[dict[str, object]]:
        """The tick's answers with the verifier's code ("" legal)."""
        out: list[dict[str, object]] = []
        for row in self.trace.part("answers", self.place).tolist():
            out.append(
                {
                    "ev_id": car_id(row[r.D_SEQ]) if row[r.D_SEQ] != NOBODY else None,
                    "action_type": _KINDS[row[r.D_KIND]],
                    "station": row[r.D_STATION],
                    "charge_rate": _RATES[row[r.D_RATE]],
                    "rate_kw": RATE_KW[row[r.D_RATE]],
                    "defer_minutes": row[r.D_DEFER],
                    "confidence": row[r.D_CONF] / 10000.0,
                    "code": r.VERDICT_CODES[row[r.D_CODE]],
                }
            )
        return out

    @property
    def cars(self) -> list[dict[str, object]]:
        """Cars on the road after the tick; minutes from the episode's start."""
        out: list[dict[str, object]] = []
        for row in self.trace.part("cars", self.place).tolist():
            walk = bool(row[k.R_FLAGS] & r.B_WALKIN)
            out.append(
                {
                    "id": walkin_id(row[k.R_SEQ]) if walk else car_id(row[k.R_SEQ]),
                    "walkin": walk,
                    "rerouted": bool(row[k.R_FLAGS] & r.B_REROUTED),
                    "node": row[k.R_NODE],
                    "station": row[k.R_STATION],
                    "depart_min": row[k.R_DEPART],
                    "arrive_min": row[k.R_ARRIVE],
                    "travel_key": row[k.R_TRAVEL],
                    "vehicle": row[k.R_VEHICLE],
                }
            )
        return out

    def to_dict(self) -> dict[str, object]:
        """The frame as JSON-safe values."""
        feeders = self.feeders
        return {
            "tick": self.tick,
            "minute_of_day": self.minute_of_day,
            "source": self.source,
            "text": self.text,
            "interventions": self.interventions,
            "refused": self.refused,
            "answers": self.answers,
            "reward": self.reward,
            "breakdown": self.breakdown,
            "settle": self.settle,
            "flags": self.flags,
            "done": self.done != 0,
            "terminated": self.done == 1,
            "truncated": self.done == 2,
            "digest": self.digest,
            "pending": self._head(k.H_PENDING),
            "deferred": self._head(k.H_DEFERRED),
            "grid_load_pct": self._number(k.G_LOAD),
            "renewable_frac": self._number(k.G_RENEW),
            "carbon_g_kwh": self._number(k.G_CARBON),
            "occupied": self.occupied.tolist(),
            "queued": self.queued.tolist(),
            "station_kw": self.station_kw.tolist(),
            "feeder_kva": feeders[0].tolist(),
            "feeder_base_kva": feeders[1].tolist(),
            "feeder_rating_kva": feeders[2].tolist(),
            "feeder_heat": np.sqrt(feeders[3]).tolist(),
            "cars": self.cars,
        }
