"""What each of the two agents sees, as one float32 vector: its own part of the city and the directive in force.

Every number is a fact of the `Observation` divided by its scale and cut to [-1, 10]; what does not exist is 0,
what is infinite the upper bound.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.ma_directive import Directive
from ev_grid_oracle.interfaces.spaces import SLOTS
from ev_grid_oracle.schema.enums import DayType, Season
from ev_grid_oracle.schema.observation import Observation

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]

LOW, HIGH = -1.0, 10.0
CLOCK_COLUMNS = ("share of the episode played", "minute of the day / 1440", "sunday", "season / 3")
TOTAL_COLUMNS = (
    "grid load",
    "EV MW",
    "renewable share",
    "its forecast in 30 min",
    "in 60 min",
    "kgCO2 / kWh",
)
OPERATOR_COLUMNS = (
    "load", "present over nominal rating", "heat", "base load", "its forecast in 30 min", "in 60 min",
    "(1 - lowest voltage) x 10, 0 without supply", "largest transformer heat", "cap of the directive, 0 none",
)  # fmt: skip
"""Of each feeder, fractions of its nominal rating unless said; after the clock and the totals."""
DISPATCHER_COLUMNS = (
    "occupied / 16", "queued / 8", "inbound / 8", "usable slots / 16", "supplied", "power over site limit",
    "slot cap / 150 kW, the bound: none", "price / 20 INR", "minutes until a slot frees / 60", "usual walk-ins / 8",
    "today's ratio", "class / 2", "blacklisted",
)  # fmt: skip
"""Of each station, after the clock."""
CAR_COLUMNS = (
    "present", "soc", "target", "need / 50 kWh", "AC / 22 kW", "DC / 150 kW", "urgency", "critical", "emergency",
    "flexible", "patience left / 60", "waited / 60",
)  # fmt: skip
"""Of each of the 8 first pending cars."""
CANDIDATE_COLUMNS = ("usable", "travel / 60 min", "own / 60 min", "wait / 60 min", "free at arrival / 8")
"""Of each of those cars, for each station."""
ORDER_COLUMNS = ("cap of the city's load, 0 none", "price factor")
"""The rest of the directive, last."""


def operator_size(city: CityPack) -> int:
    """Length of the operator's vector."""
    n_f = len(city.grid.feeder_ids)
    return len(CLOCK_COLUMNS) + len(TOTAL_COLUMNS) + n_f * len(OPERATOR_COLUMNS) + len(ORDER_COLUMNS)


def dispatcher_size(city: CityPack) -> int:
    """Length of the dispatcher's vector."""
    n_s, n_f = len(city.stations.ids), len(city.grid.feeder_ids)
    cars = SLOTS * (len(CAR_COLUMNS) + n_s * len(CANDIDATE_COLUMNS))
    return len(CLOCK_COLUMNS) + n_s * len(DISPATCHER_COLUMNS) + cars + n_f + len(ORDER_COLUMNS)


def operator_vector(obs: Observation, city: CityPack, directive: Directive) -> F32:
    """(N,) the operator's vector."""
    s, f = obs.state, obs.state.feeders
    heat = np.zeros(len(obs.feeder_ids))
    np.maximum.at(heat, s.stations.feeder, f.transformer_heat_frac)
    volts = np.where(np.isnan(f.min_voltage_pu), 0.0, (1.0 - f.min_voltage_pu) * 10.0)
    totals = (
        s.grid_load_frac, s.stations.load_kw.sum() / 1000.0, s.renewable_frac, s.renewable_next_frac[6],
        s.renewable_next_frac[12], s.carbon_g_kwh / 1000.0,
    )  # fmt: skip
    feeders = np.stack(
        [f.load_frac, f.limit_frac, f.heat_frac, f.base_frac, f.base_next_frac[:, 6], f.base_next_frac[:, 12],
         volts, heat, _caps(city, directive)],
        axis=1,
    )  # fmt: skip
    return _cut(_clock(obs), totals, feeders, _order(directive))


def dispatcher_vector(obs: Observation, city: CityPack, directive: Directive) -> F32:
    """(N,) the dispatcher's vector."""
    s = obs.state.stations
    listed = np.isin(np.array(obs.station_ids), np.array(directive.station_blacklist, dtype=str))
    stations = np.stack(
        [s.occupied / 16.0, s.queued / 8.0, s.inbound / 8.0, s.slots_up / 16.0, s.supplied,
         s.load_kw / np.maximum(s.limit_kw, 1.0), s.cap_kw / 150.0, s.price_inr_kwh / 20.0,
         s.slot_free_min[:, 0] / 60.0, s.usual_walkins_h / 8.0, s.ratio, s.rate / 2.0, listed],
        axis=1,
    )  # fmt: skip
    cars = np.zeros((SLOTS, len(CAR_COLUMNS)))
    tables = np.zeros((SLOTS, len(obs.station_ids), len(CANDIDATE_COLUMNS)))
    for k, car in enumerate(() if obs.done else obs.pending[:SLOTS]):
        cars[k] = (
            1.0, car.soc_frac, car.target_frac, car.need_kwh / 50.0, car.ac_kw / 22.0, car.dc_kw / 150.0,
            car.urgency_frac, car.critical, car.emergency, car.flexible, car.patience_left_min / 60.0,
            car.waited_min / 60.0,
        )  # fmt: skip
        t = obs.candidates(k)
        tables[k] = np.stack(
            [t.usable, np.where(np.isnan(t.travel_min), np.inf, t.travel_min) / 60.0, t.own_min / 60.0,
             t.wait_min / 60.0, t.free_at_arrival / 8.0],
            axis=1,
        )  # fmt: skip
    return _cut(_clock(obs), stations, cars, tables, _caps(city, directive), _order(directive))


def _clock(obs: Observation) -> tuple[float, ...]:
    s = obs.state
    season = Season[s.season.upper()] / 3.0
    return (
        s.tick / s.ticks,
        s.minute_of_day / 1440.0,
        float(s.day_type == DayType.SUNDAY.name.lower()),
        season,
    )


def _caps(city: CityPack, directive: Directive) -> F64:
    return np.array([directive.feeder_caps.get(name, 0.0) for name in city.grid.feeder_ids])


def _order(directive: Directive) -> tuple[float, float]:
    return (directive.max_grid_load_pct or 0.0, directive.price_mult)


def _cut(*parts: npt.ArrayLike) -> F32:
    whole = np.concatenate([np.asarray(p, np.float64).reshape(-1) for p in parts])
    cut: F32 = np.clip(whole, LOW, HIGH).astype(np.float32)
    return cut
