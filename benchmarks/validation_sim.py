"""What the simulated city does in a day: measured in runs, for the validation page.

Everything is counted in plain days (scenario `baseline`, the mixed fleet, the baseline dispatcher): no surge, no
planner. Roads are read from the travel tables that the cars use.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.city.travel import BINS
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.kpis import kpi_table
from ev_grid_oracle.evaluation.seeds import episode_seeds
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import CarState, Season
from ev_grid_oracle.sim.world import WorldOptions

F64 = npt.NDArray[np.float64]
SEED = 11
DAY_TICKS, WARM_TICKS = 288, 12
WEDNESDAY, SUNDAY = 2, 6


# -- roads ------------------------------------------------------------------------------------------------
def table_of(city: CityPack, hour: int, sunday: bool = False) -> int:
    """Row of the travel bank at the half hour that begins at `hour`, no scenario, no jam."""
    bank = packed(city).bank
    key = (0, int(sunday), hour * BINS // 24, 0)
    bank.ensure([key])
    return int(bank.index[key])


def trips(city: CityPack, hour: int, pairs: npt.NDArray[np.int64]) -> tuple[F64, F64]:
    """(km, minutes) of the fastest way from node to station for pairs (n, 2); nan where there is none."""
    bank, roads = packed(city).bank, city.roads
    row = table_of(city, hour)
    km = np.full(len(pairs), np.nan)
    minutes = bank.minutes[row][pairs[:, 0], pairs[:, 1]].astype(np.float64)
    for k, (node, station) in enumerate(pairs.tolist()):
        metres, at = 0.0, node
        while at != city.stations.node[station]:
            link = int(bank.step[row, at, station])
            if link < 0:
                break
            metres += float(roads.link_m[link])
            at = int(roads.link_to[link])
        else:
            km[k] = metres / 1000.0
    return km, minutes


def ten_km_pairs(city: CityPack, n: int = 600) -> npt.NDArray[np.int64]:
    """Random pairs (node, station) whose way at night is 8 to 12 km."""
    rng = np.random.default_rng(SEED)
    nodes, stations = len(city.roads.node_lat), len(city.stations.ids)
    pairs = np.stack([rng.integers(0, nodes, 12 * n), rng.integers(0, stations, 12 * n)], 1)
    km, _ = trips(city, 3, pairs)
    return pairs[(km >= 8.0) & (km <= 12.0)][:n]


def speed_kmh(city: CityPack, hour: int, pairs: npt.NDArray[np.int64]) -> float:
    """Kilometres over hours, all pairs together."""
    km, minutes = trips(city, hour, pairs)
    there = np.isfinite(km) & np.isfinite(minutes)
    return float(km[there].sum() / minutes[there].sum() * 60.0)


def class_speed_kmh(city: CityPack, hour: int) -> F64:
    """(road classes,) kilometres over hours of all links of a class."""
    row = table_of(city, hour)
    minutes = packed(city).bank.link_minutes[row]
    roads = city.roads
    out = np.zeros(len(roads.free_flow_kmh))
    for k in range(len(out)):
        mine = roads.link_class == k
        out[k] = roads.link_m[mine].sum() / 1000.0 / minutes[mine].sum() * 60.0 if mine.any() else np.nan
    return out


def way_km(city: CityPack, start: str, end: str) -> float:
    """Kilometres of the fastest way at night between the nodes of two stations, by id."""
    ids = city.stations.ids
    pair = np.array([[city.stations.node[ids.index(start)], ids.index(end)]], np.int64)
    return float(trips(city, 3, pair)[0][0])


# -- days -------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Days:
    """A batch of simulated days.

    Attributes:
        base_kw: (24,) base load of all feeders, mean over the hour.
        peak_feeder_kw: mean over feeders and days of the largest base load plus charging.
        arrivals: (24, 2) requests and walk-ins a day that begin in the hour.
        renewable: (24,) share of supply; carbon_g_kwh (24,).
        sessions: (classes, 4): sessions, kWh from the slot, minutes at the plug, kWh into the battery, sums over days.
        plug_hour: (24,) plug-ins by hour.
        days: number of days; slots by class (classes,).
    """

    base_kw: F64
    peak_feeder_kw: float
    arrivals: F64
    renewable: F64
    carbon_g_kwh: F64
    sessions: F64
    plug_hour: F64
    days: int
    slots: F64


def days(city: CityPack, season: int, weekday: int, n: int) -> Days:
    """Play `n` days of one kind from midnight under the baseline; each starts warm, and nothing is settled."""
    batch = Batch(city, n)
    scenario = city.scenario("baseline")
    batch.reset([
        WorldOptions(s, scenario, 0, season=season, weekday=weekday, ticks=DAY_TICKS, settle=False)
        for s in episode_seeds(SEED, n)
    ])  # fmt: skip
    w, n_f, n_s = batch.world, len(city.grid.feeder_ids), len(city.stations.ids)
    tk, x, cars, slot = w.view("TK"), w.view("X"), w.view("CAR"), w.view("SLOT_CAR")
    classes = 3
    hours = np.zeros((24, 5))  # base kW, requests, walk-ins, renewable, carbon
    sessions, plug_hour = np.zeros((classes, 4)), np.zeros(24)
    peak = np.zeros((n, n_f))
    before = np.full(cars.shape[:2], -1, np.int64)
    for tick in range(DAY_TICKS):
        batch.play("baseline", 1)
        hour = tick // 12
        base = w.view("FD_BASEKW")[:, :n_f]
        peak = np.maximum(peak, base + 12.0 * w.view("FD_EVKWH")[:, :n_f])
        hours[hour] += (
            base.sum(1).mean(), tk[:, r.T_REQ].sum(), tk[:, r.T_WALK].sum(), x[:, r.X_RENEW].mean(), x[:, r.X_CARBON].mean(),
        )  # fmt: skip
        if tick >= WARM_TICKS:
            drawn = w.view("ST_KWH")[:, :n_s].sum(0)
            for k in range(classes):
                sessions[k, 1] += drawn[city.stations.rate == k].sum()
                sessions[k, 2] += 5.0 * (slot[:, :, :n_s] >= 0).sum((0, 1))[city.stations.rate == k].sum()
        # a car is named by number and kind; one that was not at a plug at the tick's start has plugged in
        plugged = cars[:, :, r.C_STATE] == CarState.CHARGING
        name = np.where(plugged, 2 * cars[:, :, r.C_SEQ].astype(np.int64) + (cars[:, :, r.C_FLAGS] & r.B_WALKIN), -1)
        e, c = np.nonzero(plugged & (name != before))
        if tick >= WARM_TICKS:
            row = cars[e, c]
            battery = city.vehicles.battery_kwh[row[:, r.C_VEHICLE]]
            wanted = (row[:, r.C_TGT_BP] - row[:, r.C_SOC_BP]) / 1e4 * battery + row[:, r.C_WH] / 1000.0
            kind = city.stations.rate[row[:, r.C_STATION]]
            plug_hour[hour] += len(e)
            for k in range(classes):
                sessions[k, 0] += (kind == k).sum()
                sessions[k, 3] += wanted[kind == k].sum()
        before = name
    slots = np.array([float(city.stations.slots[city.stations.rate == k].sum()) for k in range(classes)])
    per_tick, per_day = hours / 12.0, hours / n
    return Days(
        per_tick[:, 0], float(peak.mean()), per_day[:, 1:3], per_tick[:, 3], per_tick[:, 4], sessions, plug_hour / n, n, slots
    )


def evenings(city: CityPack, n: int) -> dict[str, float]:
    """The reference evening under the baseline: occupancy, share of requests lost, evenings with an overload."""
    batch = Batch(city, n)
    batch.reset([
        WorldOptions(s, city.scenario("baseline"), 17 * 60, season=int(Season.SUMMER)) for s in episode_seeds(SEED, n)
    ])  # fmt: skip
    n_s, slots, occupied = len(city.stations.ids), float(city.stations.slots.sum()), 0.0
    for _ in range(48):
        batch.play("baseline", 1)
        occupied += float(batch.world.view("ST_OCC")[:, :n_s].sum(1).mean()) / slots / 48.0
    found = kpi_table(np.array(batch.world.view("EP"), np.float64), city)
    return {
        "occupancy": occupied,
        "lost_share": float(found["lost_share"].mean()),
        "overloaded_share": float((found["overload_minutes"] > 0).mean()),
    }
