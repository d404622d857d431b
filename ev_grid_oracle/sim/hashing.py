"""A digest of a world's rows, fast enough for every tick."""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.schema.compiled import kernel
from ev_grid_oracle.schema.rows import Y_TRAVEL, Y
from ev_grid_oracle.sim.rng import mix64

_A = np.uint64(0x9E3779B97F4A7C15)
_B = np.uint64(0xC2B2AE3D27D4EB4F)


@kernel
def digest(fw, iw, i, u, at):  # type: ignore[no-untyped-def]
    """Two 64-bit words over the float row (`fw`, as uint64), the int row (`iw`, as uint64) and the keys.

    Four lanes of multiply and add, then SplitMix finalisers. Y_TRAVEL is masked: it is where a table
    lies in this process, not a state of the world. `i` is restored before returning.
    """
    keep = i[at[Y] + Y_TRAVEL]
    i[at[Y] + Y_TRAVEL] = 0
    a, b, c, d = np.uint64(1), np.uint64(2), np.uint64(3), np.uint64(4)
    for row in (fw, iw):
        n = len(row) // 4 * 4
        for k in range(0, n, 4):
            a = (a ^ row[k]) * _A
            b = (b ^ row[k + 1]) * _A
            c = (c ^ row[k + 2]) * _A
            d = (d ^ row[k + 3]) * _A
            a ^= a >> np.uint64(29)
            b ^= b >> np.uint64(29)
            c ^= c >> np.uint64(29)
            d ^= d >> np.uint64(29)
        for k in range(n, len(row)):
            a = (a ^ row[k]) * _A
    for k in range(len(u)):
        b = (b ^ u[k]) * _A
    i[at[Y] + Y_TRAVEL] = keep
    first = mix64(a + mix64(b + mix64(c + mix64(d))))
    second = mix64((a ^ _B) + mix64((d ^ _B) + mix64(c + mix64(b))))
    return first, second
