"""Checks of charging stations: places, power, plugs and where they hang on the grid."""

from __future__ import annotations

import math

from ev_grid_oracle.city.checks_common import Tables, ids, in_box, refs
from ev_grid_oracle.city.faults import Sink
from ev_grid_oracle.city.geo import MAX_SNAP_M, nearest
from ev_grid_oracle.city.manifest import Manifest
from ev_grid_oracle.city.tables import Table
from ev_grid_oracle.schema.enums import RATE_KW, Rate


def check_stations(tables: Tables, m: Manifest | None, sink: Sink) -> None:
    s = tables.get("stations.csv")
    if s is None:
        return
    in_box(s, m, sink)
    refs(s, "feeder", ids(tables, "feeders.csv", "feeder_id"), "feeders.csv", sink)
    _buses(s, tables.get("buses.csv"), sink)
    _power(s, sink)
    _places(s, sink)
    n = tables.get("nodes.csv")
    if n is not None and n.has("lat", "lon") and s.has("station_id", "lat", "lon"):
        _snap(s, n, sink)


def _buses(s: Table, b: Table | None, sink: Sink) -> None:
    if b is None or not b.has("bus_id", "feeder") or not s.has("bus"):
        return
    refs(s, "bus", set(b.text("bus_id")), "buses.csv", sink)
    if not s.has("feeder"):
        return
    on = dict(zip(b.text("bus_id"), b.text("feeder"), strict=True))
    for bus, feeder, line in zip(s.text("bus"), s.text("feeder"), s.lines, strict=True):
        if bus in on and on[bus] != feeder:
            sink.add(
                "P_OTHER_FEEDER",
                s.file,
                "bus",
                line,
                f"Bus {bus[:60]!r} is on feeder {on[bus][:60]!r}.",
                f"A bus of {feeder[:60]!r}.",
            )


def _power(s: Table, sink: Sink) -> None:
    if s.has("site_limit_kw", "transformer_kva"):
        for kw, kva, line in zip(s.num("site_limit_kw"), s.num("transformer_kva"), s.lines, strict=True):
            if kw > kva:
                sink.add(
                    "P_SITE_LIMIT",
                    s.file,
                    "site_limit_kw",
                    line,
                    f"{kw:g} kW on a {kva:g} kVA transformer.",
                    "The site may not draw more than its transformer carries.",
                )
    if s.has("site_limit_kw", "type"):
        for kw, rate, line in zip(s.num("site_limit_kw"), s.text("type"), s.lines, strict=True):
            if rate.upper() in Rate.__members__ and kw < RATE_KW[Rate[rate.upper()]]:
                sink.add(
                    "P_SITE_LIMIT",
                    s.file,
                    "site_limit_kw",
                    line,
                    f"{kw:g} kW is less than one {rate} slot takes.",
                    "In kW?",
                )
    if s.has("ac_socket", "ac_socket_kw"):
        for has, kw, line in zip(s.num("ac_socket"), s.num("ac_socket_kw"), s.lines, strict=True):
            if (has == 1 and kw == 0) or (has == 0 and kw > 0):
                sink.add(
                    "P_AC_SOCKET",
                    s.file,
                    "ac_socket_kw",
                    line,
                    f"ac_socket {has:g} with {kw:g} kW.",
                    "A socket has a power, no socket has 0.",
                )
        if len(s) and not (s.num("ac_socket") == 1).any():
            sink.add(
                "P_NO_AC",
                s.file,
                "ac_socket",
                0,
                "No station has an AC socket.",
                "Cars without a DC inlet need one.",
            )


def _places(s: Table, sink: Sink) -> None:
    """Two stations at one spot are a double; two of one slug cannot be told apart."""
    if s.has("lat", "lon"):
        at: dict[tuple[float, float], int] = {}
        for lat, lon, line in zip(s.num("lat").tolist(), s.num("lon").tolist(), s.lines, strict=True):
            first = at.setdefault((lat, lon), line)
            if first != line:
                sink.add(
                    "P_SAME_PLACE", s.file, "lat", line, f"Same coordinates as line {first}.", "A double?"
                )
    if s.has("slug"):
        slugs: dict[str, int] = {}
        for slug, line in zip(s.text("slug"), s.lines, strict=True):
            if slugs.setdefault(slug, line) != line:
                sink.add(
                    "P_DUPLICATE", s.file, "slug", line, f"{slug[:60]!r} stands twice.", "One slug a station."
                )


def _snap(s: Table, n: Table, sink: Sink) -> None:
    ok = [i for i in range(len(n)) if math.isfinite(n.num("lat")[i]) and math.isfinite(n.num("lon")[i])]
    if not ok:
        return
    lat, lon = n.num("lat")[ok], n.num("lon")[ok]
    for sid, a, o, line in zip(
        s.text("station_id"), s.num("lat").tolist(), s.num("lon").tolist(), s.lines, strict=True
    ):
        if math.isfinite(a) and math.isfinite(o):
            _, d = nearest(lat, lon, a, o)
            if d > MAX_SNAP_M:
                sink.add(
                    "P_FAR_FROM_ROAD",
                    s.file,
                    "lat",
                    line,
                    f"{sid[:60]!r} is {d:.0f} m from the nearest node.",
                    f"At most {MAX_SNAP_M:.0f} m: add a node or mend the coordinates.",
                )
