"""Bootstrap, sign flips, signed ranks and sizes against published values; errors of both kinds; edges."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("statsmodels", reason="power is compared with statsmodels' (extra viz)")

from ev_grid_oracle.evaluation.stats_continuous import (
    bootstrap_interval,
    compare,
    iqm,
    sign_flip,
    signed_ranks,
)

DARWIN = (49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48)
"""Crossed minus self-fertilised maize, 1/8 inch: Fisher, The Design of Experiments (1935), table 3."""

SPATIAL_A = (
    48,
    36,
    20,
    29,
    42,
    42,
    20,
    42,
    22,
    41,
    45,
    14,
    6,
    0,
    33,
    28,
    34,
    4,
    32,
    24,
    47,
    41,
    24,
    26,
    30,
    41,
)
"""Spatial test A, 26 children: Efron and Tibshirani, An Introduction to the Bootstrap (1993), table 14.1."""


def versus_zero(values: tuple[float, ...] | list[float]) -> list[tuple[float, float]]:
    return [(v, 0.0) for v in values]


def test_bca_is_efron_and_tibshiranis_example() -> None:
    """Their table 14.2: 90 % BCa interval (115.8, 259.6) of the variance, of 2,000 replications; theirs and ours
    are draws, so 2 % apart is the same."""
    found = bootstrap_interval(np.array(SPATIAL_A, float), np.var, confidence=0.9)
    assert np.var(SPATIAL_A) == pytest.approx(171.5, abs=0.05)
    assert found.method == "bca"
    assert (found.low, found.high) == (pytest.approx(115.8, rel=0.02), pytest.approx(259.6, rel=0.02))


def test_sign_flips_are_fishers_example() -> None:
    """Fisher counted 863 of 2^15 sums as large as the one seen on either side: p = 2 x 863 / 32768."""
    assert sign_flip(np.array(DARWIN, float), resamples=2**15) == (pytest.approx(2 * 863 / 2**15), "exact")
    drawn, kind = sign_flip(np.array(DARWIN, float), resamples=9_999)
    assert kind == "drawn"
    assert drawn == pytest.approx(2 * 863 / 2**15, abs=0.007)


def test_signed_ranks_are_wilcoxons_example() -> None:
    """Wilcoxon, Biometrics Bulletin 1 (1945) 80, on the same plants: the negative ranks sum to 24 of 120. R's
    wilcox.test(paired = TRUE) says V = 96, p-value = 0.04126."""
    p, biserial = signed_ranks(np.array(DARWIN, float))
    assert biserial == pytest.approx((96 - 24) / 120)
    assert p == pytest.approx(0.04126, abs=5e-5)


def test_tied_ranks_stay_exact() -> None:
    # |d| = 1, 2, 2, 3, 1 -> ranks 1.5, 3.5, 3.5, 5, 1.5; of 32 signs, 3 leave at most 1.5 below and 3 above
    p, biserial = signed_ranks(np.array([1.0, 2.0, 2.0, 3.0, -1.0]))
    assert (p, biserial) == (pytest.approx(6 / 32), pytest.approx((13.5 - 1.5) / 15))


def test_sizes_and_means() -> None:
    found = compare([(float(n), 0.0) for n in range(1, 6)], "lower")
    assert found.dz == pytest.approx(3.0 / np.sqrt(2.5))
    assert found.rank_biserial == -1.0  # every pair is worse
    assert (found.wins, found.ties, found.losses) == (0, 0, 5)
    assert compare([(float(n), 0.0) for n in range(1, 6)], "higher").rank_biserial == 1.0
    assert iqm(np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 100.0])) == 3.5  # the middle half is 2, 3, 4, 5


def test_equal_policies_are_ties() -> None:
    pairs = [(n / 3.0, n / 3.0 + 1e-12) for n in range(40)]
    found = compare(pairs, "lower")
    assert (found.mean, found.low, found.high, found.interval) == (0.0, 0.0, 0.0, "constant")
    assert (found.p, found.p_wilcoxon, found.test) == (1.0, 1.0, "none")
    assert (found.wins, found.ties, found.losses) == (0, 40, 0)
    assert (found.dz, found.rank_biserial) == (None, None)


@pytest.mark.parametrize(
    ("values", "p"),
    [([], None), ([1.0], 1.0), ([1.0, 1.0, 1.0], 0.25), ([0.0, 0.0, 1.0], 1.0), ([1.0, -1.0], 1.0)],
)
def test_small_and_flat_samples(values: list[float], p: float | None) -> None:
    found = compare(versus_zero(values))
    assert found.p == p
    assert found.n == len(values)
    ends = (found.low, found.high)
    assert None not in ends if len(values) > 1 else ends == (None, None)
    for number in found.as_dict().values():
        assert not isinstance(number, float) or np.isfinite(number)
        assert str(number) != "-0.0"


def test_a_missing_side_is_left_out() -> None:
    found = compare([(1.0, None), (None, 2.0), (3.0, 1.0), (4.0, 1.0)], "higher")
    assert (found.n, found.mean, found.change_pct) == (2, 2.5, 250.0)


def test_the_same_draws_for_every_value() -> None:
    rng = np.random.Generator(np.random.PCG64(4))
    d = rng.normal(0.2, 1.0, 60)
    first, again = compare(versus_zero(list(d)), seed=3), compare(versus_zero(list(d)), seed=3)
    assert first == again
    scaled = compare(versus_zero(list(8.0 * d)), seed=3)
    assert scaled.p == first.p
    assert scaled.low == pytest.approx(8.0 * (first.low or 0.0))
    assert compare(versus_zero(list(d)), seed=4).p != first.p


def rejections(shift: float, n: int, times: int, seed: int) -> int:
    """Of `times` samples of n skewed differences around `shift` standard deviations, how many have p < 0.05."""
    rng = np.random.Generator(np.random.PCG64(seed))
    count = 0
    for _ in range(times):
        # what two equal policies give: each pair's values by chance the other way round
        d = rng.exponential(1.0, n) - rng.exponential(1.0, n) + shift * np.sqrt(2.0)
        count += (compare(versus_zero(list(d)), resamples=999).p or 0.0) < 0.05
    return count


def test_equal_policies_are_rarely_told_apart() -> None:
    """200 evaluations without a difference: more than 16 rejections at 5 % would happen in 2 of 100 such tests."""
    assert 2 <= rejections(0.0, 40, 200, seed=11) <= 16


def test_a_small_difference_is_found_as_often_as_theory_says() -> None:
    """dz = 0.4 with n = 60: the t test's power of statsmodels, within four standard errors of 100 trials."""
    from statsmodels.stats.power import TTestPower

    power = float(TTestPower().power(0.4, 60, 0.05))
    assert power == pytest.approx(0.862, abs=0.005)
    error = np.sqrt(power * (1.0 - power) / 100)
    assert rejections(0.4, 60, 100, seed=12) / 100 == pytest.approx(power, abs=4.0 * error)
