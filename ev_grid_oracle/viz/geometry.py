"""Where things are on a map: longitude and latitude to pixels, and a car's place at any minute.

A car drives the fastest path of the travel table at its departure, stretched to the minutes that the simulator
gave it; one that was rerouted drives on from the next node ahead by the table of that minute. Nothing is
simulated here: all of it is read from a trace's cars and the city's tables. Film, Gradio, Pygame and the command
center's server all take ways from here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.schema.rows import RING

F64 = npt.NDArray[np.float64]
Key = tuple[int, int, int, bool]

M_PER_DEG = 111_195.0
"""Metres of a degree of latitude on a sphere of 6,371 km."""


@dataclass(frozen=True)
class Projection:
    """Equirectangular map of a box of the city into a rectangle of pixels, north up, one scale for both axes.

    Attributes:
        lon, lat: what lies at the middle of the rectangle, degrees.
        x, y: the middle of the rectangle, pixels.
        m_per_px: metres that a pixel shows.
    """

    lon: float
    lat: float
    x: float
    y: float
    m_per_px: float

    def __call__(self, lon: F64 | float, lat: F64 | float) -> tuple[F64, F64]:
        """Pixels of degrees; arrays give arrays."""
        east = math.cos(math.radians(self.lat)) * M_PER_DEG / self.m_per_px
        x = self.x + (np.asarray(lon, np.float64) - self.lon) * east
        y = self.y - (np.asarray(lat, np.float64) - self.lat) * M_PER_DEG / self.m_per_px
        return x, y


def fitted(
    city: PackedCity, left: float, top: float, width: float, height: float, margin: float
) -> Projection:
    """The projection that shows every station of the city, `margin` pixels from the edge of the rectangle."""
    st = city.pack.stations
    lon, lat = (float(v.min() + v.max()) / 2.0 for v in (st.lon, st.lat))
    east_m = float(np.ptp(st.lon)) * math.cos(math.radians(lat)) * M_PER_DEG
    north_m = float(np.ptp(st.lat)) * M_PER_DEG
    scale = max(east_m / max(width - 2 * margin, 1.0), north_m / max(height - 2 * margin, 1.0), 1.0)
    return Projection(lon, lat, left + width / 2.0, top + height / 2.0, scale)


@dataclass(frozen=True)
class Traffic:
    """Traffic of a tick: key of the travel table (`Y_KEY`) and the factor on all its minutes (`X_TRAFFIC`)."""

    key: int
    factor: float = 1.0


@dataclass(frozen=True)
class Way:
    """Where a car drives.

    Attributes:
        key: what the frame says of the way; another key is another way.
        nodes, lon, lat: (n,) road nodes and their degrees.
        minutes: (n,) minute of the episode at each, never falling.
        factors: (n - 1,) travel time over free flow on the roads between.
    """

    key: Key
    nodes: tuple[int, ...]
    minutes: F64
    lon: F64
    lat: F64
    factors: tuple[float, ...]

    def at(self, minute: float) -> tuple[float, float]:
        """(lon, lat) at a minute of the episode; before and after the way at its ends."""
        return float(np.interp(minute, self.minutes, self.lon)), float(
            np.interp(minute, self.minutes, self.lat)
        )


class Ways:
    """The ways of the cars of one lane, from tick to tick."""

    def __init__(self, city: PackedCity) -> None:
        self._city = city
        self._roads = city.pack.roads
        self._free = _free_minutes(city)
        self._ways: dict[str, Way] = {}

    def turn(
        self, cars: Sequence[Mapping[str, object]], minute: int, before: Traffic, now: Traffic
    ) -> tuple[dict[str, Way], dict[str, Way]]:
        """Ways of the `cars` on the road after a tick, and those of the cars that left the road in it.

        Args:
            cars: as `Frame.cars`.
            minute: of the episode, at the end of the tick.
            before, now: traffic during the tick and at its end, by which a rerouted car drives on.
        """
        ways: dict[str, Way] = {}
        for car in cars:
            name, key = str(car["id"]), _key(car)
            old = self._ways.get(name)
            way = old if old is not None and old.key == key else self._way(car, old, minute, before, now)
            if way is not None:
                ways[name] = way
        gone = {name: way for name, way in self._ways.items() if name not in ways}
        self._ways = ways
        return ways, gone

    def _way(
        self, car: Mapping[str, object], old: Way | None, minute: int, before: Traffic, now: Traffic
    ) -> Way | None:
        node, station, table, rerouted = key = _key(car)
        depart, arrive = int(str(car["depart_min"])), int(str(car["arrive_min"]))
        row = self._row(table)
        if row < 0:
            return None
        nodes, clock, factors = self._path(row, node, station)
        if not rerouted or self._stays(nodes, old, minute, arrive, now, station):
            return self._made(key, nodes, _stretched(clock, depart, arrive), factors)
        # as the simulator does it: along the old path to the next node ahead, then on by today's table
        scale = _scale(old, clock, depart, before)
        k = next((j for j, c in enumerate(clock) if c * scale > minute - depart), len(nodes) - 1)
        driven = depart + clock[: k + 1] * scale
        row = self._row(now.key)
        if row < 0:
            return None
        on_nodes, on_clock, on_factors = self._path(row, nodes[k], station)
        rest = _stretched(on_clock, float(driven[-1]), max(arrive, float(driven[-1])))
        minutes = np.concatenate([driven[:-1], rest])
        return self._made(key, nodes[:k] + on_nodes, minutes, factors[:k] + on_factors)

    def _made(self, key: Key, nodes: tuple[int, ...], minutes: F64, factors: tuple[float, ...]) -> Way:
        at = list(nodes)
        return Way(key, nodes, minutes, self._roads.node_lon[at], self._roads.node_lat[at], factors)

    def _stays(
        self, nodes: tuple[int, ...], old: Way | None, minute: int, arrive: int, now: Traffic, station: int
    ) -> bool:
        """A rerouted car for which there was no other way keeps the old one."""
        if old is None or arrive != round(float(old.minutes[-1])):
            return False
        row = self._row(now.key)
        k = next((j for j, m in enumerate(old.minutes) if m > minute), len(nodes) - 1)
        minutes = float(self._city.bank.minutes[row, nodes[min(k, len(nodes) - 1)], station]) * now.factor
        return row < 0 or not minutes <= RING - 8.0

    def _row(self, key: int) -> int:
        return int(self._city.bank.index.reshape(-1)[key])

    def _path(self, row: int, node: int, station: int) -> tuple[tuple[int, ...], F64, tuple[float, ...]]:
        """Nodes from `node` to the station in a table, minutes of the table at each, congestion between."""
        bank = self._city.bank
        nodes, clock, factors = [node], [0.0], []
        while len(nodes) <= len(self._roads.node_lat):
            link = int(bank.step[row, nodes[-1], station])
            if link < 0:
                break
            minutes = float(bank.link_minutes[row, link])
            clock.append(clock[-1] + minutes)
            factors.append(minutes / float(self._free[link]))
            nodes.append(int(self._roads.link_to[link]))
        return tuple(nodes), np.asarray(clock), tuple(factors)


def _free_minutes(city: PackedCity) -> F64:
    """(L,) minutes on every road when it is empty."""
    roads = city.pack.roads
    free: F64 = roads.link_m / 1000.0 / roads.free_flow_kmh[roads.link_class] * 60.0
    return free


def congestion(city: PackedCity, traffic: Traffic) -> F64:
    """(L,) travel time of every road over its free flow in the table of `traffic`; inf where it is closed."""
    free = _free_minutes(city)
    row = int(city.bank.index.reshape(-1)[traffic.key])
    if row < 0:
        return np.ones(len(free))
    return np.asarray(city.bank.link_minutes[row, : len(free)], np.float64) / free * traffic.factor


def _key(car: Mapping[str, object]) -> Key:
    node, station, key = (int(str(car[name])) for name in ("node", "station", "travel_key"))
    return node, station, key, bool(car["rerouted"])


def _scale(old: Way | None, clock: F64, depart: int, before: Traffic) -> float:
    """Minutes on the road over minutes of the table, as they were before the reroute."""
    whole = float(clock[-1])
    if whole <= 0.0:
        return 1.0
    if old is not None:
        return (float(old.minutes[-1]) - depart) / whole
    return max(math.ceil(whole * before.factor), 1) / whole


def _stretched(clock: F64, start: float, end: float) -> F64:
    """Minutes of a table as minutes of the episode from `start` to `end`."""
    whole = float(clock[-1])
    if whole <= 0.0:
        out = np.full(len(clock), float(start))
        if len(out) > 1:
            out[-1] = end
        return out
    return start + clock * ((end - start) / whole)
