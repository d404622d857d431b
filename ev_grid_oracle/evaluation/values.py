"""What is written down of one episode: KPIs, reward terms, total, and yes-or-no facts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.kpis import KPIS, kpis_of
from ev_grid_oracle.episode.trace import Trace
from ev_grid_oracle.evaluation.score import score_of
from ev_grid_oracle.reward.terms import TERM_NAMES
from ev_grid_oracle.schema import rows as r

Values = dict[str, float | None]
F64 = npt.NDArray[np.float64]

REWARD_PREFIX = "reward/"
BETTER: dict[str, str] = {
    **{k.name: k.better for k in KPIS},
    **{f"{REWARD_PREFIX}{name}": "higher" for name in TERM_NAMES},
    "total_reward": "higher",
    "episode_score": "higher",
    "fallback_steps": "lower",
}
"""Which way is better, by value; see `better_side`."""

UNITS: dict[str, str] = {**{k.name: k.unit for k in KPIS}, "total_reward": "N0", "episode_score": "1", "fallback_steps": "ticks"}
"""Unit of each value, as tables show it."""


def better_side(key: str) -> str:
    """``lower``, ``higher`` or ``neither``; waits by persona and zone are better low."""
    return BETTER.get(key, "lower" if key.startswith("wait_") else "neither")


def values_of(accounts: npt.NDArray[np.float64], terms: npt.NDArray[np.float64], city: CityPack) -> Values:
    """KPIs of one episode's accounts (N_EP,), its reward terms (N_TERMS,) and their plain sum."""
    out: Values = dict(kpis_of(accounts, city))
    total = 0.0
    for name, value in zip(TERM_NAMES, terms, strict=True):
        out[f"{REWARD_PREFIX}{name}"] = float(value)
        total += float(value)
    out["total_reward"] = total
    return out


def row_values(accounts: F64, terms: F64, city: CityPack, scenario: str, fallback_ticks: int) -> Values:
    """The values of an episode's row: KPIs, terms, total, its score, and ticks that fell back."""
    values = values_of(accounts, terms, city)
    values["episode_score"] = score_of(city, scenario, values["total_reward"])
    values["fallback_steps"] = float(fallback_ticks)
    return values


def trace_values(trace: Trace, city: CityPack) -> Values:
    """The same of a recorded episode."""
    terms = np.array([[frame.breakdown[name] for name in TERM_NAMES] for frame in trace])
    fell = sum(frame.source in ("fallback", "timeout") for frame in trace)
    scenario = str(trace.header.get("scenario", ""))
    return row_values(trace.accounts, terms.reshape(-1, len(TERM_NAMES)).sum(0), city, scenario, fell)


def binary_of(accounts: npt.NDArray[np.float64], city: CityPack) -> dict[str, bool]:
    """Did it happen at all in this episode? The accounts are those of `values_of`."""
    lost = accounts[r.A_LOST] + accounts[r.A_STRANDED]
    return {
        "any_peak_violation": bool(accounts[r.T_PEAK_EV] > 0),
        "any_anti_cheat": bool(accounts[r.T_FLAGS] > 0),
        "any_critical_defer": bool(accounts[r.T_CRITDEF] > 0),
        "high_stress": bool(accounts[r.T_STRESS_EV] > city.constants.high_stress_median),
        "any_lost": bool(lost > 0),
        "any_overload": bool(accounts[r.T_OVER_MIN] > 0),
    }
