"""What each of the two agents sees of the city: its own part and no more, as JSON-safe dictionaries.

The grid operator sees feeders, buses and totals; the dispatcher sees cars, stations and the roads' news. Which
station hangs on which feeder is public. Neither sees what the other sees but by message, so the dispatcher's
candidates carry no feeder headroom and no score that knows of feeders.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.schema.observation import Announcement, Candidates, GridState, Observation
from ev_grid_oracle.sim.world import World

OPERATOR = "grid_operator"
DISPATCHER = "fleet_dispatcher"
AGENTS = (OPERATOR, DISPATCHER)
"""In this order everywhere."""

NEWS = {
    OPERATOR: (
        "base_load", "feeder_rating", "transformer_rating", "solar", "heat", "rain", "feeder_out",
    ),
    DISPATCHER: ("demand", "site_limit", "slots", "price", "link_speed", "link_closed", "rain"),
}  # fmt: skip
"""Kinds of announcement that each agent is told."""
CARS_SHOWN = 8
CANDIDATES_SHOWN = 6
DECIMALS = 4  # of every number in a view


def operator_view(obs: Observation, city: PackedCity, world: World) -> dict[str, object]:
    """Feeders, buses and totals at the start of the tick; fractions of nominal ratings unless said."""
    s, f = obs.state, obs.state.feeders
    volts = bus_voltages(city, world)
    buses = city.pack.grid.bus_feeder
    heat = np.zeros(len(obs.feeder_ids))
    np.maximum.at(heat, s.stations.feeder, f.transformer_heat_frac)
    return {
        **_clock(s),
        "totals": {
            "grid_load_pct": shown(s.grid_load_frac),
            "ev_kw": shown(s.stations.load_kw.sum()),
            "renewable_frac": shown(s.renewable_frac),
            "carbon_g_kwh": shown(s.carbon_g_kwh),
            "renewable_next_frac": numbers(s.renewable_next_frac),
        },
        "feeders": {
            "id": list(obs.feeder_ids),
            "load_pct": numbers(f.load_frac),
            "limit_pct": numbers(f.limit_frac),
            "heat_frac": numbers(f.heat_frac),
            "base_frac": numbers(f.base_frac),
            "base_next_frac": [numbers(row) for row in f.base_next_frac],
            "rating_kva": numbers(f.rating_kva),
            "min_voltage_pu": numbers(f.min_voltage_pu),
            "transformer_heat_frac": numbers(heat),
            "stations": [
                [name for name, k in zip(obs.station_ids, s.stations.feeder, strict=True) if k == n]
                for n in range(len(obs.feeder_ids))
            ],
        },
        "buses": {
            "id": list(city.pack.grid.bus_ids),
            "feeder": buses.tolist(),
            "voltage_pu": numbers(np.where(np.isnan(f.min_voltage_pu[buses]), np.nan, volts)),
        },
        "announcements": _news(obs.announcements, OPERATOR),
    }


def dispatcher_view(obs: Observation) -> dict[str, object]:
    """Cars and stations at the start of the tick; at most 8 cars in detail, 6 candidates each."""
    s = obs.state.stations
    return {
        **_clock(obs.state),
        "stations": {
            "id": list(obs.station_ids),
            "feeder": [obs.feeder_ids[k] for k in s.feeder.tolist()],
            "type": s.rate.tolist(),
            "occupied": s.occupied.tolist(),
            "queued": s.queued.tolist(),
            "inbound": s.inbound.tolist(),
            "slots_up": s.slots_up.tolist(),
            "supplied": s.supplied.tolist(),
            "load_kw": numbers(s.load_kw),
            "limit_kw": numbers(s.limit_kw),
            "cap_kw": numbers(s.cap_kw),
            "price_inr_kwh": numbers(s.price_inr_kwh),
            "first_free_min": numbers(s.slot_free_min[:, 0]),
            "usual_walkins_h": numbers(s.usual_walkins_h),
            "ratio": numbers(s.ratio),
        },
        "pending": _pending(obs),
        "pending_ids": list(obs.pending_ids),
        "walkins_ratio": shown(obs.state.ratio_city),
        "announcements": _news(obs.announcements, DISPATCHER),
    }


def bus_voltages(city: PackedCity, world: World) -> npt.NDArray[np.float64]:
    """(B,) bus voltages of environment 0 with charging, pu."""
    rows, lanes = city.bus_position, city.pack.grid.bus_feeder
    re, im = (world.view(name)[0].astype(np.float64)[rows, lanes] for name in ("V_RE", "V_IM"))
    volts: npt.NDArray[np.float64] = np.sqrt(re * re + im * im)
    return volts


def shown(value: float) -> float | None:
    """A number as the agents see it, and as their claims are judged by; None where it is not finite."""
    return round(float(value), DECIMALS) if math.isfinite(value) else None


def numbers(values: npt.NDArray[np.float64]) -> list[float | None]:
    """Numbers as the agents see them."""
    return [shown(v) for v in np.asarray(values, np.float64).tolist()]


def _clock(s: GridState) -> dict[str, object]:
    return {
        "tick": s.tick,
        "ticks": s.ticks,
        "minute_of_day": s.minute_of_day,
        "day_type": s.day_type,
        "season": s.season,
    }


def _news(told: tuple[Announcement, ...], agent: str) -> list[dict[str, object]]:
    return [
        {"kind": a.kind, "in_ticks": a.in_ticks, "targets": list(a.targets), "value": a.value, "sd": a.sd, "label": a.label}
        for a in told
        if a.kind in NEWS[agent]
    ]  # fmt: skip


def _pending(obs: Observation) -> dict[str, object]:
    """The first cars in columns of equal length; of each the nearest stations in minutes to charged."""
    cars = obs.pending[:CARS_SHOWN]
    out: dict[str, object] = {name: [getattr(car, name) for car in cars] for name in _CAR_FACTS}
    for name in _CAR_NUMBERS:
        values = [getattr(car, name) for car in cars]
        out[name] = [None if v is None else shown(v) for v in values]
    tables = [_candidates(obs.candidates(k), obs.station_ids) for k in range(len(cars))]
    out["candidates"] = {name: [t[name] for t in tables] for name in ("station_id", *_CANDIDATE_NUMBERS)}
    return out


_CAR_FACTS = ("ev_id", "persona", "vehicle", "critical", "emergency", "flexible", "deferrals")
_CAR_NUMBERS = (
    "soc_frac", "target_frac", "need_kwh", "urgency_frac", "ready_in_min", "patience_left_min", "waited_min",
)  # fmt: skip
_CANDIDATE_NUMBERS = (
    "travel_min", "own_min", "wait_min", "free_at_arrival", "free_30_later", "walkins_until", "walkins_hour",
    "site_headroom_kw",
)  # fmt: skip


def _candidates(table: Candidates, ids: tuple[str, ...]) -> dict[str, list[object]]:
    """The nearest in minutes to charged, as far as cars and stations tell, with one decimal."""
    total = np.where(table.usable, table.travel_min + table.wait_min + table.own_min, np.inf)
    order = [s for s in np.argsort(total, kind="stable").tolist() if table.usable[s]][:CANDIDATES_SHOWN]
    out: dict[str, list[object]] = {"station_id": [ids[s] for s in order]}
    for name in _CANDIDATE_NUMBERS:
        out[name] = [None if v is None else round(v, 1) for v in numbers(getattr(table, name)[order])]
    return out
