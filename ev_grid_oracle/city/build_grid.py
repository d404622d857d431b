"""Substations, feeders and their trees of buses, sorted so that parents come first."""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.city.freeze import frozen
from ev_grid_oracle.city.manifest import Manifest
from ev_grid_oracle.city.model import Grid
from ev_grid_oracle.city.spec import MIXES, SOURCE_BUS
from ev_grid_oracle.city.tables import Table

KVA_PER_MVA = 1000.0


def build_grid(m: Manifest, sub: Table, cond: Table, f: Table, b: Table) -> Grid:
    order, start = _bus_order(f, b)
    at = {b.text("bus_id")[row]: i for i, row in enumerate(order)}
    at[SOURCE_BUS] = -1
    feeder, substation, wire = f.index("feeder_id"), sub.index("substation_id"), cond.index("conductor")
    rows = np.array(order, dtype=np.int64)
    wires = np.array([wire[b.text("conductor")[r]] for r in order], dtype=np.int64)
    km = b.num("length_km")[rows]
    return frozen(
        Grid(
            substation_ids=sub.text("substation_id"),
            substation_names=sub.text("name"),
            substation_mva=sub.num("mva"),
            feeder_ids=f.text("feeder_id"),
            feeder_names=f.text("name"),
            feeder_substation=np.array([substation[s] for s in f.text("substation")], dtype=np.int32),
            feeder_kva=f.num("rating_mva") * KVA_PER_MVA,
            feeder_base_frac=f.num("base_frac"),
            feeder_mix=np.stack([f.num(f"mix_{k}") for k in MIXES], axis=1),
            feeder_mixes=MIXES,
            feeder_side=f.text("side"),
            feeder_start=np.array(start, dtype=np.int32),
            bus_ids=tuple(b.text("bus_id")[r] for r in order),
            bus_feeder=np.array([feeder[b.text("feeder")[r]] for r in order], dtype=np.int32),
            bus_parent=np.array([at[b.text("parent")[r]] for r in order], dtype=np.int32),
            bus_base_share=b.num("base_share")[rows],
            line_r_ohm=cond.num("r_ohm_km")[wires] * km,
            line_x_ohm=cond.num("x_ohm_km")[wires] * km,
            line_amp=cond.num("ampacity_a")[wires],
            line_km=km,
            line_conductor=tuple(b.text("conductor")[r] for r in order),
            vn_kv=m.f("vn_kv"),
            source_pu=m.f("source_pu"),
            pf_base=m.f("pf_base"),
            pf_charger=m.f("pf_charger"),
            thermal_tau_min=m.f("thermal_tau_min"),
            protection_pu=m.f("protection_pu"),
            v_min_pu=m.f("v_min_pu"),
            v_max_pu=m.f("v_max_pu"),
        )
    )


def _bus_order(f: Table, b: Table) -> tuple[list[int], list[int]]:
    """Rows of the bus table feeder by feeder, breadth-first from the source; and the (F + 1,) starts."""
    children: dict[tuple[str, str], list[int]] = {}
    for row, (feeder, parent) in enumerate(zip(b.text("feeder"), b.text("parent"), strict=True)):
        children.setdefault((feeder, parent), []).append(row)
    order: list[int] = []
    start = [0]
    for feeder in f.text("feeder_id"):
        queue = list(children[(feeder, SOURCE_BUS)])
        while queue:
            row = queue.pop(0)
            order.append(row)
            queue.extend(children.get((feeder, b.text("bus_id")[row]), []))
        start.append(len(order))
    return order, start
