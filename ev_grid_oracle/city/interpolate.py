"""Tables over the day to the 288 five-minute slots of the clock, by plain arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

from ev_grid_oracle.schema.axes import TICKS_PER_DAY


def day_curve(points: Sequence[float]) -> list[float]:
    """(n,) values at n equally spaced times from 00:00, linearly between them, periodic: (288,) values.

    The value of a slot is that of its beginning. n divides 288, so that a table's own times are kept
    to the last bit.
    """
    n = len(points)
    per = TICKS_PER_DAY // n
    out: list[float] = []
    for k in range(n):
        a, b = points[k], points[(k + 1) % n]
        for j in range(per):
            out.append(a + (b - a) * (float(j) / float(per)))
    return out
