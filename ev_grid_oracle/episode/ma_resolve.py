"""What a directive forbids, and where a forbidden answer goes instead: deterministic, before the verifier.

Only a route can be forbidden: its station is blacklisted, or the load now, with the cars that this tick's
earlier answers send off and this car's power at its rate, would pass a cap. The car then goes to the best
allowed station by `greedy_counting` (`Observation.candidates`, ties by station order) at the rate that rule
would take, or stays pending. An answer for a car that is not pending is left to the verifier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.lookup import plug_limit_kw
from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.episode.ids import car_id
from ev_grid_oracle.episode.ma_directive import Directive
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.enums import RATE_KW, ActionKind, Rate
from ev_grid_oracle.schema.observation import EVRequest, Observation

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Violation:
    """One answer that the directive forbids.

    Attributes:
        reason: the directive's field that forbids it.
        given: where the car was sent instead; None: it stays pending.
    """

    ev_id: str
    asked: str
    reason: str
    given: str | None

    def to_dict(self) -> dict[str, object]:
        """JSON-safe."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Resolution:
    """The answers that go to the verifier, and what was changed."""

    actions: tuple[Action, ...]
    violations: tuple[Violation, ...]


class Loads:
    """The load now and what this tick's answers add to it, kVA."""

    def __init__(self, city: PackedCity, obs: Observation) -> None:
        feeders = obs.state.feeders
        self._city = city
        self._now: F64 = feeders.load_frac * feeders.rating_kva
        self._rating: F64 = feeders.rating_kva
        self._grid_kva = obs.state.grid_load_frac * float(feeders.rating_kva.sum())
        self._total_kva = float(feeders.rating_kva.sum())

    def kva(self, car: EVRequest, station: int, rate: int) -> float:
        """Apparent power of `car` at `station` under the cap of `rate`; 0 where no plug fits."""
        c = self._city
        vehicle = c.pack.vehicles.names.index(car.vehicle)
        limit, socket = plug_limit_kw(c.cf, c.ci, c.layout.at, vehicle, station)
        return float(min(limit, socket, RATE_KW[rate])) / c.pack.grid.pf_charger

    def refusal(self, directive: Directive, car: EVRequest, station: int, rate: int) -> str:
        """The field of `directive` that forbids the route, "" if none does."""
        stations, grid = self._city.pack.stations, self._city.pack.grid
        if stations.ids[station] in directive.station_blacklist:
            return "station_blacklist"
        kva = self.kva(car, station, rate)
        feeder = int(stations.feeder[station])
        cap = directive.feeder_caps.get(grid.feeder_ids[feeder])
        if cap is not None and (self._now[feeder] + kva) / self._rating[feeder] > cap:
            return "feeder_caps"
        most = directive.max_grid_load_pct
        if most is not None and (self._grid_kva + kva) / self._total_kva > most:
            return "max_grid_load_pct"
        return ""

    def add(self, car: EVRequest, station: int, rate: int) -> None:
        """The car is sent off."""
        kva = self.kva(car, station, rate)
        self._now[int(self._city.pack.stations.feeder[station])] += kva
        self._grid_kva += kva


class Resolver:
    """Applies directives to the answers of one city."""

    def __init__(self, city: PackedCity) -> None:
        self._city = city
        self._index = {name: k for k, name in enumerate(city.pack.stations.ids)}

    def resolve(self, obs: Observation, actions: Sequence[Action], directive: Directive) -> Resolution:
        """What becomes of `actions` (already judged by the parser) under `directive`."""
        if not directive.limits:
            return Resolution(tuple(actions), ())
        place = {ev_id: k for k, ev_id in enumerate(obs.pending_ids)}
        loads = Loads(self._city, obs)
        kept: list[Action] = []
        broken: list[Violation] = []
        for action in actions:
            k = 0 if action.ev_id is None and place else place.get(action.ev_id or "")
            if action.kind != ActionKind.ROUTE or action.station_id is None or k is None:
                kept.append(action)
                continue
            car, station = obs.pending[k], self._index[action.station_id]
            reason = loads.refusal(directive, car, station, action.rate)
            if not reason:
                loads.add(car, station, action.rate)
                kept.append(action)
                continue
            other = self._best(obs, k, tuple(kept), loads, directive)
            if other is not None:
                kept.append(replace(action, station_id=other[0], rate=other[1], ev_id=car.ev_id))
                loads.add(car, self._index[other[0]], other[1])
            broken.append(
                Violation(car.ev_id, action.station_id, reason, None if other is None else other[0])
            )
        return Resolution(tuple(kept), tuple(broken))

    def forbidden(self, obs: Observation, actions: Sequence[Action], directive: Directive) -> list[str]:
        """Ids of the cars whose answers `directive` forbids, in order."""
        return [v.ev_id for v in self.resolve(obs, actions, directive).violations]

    def _best(
        self, obs: Observation, k: int, assumed: tuple[Action, ...], loads: Loads, directive: Directive
    ) -> tuple[str, Rate] | None:
        table = obs.candidates(k, assumed)
        order = np.argsort(table.score, kind="stable")
        for s in order.tolist():
            if not table.usable[s]:
                continue
            rate = Rate(int(table.best_rate[s]))
            if not loads.refusal(directive, obs.pending[k], s, rate):
                return self._city.pack.stations.ids[s], rate
        return None


def actions_of(rows: I32, station_ids: Sequence[str]) -> tuple[Action, ...]:
    """Decision rows (n, 8) of a rule as actions."""
    out = []
    for row in rows.tolist():
        station = row[r.D_STATION]
        out.append(
            Action(
                ActionKind(row[r.D_KIND]),
                None if station < 0 else station_ids[station],
                Rate(row[r.D_RATE]),
                row[r.D_DEFER],
                car_id(row[r.D_SEQ]),
                "greedy_counting",
                row[r.D_CONF] / 10000.0,
            )
        )
    return tuple(out)
