"""How much of what could be gained a policy gains: (baseline - policy) / (baseline - bound), with an interval.

The denominator is what no dispatcher can exceed, so a share is a floor of what the policy reached of the true optimum;
with the clairvoyant's cost in the bound's place it is a ceiling. Ratio of sums over the evenings; the interval is the
bias-corrected and accelerated bootstrap over evenings (`scipy.stats.bootstrap`), seeded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from ev_grid_oracle.schema.errors import OptionError

RESAMPLES = 4000
SEED = 5


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio of sums over `n` evenings with its 95 % interval; None where it cannot be told."""

    n: int
    value: float | None
    low: float | None
    high: float | None

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def ratio(top: Sequence[float], bottom: Sequence[float]) -> Ratio:
    """sum(top) / sum(bottom), pairs resampled together.

    Raises:
        OptionError: the sequences are not equally long.
    """
    from scipy.stats import bootstrap

    if len(top) != len(bottom):
        raise OptionError(
            f"{len(top)} values do not pair with {len(bottom)}.", "Give both for the same evenings."
        )
    a, b = np.asarray(top, np.float64), np.asarray(bottom, np.float64)
    if not len(a) or b.sum() == 0.0:
        return Ratio(len(a), None, None, None)
    value = float(a.sum() / b.sum())
    each = a / np.where(b == 0.0, np.nan, b)
    if len(a) < 3 or np.ptp(each) == 0.0:
        return Ratio(len(a), value, None, None)

    def of(x: np.ndarray, y: np.ndarray, axis: int = -1) -> np.ndarray:
        return np.asarray(x.sum(axis) / y.sum(axis))

    found = bootstrap(
        (a, b),
        of,
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        method="BCa",
        rng=np.random.default_rng(SEED),
    )
    low, high = float(found.confidence_interval.low), float(found.confidence_interval.high)
    told = np.isfinite([low, high]).all()
    return Ratio(len(a), value, low if told else None, high if told else None)


def gain_share(baseline: Sequence[float], policy: Sequence[float], best: Sequence[float]) -> Ratio:
    """Share of the gain from `baseline` to `best` (a bound, or the clairvoyant's cost) that `policy` reached."""
    base = np.asarray(baseline, np.float64)
    if not len(baseline) == len(policy) == len(best):
        raise OptionError("The costs are not of the same evenings.", "Give one cost an evening to each.")
    return ratio((base - np.asarray(policy)).tolist(), (base - np.asarray(best)).tolist())
