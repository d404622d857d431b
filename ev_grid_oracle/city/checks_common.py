"""Small checks that several tables share: references, sums, coordinates, completeness."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from itertools import product

from ev_grid_oracle.city.faults import Sink
from ev_grid_oracle.city.manifest import Manifest
from ev_grid_oracle.city.tables import Table

Tables = Mapping[str, Table]
SUM_TOLERANCE = 1e-6


def ids(tables: Tables, file: str, column: str) -> Collection[str] | None:
    """The ids a table defines; None if it could not be read (then references to it are not judged)."""
    t = tables.get(file)
    return set(t.text(column)) if t is not None and t.has(column) else None


def refs(
    t: Table, column: str, known: Collection[str] | None, target: str, sink: Sink, blank: bool = False
) -> None:
    """Every cell of `column` names something that exists."""
    if known is None or not t.has(column):
        return
    for v, line in zip(t.text(column), t.lines, strict=True):
        if v not in known and (v or not blank):
            sink.add(
                "P_UNKNOWN_REF", t.file, column, line, f"{v[:60]!r} is not in {target}.", "Add it or mend it."
            )


def sums_to_one(t: Table, column: str, by: str | None, sink: Sink) -> None:
    """Shares in `column` sum to 1, within each value of `by`."""
    if not t.has(column) or (by is not None and not t.has(by)):
        return
    groups = t.text(by) if by is not None else ("",) * len(t)
    total: dict[str, float] = {}
    for g, x in zip(groups, t.num(column), strict=True):
        total[g] = total.get(g, 0.0) + float(x)
    for g, s in total.items():
        if math.isfinite(s) and abs(s - 1.0) > SUM_TOLERANCE:
            line = t.lines[groups.index(g)]
            what = f" of {g[:60]!r}" if by else ""
            sink.add("P_SUM", t.file, column, line, f"Shares{what} sum to {s:.6g}.", "They must sum to 1.")


def complete(t: Table, axes: dict[str, tuple[str, ...]], sink: Sink) -> None:
    """A row for every combination of the axes' values."""
    if not t.has(*axes):
        return
    have = set(zip(*(t.text(a) for a in axes), strict=True))
    for combo in product(*axes.values()):
        if combo not in have:
            name = "/".join(combo)
            sink.add("P_MISSING_ROW", t.file, next(iter(axes)), 0, f"No row for {name}.", "Add it.")


def ordered(t: Table, low: str, high: str, sink: Sink) -> None:
    """`low` is at most `high` in every row (NaN never complains)."""
    if not t.has(low, high):
        return
    for a, b, line in zip(t.num(low), t.num(high), t.lines, strict=True):
        if a > b:
            sink.add("P_ORDER", t.file, low, line, f"{low} {a:g} is above {high} {b:g}.", "Swap them?")


def in_box(t: Table, m: Manifest | None, sink: Sink) -> None:
    """Coordinates lie in the city's box; the message says what probably happened."""
    if m is None or not m.has("lat_min", "lat_max", "lon_min", "lon_max") or not t.has("lat", "lon"):
        return
    a, b, c, d = (m.f(k) for k in ("lat_min", "lat_max", "lon_min", "lon_max"))

    def inside(lat: float, lon: float) -> bool:
        return a <= lat <= b and c <= lon <= d

    for lat, lon, line in zip(t.num("lat").tolist(), t.num("lon").tolist(), t.lines, strict=True):
        if not (math.isfinite(lat) and math.isfinite(lon)) or inside(lat, lon):
            continue
        if inside(lon, lat):
            hint = "Are lat and lon swapped?"
        elif inside(abs(lat), abs(lon)) or inside(-lat, lon) or inside(lat, -lon):
            hint = "Was a sign lost or added?"
        else:
            hint = "Another city, or another notation than decimal degrees?"
        column = "lat" if not a <= lat <= b else "lon"
        sink.add(
            "P_OUTSIDE_BOX",
            t.file,
            column,
            line,
            f"({lat:g}, {lon:g}) is outside the city's box {a:g}..{b:g}, {c:g}..{d:g}.",
            hint,
        )
