"""Travel tables: from every road node to every station, one table per state of the traffic.

A state is (day type, half hour, state of the links by scenario, jammed corridor). Congestion by hour,
class and side is in the tables; what slows the whole city at once (the day, rain) is a factor on top.
Tables are made when first needed (Dijkstra from all stations on the reversed graph) and shared by all
environments of the process; the kernels see plain arrays.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from ev_grid_oracle.city.model import CityPack, Scenario
from ev_grid_oracle.schema.enums import RATE_KW, EventKind
from ev_grid_oracle.schema.rows import RING

BINS = 48
ENERGY_PER_CONGESTION = 0.10
"""Extra consumption per unit of congestion above 1 (stop and go); an assumption stated in the pack's docs."""

LinkState = tuple[tuple[int, float], ...]
"""Factors on link travel time, by link, sorted; inf closes a link."""


class TravelBank:
    """Tables of one city, grown on demand.

    Attributes:
        minutes: (B, N, S + 3) float32 minutes by the fastest path, then the least of them over the stations of each
            class of slot; inf no route.
        km: (B, N, S) float32 effective kilometres of that path for energy.
        step: (B, N, S) int16 next link of that path; -1 at the station's node or without a route.
        link_minutes: (B, L) float32.
        index: (links states, 2 day types, 48 half hours, corridors + 1) int32 table row, -1 not made yet.
    """

    def __init__(self, city: CityPack) -> None:
        self.city = city
        roads = city.roads
        self._lock = threading.Lock()
        self._states: dict[LinkState, int] = {}
        n, s, n_links = len(roads.node_lat), len(city.stations.ids), len(roads.link_from)
        self.minutes = np.empty((0, n, s + len(RATE_KW)), np.float32)
        self.km = np.empty((0, n, s), np.float32)
        self.step = np.empty((0, n, s), np.int16)
        self.link_minutes = np.empty((0, n_links), np.float32)
        self.index = np.full((0, 2, BINS, len(roads.corridor_ids) + 1), -1, np.int32)
        self._used = 0
        self._free_minutes = roads.link_m / 1000.0 / roads.free_flow_kmh[roads.link_class] * 60.0
        self.state_id(())
        for scenario in city.scenarios:  # in the pack's order, so that numbers are equal in every process
            announced = replace(scenario, events=tuple(e for e in scenario.events if e.announced_ticks >= 0))
            for story in (scenario, announced):
                for _tick, state in link_states(story, n_links):
                    self.state_id(state)

    def state_id(self, state: LinkState) -> int:
        """The number of a link state, registered when new."""
        with self._lock:
            if state not in self._states:
                self._states[state] = len(self._states)
                fresh = np.full((1, *self.index.shape[1:]), -1, np.int32)
                self.index = np.concatenate([self.index, fresh])
            return self._states[state]

    def ensure(self, keys: Sequence[tuple[int, int, int, int]] | npt.NDArray[np.int64]) -> None:
        """Make the tables of `keys` (link state, day type, half hour, corridor + 1) that are missing."""
        with self._lock:
            missing = sorted({tuple(int(v) for v in key) for key in keys if self.index[tuple(key)] < 0})
            if not missing:
                return
            self._reserve(self._used + len(missing))
            states = {number: state for state, number in self._states.items()}
            for key in missing:
                self._make(self._used, states[key[0]], *key[1:])
                self.index[key] = self._used
                self._used += 1

    def _reserve(self, rows: int) -> None:
        have = len(self.minutes)
        if rows <= have:
            return
        grown = max(rows, have * 2, 32)
        for name in ("minutes", "km", "step", "link_minutes"):
            old = getattr(self, name)
            new = np.empty((grown, *old.shape[1:]), old.dtype)
            new[:have] = old
            setattr(self, name, new)

    def _make(self, row: int, state: LinkState, day: int, half_hour: int, jam: int) -> None:
        roads, constants = self.city.roads, self.city.constants
        hour = (half_hour + 0.5) / 2.0
        low = int(hour)
        part = hour - low
        table = roads.congestion[day]
        factor = (
            table[roads.link_class, roads.link_side, low] * (1.0 - part)
            + table[roads.link_class, roads.link_side, (low + 1) % 24] * part
        )
        for link, value in state:
            factor[link] *= value
        if jam > 0:
            factor[roads.link_corridor == jam - 1] *= constants.incident_jam_factor
        minutes = self._free_minutes * factor
        effective_km = roads.link_m / 1000.0 * (1.0 + ENERGY_PER_CONGESTION * np.minimum(factor - 1.0, 9.0))
        self.link_minutes[row] = minutes
        n = len(roads.node_lat)
        open_links = np.flatnonzero(np.isfinite(minutes))
        graph, pairs, fastest = _fastest_links(roads.link_to, roads.link_from, minutes, open_links, n)
        stations = self.city.stations.node
        targets, inverse = np.unique(stations, return_inverse=True)
        # on the reversed graph the predecessor of a node is its next node on the way to the station
        dist, before = dijkstra(graph, directed=True, indices=targets, return_predecessors=True)
        km = np.full((len(targets), n), np.inf)
        step = np.full((len(targets), n), -1, np.int16)
        t, node = np.nonzero(before >= 0)
        ahead = before[t, node]
        link = fastest[np.searchsorted(pairs, node * n + ahead)]
        step[t, node] = link
        km[np.arange(len(targets)), targets] = 0.0
        while len(t):  # outwards from the stations, one road further each time
            there = km[t, ahead]
            known = np.isfinite(there)
            km[t[known], node[known]] = there[known] + effective_km[link[known]]
            t, node, ahead, link = (a[~known] for a in (t, node, ahead, link))
        dist[dist > RING] = np.inf
        by_station = dist[inverse]
        rate = self.city.stations.rate
        nearest = [by_station[rate == k].min(0, initial=np.inf) for k in range(len(RATE_KW))]
        self.minutes[row] = np.vstack([by_station, nearest]).T
        self.km[row] = km[inverse].T
        self.step[row] = step[inverse].T


