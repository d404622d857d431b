"""Reading the manifest: its scalars against their types and ranges, and against each other."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from zoneinfo import ZoneInfo

from ev_grid_oracle.city.faults import Sink
from ev_grid_oracle.city.files import key_line, read_toml
from ev_grid_oracle.city.scalars import SCALARS, Scalar

FILE = "manifest.toml"


@dataclass(frozen=True)
class Manifest:
    """The checked scalars, by key (keys are unique over the sections)."""

    values: dict[str, object]

    def f(self, key: str) -> float:
        return float(cast(float, self.values[key]))

    def i(self, key: str) -> int:
        return int(cast(int, self.values[key]))

    def s(self, key: str) -> str:
        return str(self.values[key])

    def ints(self, key: str) -> tuple[int, ...]:
        return tuple(cast("list[int]", self.values[key]))

    def has(self, *keys: str) -> bool:
        """True if all these keys are there and legal."""
        return all(k in self.values for k in keys)


def read_manifest(folder: Path, sink: Sink) -> Manifest | None:
    """Read and check `manifest.toml`; bad keys are left out of the result."""
    got = read_toml(folder / FILE, FILE, sink)
    if got is None:
        return None
    raw, text = got
    sections: dict[str, dict[str, object]] = {"": {k: v for k, v in raw.items() if not isinstance(v, dict)}}
    sections.update({k: v for k, v in raw.items() if isinstance(v, dict)})
    known = {(s.section, s.key) for s in SCALARS}
    for sec, keys in sections.items():
        for k in keys:
            if (sec, k) not in known:
                dotted = f"{sec}.{k}" if sec else k
                sink.add(
                    "P_UNKNOWN_KEY",
                    FILE,
                    dotted[:80],
                    key_line(text, sec, k),
                    f"{dotted[:80]!r} is not known.",
                    "Remove it or mend its spelling.",
                )
    values: dict[str, object] = {}
    for s in SCALARS:
        dotted = f"{s.section}.{s.key}" if s.section else s.key
        found = sections.get(s.section, {})
        if s.key not in found:
            sink.add("P_MISSING_KEY", FILE, dotted, 0, f"{dotted!r} is missing.", "Add it.")
        elif _legal(s, found[s.key], dotted, key_line(text, s.section, s.key), sink):
            values[s.key] = found[s.key]
    out = Manifest(values)
    _together(out, text, sink)
    return out


def _legal(s: Scalar, v: object, dotted: str, line: int, sink: Sink) -> bool:
    """Type and range of one value."""
    if s.kind == "text":
        if isinstance(v, str) and re.fullmatch(s.pattern, v):
            return True
        sink.add(
            "P_CHOICE", FILE, dotted, line, f"{str(v)[:60]!r} does not fit.", f"It must match {s.pattern}."
        )
        return False
    if s.kind == "ints":
        if isinstance(v, list) and v and all(type(x) is int and s.lo <= x <= s.hi for x in v):
            if len(set(v)) == len(v):
                return True
            sink.add("P_DUPLICATE", FILE, dotted, line, "A seed stands twice.", "Keep one.")
            return False
        sink.add(
            "P_RANGE",
            FILE,
            dotted,
            line,
            "Not a list of seeds.",
            "Integers from 0 to 2^32 - 1, at least one.",
        )
        return False
    if type(v) is not int and not (s.kind == "float" and isinstance(v, float)):
        want = "an integer" if s.kind == "int" else "a number"
        sink.add("P_NOT_NUMBER", FILE, dotted, line, f"{str(v)[:60]!r} is not {want}.", f"Give {want}.")
        return False
    assert isinstance(v, int | float)
    if isinstance(v, float) and not math.isfinite(v):
        sink.add("P_NAN", FILE, dotted, line, f"{v!r} is not finite.", "Give a number.")
        return False
    if not s.lo <= v <= s.hi:
        sink.add(
            "P_RANGE",
            FILE,
            dotted,
            line,
            f"{str(v)[:40]} is outside {s.lo:g} to {s.hi:g}.",
            "Wrong unit or a slip?",
        )
        return False
    return True


def _together(m: Manifest, text: str, sink: Sink) -> None:
    """Keys that must agree with each other."""
    for sec, a, b in (
        ("bbox", "lat_min", "lat_max"),
        ("bbox", "lon_min", "lon_max"),
        ("flexible", "flex_ready_lo_min", "flex_ready_hi_min"),
        ("fleet", "max_pending", "max_cars"),
    ):
        if m.has(a, b) and (m.f(a) > m.f(b) or (sec == "bbox" and m.f(a) == m.f(b))):
            sink.add(
                "P_ORDER", FILE, f"{sec}.{a}", key_line(text, sec, a), f"{a} is not below {b}.", "Swap them?"
            )
    if m.has("flex_slack_min", "flex_ready_lo_min") and m.i("flex_slack_min") >= m.i("flex_ready_lo_min"):
        sink.add(
            "P_ORDER",
            FILE,
            "flexible.flex_slack_min",
            key_line(text, "flexible", "flex_slack_min"),
            "The slack eats the whole window.",
            "Keep it below flex_ready_lo_min.",
        )
    if m.has("timezone", "timezone_offset_min"):
        _timezone(m.s("timezone"), m.i("timezone_offset_min"), text, sink)


def _timezone(name: str, offset_min: int, text: str, sink: Sink) -> None:
    """The stated offset must be the zone's, all year: the clock of a pack has no daylight saving."""
    from datetime import datetime

    try:
        ZoneInfo("UTC")
    except (LookupError, OSError):
        return  # this machine has no time-zone database: nothing to compare with
    try:
        zone = ZoneInfo(name)
    except (LookupError, OSError, ValueError):
        sink.add(
            "P_TIMEZONE",
            FILE,
            "city.timezone",
            key_line(text, "city", "timezone"),
            f"{name[:60]!r} is no time zone.",
            "An IANA name such as Asia/Kolkata.",
        )
        return
    for month in (1, 7):
        delta = datetime(2026, month, 1, tzinfo=zone).utcoffset()
        if delta is None or delta.total_seconds() != offset_min * 60:
            sink.add(
                "P_TIMEZONE",
                FILE,
                "city.timezone_offset_min",
                key_line(text, "city", "timezone_offset_min"),
                f"{offset_min} min is not the offset of {name} in month {month}.",
                "State the fixed offset.",
            )
            return
