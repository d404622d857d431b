"""Everything that can become of each car of an evening, as the lower bound sees it.

An option is a car at a station: it can be plugged in at any minute `first` to `last` and then stays `minutes`. Each
step below only adds possibilities or makes them cheaper, so whatever a dispatcher did is among them at no higher cost:

- a request may be sent to every station where its plug fits and that it can reach, in every tick of its patience; the
  minute of arrival is the earliest and the last minute of patience the latest over those ticks, the charge on arrival
  the fullest (verifier rules on detours and stations that are down are left out);
- a walk-in goes to one of the stations at which its draws can end (`bound_world.Draws`);
- charging takes the minutes at full power: site limits and demand response can only slow it;
- order of the queue is free, a plugged-in car may be left waiting on purpose;
- minutes from request to target reached count up to 240, minutes late of a flexible car likewise; a car that is lost
  costs 240 and takes no slot. A car that would take longer than that is as good as lost.
- cars of before tick 0 cost nothing and may be turned away; those at the plug stay their least minutes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.lookup import NO_ROUTE, plug_limit_kw, taper
from ev_grid_oracle.evaluation.bound_world import F64, I32, Draws, Evening, least_minutes
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import RATE_KW, CarState

MOST = 240
"""Minutes at which a car counts as lost (KPIs)."""
FASTER = 1.5
"""`sim.traffic.WORSE`: a link ahead this much slower makes a driver look again."""


@dataclass(frozen=True)
class Options:
    """Options of all cars, those of one car next to each other.

    Attributes:
        car, station: (o,).
        first, last: (o,) minutes at which it can be plugged in; last < first: it can only wait there in vain.
        minutes: (o,) at the plug. base: (o,) a served car costs max(base + minute of plug-in + minutes, 0).
        lost: (o,) cost of waiting there from `first` to `until` and not being served.
        until: (o,) last minute in the queue.
        nowhere: (n,) cost of a car that never reaches a queue; inf where it must go to one of its stations.
        needs: option -> {(station, tick): cars queued}: what a walk-in's choice takes.
    """

    car: npt.NDArray[np.int64]
    station: npt.NDArray[np.int64]
    first: npt.NDArray[np.int64]
    last: npt.NDArray[np.int64]
    until: npt.NDArray[np.int64]
    minutes: npt.NDArray[np.int64]
    base: F64
    lost: F64
    nowhere: F64
    needs: dict[int, dict[tuple[int, int], int]]


@dataclass
class _Rows:
    """Options while they are collected: (car, station, first, until, base, lost, Wh, stops), stops 0: never arrives."""

    rows: list[tuple[int, int, int, int, float, float, float, int]]
    nowhere: list[float]
    needs: dict[int, dict[tuple[int, int], int]]


def options_of(evening: Evening) -> Options:
    """Every car's options, counted cars first, then those of before tick 0 that are not plugged in."""
    out = _Rows([], [], {})
    trips = _Trips(evening)
    for n, (car, draws) in enumerate(zip(evening.cars, evening.draws, strict=True)):
        if draws is None:
            flexible = car[r.C_FLAGS] & r.B_FLEX > 0
            base = -float(car[r.C_READY] if flexible else car[r.C_TREQ])
            _request(trips, out, n, car, base, float(MOST))
            out.nowhere.append(float(MOST))
        else:
            out.nowhere.append(_walkin(trips, out, n, car, draws))
    for k, car in enumerate(evening.early):
        _early(trips, out, len(evening.cars) + k, car)
        out.nowhere.append(0.0)
    return _finished(trips, out, np.concatenate([evening.cars, evening.early]))


def _finished(trips: _Trips, out: _Rows, cars: I32) -> Options:
    table = np.array(out.rows, np.float64).reshape(-1, 8)
    car, station, first, until = table[:, :4].astype(np.int64).T
    base, lost, wh, stops = table[:, 4:].T
    minutes = trips.stay(cars[car], station, wh)
    last = np.where(lost > 0.0, np.minimum(until, (lost - base).astype(np.int64) - minutes), until)
    last[stops == 0.0] = -1
    return Options(car, station, first, last, until, minutes, base, lost, np.array(out.nowhere), out.needs)


