"""Checks of vehicles, personas and their mix."""

from __future__ import annotations

from ev_grid_oracle.city.checks_common import Tables, ids, ordered, refs, sums_to_one
from ev_grid_oracle.city.faults import Sink
from ev_grid_oracle.city.tables import Table


def check_fleet(tables: Tables, sink: Sink) -> None:
    v, p, mix = (tables.get(f"{n}.csv") for n in ("vehicles", "personas", "persona_vehicles"))
    if v is not None:
        _vehicles(v, sink)
    if p is not None:
        _personas(p, sink)
    if mix is not None:
        refs(mix, "persona", ids(tables, "personas.csv", "persona"), "personas.csv", sink)
        refs(mix, "vehicle", ids(tables, "vehicles.csv", "vehicle_id"), "vehicles.csv", sink)
        sums_to_one(mix, "share", "persona", sink)
        if p is not None and p.has("persona") and mix.has("persona"):
            drive = set(mix.text("persona"))
            for name, line in zip(p.text("persona"), p.lines, strict=True):
                if name not in drive:
                    sink.add(
                        "P_MISSING_ROW",
                        mix.file,
                        "persona",
                        0,
                        f"{name[:60]!r} drives nothing.",
                        f"Add its vehicles (personas.csv line {line}).",
                    )


def _vehicles(v: Table, sink: Sink) -> None:
    if v.has("ac_kw", "dc_kw"):
        for ac, dc, line in zip(v.num("ac_kw"), v.num("dc_kw"), v.lines, strict=True):
            if 0 < dc < ac:
                sink.add(
                    "P_ORDER",
                    v.file,
                    "dc_kw",
                    line,
                    f"DC {dc:g} kW is below AC {ac:g} kW.",
                    "0 means no DC inlet.",
                )


def _personas(p: Table, sink: Sink) -> None:
    for low, high in (
        ("patience_lo_min", "patience_hi_min"),
        ("soc_lo", "soc_mode"),
        ("soc_mode", "soc_hi"),
        ("target_lo", "target_hi"),
        ("soc_mode", "target_lo"),
    ):
        ordered(p, low, high, sink)
    for share in ("request_share", "walkin_share"):
        sums_to_one(p, share, None, sink)
    if p.has("fleet_key"):
        seen: dict[str, int] = {}
        for key, line in zip(p.text("fleet_key"), p.lines, strict=True):
            if seen.setdefault(key, line) != line:
                sink.add(
                    "P_DUPLICATE",
                    p.file,
                    "fleet_key",
                    line,
                    f"{key[:60]!r} stands twice.",
                    "One persona a key.",
                )
