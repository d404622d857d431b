"""Checks of the profiles: load shapes and levels, renewables, tariff, demand over the day."""

from __future__ import annotations

import math

from ev_grid_oracle.city.checks_common import Tables, complete
from ev_grid_oracle.city.faults import Sink
from ev_grid_oracle.city.interpolate import day_curve
from ev_grid_oracle.city.spec import DAY_TYPES, HOURS, MIXES, SEASONS
from ev_grid_oracle.city.tables import TIME, Table, minutes
from ev_grid_oracle.city.tariff import TariffZone, cover_faults

NIGHT = ("h00", "h01", "h02", "h03", "h04", "h20", "h21", "h22", "h23")
EVENING = range(17, 23)
TOLERANCE = 0.01


def check_demand(tables: Tables, sink: Sink) -> None:
    checks = {
        "load_shapes.csv": _shapes,
        "load_levels.csv": _levels,
        "renewable.csv": _renewable,
        "tariff.csv": _tariff,
        "demand_shape.csv": _demand,
    }
    for file, check in checks.items():
        t = tables.get(file)
        if t is not None:
            check(t, sink)


def _shapes(t: Table, sink: Sink) -> None:
    complete(t, {"kind": MIXES, "day_type": DAY_TYPES}, sink)
    if t.has(*HOURS):
        for i, line in enumerate(t.lines):
            peak = max(float(t.num(HOURS[h])[i]) for h in EVENING)
            if abs(peak - 1.0) > TOLERANCE:
                sink.add(
                    "P_NORMALISED",
                    t.file,
                    "h17",
                    line,
                    f"The evening peak (17 to 22 h) is {peak:.3f}.",
                    "Shapes are relative to their own evening peak: 1.",
                )


def _levels(t: Table, sink: Sink) -> None:
    complete(t, {"season": SEASONS, "day_type": DAY_TYPES}, sink)
    if t.has("season", "day_type", "level"):
        for s, d, x, line in zip(t.text("season"), t.text("day_type"), t.num("level"), t.lines, strict=True):
            if (s, d) == ("summer", "weekday") and abs(x - 1.0) > 1e-9:
                sink.add(
                    "P_NORMALISED", t.file, "level", line, f"The reference is {x:g}.", "Summer weekday is 1."
                )


def _renewable(t: Table, sink: Sink) -> None:
    complete(t, {"season": SEASONS, "part": ("solar", "other")}, sink)
    if not t.has("season", "part", *HOURS):
        return
    row = {k: i for i, k in enumerate(zip(t.text("season"), t.text("part"), strict=True))}
    for season in SEASONS:
        sol, oth = row.get((season, "solar")), row.get((season, "other"))
        if sol is None or oth is None:
            continue
        for h in HOURS:
            both = float(t.num(h)[sol]) + float(t.num(h)[oth])
            if both > 1.0:
                sink.add(
                    "P_SUM",
                    t.file,
                    h,
                    t.lines[sol],
                    f"Solar and other make {both:.3f} in {season}.",
                    "At most 1.",
                )
            if h in NIGHT and t.num(h)[sol] > 0:
                sink.add(
                    "P_NIGHT_SUN",
                    t.file,
                    h,
                    t.lines[sol],
                    f"Solar {t.num(h)[sol]:g} at night.",
                    "0 from 20 to 4 h.",
                )


def _tariff(t: Table, sink: Sink) -> None:
    if not t.has("zone", "start", "end", "factor"):
        return
    if not all(TIME.fullmatch(x) for x in (*t.text("start"), *t.text("end"))):
        return
    zones = tuple(
        TariffZone(minutes(a), minutes(b), float(f))
        for a, b, f in zip(t.text("start"), t.text("end"), t.num("factor"), strict=True)
    )
    for i, z in enumerate(zones):
        if z.start_min % 5 or z.end_min % 5:
            sink.add(
                "P_TIME", t.file, "start", t.lines[i], "Zones begin and end on 5-minute marks.", "Round it."
            )
    for minute, n in cover_faults(zones):
        at = f"{minute // 60:02d}:{minute % 60:02d}"
        what = "No zone covers" if n == 0 else f"{n} zones cover"
        sink.add(
            "P_TARIFF_COVER", t.file, "start", 0, f"{what} {at}.", "Every minute belongs to exactly one zone."
        )


def _demand(t: Table, sink: Sink) -> None:
    if not t.has("day_type", "time", "factor"):
        return
    for day in DAY_TYPES:
        rows = [i for i, d in enumerate(t.text("day_type")) if d == day]
        times = [t.text("time")[i] for i in rows]
        n = len(rows)
        grid = (
            [f"{k * 1440 // n // 60:02d}:{k * 1440 // n % 60:02d}" for k in range(n)]
            if n in (24, 48, 96)
            else []
        )
        if times != grid or not n:
            sink.add(
                "P_TIME_GRID",
                t.file,
                "time",
                t.lines[rows[0]] if rows else 0,
                f"{day}: {n} times.",
                "Every hour, half-hour or quarter from 00:00, in order.",
            )
            continue
        if day == "weekday":
            curve = day_curve([float(t.num("factor")[i]) for i in rows])
            mean = sum(curve[204:252]) / 48.0
            if math.isfinite(mean) and abs(mean - 1.0) > TOLERANCE:
                sink.add(
                    "P_NORMALISED",
                    t.file,
                    "factor",
                    t.lines[rows[0]],
                    f"The weekday mean from 17 to 21 h is {mean:.3f}.",
                    "Scale it to 1.",
                )
