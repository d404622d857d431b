"""Fairness by kind of driver and by zone: how unequal the minutes to charged are, with intervals.

Read from the values that every evaluation keeps (`wait_<persona>`, `wait_zone_<zone>`, see `episode.kpis`). A group's
level is its mean over the episodes in which it asked; groups count alike. Some inequality is physics, not dispatch (a
delivery scooter charges at 3 kW whoever sends it), so a policy is to be read against the baseline on the same evenings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.schema.errors import OptionError

F64 = npt.NDArray[np.float64]
RESAMPLES = 1000
SEED = 11
KINDS = {"persona": "wait_", "zone": "wait_zone_"}


@dataclass(frozen=True, slots=True)
class Spread:
    """Inequality over the groups of one kind.

    Attributes:
        n: episodes; groups: groups that asked at least once.
        worst: name of the group that waits longest, `worst_min` its level.
        worst_to_mean: its level over the mean of all groups; 1 where all are alike. low, high: 95 %.
        gini: Gini index over the groups, 0 where all are alike. gini_low, gini_high: 95 %.
    """

    n: int
    groups: int
    worst: str
    worst_min: float
    worst_to_mean: float
    low: float
    high: float
    gini: float
    gini_low: float
    gini_high: float

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def gini(levels: F64) -> F64:
    """Gini index over the last axis, equal weights: mean absolute difference over twice the mean."""
    x = np.sort(np.asarray(levels, np.float64), axis=-1)
    n = x.shape[-1]
    rank = 2.0 * np.arange(1, n + 1) - n - 1.0
    return np.asarray((x * rank).sum(-1) / (n * x.sum(-1)), np.float64)


def group_names(values: Mapping[str, object], kind: str) -> list[str]:
    """Keys of the groups of a kind among an episode's values.

    Raises:
        OptionError: the kind is not known.
    """
    if kind not in KINDS:
        raise OptionError(f"Fairness is not told by {kind[:40]!r}.", f"Choose one of {', '.join(KINDS)}.")
    zones = [k for k in values if k.startswith(KINDS["zone"])]
    return (
        zones if kind == "zone" else [k for k in values if k.startswith(KINDS["persona"]) and k not in zones]
    )


def spread(episodes: Sequence[Mapping[str, float | None]], kind: str) -> Spread:
    """Inequality over all episodes; intervals by bootstrap over episodes (percentiles, seeded).

    Raises:
        OptionError: there are no episodes, or none with such groups.
    """
    names = group_names(episodes[0], kind) if episodes else []
    table = np.array([[np.nan if e.get(k) is None else e[k] for k in names] for e in episodes], np.float64)
    asked = [bool(np.isfinite(column).any()) for column in table.T] if names else []
    if not any(asked):
        raise OptionError("No episode has minutes by group.", "Give the values of an evaluation.")
    table, names = table[:, asked], [n for n, there in zip(names, asked, strict=True) if there]
    levels = np.nanmean(table, axis=0)
    rng = np.random.default_rng(SEED)
    drawn = rng.integers(0, len(table), (RESAMPLES, len(table)))
    there = np.isfinite(table).astype(np.float64)
    weight = np.zeros((RESAMPLES, len(table)))
    np.add.at(weight, (np.arange(RESAMPLES)[:, None], drawn), 1.0)
    counts = weight @ there
    again = np.where(counts > 0.0, weight @ np.nan_to_num(table) / np.maximum(counts, 1.0), levels)
    ratios, indices = again.max(1) / again.mean(1), gini(again)
    k = int(levels.argmax())
    low, high = np.quantile(ratios, (0.025, 0.975))
    gini_low, gini_high = np.quantile(indices, (0.025, 0.975))
    return Spread(
        len(table), len(names), names[k].removeprefix(KINDS[kind]), float(levels[k]), float(levels[k] / levels.mean()),
        float(low), float(high), float(gini(levels)), float(gini_low), float(gini_high),
    )  # fmt: skip
