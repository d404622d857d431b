"""A request that a person puts into a running world: one more pending car, at the start of this tick.

For a host that shows the world to people (`/demo/spawn_vehicle`), never on an agent's channel. The car is
from then on a request like any other; draws do not depend on it, so everything else of the future stays. Its
id is of a range of its own (``EV-900001`` and up), so the ids of later requests stay too. A spawn is part of
the recipe of an episode and of its trace: the same spawns at the same ticks give the same world again.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ev_grid_oracle.city.lookup import NO_ROUTE, own_minutes
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.ids import car_id
from ev_grid_oracle.episode.interventions import SPAWN
from ev_grid_oracle.episode.observe import LiveObservation
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import CarState
from ev_grid_oracle.schema.errors import CapacityError, OptionError
from ev_grid_oracle.sim.world import World

FIRST_SEQ = 900_000  # beyond any number that an episode's own requests reach
A_TICK = 1000  # numbers set apart for each tick, more than cars can be pending
MAX_PATIENCE_MIN = 240
_CRITICAL_BP = 10_000.0


@dataclass(frozen=True)
class Car:
    """A car as it is asked for, checked; shares in basis points, as the world holds them."""

    node: int
    persona: int
    vehicle: int
    soc_bp: int
    target_bp: int
    urgency_bp: int
    patience_min: int


def spawn(session: Session, **given: object) -> tuple[str, LiveObservation]:
    """Put a request into the world of `session`.

    Args:
        session: an episode that is running.
        given: `node` (road node) or `lat` and `lon` or `zone` (default: the city's first zone), `persona`
            (name or fleet key), `vehicle` (name), `soc_frac`, `target_frac`, `urgency_frac`,
            `patience_min`. What is left out is the middle of its range.

    Returns:
        The car's id and the observation that now shows it.

    Raises:
        OptionError: a value is unknown or out of range.
        CapacityError: the world is full.
    """
    last = session._running()
    world = session._world
    car = read_car(session.city, given)
    seq = _write(world, car)
    session._intervened(SPAWN, {name: value for name, value in given.items() if value is not None})
    session._observe(last.reward, last.breakdown, last.flags, last.info)
    return car_id(seq), session.observation


def read_car(pack: CityPack, given: Mapping[str, object]) -> Car:
    """The car that `given` asks for."""
    known = (
        "node", "lat", "lon", "zone", "persona", "vehicle", "soc_frac", "target_frac", "urgency_frac",
        "patience_min",
    )  # fmt: skip
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise OptionError(f"A car has no {unknown[0][:40]!r}.", f"Options: {', '.join(known)}.")
    who = pack.personas
    p = _index("persona", given.get("persona"), who.fleet_keys, who.names)
    most = int(np.argmax(np.diff(who.vehicle_cum[p], prepend=0.0)))
    v = most if given.get("vehicle") is None else _index("vehicle", given["vehicle"], pack.vehicles.names)
    soc = _share("soc_frac", given.get("soc_frac"), float(who.soc_mode[p]), 0.02, 0.98)
    target = _share(
        "target_frac", given.get("target_frac"), max(float(who.target_hi[p]), soc + 0.01), soc, 1.0
    )
    if target <= soc:
        raise OptionError(f"target_frac {target} is not above soc_frac {soc}.", "Ask for more than it has.")
    urgency = 0.9 if who.emergency[p] else 0.5
    patience = (int(who.patience_lo_min[p]) + int(who.patience_hi_min[p])) // 2
    return Car(
        node=_node(pack, given),
        persona=p,
        vehicle=v,
        soc_bp=int(soc * 10000.0),
        target_bp=int(target * 10000.0),
        urgency_bp=int(_share("urgency_frac", given.get("urgency_frac"), urgency, 0.0, 1.0) * 10000.0),
        patience_min=int(_number("patience_min", given.get("patience_min"), patience, 1, MAX_PATIENCE_MIN)),
    )


def _write(world: World, car: Car) -> int:
    """The car as a pending row; as `sim.demand.request` writes one. Returns its number."""
    y = world.view("Y")[0]
    cars, pending = world.view("CAR")[0], world.view("PEND")[0]
    if y[r.Y_NPEND] >= len(pending) or y[r.Y_NFREE] == 0:
        raise CapacityError("The world holds as many cars as it can.", "Answer the pending ones first.")
    pack = world.city.pack
    c = int(y[r.Y_FREE])
    y[r.Y_NFREE] -= 1
    y[r.Y_FREE] = cars[c, r.C_NEXT]
    now = 5 * int(y[r.Y_TICK])
    first = FIRST_SEQ + A_TICK * int(y[r.Y_TICK])
    waiting = cars[pending[: y[r.Y_NPEND]], r.C_SEQ]  # whoever was spawned in this tick is still pending
    seq = first + int(((waiting >= first) & (waiting < first + A_TICK)).sum())
    flags = car.persona << r.S_PERSONA
    if pack.personas.emergency[car.persona]:
        flags |= r.B_EMERG
    critical = car.urgency_bp > pack.constants.critical_urgency * _CRITICAL_BP
    if critical:
        flags |= r.B_CRIT
    row = cars[c]
    row[:] = 0
    for column, value in (
        (r.C_STATE, CarState.PENDING), (r.C_FLAGS, flags), (r.C_SEQ, seq), (r.C_VEHICLE, car.vehicle),
        (r.C_NODE, car.node), (r.C_RATE, 2), (r.C_TREQ, now), (r.C_PAT, car.patience_min), (r.C_TWAIT, now),
        (r.C_READY, -r.NEVER), (r.C_NEXT, -1), (r.C_SOC_BP, car.soc_bp), (r.C_TGT_BP, car.target_bp),
        (r.C_URG_BP, car.urgency_bp),
    ):  # fmt: skip
        row[column] = value
    pending[y[r.Y_NPEND]] = c
    y[r.Y_NPEND] += 1
    y[r.Y_NORM] += 1
    y[r.Y_CRIT] += int(critical)
    y[r.Y_PEXP] = min(int(y[r.Y_PEXP]), now + car.patience_min)
    accounts = world.view("EP")[0]
    accounts[r.A_NREQ] += 1.0
    accounts[r.A_NCRIT] += float(critical)
    accounts[r.A_FLOOR] += _floor_minutes(world, car)
    return seq


def _floor_minutes(world: World, car: Car) -> float:
    """Least travel + own minutes over all stations, at most 240: the car's share of the floor."""
    table = world.scalar(0, r.Y_TRAVEL)
    traffic = float(world.view("X")[0][r.X_TRAFFIC])
    best = 240.0
    for s in range(len(world.city.pack.stations.ids)):
        trip = float(world.bank.minutes[table, car.node, s]) * traffic
        if not math.isfinite(trip) or trip >= NO_ROUTE:
            continue
        own = float(
            own_minutes(  # a kernel
                world.cf, world.ci, world.at, car.vehicle, s, car.soc_bp / 10000.0, car.target_bp / 10000.0,
                150.0,
            )
        )  # fmt: skip
        best = min(best, trip + own)
    return best


def _node(pack: CityPack, given: Mapping[str, object]) -> int:
    """Road node of a node number, a place or a zone; exactly one of the three."""
    ways = [k for k in ("node", "lat", "zone") if given.get(k) is not None]
    if len(ways) > 1:
        raise OptionError(f"Both {ways[0]} and {ways[1]} are given.", "Give one of node, lat and lon, zone.")
    if given.get("node") is not None:
        last = len(pack.roads.node_lat) - 1
        node = _number("node", given["node"], 0, 0, last)
        if node != int(node):
            raise OptionError(f"node is {node}.", f"Give a whole number from 0 to {last}.")
        return int(node)
    if given.get("lat") is not None or given.get("lon") is not None:
        low_lat, high_lat, low_lon, high_lon = pack.bbox
        lat = _number("lat", given.get("lat"), None, low_lat, high_lat)
        lon = _number("lon", given.get("lon"), None, low_lon, high_lon)
        away = (pack.roads.node_lat - lat) ** 2 + (
            (pack.roads.node_lon - lon) * math.cos(math.radians(lat))
        ) ** 2
        return int(np.argmin(away))
    zone = 0 if given.get("zone") is None else _index("zone", given["zone"], pack.zones.ids, pack.zones.names)
    return int(pack.zones.node_list[pack.zones.node_start[zone]])


def _index(name: str, value: object, *vocabularies: tuple[str, ...]) -> int:
    """Place of a name in one of several equal-length vocabularies; None is the first."""
    if value is None:
        return 0
    for words in vocabularies:
        if isinstance(value, str) and value in words:
            return words.index(value)
    raise OptionError(f"{name} is {str(value)[:40]!r}.", f"Choose one of {', '.join(vocabularies[0])}.")


def _number(name: str, value: object, usual: float | None, low: float, high: float) -> float:
    if value is None and usual is not None:
        return usual
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise OptionError(f"{name} is {str(value)[:40]}.", f"Give a number from {low:g} to {high:g}.")
    return float(value)


def _share(name: str, value: object, usual: float, low: float, high: float) -> float:
    return _number(name, value, min(max(usual, low), high), low, high)
