"""exp and cos from + - * / only, so that a pack's arrays are equal to the last bit on any CPU.

glibc and numpy pick other code for exp, log and cos by CPU feature, and the last bit differs.
Elementwise IEEE additions, multiplications and divisions are the same everywhere.
"""

from __future__ import annotations

from typing import overload

import numpy as np

from ev_grid_oracle.city.model import F64

_TERMS = 14


@overload
def exp_det(x: float) -> float: ...
@overload
def exp_det(x: F64) -> F64: ...
def exp_det(x: F64 | float) -> F64 | float:
    """e^x elementwise, relative error below 1e-12 for |x| <= 50; beyond it x is cut to that range.

    x is halved until it is below 2^-4, a Taylor polynomial is taken, and the result squared back.
    """
    y = np.minimum(np.maximum(np.asarray(x, dtype=np.float64), -50.0), 50.0)
    halvings = 10  # 50 / 2^10 < 0.05
    r = y / float(2**halvings)
    p = np.ones_like(r)
    for k in range(_TERMS, 0, -1):
        p = 1.0 + p * r / float(k)
    for _ in range(halvings):
        p = p * p
    return p if isinstance(x, np.ndarray) else float(p)


def cos_det_deg(deg: float) -> float:
    """cos of an angle in degrees, |deg| <= 90, by its Taylor polynomial."""
    t = deg * 3.141592653589793 / 180.0
    s = t * t
    p = 1.0
    for k in range(24, 0, -2):
        p = 1.0 - p * s / float(k * (k - 1))
    return p
