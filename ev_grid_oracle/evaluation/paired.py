"""The difference of two policies on the same worlds: mean, 95 % interval, wins, ties and losses.

Rows are joined by episode seed, never by their order. The interval is Student's t on the paired
differences; it needs two episodes, and says nothing (None) with fewer.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from ev_grid_oracle.schema.errors import OptionError

TIE = 1e-9
"""Differences of at most this size are ties."""
FEWEST = 6
"""Pairs below which nothing is shown: even if all of five agree, flipping their signs gives p = 2 / 2**5 = 0.06."""

Values = Mapping[str, float | None]
Rows = Sequence[tuple[int, Values]]
"""(episode seed, values) of one policy."""


@dataclass(frozen=True, slots=True)
class Difference:
    """`policy` minus `reference` of one value.

    Attributes:
        n: pairs in which both have the value.
        low, high: 95 % interval of `mean`; None with fewer than two pairs.
        change_pct: 100 x mean difference / |mean of the reference|; None where that is 0.
        wins: pairs in which the policy is better, `ties` equal, `losses` worse.
    """

    n: int
    mean: float | None
    low: float | None
    high: float | None
    change_pct: float | None
    wins: int
    ties: int
    losses: int

    @property
    def clear(self) -> bool:
        """True if the interval does not hold zero, of at least `FEWEST` pairs (few equal ones have no width)."""
        if self.n < FEWEST or self.low is None or self.high is None:
            return False
        return self.low > 0.0 or self.high < 0.0

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def join(policy: Rows, reference: Rows) -> list[tuple[Values, Values]]:
    """Pairs by episode seed, in the order of the reference.

    Raises:
        OptionError: a seed stands twice or is missing on one side; the message names it.
    """
    faults = []
    for name, rows in (("policy", policy), ("reference", reference)):
        doubles = sorted(seed for seed, count in Counter(seed for seed, _ in rows).items() if count > 1)
        if doubles:
            faults.append(f"{name}: duplicate {', '.join(map(str, doubles))}")
    have, want = {s for s, _ in policy}, {s for s, _ in reference}
    for name, missing in (("policy", want - have), ("reference", have - want)):
        if missing:
            faults.append(f"{name}: missing {', '.join(map(str, sorted(missing)))}")
    if faults:
        raise OptionError(f"The episodes do not pair up ({'; '.join(faults)}).", "Play both on equal seeds.")
    by_seed = dict(policy)
    return [(by_seed[seed], values) for seed, values in reference]


def half_width(values: Sequence[float], mean: float) -> float:
    """Half of the 95 % t interval of the mean of at least two values."""
    from scipy.special import stdtrit

    n = len(values)
    variance = math.fsum((v - mean) ** 2 for v in values) / (n - 1)
    return float(stdtrit(n - 1, 0.975)) * math.sqrt(variance / n)


def difference(policy: Rows, reference: Rows, key: str, better: str = "lower") -> Difference:
    """Compare one value; `better` is ``lower``, ``higher`` or ``neither`` (then nothing wins)."""
    pairs = [(a.get(key), b.get(key)) for a, b in join(policy, reference)]
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    if not both:
        return Difference(0, None, None, None, None, 0, 0, 0)
    diffs = [a - b for a, b in both]
    n = len(diffs)
    mean = math.fsum(diffs) / n
    low = high = None
    if n > 1:
        half = half_width(diffs, mean)
        low, high = mean - half, mean + half
    base = math.fsum(b for _, b in both) / n
    sign = {"lower": -1.0, "higher": 1.0}.get(better, 0.0)
    ties = sum(abs(d) <= TIE for d in diffs)
    wins = sum(abs(d) > TIE and d * sign > 0.0 for d in diffs)
    losses = sum(abs(d) > TIE and d * sign < 0.0 for d in diffs)
    return Difference(n, mean, low, high, 100.0 * mean / abs(base) if base else None, wins, ties, losses)


def mean_of(values: Sequence[float | None]) -> float | None:
    """Mean of the values that are there."""
    there = [v for v in values if v is not None]
    return math.fsum(there) / len(there) if there else None
