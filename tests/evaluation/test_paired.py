"""Paired differences: joining, intervals, wins and ties."""

from __future__ import annotations

import math

import pytest

from ev_grid_oracle.evaluation.paired import difference, join, mean_of
from ev_grid_oracle.schema.errors import OptionError


def rows(*pairs: tuple[int, float | None]) -> list[tuple[int, dict[str, float | None]]]:
    return [(seed, {"x": value}) for seed, value in pairs]


def test_rows_are_joined_by_seed_not_by_order() -> None:
    a = rows((1, 1.0), (2, 4.0), (3, 9.0), (4, 16.0))
    b = rows((4, 10.0), (3, 5.0), (2, 2.0), (1, 0.0))
    assert difference(a, b, "x") == difference(a, sorted(b), "x")
    assert difference(a, b, "x").mean == pytest.approx((1 + 2 + 4 + 6) / 4)


def test_a_double_and_a_missing_seed_are_named() -> None:
    a = rows((1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0))
    with pytest.raises(OptionError, match=r"duplicate 2.*missing 3"):
        join(a, rows((1, 1.0), (2, 1.0), (2, 1.0), (4, 1.0)))


def test_interval_is_students_t() -> None:
    # differences 1..5: mean 3, sd sqrt(2.5), t(4, 0.975) = 2.7764451
    a = rows(*((n, float(n)) for n in range(1, 6)))
    b = rows(*((n, 0.0) for n in range(1, 6)))
    d = difference(a, b, "x")
    half = 2.7764451051977987 * math.sqrt(2.5 / 5)
    assert d.mean == 3.0
    assert d.low == pytest.approx(3.0 - half)
    assert d.high == pytest.approx(3.0 + half)
    assert not d.clear  # five pairs
    assert d.change_pct is None  # the reference's mean is 0


def test_few_pairs_show_nothing_however_equal() -> None:
    """Two evenings with the same difference have an interval without width, and are still two evenings."""
    for n, shown in ((2, False), (5, False), (6, True)):
        d = difference(rows(*((k, 1.0) for k in range(n))), rows(*((k, 2.0) for k in range(n))), "x")
        assert (d.low, d.high) == (-1.0, -1.0)
        assert d.clear is shown


def test_equal_runs_have_no_difference() -> None:
    a = rows(*((n, n / 3.0) for n in range(40)))
    d = difference(a, a, "x")
    assert (d.mean, d.low, d.high) == (0.0, 0.0, 0.0)
    assert (d.wins, d.ties, d.losses) == (0, 40, 0)
    assert not d.clear


@pytest.mark.parametrize(
    ("better", "expected"), [("lower", (1, 1, 2)), ("higher", (2, 1, 1)), ("neither", (0, 1, 0))]
)
def test_wins_depend_on_the_better_side(better: str, expected: tuple[int, int, int]) -> None:
    a = rows((1, 1.0), (2, 2.0), (3, 3.0 + 1e-12), (4, 6.0))
    b = rows((1, 2.0), (2, 1.0), (3, 3.0), (4, 5.0))
    d = difference(a, b, "x", better)
    assert (d.wins, d.ties, d.losses) == expected


def test_missing_values_are_left_out_and_never_nan() -> None:
    d = difference(rows((1, None), (2, 2.0)), rows((1, 1.0), (2, 1.0)), "x")
    assert (d.n, d.mean, d.low, d.high) == (1, 1.0, None, None)
    nothing = difference(rows((1, None)), rows((1, None)), "x")
    assert (nothing.n, nothing.mean, nothing.change_pct) == (0, None, None)
    assert mean_of([None, None]) is None
    assert mean_of([1.0, None, 3.0]) == 2.0
