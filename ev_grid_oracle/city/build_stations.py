"""Stations from their table, snapped to the road and hung on their buses."""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.city.freeze import frozen
from ev_grid_oracle.city.geo import nearest
from ev_grid_oracle.city.model import Grid, Roads, Stations
from ev_grid_oracle.city.tables import Table
from ev_grid_oracle.schema.enums import Rate


def build_stations(s: Table, roads: Roads, grid: Grid) -> Stations:
    lat, lon = s.num("lat"), s.num("lon")
    node = np.array(
        [
            nearest(roads.node_lat, roads.node_lon, a, b)[0]
            for a, b in zip(lat.tolist(), lon.tolist(), strict=True)
        ],
        dtype=np.int32,
    )
    feeder = {f: i for i, f in enumerate(grid.feeder_ids)}
    bus = {b: i for i, b in enumerate(grid.bus_ids)}
    return frozen(
        Stations(
            ids=s.text("station_id"),
            slugs=s.text("slug"),
            names=s.text("name"),
            lat=lat,
            lon=lon,
            rate=np.array([Rate[t.upper()] for t in s.text("type")], dtype=np.int32),
            slots=s.ints("slots"),
            ac_socket=s.ints("ac_socket"),
            ac_socket_kw=s.num("ac_socket_kw"),
            site_limit_kw=s.num("site_limit_kw"),
            transformer_kva=s.num("transformer_kva"),
            price_inr_kwh=s.num("price_inr_kwh"),
            habit=s.num("habit"),
            feeder=np.array([feeder[f] for f in s.text("feeder")], dtype=np.int32),
            bus=np.array([bus[b] for b in s.text("bus")], dtype=np.int32),
            node=node,
            zone=roads.node_zone[node],
        )
    )
