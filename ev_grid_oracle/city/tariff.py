"""Time-of-day tariff zones, midnight included.

A zone runs from `start_min` up to, not including, `end_min`, both minutes of the city's day. A zone
whose end is not after its start runs over midnight: 22:00-06:00 has 8 hours, 22:00-00:00 two, and
00:00-00:00 is the whole day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ev_grid_oracle.schema.axes import MINUTES_PER_DAY


@dataclass(frozen=True)
class TariffZone:
    """A stretch of the day with one value: INR/kWh, or a factor on a price."""

    start_min: int
    end_min: int
    value: float

    def pieces(self) -> tuple[tuple[int, int], ...]:
        """The zone as stretches that do not cross midnight."""
        end = self.end_min if self.end_min > 0 else MINUTES_PER_DAY
        if end > self.start_min:
            return ((self.start_min, end),)
        return ((self.start_min, MINUTES_PER_DAY), (0, end))


def cover_faults(zones: Sequence[TariffZone]) -> list[tuple[int, int]]:
    """(minute, zones there) at every change to a minute that not exactly one zone covers."""
    count = [0] * MINUTES_PER_DAY
    for z in zones:
        for a, b in z.pieces():
            for m in range(a, b):
                count[m] += 1
    out: list[tuple[int, int]] = []
    before = 1
    for m, n in enumerate(count):
        if n != 1 and n != before:
            out.append((m, n))
        before = n
    return out


def tariff_cost_inr(zones: Sequence[TariffZone], start_min: int, end_min: int, kw: float) -> float:
    """Cost in INR of drawing `kw` from `start_min` to `end_min`, minutes counted on from a midnight.

    `end_min` may pass 1440 (a session over midnight); an end before the start is read as the next
    day's. `zones` values are INR/kWh and cover the day.
    """
    if end_min < start_min:
        end_min += MINUTES_PER_DAY
    total = 0.0
    for day in range(start_min // MINUTES_PER_DAY, (max(end_min - 1, start_min)) // MINUTES_PER_DAY + 1):
        shift = day * MINUTES_PER_DAY
        for z in zones:
            for a, b in z.pieces():
                overlap = min(b + shift, end_min) - max(a + shift, start_min)
                if overlap > 0:
                    total += kw * z.value * (float(overlap) / 60.0)
    return total


def factor_by_slot(zones: Sequence[TariffZone], slots: int) -> list[float]:
    """The factor at the beginning of each of `slots` equal slots of the day."""
    step = MINUTES_PER_DAY // slots
    out = [1.0] * slots
    for z in zones:
        for a, b in z.pieces():
            for k in range(slots):
                if a <= k * step < b:
                    out[k] = z.value
    return out
