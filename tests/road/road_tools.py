"""A city on other roads, for networks that can be checked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ev_grid_oracle.city.model import CityPack

ONE_WAY = ((1, 2), (2, 3), (3, 4), (4, 2), (5, 1))


def city_with_roads(
    city: CityPack,
    links: tuple[tuple[int, int], ...],
    metres: tuple[float, ...],
    classes: tuple[int, ...],
    n: int,
    at: int = 0,
) -> CityPack:
    """`city` on other roads: nodes 0 to n - 1 on a line, all of the first zone, all stations at node `at`."""
    roads = city.roads
    k = len(links)
    i32 = np.int32
    small = replace(
        roads,
        node_names=tuple(f"Node {v}" for v in range(n)),
        node_lat=np.full(n, float(roads.node_lat[0])),
        node_lon=float(roads.node_lon[0]) + 0.01 * np.arange(n),
        node_zone=np.zeros(n, i32),
        link_from=np.array([a for a, _ in links], i32),
        link_to=np.array([b for _, b in links], i32),
        link_names=tuple(f"Road {v}" for v in range(k)),
        link_class=np.array(classes, i32),
        link_lanes=np.ones(k, i32),
        link_m=np.array(metres, float),
        link_corridor=np.full(k, -1, i32),
        link_low=np.zeros(k, i32),
        link_side=np.zeros(k, i32),
        corridor_ids=(),
        corridor_names=(),
    )
    zones = len(city.zones.ids)
    start = np.zeros(zones + 1, i32)
    start[1:] = n
    return replace(
        city,
        roads=small,
        zones=replace(city.zones, node_start=start, node_list=np.arange(n, dtype=i32)),
        stations=replace(
            city.stations,
            node=np.full(len(city.stations.ids), at, i32),
            zone=np.zeros_like(city.stations.zone),
        ),
        scenarios=tuple(replace(s, events=()) for s in city.scenarios),
    )
