"""Zones, nodes and links, and the congestion table."""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.city.freeze import frozen
from ev_grid_oracle.city.model import F64, I32, Roads, Zones
from ev_grid_oracle.city.spec import DAY_TYPES, HOURS, ROAD_CLASSES
from ev_grid_oracle.city.tables import Table


def _codes(values: tuple[str, ...], index: dict[str, int]) -> I32:
    """Index of each value; -1 for a blank."""
    return np.array([index[v] if v else -1 for v in values], dtype=np.int32)


def build_zones(z: Table, n: Table) -> Zones:
    zone = _codes(n.text("zone"), z.index("zone_id"))
    count = np.bincount(zone, minlength=len(z))
    return frozen(
        Zones(
            ids=z.text("zone_id"),
            names=z.text("name"),
            sides=z.text("side"),
            lat=z.num("lat"),
            lon=z.num("lon"),
            request_weight=z.num("request_weight"),
            walkin_weight=z.num("walkin_weight"),
            node_start=np.concatenate(([0], np.cumsum(count))).astype(np.int32),
            node_list=np.argsort(zone, kind="stable").astype(np.int32),
        )
    )


def build_roads(z: Table, n: Table, lk: Table, cor: Table, con: Table, sp: Table) -> Roads:
    sides = tuple(dict.fromkeys(z.text("side")))
    side = _codes(z.text("side"), {s: i for i, s in enumerate(sides)})
    node_zone = _codes(n.text("zone"), z.index("zone_id"))
    at = n.index("node_id")
    frm = _codes(lk.text("from_node"), at)
    classes = {c: i for i, c in enumerate(ROAD_CLASSES)}
    speed = dict(zip(sp.text("class"), sp.num("free_flow_kmh").tolist(), strict=True))
    return frozen(
        Roads(
            node_names=n.text("name"),
            node_lat=n.num("lat"),
            node_lon=n.num("lon"),
            node_zone=node_zone,
            link_from=frm,
            link_to=_codes(lk.text("to_node"), at),
            link_names=lk.text("name"),
            link_class=_codes(lk.text("class"), classes),
            link_lanes=lk.ints("lanes"),
            link_m=lk.num("length_m"),
            link_corridor=_codes(lk.text("corridor"), cor.index("corridor_id")),
            link_low=lk.ints("low_lying"),
            link_side=side[node_zone[frm]],
            corridor_ids=cor.text("corridor_id"),
            corridor_names=cor.text("name"),
            sides=sides,
            free_flow_kmh=np.array([speed[c] for c in ROAD_CLASSES]),
            congestion=_congestion(con, sides),
        )
    )


def _congestion(con: Table, sides: tuple[str, ...]) -> F64:
    """(2, 5, sides, 24) from one row per day type, class and side."""
    row = {
        k: i
        for i, k in enumerate(zip(*(con.text(c) for c in ("day_type", "class", "zone_side")), strict=True))
    }
    hours = np.stack([con.num(h) for h in HOURS], axis=1)
    out = np.empty((len(DAY_TYPES), len(ROAD_CLASSES), len(sides), len(HOURS)))
    for i, d in enumerate(DAY_TYPES):
        for j, c in enumerate(ROAD_CLASSES):
            for k, s in enumerate(sides):
                out[i, j, k] = hours[row[(d, c, s)]]
    return out