def _request(trips: _Trips, out: _Rows, n: int, car: I32, base: float, lost: float) -> None:
    """A pending request: any station, any tick until its patience is used up."""
    until = int(car[r.C_TWAIT] + car[r.C_PAT])
    ticks = np.arange(max(int(car[r.C_TWAIT]) // 5 + 1, 0), min(until // 5, trips.ticks - 1) + 1)
    if not len(ticks):
        return
    arrive, wh, legal = trips.of(car, 5 * ticks, ticks)
    far = 10.0**6
    first = np.where(legal, arrive, far).min(0)
    last = np.where(legal, arrive + (until - 5 * ticks)[:, None], -far).max(0)
    least = np.where(legal, wh, far).min(0)
    for s in np.flatnonzero(legal.any(0)):
        out.rows.append((n, int(s), int(first[s]), int(last[s]), base, lost, float(least[s]), 1))


def _walkin(trips: _Trips, out: _Rows, n: int, car: I32, draws: Draws) -> float:
    """A walk-in: the stations of its draws; returns what it costs at least without any of them."""
    now = int(car[r.C_TREQ])
    tick = now // 5
    arrive, wh, legal = trips.of(car, np.array([now]), np.array([tick]))
    for s, needs in zip(draws.station, draws.needs, strict=True):
        if arrive[0, s] >= NO_ROUTE:
            return 0.0  # with this choice it would not set out at all
        first = int(arrive[0, s]) if legal[0, s] else 10**6  # strands: lost on arrival, never in the queue
        until = first + int(car[r.C_PAT]) if legal[0, s] else -1
        out.rows.append((n, s, first, until, -float(now), float(MOST), float(wh[0, s]), int(legal[0, s])))
        if needs:
            out.needs[len(out.rows) - 1] = {(station, tick): queue for station, queue in needs.items()}
    return np.inf if draws.station else 0.0


def _early(trips: _Trips, out: _Rows, n: int, car: I32) -> None:
    """A car of before tick 0 that is not plugged in: it costs nothing, but it can fill queues and slots."""
    state = int(car[r.C_STATE])
    if state in (CarState.PENDING, CarState.DEFERRED):
        _request(trips, out, n, car, 0.0, 0.0)
        return
    if car[r.C_FLAGS] & r.B_STRANDS:
        return
    if state == CarState.QUEUED:
        first, until, wh = -1, int(car[r.C_TWAIT] + car[r.C_PAT]), float(car[r.C_WH])
    else:
        first, wh = trips.on_the_road(car)
        until = first + int(car[r.C_PAT])
    out.rows.append((n, int(car[r.C_STATION]), first, until, 0.0, 0.0, wh, 1))


class _Trips:
    """Trips as the simulator drives them, reroutes included."""

    def __init__(self, evening: Evening) -> None:
        self._e, self._c = evening, evening.city
        self.ticks = len(evening.roads.table)
        bank = evening.city.bank
        self._minutes, self._km, self._step, self._link = bank.minutes, bank.km, bank.step, bank.link_minutes
        self._to = evening.city.pack.roads.link_to
        lay = self._c.layout
        n_s, n_v = lay.dims["S"], lay.dims["V"]
        limits = [
            [plug_limit_kw(self._c.cf, self._c.ci, lay.at, v, s) for s in range(n_s)] for v in range(n_v)
        ]
        table = np.array(limits)
        self._cap = np.where(table[..., 0] > 0.0, np.minimum(table.min(-1), RATE_KW[2]), 0.0)
        self._battery = np.asarray(lay.view(self._c.cf, "K_BATT"), np.float64)
        self._wh_km = np.asarray(lay.view(self._c.cf, "K_WHKM"), np.float64)
        self._gain = float(lay.view(self._c.cf, "K_CONST")[r.Q_EFF]) / 60.0
        self._reroutes = np.flatnonzero(evening.roads.reroute)

    def of(
        self, car: I32, depart: npt.NDArray[np.int64], ticks: npt.NDArray[np.int64]
    ) -> tuple[F64, F64, npt.NDArray[np.bool_]]:
        """Arrival minute, Wh used, and whether the car gets there, by departure and station (D, S)."""
        node, v = int(car[r.C_NODE]), int(car[r.C_VEHICLE])
        roads = self._e.roads
        rows = roads.table[ticks]
        n_s = self._cap.shape[1]
        t = self._minutes[rows, node, :n_s].astype(np.float64) * roads.traffic[ticks][:, None]
        none = t > r.RING - 8.0
        trip = np.where(none, NO_ROUTE, np.maximum(np.ceil(np.where(none, 0.0, t)), 1.0))
        wh = np.floor(self._km[rows, node, :n_s].astype(np.float64) * self._wh_km[v]) + 1.0
        arrive = np.where(none, NO_ROUTE, depart[:, None] + trip)
        holds = float(car[r.C_SOC_BP]) / 10.0 * self._battery[v]
        legal = ~none & (wh <= holds) & (self._cap[v] > 0.0)
        later = 5 * self._reroutes
        for k in range(len(depart)):
            there = np.flatnonzero(legal[k])
            if not ((later > depart[k]) & (later <= arrive[k, there].max(initial=0.0))).any():
                continue
            for s in map(int, there):
                arrive[k, s], wh[k, s] = self._rerouted(
                    node, s, v, int(rows[k]), int(depart[k]), float(arrive[k, s]), float(wh[k, s])
                )
        return arrive, wh, legal & (wh <= holds)

    def on_the_road(self, car: I32) -> tuple[int, float]:
        """Arrival minute and Wh of a car that is on the road at tick 0."""
        row = int(self._c.bank.index.reshape(-1)[car[r.C_BANK]])
        arrive, wh = float(car[r.C_TARR]), float(car[r.C_WH])
        if car[r.C_FLAGS] & r.B_REROUTED == 0 and row >= 0:
            node, s = int(car[r.C_NODE]), int(car[r.C_STATION])
            arrive, wh = self._rerouted(node, s, int(car[r.C_VEHICLE]), row, int(car[r.C_TDEP]), arrive, wh)
        return int(arrive), wh

    def stay(self, cars: I32, station: npt.NDArray[np.int64], wh: F64) -> npt.NDArray[np.int64]:
        """Least minutes at the plug of each car (o, N_CAR) at a station after a trip of `wh`; 100,000: no plug fits."""
        v = cars[:, r.C_VEHICLE]
        target, cap = cars[:, r.C_TGT_BP] / 10000.0, self._cap[v, station]
        soc = cars[:, r.C_SOC_BP] / 10000.0 - wh / 1000.0 / self._battery[v]
        kinds, kind = np.unique(np.stack([v, cars[:, r.C_TGT_BP]], 1), axis=0, return_inverse=True)
        lines = np.array([taper(self._c.cf, self._c.layout.at, k, t / 10000.0) for k, t in kinds]).reshape(
            -1, 2
        )
        a, b = lines[kind.ravel()].T
        out = least_minutes((target - soc) * self._battery[v], cap, a, b, self._gain)
        return np.where(cap > 0.0, out, 100_000)

    def _rerouted(
        self, node: int, s: int, v: int, row: int, depart: int, arrive: float, wh: float
    ) -> tuple[float, float]:
        """(arrival, Wh) after the one reroute of a car's life, if links ahead of it get worse; as sim.traffic."""
        roads = self._e.roads
        for tick in self._reroutes:
            now = 5 * int(tick)
            if now <= depart:
                continue
            if now > arrive:
                break
            new = int(roads.table[tick])
            whole = float(self._minutes[row, node, s])
            if whole <= 0.0 or row == new:
                continue
            here, clock = self._place(node, s, row, (arrive - depart) / whole, float(now - depart))
            if not self._caught(here, s, row, new):
                continue
            t = float(self._minutes[new, here, s]) * float(roads.traffic[tick])
            if t > r.RING - 8.0:
                return arrive, wh
            rest = max(float(np.ceil(t)), 1.0)
            left = int(float(self._km[row, here, s]) * self._wh_km[v]) + 1
            more = int(float(self._km[new, here, s]) * self._wh_km[v]) + 1
            return float(now + max(int(clock + rest) - (now - depart), 1)), wh - left + more
        return arrive, wh

    def _place(self, node: int, s: int, row: int, scale: float, elapsed: float) -> tuple[int, float]:
        """Next node of a car and the minutes of its trip until there."""
        clock = 0.0
        while clock <= elapsed:
            link = int(self._step[row, node, s])
            if link < 0:
                break
            clock += float(self._link[row, link]) * scale
            node = int(self._to[link])
        return node, clock

    def _caught(self, node: int, s: int, row: int, new: int) -> bool:
        """True if a link ahead has got much slower."""
        while True:
            link = int(self._step[row, node, s])
            if link < 0:
                return False
            if self._link[new, link] > FASTER * self._link[row, link]:
                return True
            node = int(self._to[link])
