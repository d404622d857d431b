"""Checks of substations, conductors, feeders and their radial trees of buses."""

from __future__ import annotations

from ev_grid_oracle.city.checks_common import SUM_TOLERANCE, Tables, ids, refs, sums_to_one
from ev_grid_oracle.city.faults import Sink
from ev_grid_oracle.city.manifest import Manifest
from ev_grid_oracle.city.radial import radial_faults
from ev_grid_oracle.city.spec import MIXES, SOURCE_BUS
from ev_grid_oracle.city.tables import Table

RATING_SLACK = 1.01  # table ratings are rounded
SQRT3 = 1.7320508075688772


def check_grid(tables: Tables, m: Manifest | None, sink: Sink) -> None:
    c, f, b = (tables.get(f"{n}.csv") for n in ("conductors", "feeders", "buses"))
    if c is not None and c.has("r_ohm_km", "x_ohm_km"):
        for r, x, line in zip(c.num("r_ohm_km"), c.num("x_ohm_km"), c.lines, strict=True):
            if r == 0 and x == 0:
                sink.add(
                    "P_ZERO_IMPEDANCE", c.file, "r_ohm_km", line, "r and x are both 0.", "Give ohm per km."
                )
    if f is not None:
        _feeders(f, tables, m, sink)
    if b is not None:
        _buses(b, f, tables, sink)


def _feeders(f: Table, tables: Tables, m: Manifest | None, sink: Sink) -> None:
    refs(f, "substation", ids(tables, "substations.csv", "substation_id"), "substations.csv", sink)
    refs(f, "head_conductor", ids(tables, "conductors.csv", "conductor"), "conductors.csv", sink)
    refs(f, "side", ids(tables, "zones.csv", "side"), "zones.csv (side)", sink)
    mixes = [f"mix_{k}" for k in MIXES]
    if f.has(*mixes):
        for i, line in enumerate(f.lines):
            s = sum(float(f.num(k)[i]) for k in mixes)
            if abs(s - 1.0) > SUM_TOLERANCE:
                sink.add("P_SUM", f.file, mixes[0], line, f"The mix sums to {s:.6g}.", "It must sum to 1.")
    c, s_ = tables.get("conductors.csv"), tables.get("substations.csv")
    if (
        m is not None
        and m.has("vn_kv")
        and c is not None
        and c.has("conductor", "ampacity_a")
        and f.has("head_conductor", "rating_mva")
    ):
        amps = dict(zip(c.text("conductor"), c.num("ampacity_a").tolist(), strict=True))
        for head, mva, line in zip(
            f.text("head_conductor"), f.num("rating_mva").tolist(), f.lines, strict=True
        ):
            can = SQRT3 * m.f("vn_kv") * amps.get(head, float("nan")) / 1000.0
            if mva > can * RATING_SLACK:
                sink.add(
                    "P_RATING",
                    f.file,
                    "rating_mva",
                    line,
                    f"{mva:g} MVA, but {head[:40]} carries {can:.2f}.",
                    "A thicker head conductor, or a rating in another unit?",
                )
    if s_ is not None and s_.has("substation_id", "mva") and f.has("substation", "rating_mva"):
        for sub, mva, line in zip(s_.text("substation_id"), s_.num("mva").tolist(), s_.lines, strict=True):
            need = sum(
                x for n, x in zip(f.text("substation"), f.num("rating_mva").tolist(), strict=True) if n == sub
            )
            if need > mva:
                sink.add(
                    "P_RATING",
                    s_.file,
                    "mva",
                    line,
                    f"{mva:g} MVA feed {need:g} MVA of feeders.",
                    "Wrong unit?",
                )


def _buses(b: Table, f: Table | None, tables: Tables, sink: Sink) -> None:
    refs(b, "feeder", ids(tables, "feeders.csv", "feeder_id"), "feeders.csv", sink)
    refs(b, "conductor", ids(tables, "conductors.csv", "conductor"), "conductors.csv", sink)
    sums_to_one(b, "base_share", "feeder", sink)
    if not b.has("bus_id", "feeder", "parent"):
        return
    _trees(b, sink)
    if f is None or not f.has("feeder_id", "head_conductor"):
        return
    head = dict(zip(f.text("feeder_id"), f.text("head_conductor"), strict=True))
    have = set(b.text("feeder"))
    for name, line in zip(f.text("feeder_id"), f.lines, strict=True):
        if name not in have:
            sink.add(
                "P_NO_ROOT",
                b.file,
                "feeder",
                0,
                f"Feeder {name[:60]!r} has no bus (feeders.csv line {line}).",
                f"Its first bus has the parent {SOURCE_BUS}.",
            )
    if b.has("conductor"):
        for feeder, parent, cond, line in zip(
            b.text("feeder"), b.text("parent"), b.text("conductor"), b.lines, strict=True
        ):
            if parent == SOURCE_BUS and cond != head.get(feeder, cond):
                sink.add(
                    "P_HEAD_CONDUCTOR",
                    b.file,
                    "conductor",
                    line,
                    f"{cond[:40]!r} is not the feeder's head conductor {head[feeder][:40]!r}.",
                    "The first line of a feeder is its head.",
                )


def _trees(b: Table, sink: Sink) -> None:
    """One tree per feeder, rooted in the source: loops and islands are named."""
    feeder_of = dict(zip(b.text("bus_id"), b.text("feeder"), strict=True))
    line_of = {bus: b.lines[i] for bus, i in b.index("bus_id").items()}
    edges: dict[str, list[tuple[str, str]]] = {}
    members: dict[str, list[str]] = {}
    for bus, feeder, parent, line in zip(
        b.text("bus_id"), b.text("feeder"), b.text("parent"), b.lines, strict=True
    ):
        members.setdefault(feeder, []).append(bus)
        pairs = edges.setdefault(feeder, [])
        if parent == SOURCE_BUS or feeder_of.get(parent) == feeder:
            pairs.append((parent, bus))
        elif parent in feeder_of:
            sink.add(
                "P_OTHER_FEEDER",
                b.file,
                "parent",
                line,
                f"{parent[:60]!r} is on feeder {feeder_of[parent][:60]!r}.",
                "Feeders are radial and apart.",
            )
        elif parent:
            sink.add(
                "P_UNKNOWN_REF",
                b.file,
                "parent",
                line,
                f"{parent[:60]!r} is no bus.",
                f"A bus id or {SOURCE_BUS}.",
            )
    for feeder, buses in members.items():
        roots = [x for p, x in edges[feeder] if p == SOURCE_BUS]
        if len(roots) != 1:
            sink.add(
                "P_NO_ROOT" if not roots else "P_TWO_ROOTS",
                b.file,
                "parent",
                line_of.get(buses[0], 0),
                f"Feeder {feeder[:60]!r} has {len(roots)} buses on {SOURCE_BUS}.",
                "Exactly one.",
            )
        loops, islands = radial_faults([SOURCE_BUS, *buses], edges[feeder], SOURCE_BUS)
        for loop in loops:
            sink.add(
                "P_LOOP",
                b.file,
                "parent",
                line_of.get(loop[0], 0),
                f"Feeder {feeder[:60]!r} has the loop {'-'.join(loop)}.",
                "Open it: a feeder is a tree.",
            )
        for island in islands:
            sink.add(
                "P_ISLAND",
                b.file,
                "parent",
                line_of.get(island[0], 0),
                f"Feeder {feeder[:60]!r} has the island {{{', '.join(island)}}}, not fed from {SOURCE_BUS}.",
                "Connect it.",
            )
