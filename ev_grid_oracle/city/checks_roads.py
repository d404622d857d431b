"""Checks of nodes, links, zones, corridors, congestion and speeds."""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ev_grid_oracle.city.checks_common import Tables, complete, ids, in_box, refs
from ev_grid_oracle.city.detmath import cos_det_deg
from ev_grid_oracle.city.faults import Sink
from ev_grid_oracle.city.geo import M_PER_DEG
from ev_grid_oracle.city.manifest import Manifest
from ev_grid_oracle.city.spec import DAY_TYPES, ROAD_CLASSES
from ev_grid_oracle.city.tables import Table

CROW_SLACK = 0.95  # a link shorter than this share of the straight line cannot be
CROW_MIN_M = 50.0  # below it, rounding of coordinates weighs more


def check_roads(tables: Tables, m: Manifest | None, sink: Sink) -> None:
    n, lk, z = (tables.get(f"{t}.csv") for t in ("nodes", "links", "zones"))
    for name in ("nodes.csv", "zones.csv", "places.csv"):
        t = tables.get(name)
        if t is not None:
            in_box(t, m, sink)
    zones = ids(tables, "zones.csv", "zone_id")
    if n is not None:
        refs(n, "zone", zones, "zones.csv", sink)
    if n is not None and z is not None and n.has("zone") and z.has("zone_id"):
        used = set(n.text("zone"))
        for zone, line in zip(z.text("zone_id"), z.lines, strict=True):
            if zone not in used:
                sink.add(
                    "P_EMPTY_ZONE",
                    z.file,
                    "zone_id",
                    line,
                    f"No node lies in {zone[:60]!r}.",
                    "Demand needs a node to start from.",
                )
    if lk is not None:
        nodes = ids(tables, "nodes.csv", "node_id")
        for end in ("from_node", "to_node"):
            refs(lk, end, nodes, "nodes.csv", sink)
        corridors = ids(tables, "corridors.csv", "corridor_id")
        refs(lk, "corridor", corridors, "corridors.csv", sink, blank=True)
        if n is not None:
            _graph(n, lk, sink)
    if z is not None and z.has("side"):
        sides = tuple(dict.fromkeys(z.text("side")))
        c = tables.get("congestion.csv")
        if c is not None:
            refs(c, "zone_side", sides, "zones.csv (side)", sink)
            complete(c, {"day_type": DAY_TYPES, "class": ROAD_CLASSES, "zone_side": sides}, sink)
    s = tables.get("speeds.csv")
    if s is not None:
        complete(s, {"class": ROAD_CLASSES}, sink)


def _graph(n: Table, lk: Table, sink: Sink) -> None:
    """Self-loops, impossible lengths, and nodes outside the one strongly connected component."""
    if not (n.has("node_id") and lk.has("from_node", "to_node")):
        return
    at = n.index("node_id")
    pairs = [
        (at[a], at[b], i)
        for i, (a, b) in enumerate(zip(lk.text("from_node"), lk.text("to_node"), strict=True))
        if a in at and b in at
    ]
    for a, b, i in pairs:
        if a == b:
            sink.add(
                "P_SELF_LOOP", lk.file, "to_node", lk.lines[i], "The link ends where it starts.", "Remove it."
            )
    if n.has("lat", "lon") and lk.has("length_m"):
        _lengths(n, lk, pairs, sink)
    size = len(n)
    if not size:
        return
    frm = np.array([p[0] for p in pairs], dtype=np.int64)
    to = np.array([p[1] for p in pairs], dtype=np.int64)
    graph = coo_array((np.ones(len(pairs)), (frm, to)), shape=(size, size)).tocsr()
    _, label = connected_components(graph, directed=True, connection="strong")
    main = int(np.bincount(label).argmax())
    for i in np.flatnonzero(label != main).tolist():
        node = n.text("node_id")[i]
        sink.add(
            "P_NOT_CONNECTED",
            n.file,
            "node_id",
            n.lines[i],
            f"Node {node[:60]!r} cannot be reached from, or cannot reach, the rest.",
            "Add the missing direction.",
        )


def _lengths(n: Table, lk: Table, pairs: list[tuple[int, int, int]], sink: Sink) -> None:
    lat, lon, length = n.num("lat").tolist(), n.num("lon").tolist(), lk.num("length_m").tolist()
    finite = [x for x in lat if -90 <= x <= 90]
    scale = M_PER_DEG * cos_det_deg(finite[0]) if finite else M_PER_DEG
    for a, b, i in pairs:
        dy, dx = (lat[a] - lat[b]) * M_PER_DEG, (lon[a] - lon[b]) * scale
        crow = (dx * dx + dy * dy) ** 0.5
        if crow > CROW_MIN_M and length[i] < crow * CROW_SLACK:
            sink.add(
                "P_TOO_SHORT",
                lk.file,
                "length_m",
                lk.lines[i],
                f"{length[i]:g} m, but its ends are {crow:.0f} m apart.",
                "Metres, not kilometres?",
            )
