"""Driving on the city's roads by the clock: one road, the neighbours of a node, and the fastest way.

Link minutes are those of the `TravelBank`, one table for every half hour. A car that is still on a road when
the half hour ends drives on at the new speed, so that setting out later never means arriving earlier; the
search below is therefore exact. A closed road cannot be entered.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.travel import BINS, ENERGY_PER_CONGESTION, LinkState, TravelBank
from ev_grid_oracle.schema.axes import MINUTES_PER_DAY

BIN_MIN = MINUTES_PER_DAY // BINS
NO_WAY = "E_UNREACHABLE"


@dataclass(frozen=True, slots=True)
class LinkTable:
    """(L,) one half hour: minutes to drive each link (inf: closed), effective km for energy."""

    minutes: tuple[float, ...]
    km: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Drive:
    """One link driven: minutes, effective km."""

    link: int
    minutes: float
    km: float


@dataclass(frozen=True, slots=True)
class Route:
    """The best way from one node to another.

    Attributes:
        code: "" or ``E_UNREACHABLE``.
        nodes: both ends included; empty without a way, and so are `links`.
        minutes, metres, km: totals (km: effective, for energy); None without a way, never a number.
    """

    code: str
    nodes: tuple[int, ...] = ()
    links: tuple[int, ...] = ()
    minutes: float | None = None
    metres: float | None = None
    km: float | None = None


class RoadNetwork:
    """Directed links between nodes, one of several parallel links being as good as its minutes.

    Args:
        n_nodes: nodes, numbered from 0.
        link_from, link_to, link_m: (L,) ends and metres.
        tables: half hour of the day (0 to 47) -> `LinkTable`.
    """

    def __init__(
        self,
        n_nodes: int,
        link_from: Sequence[int],
        link_to: Sequence[int],
        link_m: Sequence[float],
        tables: Callable[[int], LinkTable],
    ) -> None:
        self.n_nodes = n_nodes
        self.link_to = tuple(int(v) for v in link_to)
        self.link_m = tuple(float(v) for v in link_m)
        self._tables = tables
        self._seen: dict[int, LinkTable] = {}
        out: list[list[int]] = [[] for _ in range(n_nodes)]
        for link, node in enumerate(link_from):
            out[int(node)].append(link)
        self._out = tuple(tuple(links) for links in out)

    @classmethod
    def of(
        cls,
        city: CityPack,
        bank: TravelBank,
        day: int,
        links: LinkState = (),
        jam: int = -1,
        slow: float = 1.0,
    ) -> RoadNetwork:
        """The roads of a city.

        Args:
            day: 0 weekday, 1 sunday.
            links: factors of a scenario on single links, as `link_states` gives them.
            jam: index of a jammed corridor, -1 none.
            slow: factor on all minutes (rain).
        """
        roads = city.roads
        free = roads.link_m / 1000.0 / roads.free_flow_kmh[roads.link_class] * 60.0
        state = bank.state_id(links)

        def table(half_hour: int) -> LinkTable:
            key = (state, day, half_hour, jam + 1)
            bank.ensure([key])
            minutes = bank.link_minutes[int(bank.index[key])].astype(np.float64)
            congestion = np.minimum(minutes / free - 1.0, 9.0)
            km = roads.link_m / 1000.0 * (1.0 + ENERGY_PER_CONGESTION * congestion)
            return LinkTable(tuple((minutes * slow).tolist()), tuple(km.tolist()))

        return cls(
            len(roads.node_lat),
            roads.link_from.tolist(),
            roads.link_to.tolist(),
            roads.link_m.tolist(),
            table,
        )

    def table(self, clock: float) -> LinkTable:
        """The table at minute `clock` of the day (it may pass midnight)."""
        half_hour = int(clock // BIN_MIN) % BINS
        if half_hour not in self._seen:
            self._seen[half_hour] = self._tables(half_hour)
        return self._seen[half_hour]

    def drive(self, link: int, clock: float) -> Drive | None:
        """Drive `link`, entered at minute `clock`; None if it is closed then."""
        now = self.table(clock)
        whole = now.minutes[link]
        if not math.isfinite(whole):
            return None
        end = (clock // BIN_MIN + 1.0) * BIN_MIN
        if clock + whole <= end:
            return Drive(link, whole, now.km[link])
        left, minutes, km = 1.0, 0.0, 0.0
        while True:
            part = (end - clock) / whole
            if part >= left:
                return Drive(link, minutes + left * whole, km + left * now.km[link])
            left -= part
            minutes += end - clock
            km += part * now.km[link]
            clock, end = end, end + BIN_MIN
            now = self.table(clock)
            if math.isfinite(now.minutes[link]):  # who is on a road that closes drives on as before
                whole = now.minutes[link]

    def neighbours(self, node: int, clock: float) -> dict[int, Drive]:
        """Nodes that can be driven to next, in ascending order, each over its fastest link.

        Among links of equal minutes the lowest number wins, so the order of a pack's rows means nothing.
        """
        best: dict[int, Drive] = {}
        for link in self._out[node]:
            there = self.link_to[link]
            if there == node:
                continue
            driven = self.drive(link, clock)
            if driven is not None and (there not in best or driven.minutes < best[there].minutes):
                best[there] = driven
        return dict(sorted(best.items()))

    def minutes_from(self, start: int, clock: float) -> list[float | None]:
        """(N,) minutes of the fastest way to every node, setting out at `clock`; None where there is none."""
        cost, _came, done = self._search(start, -1, clock, "minutes")
        return [cost[node] if node in done else None for node in range(self.n_nodes)]

    def route(
        self, start: int, end: int, clock: float, by: Literal["minutes", "metres"] = "minutes"
    ) -> Route:
        """The fastest (or the shortest) way; `Route.code` says if there is none."""
        _cost, came, done = self._search(start, end, clock, by)
        if end not in done:
            return Route(NO_WAY)
        nodes, drives = [end], []
        while nodes[-1] != start:
            before, driven = came[nodes[-1]]
            nodes.append(before)
            drives.append(driven)
        drives.reverse()
        return Route(
            "",
            tuple(reversed(nodes)),
            tuple(d.link for d in drives),
            sum(d.minutes for d in drives),
            sum(self.link_m[d.link] for d in drives),
            sum(d.km for d in drives),
        )

    def _search(
        self, start: int, end: int, clock: float, by: str
    ) -> tuple[dict[int, float], dict[int, tuple[int, Drive]], set[int]]:
        """Label setting from `start` until `end` is settled: (cost, node and link before, settled nodes)."""
        arrival = {start: clock}
        cost = {start: 0.0}
        came: dict[int, tuple[int, Drive]] = {}
        heap = [(0.0, start)]
        done: set[int] = set()
        while heap:
            spent, node = heapq.heappop(heap)
            if node in done:
                continue
            done.add(node)
            if node == end:
                break
            for link in self._out[node]:
                there = self.link_to[link]
                if there in done:
                    continue
                driven = self.drive(link, arrival[node])
                if driven is None:
                    continue
                total = spent + (driven.minutes if by == "minutes" else self.link_m[link])
                if total < cost.get(there, math.inf):
                    cost[there] = total
                    arrival[there] = arrival[node] + driven.minutes
                    came[there] = (node, driven)
                    heapq.heappush(heap, (total, there))
        return cost, came, done
