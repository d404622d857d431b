"""The episode score: (total - D) / (C - D), where doing nothing scores 0 and the offline optimum 1.

D and C are a scenario's mean total rewards of `always_defer` and `clairvoyant` over the 20 seeds of a stored,
named table, ``data/episode_score.json``: ``{"name", "cities": {id: {"sha256", "scenarios": {name: {"always_defer",
"clairvoyant"}}}}}``. A city or scenario that the table does not hold has no score (None), never a made-up one.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from pathlib import Path

from ev_grid_oracle.city.model import CityPack

TABLE = Path(__file__).resolve().parent / "data" / "episode_score.json"


@lru_cache(maxsize=1)
def _table() -> dict[str, object]:
    if not TABLE.exists():
        return {}
    found: dict[str, object] = json.loads(TABLE.read_text(encoding="utf-8"))
    return found


def table_name() -> str | None:
    """Name of the table in use, for reports; None without one."""
    name = _table().get("name")
    return None if name is None else str(name)


def table_sha256() -> str | None:
    """Digest of the table in use; None without one."""
    return hashlib.sha256(TABLE.read_bytes()).hexdigest() if TABLE.exists() else None


def score_of(city: CityPack, scenario: str, total: float | None) -> float | None:
    """The raw score of an episode with this total reward; not cut to [0, 1]."""
    cities = _table().get("cities")
    entry = cities.get(city.id) if isinstance(cities, dict) else None
    if total is None or entry is None or entry.get("sha256") != city.sha256:
        return None
    ends = entry["scenarios"].get(scenario)
    if ends is None:
        return None
    low, high = float(ends["always_defer"]), float(ends["clairvoyant"])
    return (total - low) / (high - low) if high > low else None
