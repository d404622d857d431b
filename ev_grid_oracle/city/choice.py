"""The rule by which a walk-in picks a station, as tables per zone.

Attractiveness of a station to a driver in a zone:
``exp(-travel / choice_travel_min - price / choice_price_inr + habit)``, travel being free-flow minutes
(mean over the zone's nodes) times `choice_reference_congestion`, among the nearest `choice_nearest`
stations where the car's plug fits. The queue posted at the tick's start acts on top, in the simulator.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra

from ev_grid_oracle.city.detmath import exp_det
from ev_grid_oracle.city.model import F64, I32, Roads, Stations, Zones

NO_DC, DC = 0, 1
"""Second axis of the tables: cars without a DC inlet, and the others."""


def zone_station_minutes(roads: Roads, zones: Zones, node: I32) -> F64:
    """(Z, S) free-flow minutes from a zone (mean over its nodes) to each station's node."""
    n = len(roads.node_names)
    minutes = roads.link_m / (roads.free_flow_kmh[roads.link_class] * 1000.0) * 60.0
    # csr would add up parallel links: keep the quickest of each pair
    order = np.lexsort((minutes, roads.link_to, roads.link_from))
    pair = roads.link_from.astype(np.int64) * n + roads.link_to
    first = order[np.concatenate(([True], pair[order][1:] != pair[order][:-1]))]
    # reversed links: one search from a station gives the way to it from everywhere
    graph = coo_array(
        (minutes[first], (roads.link_to[first].astype(np.int64), roads.link_from[first].astype(np.int64))),
        shape=(n, n),
    ).tocsr()
    nodes, back = np.unique(node, return_inverse=True)
    to_station = np.asarray(dijkstra(graph, indices=nodes), dtype=np.float64)[back]  # (S, N)
    out = np.zeros((len(zones.ids), len(node)))
    for z in range(len(zones.ids)):
        mine = zones.node_list[zones.node_start[z] : zones.node_start[z + 1]]
        for k in mine:  # one after the other: the order of a sum is part of its last bit
            out[z] += to_station[:, k]
        out[z] /= float(len(mine))
    return out


def choice_table(
    minutes: F64, stations: Stations, travel_min: float, price_inr: float, congestion: float, nearest: int
) -> tuple[F64, I32]:
    """Cumulative choice shares of each zone's nearest stations.

    Args:
        minutes: (Z, S) free-flow minutes.
        travel_min: travel minutes that divide attractiveness by e.
        price_inr: INR per kWh that divide it by e.
        congestion: expected travel time over free flow.
        nearest: how many stations a driver considers.

    Returns:
        cum: (Z, 2, M) cumulative shares, M = min(nearest, S); the last is exactly 1.
        station: (Z, 2, M) station indices, nearest first. Where fewer than M stations fit, the last
            one that fits is repeated with a share of 0.
    """
    z_count, s_count = minutes.shape
    m = min(nearest, s_count)
    utility = stations.habit - minutes * congestion / travel_min - stations.price_inr_kwh / price_inr
    # relative to the best of the zone, so that no exponential leaves its range
    weight = exp_det(utility - utility.max(axis=1, keepdims=True))
    fits = np.stack([stations.ac_socket == 1, np.ones(s_count, dtype=bool)])
    cum = np.ones((z_count, 2, m))
    station = np.zeros((z_count, 2, m), dtype=np.int32)
    for z in range(z_count):
        order = np.argsort(minutes[z], kind="stable")
        for c in (NO_DC, DC):
            near = order[fits[c][order]][:m]
            total, sums = 0.0, []
            for s in near:
                total += float(weight[z, s])
                sums.append(total)
            k = len(near)
            station[z, c, :k] = near
            station[z, c, k:] = near[-1]
            cum[z, c, :k] = np.array(sums) / total
            cum[z, c, k - 1 :] = 1.0
    return cum, station


def shares(cum: F64, station: I32, s_count: int) -> F64:
    """(Z, 2, S) share of each station in a zone's choices, from the tables of `choice_table`."""
    part = cum.copy()
    part[:, :, 1:] -= cum[:, :, :-1]
    out = np.zeros((cum.shape[0], 2, s_count))
    for z in range(cum.shape[0]):
        for c in (NO_DC, DC):
            for j in range(cum.shape[2]):
                out[z, c, station[z, c, j]] += part[z, c, j]
    return out
