"""Toytown as a laboratory: every vehicle and every station alike, nothing happens by itself."""

from __future__ import annotations

from inject import edited, silent

from ev_grid_oracle.city.model import CityPack

CENTRE, MARKET, NORTH, LAKE = range(4)  # fast, ultra_fast, slow, fast
ETA = 0.92  # battery efficiency of the toy


def tiny(
    city: CityPack,
    *,
    battery: float = 7.0,
    ac: float = 7.0,
    dc: float = 0.0,
    slots: int = 1,
    limit: float = 5000.0,
    knee: float = 0.99,
    floor: float = 1.0,
    **constants: object,
) -> CityPack:
    """Every vehicle alike; every station with `slots` bays and `limit` kW."""
    city = edited(
        city, "vehicles", battery_kwh=battery, ac_kw=ac, dc_kw=dc, taper_knee=knee, taper_floor=floor
    )
    city = edited(city, "stations", slots=slots, site_limit_kw=limit, transformer_kva=limit)
    return silent(city, **constants)


def thirty_minutes(city: CityPack) -> CityPack:
    """Cars that charge exactly 30 minutes: 3.22 kWh of 92 % from 7 kW."""
    return tiny(city, battery=7.0 * ETA, ac=7.0)
