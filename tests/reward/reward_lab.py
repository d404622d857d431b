"""The laboratory of the reward tests: N0 = 1, so that terms read in car-minutes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from inject import Rig, edited, silent

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.reward.terms import TERM_NAMES

CENTRE, MARKET, NORTH, LAKE = range(4)  # fast, ultra_fast, slow, fast
ETA = 0.92  # battery efficiency of the toy


def lab(city: CityPack, **constants: object) -> CityPack:
    """Every car alike (60 kWh, 30 kW DC, 7 kW AC, no taper), N0 = 1: terms are in car-minutes."""
    city = edited(city, "vehicles", battery_kwh=60.0, ac_kw=7.0, dc_kw=30.0, taper_knee=0.99, taper_floor=1.0)
    city = edited(city, "stations", slots=4, site_limit_kw=5000.0, transformer_kva=5000.0)
    return silent(city, n0_car_minutes=1.0, **constants)


def terms(rig: Rig) -> dict[str, float]:
    """Terms of the last tick by name, in car-minutes."""
    return dict(zip(TERM_NAMES, rig.view("TERM").tolist(), strict=True))


def flat_base(city: CityPack) -> CityPack:
    """The same base load all day."""
    return replace(city, profiles=replace(city.profiles, base_shape=np.ones_like(city.profiles.base_shape)))


def charged(city: CityPack, n: int = 4, station: int = CENTRE, ticks: int = 1, **kw: object) -> Rig:
    """`n` cars of 30 kW at a station from minute 0."""
    rig = Rig(city, **kw)
    for _ in range(n):
        rig.car(station=station, arrive=0, soc=0.05, target=1.0, patience=500)
    for _ in range(ticks):
        rig.step()
    return rig
