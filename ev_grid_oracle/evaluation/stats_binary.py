"""Yes-or-no facts: Wilson intervals of a rate, and the exact McNemar test of two paired rates.

Both come from statsmodels. What is added here is the edges: no data is "no data", never an interval; a rate of
0 or 1 has a bound of exactly 0 or 1; and without a pair that differs the two policies are equal, p = 1.

Sources: Wilson, J. Am. Stat. Assoc. 22 (1927) 209; Newcombe, Stat. Med. 17 (1998) 857; McNemar, Psychometrika
12 (1947) 153. The exact test is the sign test of the pairs that differ: it never rejects too often.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ev_grid_oracle.schema.errors import MissingExtraError, OptionError

CONFIDENCE = 0.95
"""Level of every interval of this room."""


def statsmodels(module: str) -> Any:
    """A module of statsmodels; `MissingExtraError` with the line to install it where it is not there."""
    from importlib import import_module

    try:
        return import_module(f"statsmodels.stats.{module}")
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "The fair statistics need statsmodels.", 'pip install "openenv-ev-grid-oracle[viz]"'
        ) from error


@dataclass(frozen=True, slots=True)
class Rate:
    """How often something happened.

    Attributes:
        k, n: episodes in which it happened, of how many.
        rate, low, high: share and its 95 % Wilson interval, all None without data.
        note: "" or "no data".
    """

    k: int
    n: int
    rate: float | None
    low: float | None
    high: float | None
    note: str = ""

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def wilson(k: int, n: int, confidence: float = CONFIDENCE) -> Rate:
    """The rate k / n and its Wilson score interval.

    Raises:
        OptionError: k is not between 0 and n.
    """
    if not 0 <= k <= n:
        raise OptionError(f"{k} of {n} is no count.", "Hand over 0 <= k <= n.")
    if n == 0:
        return Rate(0, 0, None, None, None, "no data")
    low, high = statsmodels("proportion").proportion_confint(k, n, alpha=1.0 - confidence, method="wilson")
    # the score interval's bound at 0 of n is 0 in exact arithmetic; rounding leaves 1e-17 or -0.0
    return Rate(k, n, k / n, 0.0 if k == 0 else float(low), 1.0 if k == n else float(high))


@dataclass(frozen=True, slots=True)
class Mcnemar:
    """Two policies, one fact, the same episodes.

    Attributes:
        n: pairs in which both have the fact.
        both, neither: pairs in which it happened to both or to none (ties).
        only_policy, only_reference: the pairs that differ; every fact is a fault, so fewer is better.
        p: exact two-sided p-value; 1 where no pair differs, None without pairs.
    """

    n: int
    both: int
    neither: int
    only_policy: int
    only_reference: int
    p: float | None

    @property
    def better(self) -> int:
        """1 if it happened to the policy less often than to the reference, -1 if more often, 0 equal."""
        return (self.only_reference > self.only_policy) - (self.only_reference < self.only_policy)

    def as_dict(self) -> dict[str, object]:
        return asdict(self)


def mcnemar_counts(both: int, only_policy: int, only_reference: int, neither: int) -> Mcnemar:
    """The exact test of a 2 x 2 table of pairs."""
    n = both + only_policy + only_reference + neither
    if min(both, only_policy, only_reference, neither) < 0:
        raise OptionError("A count of pairs is negative.", "Count again.")
    p: float | None = None
    if n:
        p = 1.0
        if only_policy + only_reference:
            table = [[both, only_policy], [only_reference, neither]]
            p = min(1.0, float(statsmodels("contingency_tables").mcnemar(table, exact=True).pvalue))
    return Mcnemar(n, both, neither, only_policy, only_reference, p)


def mcnemar(pairs: Sequence[tuple[bool | None, bool | None]]) -> Mcnemar:
    """The exact test of pairs (policy, reference); a pair with a missing side is left out."""
    there = [(a, b) for a, b in pairs if a is not None and b is not None]
    counts = {key: sum(pair == key for pair in there) for key in ((1, 1), (1, 0), (0, 1), (0, 0))}
    return mcnemar_counts(counts[1, 1], counts[1, 0], counts[0, 1], counts[0, 0])
