"""Vehicle models and personas."""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.city.freeze import frozen
from ev_grid_oracle.city.model import F64, Personas, Vehicles
from ev_grid_oracle.city.tables import Table


def build_vehicles(v: Table) -> Vehicles:
    return frozen(
        Vehicles(
            names=v.text("name"),
            battery_kwh=v.num("battery_kwh"),
            ac_kw=v.num("ac_kw"),
            dc_kw=v.num("dc_kw"),
            wh_km=v.num("wh_km"),
            taper_knee=v.num("taper_knee"),
            taper_floor=v.num("taper_floor"),
            to_full=(v.num("wheels") <= 3.0).astype(np.float64),
        )
    )


def build_personas(p: Table, mix: Table, v: Table) -> Personas:
    return frozen(
        Personas(
            names=p.text("persona"),
            fleet_keys=p.text("fleet_key"),
            urgency_bias=p.num("urgency_bias"),
            patience_lo_min=p.ints("patience_lo_min"),
            patience_hi_min=p.ints("patience_hi_min"),
            price_sensitivity=p.num("price_sensitivity"),
            soc_lo=p.num("soc_lo"),
            soc_mode=p.num("soc_mode"),
            soc_hi=p.num("soc_hi"),
            target_lo=p.num("target_lo"),
            target_hi=p.num("target_hi"),
            emergency=p.ints("emergency"),
            flexible_share=p.num("flexible_share"),
            request_share=p.num("request_share"),
            walkin_share=p.num("walkin_share"),
            vehicle_cum=_cumulative(p, mix, v),
        )
    )


def _cumulative(p: Table, mix: Table, v: Table) -> F64:
    """(P, V) cumulative shares. From a persona's last model on they are exactly 1, so that no draw
    can fall past the end or on a model with share 0."""
    row, col = p.index("persona"), v.index("vehicle_id")
    share = np.zeros((len(p), len(v)))
    for who, what, x in zip(mix.text("persona"), mix.text("vehicle"), mix.num("share"), strict=True):
        share[row[who], col[what]] = x
    cum = np.cumsum(share, axis=1)
    for i in range(len(p)):
        cum[i, int(np.flatnonzero(share[i])[-1]) :] = 1.0
    return cum
