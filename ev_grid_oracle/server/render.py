"""Cars on the road as a map draws them: polyline, minute at each of its points, congestion, why the way changed.

Read from the frames of a trace and the city's travel tables; nothing is simulated here. A car drives the fastest
path of the table at its departure, stretched to the minutes that the simulator gave it, so its place at any minute
is where the minutes of its polyline say. A polyline is sent in the tick in which a car sets out or changes its way,
later ticks name the car alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.schema.rows import RING

TOLERANCE_M = 10.0
"""A point is left out of a polyline where the car would be drawn no farther than this from its place."""
REROUTED = "A road on its way was closed or jammed."
_M_PER_DEG = 111_195.0


@dataclass(frozen=True)
class Way:
    """Where a car drives: nodes, the minute of the episode at each, congestion of the pieces between.

    Attributes:
        key: what the frame says of the way; another key is another way.
        nodes, minutes: (n,); `minutes` never fall.
        factors: (n - 1,) travel time over free flow.
    """

    key: tuple[int, int, int, bool]
    nodes: tuple[int, ...]
    minutes: tuple[float, ...]
    factors: tuple[float, ...]


@dataclass(frozen=True)
class Traffic:
    """Traffic of a tick: key of the travel table (`Y_KEY`) and the factor on all its minutes (`X_TRAFFIC`)."""

    key: int
    factor: float = 1.0


class RoadView:
    """Follows the cars of one lane.

    Args:
        city: of the lane.
    """

    def __init__(self, city: PackedCity) -> None:
        self._city = city
        roads = city.pack.roads
        self._free = roads.link_m / 1000.0 / roads.free_flow_kmh[roads.link_class] * 60.0
        self._ways: dict[str, Way] = {}
        east = math.cos(math.radians(float(np.mean(roads.node_lat)))) * _M_PER_DEG
        self._xy = np.stack([roads.node_lon * east, roads.node_lat * _M_PER_DEG], axis=1)

    def event(
        self, cars: Sequence[Mapping[str, object]], minute: int, before: Traffic, now: Traffic
    ) -> dict[str, object]:
        """The render event of a tick: `cars` on the road after it, `arrived` since the event before.

        Args:
            cars: as `Frame.cars`.
            minute: of the episode, at which the frame stands.
            before, now: traffic during the tick, and at its end, by which a rerouted car drives on.
        """
        ids = self._city.pack.stations.ids
        shown: list[dict[str, object]] = []
        ways: dict[str, Way] = {}
        for car in cars:
            name = str(car["id"])
            old = self._ways.get(name)
            key = _key(car)
            way = old if old is not None and old.key == key else self._way(car, old, minute, before, now)
            item: dict[str, object] = {
                "id": name,
                "walkin": car["walkin"],
                "station_id": ids[key[1]],
                "depart_min": car["depart_min"],
                "eta_min": car["arrive_min"],
                "reroute_reason": REROUTED if key[3] else None,
            }
            if way is not None:
                ways[name] = way
            item["route"] = self.drawn(way) if way is not None and way is not old else None
            shown.append(item)
        arrived = sorted(set(self._ways) - {str(car["id"]) for car in cars})
        self._ways = ways
        return {"cars": shown, "arrived": arrived}

    def _way(
        self, car: Mapping[str, object], old: Way | None, minute: int, before: Traffic, now: Traffic
    ) -> Way | None:
        """The way of a car that set out or was rerouted; None where the tables do not have it."""
        node, station, table, rerouted = key = _key(car)
        depart, arrive = int(str(car["depart_min"])), int(str(car["arrive_min"]))
        row = self._row(table)
        if row < 0:
            return None
        nodes, clock, factors = self._path(row, node, station)
        if not rerouted or self._stays(nodes, old, minute, arrive, now, station):
            return Way(key, nodes, _stretched(clock, depart, arrive), factors)
        # as the simulator does it: along the old path to the next node ahead, then on by today's table
        scale = _scale(old, clock, depart, before)
        k = next((j for j, c in enumerate(clock) if c * scale > minute - depart), len(nodes) - 1)
        driven = [depart + c * scale for c in clock[: k + 1]]
        row = self._row(now.key)
        if row < 0:
            return None
        on_nodes, on_clock, on_factors = self._path(row, nodes[k], station)
        rest = _stretched(on_clock, driven[-1], max(arrive, driven[-1]))
        return Way(
            key, nodes[:k] + on_nodes, (*driven[:-1], *rest), (*factors[:k], *on_factors)
        )  # fmt: skip

    def _stays(
        self, nodes: tuple[int, ...], old: Way | None, minute: int, arrive: int, now: Traffic, station: int
    ) -> bool:
        """A rerouted car for which there was no other way keeps the old one."""
        if old is None or arrive != round(old.minutes[-1]):
            return False
        row = self._row(now.key)
        k = next((j for j, m in enumerate(old.minutes) if m > minute), len(nodes) - 1)
        minutes = float(self._city.bank.minutes[row, nodes[min(k, len(nodes) - 1)], station]) * now.factor
        return row < 0 or not minutes <= RING - 8.0

    def _row(self, key: int) -> int:
        return int(self._city.bank.index.reshape(-1)[key])

    def _path(
        self, row: int, node: int, station: int
    ) -> tuple[tuple[int, ...], tuple[float, ...], tuple[float, ...]]:
        """Nodes from `node` to the station in a table, minutes of the table at each, congestion between."""
        bank, roads = self._city.bank, self._city.pack.roads
        nodes, clock, factors = [node], [0.0], []
        while len(nodes) <= len(roads.node_lat):
            link = int(bank.step[row, nodes[-1], station])
            if link < 0:
                break
            minutes = float(bank.link_minutes[row, link])
            clock.append(clock[-1] + minutes)
            factors.append(minutes / float(self._free[link]))
            nodes.append(int(roads.link_to[link]))
        return tuple(nodes), tuple(clock), tuple(factors)

    # -- what is sent -----------------------------------------------------------------------------------
    def drawn(self, way: Way) -> dict[str, object]:
        """Points [lon, lat], the minute at each, and the worst congestion of each piece between them."""
        roads = self._city.pack.roads
        kept = _kept(self._xy[list(way.nodes)], np.asarray(way.minutes))
        pieces = [max(way.factors[a:b], default=1.0) for a, b in pairwise(kept)]
        nodes = [way.nodes[k] for k in kept]
        return {
            "path": [[round(float(roads.node_lon[n]), 5), round(float(roads.node_lat[n]), 5)] for n in nodes],
            "minutes": [round(way.minutes[k], 3) for k in kept],
            "congestion": [round(p, 2) if math.isfinite(p) else None for p in pieces],
        }


def place_at(route: Mapping[str, object], minute: float) -> tuple[float, float]:
    """(lon, lat) of a car on a drawn route at a minute of the episode; before and after it at its ends."""
    path = np.asarray(route["path"], np.float64)
    at = np.asarray(route["minutes"], np.float64)
    return float(np.interp(minute, at, path[:, 0])), float(np.interp(minute, at, path[:, 1]))


def _key(car: Mapping[str, object]) -> tuple[int, int, int, bool]:
    node, station, key = (int(str(car[name])) for name in ("node", "station", "travel_key"))
    return node, station, key, bool(car["rerouted"])


def _scale(old: Way | None, clock: Sequence[float], depart: int, before: Traffic) -> float:
    """Minutes on the road over minutes of the table, as they were before the reroute."""
    whole = clock[-1]
    if whole <= 0.0:
        return 1.0
    if old is not None:
        return (old.minutes[-1] - depart) / whole
    return max(math.ceil(whole * before.factor), 1) / whole


def _stretched(clock: Sequence[float], start: float, end: float) -> tuple[float, ...]:
    """Minutes of a table as minutes of the episode from `start` to `end`."""
    whole = clock[-1]
    if whole <= 0.0:
        return (start,) * (len(clock) - 1) + (end,) if len(clock) > 1 else (start,)
    return tuple(start + c * (end - start) / whole for c in clock)


def _kept(xy: npt.NDArray[np.float64], minutes: npt.NDArray[np.float64]) -> list[int]:
    """Places of the points that are sent: first, last, and what keeps every car within `TOLERANCE_M`.

    Douglas and Peucker's rule, but a point is compared with where the car would be drawn in its minute.
    """
    keep, todo = {0, len(xy) - 1}, [(0, len(xy) - 1)]
    while todo:
        a, b = todo.pop()
        if b - a < 2:
            continue
        span = minutes[b] - minutes[a]
        inner = np.arange(a + 1, b)
        share = (minutes[inner] - minutes[a]) / span if span > 0.0 else np.zeros(len(inner))
        off = np.hypot(*(xy[inner] - (xy[a] + share[:, None] * (xy[b] - xy[a]))).T)
        worst = int(np.argmax(off))
        if off[worst] > TOLERANCE_M:
            k = int(inner[worst])
            keep.add(k)
            todo += [(a, k), (k, b)]
    return sorted(keep)
