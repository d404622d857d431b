"""The scorer as a function of values: for tests, for learners that score a frame, for people who check one.

The kernel of `score.py` does the same inside a step, to the last bit of rounding; here the facts come from a
trace. Text is never seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ev_grid_oracle.reward import terms as t
from ev_grid_oracle.schema import rows as r


@dataclass(frozen=True)
class Facts:
    """What happened in one tick.

    Attributes:
        tick: (N_TK,) facts, see schema.rows ``T_*``.
        mean_renewable_frac: mean renewable share of the day.
        n0_car_minutes: the city's N0.
    """

    tick: Sequence[float]
    mean_renewable_frac: float
    n0_car_minutes: float


@dataclass(frozen=True)
class Verdict:
    """What the judges said before the tick: car-minutes of flags, and whether the text was refused."""

    penalty_car_minutes: float = 0.0
    refused: bool = False


class ScoredFrame(Protocol):
    """What `compute_reward` needs of a frame of a trace."""

    @property
    def facts(self) -> Sequence[float]: ...
    @property
    def mean_renewable_frac(self) -> float: ...
    @property
    def n0_car_minutes(self) -> float: ...
    @property
    def penalty_car_minutes(self) -> float: ...
    @property
    def refused(self) -> bool: ...
    @property
    def settle(self) -> Mapping[str, float] | None: ...


def score(facts: Facts, verdict: Verdict) -> dict[str, float]:
    """Breakdown of one tick, without a settle: every term and their plain sum as `total`."""
    k, n0 = facts.tick, facts.n0_car_minutes
    limits = t.W_LIMIT * k[r.T_OVER_KVA] + t.W_OVER_MIN * k[r.T_OVER_MIN] + t.W_VOLT * k[r.T_VOLT]
    values = (
        -k[r.T_WAIT],
        -k[r.T_SERVICE],
        -k[r.T_URGENT],
        -t.W_STRESS * 5.0 * k[r.T_STRESS],
        -t.W_PEAK * 5.0 * k[r.T_PEAK] + t.W_BELOW * k[r.T_BELOW_KWH],
        -limits,
        t.W_RENEWABLE * (k[r.T_RKWH] - k[r.T_KWH] * facts.mean_renewable_frac),
        -verdict.penalty_car_minutes,
        -t.PENALTY * float(verdict.refused),
    )
    out = {name: float(value / n0) + 0.0 for name, value in zip(t.TERM_NAMES, values, strict=True)}
    out["total"] = sum(out.values())
    return out


def compute_reward(prev: object, action: object, next: ScoredFrame) -> tuple[float, dict[str, float]]:
    """(total, breakdown) of the tick that `next` records, settle included.

    `prev` and `action` are taken for the sake of callers used to that shape; what they did is in the facts.
    """
    facts = Facts(next.facts, next.mean_renewable_frac, next.n0_car_minutes)
    out = score(facts, Verdict(next.penalty_car_minutes, next.refused))
    for name, value in (next.settle or {}).items():
        out[name] += value
        out["total"] += value
    return out["total"], out
