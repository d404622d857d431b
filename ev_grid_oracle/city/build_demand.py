"""Profiles over day and year, the walk-ins' choice tables, and what follows from both."""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.city.choice import DC, NO_DC, choice_table, shares, zone_station_minutes
from ev_grid_oracle.city.freeze import frozen
from ev_grid_oracle.city.interpolate import day_curve
from ev_grid_oracle.city.manifest import Manifest
from ev_grid_oracle.city.model import F64, Personas, Profiles, Roads, Stations, Vehicles, Zones
from ev_grid_oracle.city.spec import DAY_TYPES, HOURS, MIXES, RATES, SEASONS
from ev_grid_oracle.city.tables import Table, minutes
from ev_grid_oracle.city.tariff import TariffZone, factor_by_slot
from ev_grid_oracle.schema.axes import TICKS_PER_DAY

TICKS_PER_HOUR = TICKS_PER_DAY // 24


def _rows(t: Table, *key: str) -> dict[tuple[str, ...], list[float]]:
    """The 24 hourly values of each row, by the row's key."""
    keys = zip(*(t.text(k) for k in key), strict=True)
    return {k: [float(t.num(h)[i]) for h in HOURS] for i, k in enumerate(keys)}


def demand_shape(t: Table) -> F64:
    """(2, 288) demand over its weekday evening mean."""
    return np.array(
        [
            day_curve(
                [float(x) for d, x in zip(t.text("day_type"), t.num("factor"), strict=True) if d == day]
            )
            for day in DAY_TYPES
        ]
    )


def start_occupancy(t: Table) -> F64:
    """(2, 24, 3) occupancy by day type, hour and class of the slots."""
    out = np.zeros((len(DAY_TYPES), 24, len(RATES)))
    for i, (day, hour) in enumerate(zip(t.text("day_type"), t.num("hour"), strict=True)):
        for k, rate in enumerate(RATES):
            out[DAY_TYPES.index(day), int(hour), k] = float(t.num(rate)[i])
    return out


def tariff_zones(t: Table) -> tuple[TariffZone, ...]:
    """The zones of `tariff.csv`; values are factors on station prices."""
    cells = zip(t.text("start"), t.text("end"), t.num("factor"), strict=True)
    return tuple(TariffZone(minutes(a), minutes(b), float(x)) for a, b, x in cells)


def no_dc_share(personas: Personas, vehicles: Vehicles) -> float:
    """Share of walk-ins whose vehicle has no DC inlet."""
    total = 0.0
    for p in range(len(personas.names)):
        before = 0.0
        for v in range(len(vehicles.names)):
            share = float(personas.vehicle_cum[p, v]) - before
            before = float(personas.vehicle_cum[p, v])
            if vehicles.dc_kw[v] == 0:
                total += float(personas.walkin_share[p]) * share
    return total


def usual_walkins(shape: F64, choice: F64, weight: F64, no_dc: float, per_tick: float) -> F64:
    """(2, 24, S) walk-ins per hour an operator knows from its history, events and queues apart.

    Args:
        shape: (2, 288) demand shape. choice: (Z, 2, S) choice shares. weight: (Z,) walk-in weights.
        no_dc: share of walk-ins without a DC inlet. per_tick: city's walk-ins a tick at shape 1.
    """
    city = np.zeros(choice.shape[2])
    total = 0.0
    for z in range(choice.shape[0]):
        city += float(weight[z]) * (no_dc * choice[z, NO_DC] + (1.0 - no_dc) * choice[z, DC])
        total += float(weight[z])
    city /= total
    hourly = np.zeros((len(DAY_TYPES), 24))
    for k in range(TICKS_PER_HOUR):
        hourly += shape[:, k::TICKS_PER_HOUR]
    return hourly[:, :, None] * (per_tick * city)[None, None, :]


def build_profiles(
    tables: dict[str, Table],
    m: Manifest,
    roads: Roads,
    zones: Zones,
    stations: Stations,
    personas: Personas,
    vehicles: Vehicles,
) -> Profiles:
    shape = demand_shape(tables["demand_shape.csv"])
    base = _rows(tables["load_shapes.csv"], "kind", "day_type")
    green = _rows(tables["renewable.csv"], "season", "part")
    lv = tables["load_levels.csv"]
    level = dict(
        zip(zip(lv.text("season"), lv.text("day_type"), strict=True), lv.num("level").tolist(), strict=True)
    )
    free = zone_station_minutes(roads, zones, stations.node)
    cum, station = choice_table(
        free,
        stations,
        m.f("choice_travel_min"),
        m.f("choice_price_inr"),
        m.f("choice_reference_congestion"),
        m.i("choice_nearest"),
    )
    usual = usual_walkins(
        shape,
        shares(cum, station, len(stations.ids)),
        zones.walkin_weight,
        no_dc_share(personas, vehicles),
        m.f("walkins_per_tick"),
    )
    return frozen(
        Profiles(
            demand_shape=shape,
            start_occupancy=start_occupancy(tables["start_occupancy.csv"]),
            base_shape=np.array([[day_curve(base[(k, d)]) for k in MIXES] for d in DAY_TYPES]),
            base_level=np.array([[level[(s, d)] for d in DAY_TYPES] for s in SEASONS]),
            solar_share=np.array([day_curve(green[(s, "solar")]) for s in SEASONS]),
            other_re_share=np.array([day_curve(green[(s, "other")]) for s in SEASONS]),
            carbon_thermal_g_kwh=m.f("carbon_thermal_g_kwh"),
            tariff_factor=np.array(factor_by_slot(tariff_zones(tables["tariff.csv"]), TICKS_PER_DAY)),
            weather_sd=np.array([m.f(f"cloud_sd_{s}") for s in SEASONS]),
            usual_walkins=usual,
            choice_cum=cum,
            choice_station=station,
        )
    )
