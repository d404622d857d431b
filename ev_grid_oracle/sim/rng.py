"""Counter-based draws: u(key of the stream, tick, entity, n), and the distributions made of them.

Nothing is stored and nothing is shared, so no policy can shift a draw of another. Only + - * / and sqrt
touch the values: equal on any CPU.
"""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.schema.compiled import inlined

_TICK = np.uint64(0x9E3779B97F4A7C15)
_ENTITY = np.uint64(0xD1B54A32D192ED03)
_N = np.uint64(0x8CB92BA72F3D8DD7)
_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_SCALE = 2.0**-53
_LOG2E = 1.4426950408889634
_LN2_HI, _LN2_LO = 0.6931471803691238, 1.9082149292705877e-10
_SQRT3 = 1.7320508075688772


@inlined
def mix64(x):  # type: ignore[no-untyped-def]
    """The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection with good avalanche."""
    x = (x ^ (x >> _S30)) * _M1
    x = (x ^ (x >> _S27)) * _M2
    return x ^ (x >> _S31)


@inlined
def u01(key, tick, entity, n):  # type: ignore[no-untyped-def]
    """Uniform in [0, 1) for (stream key, tick, entity, n)."""
    x = key + np.uint64(tick) * _TICK + np.uint64(entity) * _ENTITY + np.uint64(n) * _N
    return float(mix64(x) >> _S11) * _SCALE


@inlined
def normal12(key, tick, entity):  # type: ignore[no-untyped-def]
    """Nearly normal (Irwin-Hall of 12 draws): mean 0, sd 1, within +-6."""
    total = -6.0
    for n in range(12):
        total += u01(key, tick, entity, n)
    return total


@inlined
def normal4(key, tick, entity):  # type: ignore[no-untyped-def]
    """A light bell (Irwin-Hall of 4 draws): mean 0, sd 1, within +-3.5; for noise summed over ticks."""
    total = -2.0
    for n in range(4):
        total += u01(key, tick, entity, n)
    return total * _SQRT3


@inlined
def exp_neg(x):  # type: ignore[no-untyped-def]
    """exp(-x) for x >= 0 from + - * / alone (argument reduction by ln 2, Taylor series of degree 13)."""
    if x > 700.0:
        return 0.0
    n = int(x * _LOG2E)
    rest = (x - n * _LN2_HI) - n * _LN2_LO
    term = 1.0
    total = 1.0
    for k in range(1, 14):
        term *= -rest / k
        total += term
    for _ in range(n):
        total *= 0.5
    return total


MOST_DRAWN = 2000
"""No Poisson draw is above this."""


@inlined
def poisson(mean, u):  # type: ignore[no-untyped-def]
    """Poisson count by inversion of one uniform; means up to about 300."""
    p = exp_neg(mean)
    cumulative = p
    k = 0
    while u > cumulative and k < MOST_DRAWN:
        k += 1
        p *= mean / k
        cumulative += p
        if p < 1e-300 and k > mean:
            break
    return k


@inlined
def triangular(u, low, mode, high):  # type: ignore[no-untyped-def]
    """Triangular by inversion."""
    cut = (mode - low) / (high - low)
    if u < cut:
        return low + np.sqrt(u * (high - low) * (mode - low))
    return high - np.sqrt((1.0 - u) * (high - low) * (high - mode))