def link_states(scenario: Scenario, n_links: int) -> list[tuple[int, LinkState]]:
    """(tick, state of the links from then on) for every tick at which a scenario changes links."""
    factor: dict[int, float] = {}
    closed: dict[int, bool] = {}
    changes: list[tuple[int, LinkState]] = []
    events = [e for e in scenario.events if e.kind in (EventKind.LINK_SPEED, EventKind.LINK_CLOSED)]
    for tick in sorted({e.tick for e in events}):
        for event in events:
            if event.tick != tick:
                continue
            for link in event.targets or range(n_links):
                if event.kind == EventKind.LINK_SPEED:
                    factor[link] = event.value
                else:
                    closed[link] = event.value > 0.5
        state = {link: math.inf if closed.get(link) else factor.get(link, 1.0) for link in {*factor, *closed}}
        changes.append((tick, tuple(sorted((k, v) for k, v in state.items() if v != 1.0))))
    return changes


def _fastest_links(
    rows: npt.NDArray[np.int32],
    columns: npt.NDArray[np.int32],
    minutes: npt.NDArray[np.float64],
    links: npt.NDArray[np.int64],
    n: int,
) -> tuple[csr_array, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Reversed graph with the fastest of parallel links; codes from x n + to of its links, ascending, and the links.

    Ties go to the lowest link number, so the order of rows in a pack does not matter to the result.
    """
    code = columns[links].astype(np.int64) * n + rows[links]
    order = np.lexsort((links, minutes[links], code))
    pairs, first = np.unique(code[order], return_index=True)
    chosen = links[order[first]]
    graph = csr_array((minutes[chosen], (rows[chosen], columns[chosen])), shape=(n, n))
    return graph, pairs, chosen
