"""The paired difference of a number: interval, tests and sizes, all from scipy.

The unit is the episode: d = value of the policy - value of the reference on the same world.

- Interval: bias-corrected and accelerated bootstrap (BCa) of the mean of d (Efron, J. Am. Stat. Assoc. 82 (1987)
  171). Where BCa is not defined the percentile bootstrap stands in, and `interval` says so.
- Test: sign flips of d (Fisher, The Design of Experiments (1935), section 21), statistic the mean. If two
  policies do not differ, which of them got which value of a pair is a coin's choice, so the test is exact for
  what is asked; all 2^n flips where that is at most `RESAMPLES`, else `RESAMPLES` drawn ones. The signed-rank
  test of Wilcoxon (1945) stands beside it as a second opinion and never decides.
- Sizes: Cohen's dz = mean / standard deviation of d; the matched-pairs rank-biserial correlation (Kerby, 2014)
  = favourable minus unfavourable share of the signed ranks, from -1 to 1; interquartile means.

Differences of at most `paired.TIE` are ties, set to exactly 0 before anything is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.evaluation.paired import TIE
from ev_grid_oracle.evaluation.stats_binary import CONFIDENCE

F64 = npt.NDArray[np.float64]

RESAMPLES = 9_999
"""Draws of bootstrap and sign flips; the smallest two-sided p of drawn flips is 2 / (RESAMPLES + 1)."""

SMALL = 13
"""Up to so many pairs all 2^n signs are fewer than `RESAMPLES`."""

CHUNK = 500
"""Resamples held in memory at once: 9,999 x 10,000 episodes would be 800 MB."""


@dataclass(frozen=True, slots=True)
class Interval:
    """95 % interval; `method` is bca, percentile, constant (all differences equal) or none (fewer than two)."""

    low: float | None
    high: float | None
    method: str


@dataclass(frozen=True, slots=True)
class Continuous:
    """`policy` minus `reference` of one number on n pairs.

    Attributes:
        mean, low, high, interval: mean difference, its 95 % interval and how it was made.
        change_pct: 100 x mean / |mean of the reference|, None where that is 0.
        median, iqm: median and interquartile mean (middle half) of the differences.
        policy_mean, reference_mean, policy_iqm, reference_iqm: of the values themselves.
        wins, ties, losses: pairs by the better side; without one, nothing wins.
        p: sign-flip test of the mean; 1 where all differences are 0, None without pairs.
        test: "exact", "drawn" or "none" (nothing to flip).
        p_wilcoxon: signed-rank test, zeros dropped.
        dz: Cohen's dz; None where the differences do not vary.
        rank_biserial: favourable > 0 where less is better or more is better; None where all are 0.
    """

    n: int
    mean: float | None
    low: float | None
    high: float | None
    interval: str
    change_pct: float | None
    median: float | None
    iqm: float | None
    policy_mean: float | None
    reference_mean: float | None
    policy_iqm: float | None
    reference_iqm: float | None
    wins: int
    ties: int
    losses: int
    p: float | None
    test: str
    p_wilcoxon: float | None
    dz: float | None
    rank_biserial: float | None

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def generator(seed: int, tag: int) -> np.random.Generator:
    """The draws of one purpose; the same for every number, so that a result does not depend on its neighbours."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(tag,))))


def _mean(x: F64, axis: int = -1) -> F64:
    return np.asarray(np.mean(x, axis=axis))


def bootstrap_interval(
    sample: Sequence[float] | F64,
    statistic: Callable[..., object] = _mean,
    *,
    seed: int = 0,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
) -> Interval:
    """BCa interval of a statistic of one sample; `statistic(x, axis)` works along an axis."""
    from scipy import stats

    x = np.asarray(sample, np.float64)
    if x.size < 2:
        return Interval(None, None, "none")
    if np.ptp(x) == 0.0:
        return Interval(float(x[0]), float(x[0]), "constant")
    for method in ("BCa", "percentile"):
        with np.errstate(all="ignore"):  # a sample that BCa is not defined for divides by zero: judged below
            try:
                found = stats.bootstrap(
                    (x,), statistic, n_resamples=resamples, batch=CHUNK, vectorized=True, method=method,
                    confidence_level=confidence, rng=generator(seed, 0),
                ).confidence_interval  # fmt: skip
            except stats.DegenerateDataWarning:  # raised where warnings are errors
                continue
        if math.isfinite(found.low) and math.isfinite(found.high):
            return Interval(float(found.low), float(found.high), method.lower())
    return Interval(None, None, "none")


