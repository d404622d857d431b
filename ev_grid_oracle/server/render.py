"""Cars on the road as a map draws them: polyline, congestion of each piece, ETA, why the way changed.

Read from a frame of the trace and the city's travel tables; nothing is simulated here. A polyline is sent in
the tick in which a car sets out or changes its way, later ticks name the car alone.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.episode.frame import Frame

MAX_POINTS = 64
REROUTED = "A road on its way was closed or jammed."


class RoadView:
    """Follows the cars of one lane.

    Args:
        city: of the lane.
    """

    def __init__(self, city: PackedCity) -> None:
        self._city = city
        roads = city.pack.roads
        self._free = roads.link_m / 1000.0 / roads.free_flow_kmh[roads.link_class] * 60.0
        self._drawn: dict[str, tuple[int, int, int, bool]] = {}

    def event(self, frame: Frame, traffic: int) -> dict[str, object]:
        """The render event of a frame: `cars` on the road, `arrived` since the one before.

        traffic: key of the present travel table (`Y_KEY`), by which a rerouted car drives on.
        """
        stations = self._city.pack.stations.ids
        cars: list[dict[str, object]] = []
        now: dict[str, tuple[int, int, int, bool]] = {}
        minute = 5 * (frame.tick + 1)
        for car in frame.cars:
            name, node, station, key = (
                str(car["id"]), int(str(car["node"])), int(str(car["station"])), int(str(car["travel_key"])),
            )  # fmt: skip
            way = (node, station, key, bool(car["rerouted"]))
            now[name] = way
            shown: dict[str, object] = {
                "id": name,
                "walkin": car["walkin"],
                "station_id": stations[station],
                "depart_min": car["depart_min"],
                "eta_min": car["arrive_min"],
                "reroute_reason": REROUTED if car["rerouted"] else None,
            }
            if self._drawn.get(name) != way:
                spent = minute - int(str(car["depart_min"])) if car["rerouted"] else None
                shown["route"] = self.route(node, station, key, spent, traffic)
            cars.append(shown)
        arrived = sorted(set(self._drawn) - set(now))
        self._drawn = now
        return {"cars": cars, "arrived": arrived}

    def route(
        self, node: int, station: int, key: int, spent_min: float | None = None, traffic: int = 0
    ) -> dict[str, object] | None:
        """Points [lon, lat] and the congestion (travel time over free flow) of each piece between them.

        A car that has changed its way drove `spent_min` minutes by table `key` and goes on by `traffic`.
        """
        bank, roads = self._city.bank, self._city.pack.roads
        rows = bank.index.reshape(-1)
        row, later = int(rows[key]), int(rows[traffic])
        if row < 0 or later < 0:
            return None
        nodes, factors, clock = [node], [], 0.0
        while len(nodes) <= 2 * len(roads.node_lat):
            if spent_min is not None and clock > spent_min:
                row = later
            link = int(bank.step[row, nodes[-1], station])
            if link < 0:
                break
            clock += float(bank.link_minutes[row, link])
            factors.append(float(bank.link_minutes[row, link] / self._free[link]))
            nodes.append(int(roads.link_to[link]))
        kept = _decimated(len(nodes))
        pieces = [max(factors[a:b], default=1.0) for a, b in pairwise(kept)]
        return {
            "path": [
                [round(float(roads.node_lon[nodes[k]]), 5), round(float(roads.node_lat[nodes[k]]), 5)]
                for k in kept
            ],
            "congestion": [round(p, 2) if np.isfinite(p) else None for p in pieces],
        }


def _decimated(n: int) -> list[int]:
    """Places of at most MAX_POINTS of `n` points, first and last among them."""
    if n <= MAX_POINTS:
        return list(range(n))
    return [int(k) for k in np.linspace(0, n - 1, MAX_POINTS)]
