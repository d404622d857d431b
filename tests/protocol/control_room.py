"""A small control room made by hand: every number below can be checked by eye in the prompt."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.observation import (
    Announcement,
    Candidates,
    EVRequest,
    FeederState,
    GridState,
    Observation,
    StationState,
)

S, F, K = 25, 8, 16
STATIONS = tuple(f"BLR-{i:02d}" for i in range(1, S + 1))
CARS = ("EV-00101", "EV-00102", "EV-00103", "EV-00104")

V0 = """ACTION: route
STATION: BLR-07
CHARGE_RATE: fast
DEFER_MINUTES: 0
REASON: shortest queue near the car
CONFIDENCE: 0.8
"""


@dataclass(frozen=True)
class Asked:
    """All that the parser needs of an observation."""

    station_ids: tuple[str, ...] = STATIONS
    pending_ids: tuple[str, ...] = CARS


ASKED = Asked()
NOBODY = Asked(pending_ids=())


def repo_file(name: str) -> Path:
    return Path(__file__).resolve().parents[2] / name


def load_benchmark(name: str):
    """Imports `benchmarks/<name>.py`, which is a script and no package."""
    path = repo_file(f"benchmarks/{name}.py")
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _stations() -> StationState:
    i = np.arange(S)
    slots = 8 + i % 3 * 4
    occupied = np.minimum(slots, 4 + i % 7 * 2)
    full = occupied == slots
    free = np.full((S, K), np.inf)
    for s in range(S):
        free[s, : slots[s]] = 0.0
        if full[s]:
            free[s, : slots[s]] = 3.0 + np.arange(slots[s])
    up = slots.copy()
    up[23] = 0
    cap = np.full(S, np.inf)
    cap[4] = 7.0
    return StationState(
        occupied=np.where(up > 0, occupied, 0).astype(np.int32),
        queued=np.where(full, i % 3, 0).astype(np.int32),
        inbound=(i % 4 == 0).astype(np.int32),
        slots_up=up.astype(np.int32),
        supplied=i != 24,
        load_kw=20.0 * occupied,
        limit_kw=np.full(S, 320.0),
        cap_kw=cap,
        cap_left_min=np.where(np.isfinite(cap), 10.0, 0.0),
        price_inr_kwh=14.0 + i % 5,
        slot_free_min=free,
        usual_walkins_h=3.0 + i % 4,
        ratio=1.0 + 0.05 * (i % 3),
        walkin_slot_min=35.0 + i % 10,
        rate=(i % 3).astype(np.int32),
        feeder=(i % F).astype(np.int32),
    )


def _feeders() -> FeederState:
    i = np.arange(F)
    voltage = 0.98 - 0.005 * i
    voltage[0] = np.nan
    return FeederState(
        load_frac=0.5 + 0.06 * i,
        limit_frac=np.where(i == 3, 0.6, 1.0),
        heat_frac=0.55 + 0.05 * i,
        base_frac=0.4 + 0.04 * i,
        base_next_frac=(0.4 + 0.04 * i)[:, None] + 0.005 * np.arange(18)[None, :],
        rating_kva=np.full(F, 6000.0),
        min_voltage_pu=voltage,
        transformer_heat_frac=np.full(S, 0.7),
    )


def _car(n: int, **changes: object) -> EVRequest:
    car = EVRequest(
        ev_id=CARS[n],
        persona="PrivateOwner",
        vehicle="Nexon EV",
        node=5,
        zone=n % 2,
        soc_frac=0.18,
        target_frac=0.8,
        battery_kwh=40.0,
        need_kwh=24.8,
        ac_kw=7.2,
        dc_kw=50.0,
        urgency_frac=0.62,
        critical=False,
        emergency=False,
        flexible=False,
        ready_in_min=None,
        patience_left_min=35.0 + n,
        waited_min=5.0,
    )
    return replace(car, **changes)  # type: ignore[arg-type]


def candidates(index: int, assumed: tuple[Action, ...] = ()) -> Candidates:
    """Nearer stations are better; each assumed route takes a slot of its station."""
    i = np.arange(S)
    taken = np.zeros(S)
    for action in assumed:
        if action.station_id is not None:
            taken[STATIONS.index(action.station_id)] += 1
    order = (i * 7 + index) % S
    usable = (i % 6 != 5) & (i < 23)
    travel = 5.0 + order
    travel[23] = np.nan
    wait = np.maximum(0.0, 6.0 - order) + 10.0 * taken
    return Candidates(
        usable=usable,
        refusal=tuple("" if u else "E_PLUG" for u in usable),
        travel_min=travel,
        travel_kwh=travel * 0.1,
        own_min=40.0 + i % 5,
        free_at_arrival=np.maximum(0.0, 2.5 - taken),
        free_30_later=np.full(S, 3.25),
        wait_min=wait,
        walkins_until=np.full(S, 0.84),
        walkins_hour=np.full(S, 4.2),
        site_headroom_kw=320.0 - 10.0 * i,
        feeder_headroom_frac=0.4 - 0.01 * i,
        best_rate=(i % 3).astype(np.int32),
        score=np.where(usable, travel + wait + 40.0, np.inf),
    )


def make_observation(n_cars: int = 4, reward: float | None = None) -> Observation:
    cars = (
        _car(0, emergency=True, critical=True, urgency_frac=0.97, persona="Emergency"),
        _car(1),
        _car(2, dc_kw=0.0, vehicle="Three\nWheeler"),
        _car(3, flexible=True, ready_in_min=180.0),
    )
    state = GridState(
        tick=3,
        ticks=48,
        minute_of_day=1035,
        day_type="weekday",
        season="summer",
        stations=_stations(),
        feeders=_feeders(),
        grid_load_frac=0.784,
        renewable_frac=0.312,
        carbon_g_kwh=641.4,
        renewable_next_frac=np.linspace(0.3, 0.2, 18),
        ratio_city=1.08,
        inbound_station=np.zeros(0, np.int32),
        inbound_eta_min=np.zeros(0),
        inbound_slot_min=np.zeros(0),
        inbound_announced=np.zeros(0, bool),
    )
    return Observation(
        station_ids=STATIONS,
        feeder_ids=tuple(f"F{i + 1:02d}" for i in range(F)),
        zone_ids=("koramangala", "hebbal"),
        pending=cars[:n_cars],
        state=state,
        announcements=(
            Announcement("slots", 6, ("BLR-03",), 2.0, 0.0, "maintenance at BLR-03"),
            Announcement("heat", 0, (), 3.5, 0.8, "hot evening"),
        ),
        city_name="Bengaluru",
        discom="BESCOM",
        reward=reward,
        flags=("idle",) if reward is not None else (),
        candidates_of=candidates,
    )