def sign_flip(d: F64, seed: int = 0, resamples: int = RESAMPLES) -> tuple[float, str]:
    """Two-sided p of the mean of `d` under random signs, and which test it was."""
    from scipy import stats

    if not d.any():
        return 1.0, "none"
    # zeros stay zero under any sign: dropping them changes nothing but how many flips there are
    moved = d[d != 0.0]
    if moved.size == 1:
        return 1.0, "exact"  # both signs are as far from 0 as what was seen; scipy wants two numbers
    exact = moved.size < 60 and 2**moved.size <= resamples + 1
    found = stats.permutation_test(
        (moved,), _sum, permutation_type="samples", vectorized=True, n_resamples=np.inf if exact else resamples,
        batch=CHUNK, rng=generator(seed, 1),
    )  # fmt: skip
    return float(found.pvalue), "exact" if exact else "drawn"


def _sum(x: F64, axis: int = -1) -> F64:
    return np.asarray(np.sum(x, axis=axis))


def iqm(x: F64) -> float:
    """Interquartile mean: the mean without the lowest and the highest quarter of the values."""
    from scipy import stats

    return float(stats.trim_mean(x, 0.25))


def signed_ranks(d: F64) -> tuple[float, float]:
    """p of Wilcoxon's signed-rank test and the rank-biserial correlation of `d`; d is not all 0."""
    from scipy import stats

    moved = d[d != 0.0]
    ranks = stats.rankdata(np.abs(moved)) * np.sign(moved)
    biserial = float(ranks.sum() / stats.rankdata(np.abs(moved)).sum())
    if moved.size <= SMALL:  # all flips of the ranks: Wilcoxon's exact test, with tied ranks as well
        return sign_flip(ranks)[0], biserial
    return float(stats.wilcoxon(moved).pvalue), biserial


def compare(
    pairs: Sequence[tuple[float | None, float | None]],
    better: str = "lower",
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Continuous:
    """Compare (policy, reference) pairs; a pair with a missing side is left out.

    `better` is ``lower``, ``higher`` or ``neither``; the rank-biserial correlation is positive where the policy
    is better, or, where neither side is, where its values are higher.
    """
    there = [(a, b) for a, b in pairs if a is not None and b is not None]
    n = len(there)
    if not n:
        nothing = (None,) * 7
        return Continuous(0, None, None, None, "none", *nothing, 0, 0, 0, None, "none", None, None, None)
    a, b = (np.array(side, np.float64) for side in zip(*there, strict=True))
    d = a - b
    d[np.abs(d) <= TIE] = 0.0
    mean = math.fsum(d) / n
    base = math.fsum(b) / n
    ends = bootstrap_interval(d, seed=seed, resamples=resamples)
    p, test = sign_flip(d, seed, resamples)
    p_ranks, biserial = signed_ranks(d) if d.any() else (1.0, None)
    sign = {"lower": -1.0, "higher": 1.0}.get(better, 0.0)
    if biserial is not None:
        biserial = (-biserial if sign < 0.0 else biserial) + 0.0  # never -0.0
    spread = float(np.std(d, ddof=1)) if n > 1 and np.ptp(d) > 0.0 else 0.0
    return Continuous(
        n=n, mean=mean, low=ends.low, high=ends.high, interval=ends.method,
        change_pct=100.0 * mean / abs(base) if base else None,
        median=float(np.median(d)), iqm=iqm(d),
        policy_mean=math.fsum(a) / n, reference_mean=base, policy_iqm=iqm(a), reference_iqm=iqm(b),
        wins=int(np.sum(d * sign > 0.0)), ties=int(np.sum(d == 0.0)), losses=int(np.sum(d * sign < 0.0)),
        p=p, test=test, p_wilcoxon=p_ranks,
        dz=mean / spread if spread > 0.0 else None, rank_biserial=biserial,
    )  # fmt: skip
