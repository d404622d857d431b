"""The verified, immutable city: what every other room reads.

`CityPack` is made by `ev_grid_oracle.city.load_city`; nothing else builds one. Arrays are read-only.
Axis letters are those of `ev_grid_oracle.schema.axes`. Every number comes from a table of the pack,
and every column of every table has a row in its `provenance.csv`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Stations:
    """(S,) charging stations. A station's slots are all of one class."""

    ids: tuple[str, ...]
    slugs: tuple[str, ...]
    names: tuple[str, ...]
    lat: F64  # degrees north
    lon: F64  # degrees east
    rate: I32  # class of the slots: 0 slow, 1 fast, 2 ultra_fast
    slots: I32  # count
    ac_socket: I32  # 1 if a car without DC inlet can use the AC socket of a bay
    ac_socket_kw: F64  # power of that socket, kW
    site_limit_kw: F64  # kW the site may draw
    transformer_kva: F64  # rating of the station's transformer, kVA
    price_inr_kwh: F64  # INR per kWh before the time-of-day factor
    habit: F64  # attractiveness to walk-ins beyond distance and price (utility units)
    feeder: I32  # feeder index
    bus: I32  # bus index (global, see Grid)
    node: I32  # road node index
    zone: I32  # zone index of that node


@dataclass(frozen=True)
class Vehicles:
    """(V,) models. `taper_knee` and `taper_floor` describe constant power up to the knee (state of
    charge) and then a straight fall to `taper_floor` x the limit at 100 %."""

    names: tuple[str, ...]
    battery_kwh: F64
    ac_kw: F64
    dc_kw: F64  # 0: no DC inlet
    wh_km: F64  # city consumption
    taper_knee: F64
    taper_floor: F64
    to_full: F64  # 1: charges to 100 % whatever its persona (two- and three-wheelers), else 0


@dataclass(frozen=True)
class Personas:
    """(P,) kinds of driver. Patience is drawn uniformly in whole minutes."""

    names: tuple[str, ...]
    fleet_keys: tuple[str, ...]  # the fleet_mode that makes every request this persona
    urgency_bias: F64
    patience_lo_min: I32
    patience_hi_min: I32
    price_sensitivity: F64
    soc_lo: F64  # triangular low / mode / high of the state of charge at request
    soc_mode: F64
    soc_hi: F64
    target_lo: F64  # uniform target state of charge
    target_hi: F64
    emergency: I32  # 1: served before others
    flexible_share: F64  # share of its requests that are flexible
    request_share: F64  # share of mixed-fleet requests
    walkin_share: F64
    vehicle_cum: F64  # (P, V) cumulative shares of vehicle models


@dataclass(frozen=True)
class Zones:
    """(Z,) places where demand starts."""

    ids: tuple[str, ...]
    names: tuple[str, ...]
    sides: tuple[str, ...]
    lat: F64
    lon: F64
    request_weight: F64  # relative demand, any positive scale
    walkin_weight: F64
    node_start: I32  # (Z + 1,) nodes of zone z are node_list[node_start[z]:node_start[z + 1]]
    node_list: I32  # (N,)


@dataclass(frozen=True)
class Roads:
    """(N,) nodes and (L,) directed links, plus the congestion table."""

    node_names: tuple[str, ...]
    node_lat: F64
    node_lon: F64
    node_zone: I32
    link_from: I32
    link_to: I32
    link_names: tuple[str, ...]
    link_class: I32
    link_lanes: I32
    link_m: F64
    link_corridor: I32  # corridor index, -1 none
    link_low: I32  # 1: prone to water-logging
    link_side: I32  # side index of its from-node's zone
    corridor_ids: tuple[str, ...]
    corridor_names: tuple[str, ...]
    sides: tuple[str, ...]
    free_flow_kmh: F64  # (5,) by road class
    congestion: F64  # (2 day types, 5 classes, sides, 24 h) travel time over free flow


@dataclass(frozen=True)
class Grid:
    """Substations, (F,) radial 11 kV feeders and their (B,) buses.

    Buses of a feeder are contiguous, in an order in which every bus comes after its parent; the first
    bus of a feeder hangs on the source bus (the substation's 11 kV bar). `line_*` describe the line
    from a bus's parent to it.
    """

    substation_ids: tuple[str, ...]
    substation_names: tuple[str, ...]
    substation_mva: F64
    feeder_ids: tuple[str, ...]
    feeder_names: tuple[str, ...]
    feeder_substation: I32
    feeder_kva: F64  # nominal rating of the head
    feeder_base_frac: F64  # evening peak of base load over rating
    feeder_mix: F64  # (F, M) shares of the base-shape kinds, rows sum to 1
    feeder_mixes: tuple[str, ...]  # M names: residential, commercial, office
    feeder_side: tuple[str, ...]  # zone side it serves (cbd, north, ...)
    feeder_start: I32  # (F + 1,) bus range of each feeder
    bus_ids: tuple[str, ...]
    bus_feeder: I32  # (B,)
    bus_parent: I32  # (B,) global bus index, -1: the source
    bus_base_share: F64  # (B,) share of the feeder's base load, sums to 1 per feeder
    line_r_ohm: F64
    line_x_ohm: F64
    line_amp: F64  # ampacity, A
    line_km: F64
    line_conductor: tuple[str, ...]
    vn_kv: float
    source_pu: float
    pf_base: float
    pf_charger: float
    thermal_tau_min: float  # heads and transformers
    protection_pu: float  # u beyond which an element is over its limit whatever its heat
    v_min_pu: float
    v_max_pu: float


