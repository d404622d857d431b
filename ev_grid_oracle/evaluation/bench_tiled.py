"""A city k times as large, made from a pack by repeating its stations, feeders and demand.

Roads and zones stay: the copies stand at the same places, each with its own transformer, bus and queue.
Only for measuring how cost grows with size; such a pack has no files and no provenance.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack, Grid, Profiles, Stations


def _names(ids: tuple[str, ...], k: int) -> tuple[str, ...]:
    return ids + tuple(f"{name}x{copy}" for copy in range(2, k + 1) for name in ids)


def _shifted(index: npt.NDArray[np.int32], k: int, step: int) -> npt.NDArray[np.int32]:
    """Copies of `index`, each pointing `step` further; -1 (none) stays."""
    parts = [np.where(index < 0, index, index + copy * step) for copy in range(k)]
    return np.concatenate(parts).astype(np.int32)


def _stations(st: Stations, k: int, feeders: int, buses: int) -> Stations:
    columns = (
        "lat", "lon", "rate", "slots", "ac_socket", "ac_socket_kw", "site_limit_kw", "transformer_kva",
        "price_inr_kwh", "habit", "node", "zone",
    )  # fmt: skip
    columns_k: dict[str, Any] = {name: np.tile(getattr(st, name), k) for name in columns}
    return replace(
        st,
        ids=_names(st.ids, k),
        slugs=_names(st.slugs, k),
        names=_names(st.names, k),
        feeder=_shifted(st.feeder, k, feeders),
        bus=_shifted(st.bus, k, buses),
        **columns_k,
    )


def _grid(g: Grid, k: int) -> Grid:
    feeders, buses = len(g.feeder_ids), len(g.bus_ids)
    columns = (
        "feeder_substation", "feeder_kva", "feeder_base_frac", "bus_base_share", "line_r_ohm", "line_x_ohm",
        "line_amp", "line_km",
    )  # fmt: skip
    starts = [g.feeder_start[:-1] + copy * buses for copy in range(k)]
    columns_k: dict[str, Any] = {name: np.tile(getattr(g, name), k) for name in columns}
    return replace(
        g,
        feeder_ids=_names(g.feeder_ids, k),
        feeder_names=_names(g.feeder_names, k),
        feeder_mix=np.tile(g.feeder_mix, (k, 1)),
        feeder_side=g.feeder_side * k,
        feeder_start=np.concatenate([*starts, [k * buses]]).astype(np.int32),
        bus_ids=_names(g.bus_ids, k),
        bus_feeder=_shifted(g.bus_feeder, k, feeders),
        bus_parent=_shifted(g.bus_parent, k, buses),
        line_conductor=g.line_conductor * k,
        **columns_k,
    )


def _profiles(p: Profiles, k: int, stations: int) -> Profiles:
    """Walk-ins keep their choice table; its entries are dealt to the copies in turn."""
    zones, _kinds, entries = p.choice_station.shape
    turn = (np.arange(zones)[:, None, None] + np.arange(entries)[None, None, :]) % k
    chosen = np.where(p.choice_station < 0, -1, p.choice_station + turn * stations).astype(np.int32)
    return replace(p, usual_walkins=np.tile(p.usual_walkins, (1, 1, k)), choice_station=chosen)


def tiled_city(pack: CityPack, k: int) -> CityPack:
    """`pack` with k times its stations, feeders, demand and room for cars; k = 1 is the pack itself."""
    if k == 1:
        return pack
    c = pack.constants
    return replace(
        pack,
        id=f"{pack.id}-x{k}",
        stations=_stations(pack.stations, k, len(pack.grid.feeder_ids), len(pack.grid.bus_ids)),
        grid=_grid(pack.grid, k),
        profiles=_profiles(pack.profiles, k, len(pack.stations.ids)),
        constants=replace(
            c,
            requests_per_tick=c.requests_per_tick * k,
            walkins_per_tick=c.walkins_per_tick * k,
            max_cars=c.max_cars * k,
            max_pending=c.max_pending * k,
            n0_car_minutes=c.n0_car_minutes * k,
        ),
        scenarios=tuple(s for s in pack.scenarios if s.name == "baseline"),
    )
