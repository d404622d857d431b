"""Numbers in prompts: short, the same everywhere, and never NaN or an infinity."""

from __future__ import annotations

import math


def whole(value: float) -> str:
    """Rounded half up; "-" when there is no number."""
    return str(math.floor(value + 0.5)) if math.isfinite(value) else "-"


def tenth(value: float) -> str:
    """One decimal, none when it is 0; "-" when there is no number."""
    if not math.isfinite(value):
        return "-"
    tenths = math.floor(value * 10.0 + 0.5)
    sign = "-" if tenths < 0 else ""
    units, rest = divmod(abs(tenths), 10)
    return f"{sign}{units}.{rest}" if rest else f"{sign}{units}"


def percent(fraction: float) -> str:
    """A fraction as whole per cent."""
    return whole(fraction * 100.0)


def plain(value: float) -> str:
    """Up to four significant digits."""
    return f"{value:.4g}" if math.isfinite(value) else "-"


def clock(minute_of_day: int) -> str:
    return f"{minute_of_day // 60 % 24:02d}:{minute_of_day % 60:02d}"