@dataclass(frozen=True)
class Profiles:
    """Shapes over day and year."""

    demand_shape: F64  # (2 day types, 288) factor by 5-minute slot of the day, 1 = the evening mean
    base_shape: F64  # (2 day types, M, 288) base load over its own evening peak
    base_level: F64  # (4 seasons, 2 day types) level relative to the reference (summer weekday = 1)
    solar_share: F64  # (4 seasons, 288) solar share of energy in clear sky
    other_re_share: F64  # (4 seasons, 288) wind, hydro and bio share
    carbon_thermal_g_kwh: float  # gCO2/kWh of the non-renewable rest
    tariff_factor: F64  # (288,) time-of-day factor on station prices
    weather_sd: F64  # (4,) spread of the day's cloud factor by season
    start_occupancy: F64  # (2 day types, 24, 3 slot classes) occupancy drawn at the warm-up's start
    usual_walkins: F64  # (2 day types, 24, S) arrivals per hour an operator knows from history
    choice_cum: F64  # (Z, 2, M) cumulative walk-in choice shares; axis 1: 0 no DC inlet, 1 DC-capable
    choice_station: I32  # (Z, 2, M) the stations they belong to, nearest first


@dataclass(frozen=True)
class Constants:
    """Scalars of the pack's manifest; each named with its unit and stated in `provenance.csv`."""

    requests_per_tick: float  # evening mean at shape 1, participation 1/3
    walkins_per_tick: float
    participation: float
    day_factor_sd: float
    announced_share: float
    flex_ready_lo_min: int
    flex_ready_hi_min: int
    flex_slack_min: int  # patience of a flexible car ends this long before ready_by
    critical_urgency: float
    battery_efficiency: float
    max_cars: int
    max_pending: int
    warmup_ticks: int
    base_noise_common_sd: float
    base_noise_feeder_sd: float
    base_noise_rho: float  # AR(1) per tick
    traffic_day_sd: float
    traffic_noise_sd: float
    incident_slot_per_station_day: float  # one bay breaks down, events per station and day
    incident_slot_minutes: int
    incident_jam_per_corridor_day: float
    incident_jam_minutes: int
    incident_jam_factor: float
    heat_load_per_deg: float  # base load per deg C above normal, fraction of rating
    rain_solar_factor: float
    rain_road_factor: float
    choice_travel_min: float  # utility: travel minutes that divide attractiveness by e
    choice_price_inr: float  # INR per kWh that divide it by e
    choice_queue: float  # acceptance 1 / (1 + choice_queue x queued / slots)
    choice_nearest: int
    detour_floor_min: int
    incident_reroute_max: int
    n0_car_minutes: float  # baseline's mean car-minutes a tick on the reference evening
    high_stress_median: float  # median grid_stress_events of the reference evening
    reference_seeds: tuple[int, ...]


@dataclass(frozen=True)
class ScenarioEvent:
    """One row of a schedule. `targets` are indices of what the kind addresses (zones, stations,
    feeders, links); empty means all. Ticks count from the episode's first tick."""

    tick: int
    kind: int  # schema.enums.EventKind
    targets: tuple[int, ...]
    value: float
    announced_ticks: int  # told this many ticks ahead; -1: never
    sd: float  # uncertainty of the forecast, in the unit of value
    label: str


@dataclass(frozen=True)
class Scenario:
    name: str
    sentence: str
    start: str  # HH:MM city time
    day_type: str
    season: str
    story_seed: int
    events: tuple[ScenarioEvent, ...]


@dataclass(frozen=True)
class CityPack:
    """A city, checked and hashed. `sha256` covers every byte of every table."""

    id: str
    name: str
    discom: str
    timezone: str
    timezone_offset_min: int
    default_start: str
    default_day_type: str
    default_season: str
    bbox: tuple[float, float, float, float]  # lat_min, lat_max, lon_min, lon_max
    path: Path
    sha256: str
    stations: Stations
    vehicles: Vehicles
    personas: Personas
    zones: Zones
    roads: Roads
    grid: Grid
    profiles: Profiles
    constants: Constants
    scenarios: tuple[Scenario, ...]

    def scenario(self, name: str) -> Scenario:
        """The scenario called `name`; `UnknownScenarioError` names the ones there are."""
        from ev_grid_oracle.schema.errors import UnknownScenarioError

        for s in self.scenarios:
            if s.name == name:
                return s
        known = ", ".join(s.name for s in self.scenarios)
        raise UnknownScenarioError(f"There is no scenario {name!r} in city {self.id!r}.", f"Known: {known}.")
