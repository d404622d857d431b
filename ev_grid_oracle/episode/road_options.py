"""`reset(...)` of the road task: what may be asked for, and what the seed draws of the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ev_grid_oracle.city.lookup import plug_limit_kw
from ev_grid_oracle.city.model import CityPack, Scenario
from ev_grid_oracle.city.packed import PackedCity, packed
from ev_grid_oracle.city.travel import LinkState, link_states
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.episode.road_network import RoadNetwork, Route
from ev_grid_oracle.schema.axes import STEP_MINUTES
from ev_grid_oracle.schema.enums import EventKind
from ev_grid_oracle.schema.errors import OptionError

ROAD_TAG = 0x524F4144  # keeps the task's draws apart from the world's streams of the same seed
LATEST_TICK = 36  # a trip sets out up to three hours after the scenario's start
NEAREST = 3  # the target is one of so many nearest useful stations
SOC_LO, SOC_HI = 0.10, 0.30
SPARE = 1.3  # the battery holds at least this much of what the fastest way takes
STEP_FACTOR, STEP_SPARE = 4, 20  # step limit: this many times the links of the fastest way, and some

DEFAULTS: Mapping[str, object] = {
    "seed": 0,
    "scenario": "baseline",
    "start": None,
    "day_type": None,
    "season": None,
    "start_node": None,
    "target": None,
    "vehicle": None,
    "max_steps": None,
    "shaping": True,
    "gamma": 1.0,
}
"""Every option of `reset` and what it is when nobody says."""


@dataclass(frozen=True)
class RoadTrip:
    """One resolved trip.

    Attributes:
        asked: the options by name, JSON-safe; `plan_trip(city, **asked)` gives an equal trip.
        clock_min: city time at the start, minutes of the day. best: the fastest way then.
        kwh: energy in the battery at the start.
    """

    asked: Mapping[str, object]
    network: RoadNetwork
    best: Route
    start_node: int
    station: int
    vehicle: int
    clock_min: float
    kwh: float
    max_steps: int
    shaping: bool
    gamma: float


def plan_trip(city: CityPack, **given: object) -> RoadTrip:
    """Check the options and draw what they leave open; `OptionError` says what is wrong.

    Every draw is made whether or not its option is given, so that giving one never changes another.
    """
    unknown = sorted(set(given) - set(DEFAULTS))
    if unknown:
        raise OptionError(f"The road task has no option {unknown[0]!r}.", f"Options: {', '.join(DEFAULTS)}.")
    o = {**DEFAULTS, **given}
    options = resolve(city, **{k: o[k] for k in ("seed", "scenario", "start", "day_type", "season")})
    rng = np.random.default_rng(np.random.SeedSequence(options.world.seed, spawn_key=(ROAD_TAG,)))
    tick = int(rng.integers(LATEST_TICK + 1))
    jammed, corridor = rng.random() < 0.5, int(rng.integers(max(len(city.roads.corridor_ids), 1)))
    drawn_vehicle = int(rng.integers(len(city.vehicles.names)))
    soc = float(rng.uniform(SOC_LO, SOC_HI))
    choice = int(rng.integers(NEAREST))
    order = rng.permutation(len(city.roads.node_lat)).tolist()

    tick = 0 if o["start"] is not None else tick
    clock = float((options.world.start_min + STEP_MINUTES * tick) % 1440)
    vehicle = _index("vehicle", o["vehicle"], city.vehicles.names, drawn_vehicle)
    packs = packed(city)
    day = 1 if options.world.weekday == 6 else 0
    links, slow = _roads_at(city, options.scenario, tick)
    jam = corridor if jammed and city.roads.corridor_ids else -1
    network = RoadNetwork.of(city, packs.bank, day, links, jam, slow)
    start_node = _node(o["start_node"], network.n_nodes)
    target = None if o["target"] is None else _index("target", o["target"], city.stations.ids, 0)
    shaping, gamma = _shaping(o["shaping"], o["gamma"])

    battery = float(city.vehicles.battery_kwh[vehicle])
    wh_km = float(city.vehicles.wh_km[vehicle])
    useful = [s for s in range(len(city.stations.ids)) if _plug_fits(packs, vehicle, s)]
    for node in order if start_node is None else [start_node]:
        station = _nearest(city, network, node, useful, clock, choice) if target is None else target
        if station is None or int(city.stations.node[station]) == node:
            continue
        best = network.route(node, int(city.stations.node[station]), clock)
        if best.km is None:
            continue
        need = best.km * wh_km / 1000.0
        kwh = min(max(soc * battery, SPARE * need), battery)
        if need > kwh:
            continue
        limit = _limit(o["max_steps"], len(best.links))
        asked = {**o, "seed": options.world.seed}
        return RoadTrip(asked, network, best, node, station, vehicle, clock, kwh, limit, shaping, gamma)
    raise OptionError(
        "No trip fits these options: there is no way to a useful station, or the battery is too small.",
        "Leave start_node, target or vehicle open.",
    )


def _roads_at(city: CityPack, scenario: Scenario, tick: int) -> tuple[LinkState, float]:
    """What the scenario has done to the roads by `tick`, and the factor of rain; both hold for the trip."""
    links: LinkState = ()
    for since, state in link_states(scenario, len(city.roads.link_from)):
        links = state if since <= tick else links
    wet = False
    for event in scenario.events:
        if event.kind == EventKind.RAIN and event.tick <= tick:
            wet = event.value > 0.0
    return links, city.constants.rain_road_factor if wet else 1.0


def _plug_fits(city: PackedCity, vehicle: int, station: int) -> bool:
    at = city.layout.at
    return float(plug_limit_kw(city.cf, city.ci, at, vehicle, station)[0]) > 0.0


def _nearest(
    city: CityPack, network: RoadNetwork, node: int, useful: list[int], clock: float, choice: int
) -> int | None:
    """One of the nearest useful stations by minutes that are more than one road away."""
    too_near = {node, *network.neighbours(node, clock)}
    found: list[tuple[float, int]] = []
    minutes = network.minutes_from(node, clock)
    for s in useful:
        at = int(city.stations.node[s])
        if at not in too_near and minutes[at] is not None:
            found.append((minutes[at] or 0.0, s))
    found.sort()
    return found[choice % min(len(found), NEAREST)][1] if found else None


def _index(name: str, value: object, names: tuple[str, ...], drawn: int) -> int:
    if value is None:
        return drawn
    if not isinstance(value, str) or value not in names:
        raise OptionError(f"{name} is {str(value)[:40]!r}.", f"Choose one of {', '.join(names)}.")
    return names.index(value)


def _node(value: object, n: int) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < n:
        raise OptionError(f"start_node is {str(value)[:40]}.", f"Give a node from 0 to {n - 1}.")
    return value


def _limit(value: object, links: int) -> int:
    if value is None:
        return STEP_FACTOR * links + STEP_SPARE
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 100_000:
        raise OptionError(f"max_steps is {str(value)[:40]}.", "Give a whole number from 1 to 100000.")
    return value


def _shaping(shaping: object, gamma: object) -> tuple[bool, float]:
    if not isinstance(shaping, bool):
        raise OptionError(f"shaping is {str(shaping)[:40]}.", "Give True or False.")
    if isinstance(gamma, bool) or not isinstance(gamma, int | float) or not 0.0 < gamma <= 1.0:
        raise OptionError(f"gamma is {str(gamma)[:40]}.", "Give the learner's discount, above 0 and up to 1.")
    return shaping, float(gamma)
