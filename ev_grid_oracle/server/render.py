"""Cars on the road as a map draws them: polyline, minute at each of its points, congestion, why the way changed.

Where cars drive is `viz.geometry`'s to say; here ways become what is sent. A car's place at any minute is where the
minutes of its polyline say. A polyline is sent in the tick in which a car sets out or changes its way, later ticks
name the car alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.viz.geometry import M_PER_DEG, Traffic, Way, Ways

TOLERANCE_M = 10.0
"""A point is left out of a polyline where the car would be drawn no farther than this from its place."""
REROUTED = "A road on its way was closed or jammed."


class RoadView:
    """Follows the cars of one lane.

    Args:
        city: of the lane.
    """

    def __init__(self, city: PackedCity) -> None:
        self._city = city
        self._ways = Ways(city)
        self._shown: Mapping[str, Way] = {}
        roads = city.pack.roads
        east = math.cos(math.radians(float(np.mean(roads.node_lat)))) * M_PER_DEG
        self._xy = np.stack([roads.node_lon * east, roads.node_lat * M_PER_DEG], axis=1)

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
        ways, gone = self._ways.turn(cars, minute, before, now)
        shown: list[dict[str, object]] = []
        for car in cars:
            name = str(car["id"])
            way = ways.get(name)
            fresh = way is not None and way is not self._shown.get(name)
            shown.append(
                {
                    "id": name,
                    "walkin": car["walkin"],
                    "station_id": ids[int(str(car["station"]))],
                    "depart_min": car["depart_min"],
                    "eta_min": car["arrive_min"],
                    "reroute_reason": REROUTED if car["rerouted"] else None,
                    "route": self.drawn(way) if way is not None and fresh else None,
                }
            )
        self._shown = ways
        return {"cars": shown, "arrived": sorted(set(gone) - {str(car["id"]) for car in cars})}

    def drawn(self, way: Way) -> dict[str, object]:
        """Points [lon, lat], the minute at each, and the worst congestion of each piece between them."""
        roads = self._city.pack.roads
        kept = _kept(self._xy[list(way.nodes)], way.minutes)
        pieces = [max(way.factors[a:b], default=1.0) for a, b in pairwise(kept)]
        nodes = [way.nodes[k] for k in kept]
        return {
            "path": [[round(float(roads.node_lon[n]), 5), round(float(roads.node_lat[n]), 5)] for n in nodes],
            "minutes": [round(float(way.minutes[k]), 3) for k in kept],
            "congestion": [round(p, 2) if math.isfinite(p) else None for p in pieces],
        }


def place_at(route: Mapping[str, object], minute: float) -> tuple[float, float]:
    """(lon, lat) of a car on a drawn route at a minute of the episode; before and after it at its ends."""
    path = np.asarray(route["path"], np.float64)
    at = np.asarray(route["minutes"], np.float64)
    return float(np.interp(minute, at, path[:, 0])), float(np.interp(minute, at, path[:, 1]))


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
