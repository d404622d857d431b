"""Bad habits for the trap catalogue: each is greedy_counting with one thing wrong, so that the difference is the habit's.

They break rules on purpose, which no policy of the registry does, so they cannot be named anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.policies.base import F64, I32, PolicyContext
from ev_grid_oracle.policies.legal import put
from ev_grid_oracle.policies.rules import GreedyCounting
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import ActionKind
from ev_grid_oracle.sim.dispatch.common import reach

Change = Callable[["Look", I32, int], int]
"""Changes the rows of one tick: what is seen, the rows that greedy_counting wrote, how many; returns how many now."""


class Look:
    """What a habit sees: the observation row, and the verifier's code of every station for a pending car."""

    def __init__(self, city: PackedCity, o: F64) -> None:
        self.city, self.o = city, o
        self._codes: I32 = np.zeros(city.layout.dims["SP"], np.int32)
        self._travel: F64 = np.zeros(city.layout.dims["SP"])
        self.cars = np.asarray(city.layout.view(o, "O_PEND"), np.float64)[
            : int(o[city.layout.at[r.O_X] + r.OX_NPEND])
        ]
        self.tick = int(o[city.layout.at[r.O_X] + r.OX_TICK])

    def station(self, name: str) -> int:
        return self.city.pack.stations.ids.index(name)

    def codes(self, k: int) -> tuple[I32, F64]:
        """(S,) code and travel minutes of every station for pending car `k`."""
        c, n_s = self.city, self.city.layout.dims["S"]
        x = int(c.layout.at[r.O_PEND]) + k * r.N_PCOL
        reach(self.o, c.cf, c.ci, c.layout.at, c.bank.minutes, c.bank.km, x, self._codes, self._travel)
        return self._codes[:n_s].copy(), self._travel[:n_s].copy()

    def farthest(self, k: int, code: int) -> int:
        """The farthest station with that code for pending car `k`, -1 if none has it."""
        codes, travel = self.codes(k)
        there = np.flatnonzero(codes == code)
        return int(there[travel[there].argmax()]) if len(there) else -1


class Habit:
    """greedy_counting with one habit."""

    source = "policy"

    def __init__(self, name: str, change: Change) -> None:
        self.name = name
        self._change, self._rule = change, GreedyCounting()
        self._city: PackedCity | None = None

    def begin(self, context: PolicyContext) -> None:
        """A new episode."""
        self._city = context.city
        self._rule.begin(context)

    def answer(self, o: F64, out: I32) -> int:
        """Decisions for observation row `o` into `out` (MD, 8); returns how many."""
        if self._city is None:
            raise RuntimeError(f"{self.name} was asked before begin().")
        return self._change(Look(self._city, o), out, self._rule.answer(o, out))


def everyone_to(station: str) -> Change:
    """Every car that may go there goes to one station."""

    def change(look: Look, out: I32, n: int) -> int:
        s = look.station(station)
        place = {int(car[r.P_SEQ]): k for k, car in enumerate(look.cars)}
        for row in out[:n]:
            if row[r.D_KIND] == ActionKind.ROUTE and look.codes(place[int(row[r.D_SEQ])])[0][s] == r.V_OK:
                row[r.D_STATION], row[r.D_RATE] = s, look.city.pack.stations.rate[s]
        return n

    return change


def everyone_plugs_in_at(station: str) -> Change:
    """Every routed car goes to one station, whether its plug fits or not."""

    def change(look: Look, out: I32, n: int) -> int:
        s = look.station(station)
        routed = out[:n, r.D_KIND] == ActionKind.ROUTE
        out[:n][routed, r.D_STATION], out[:n][routed, r.D_RATE] = s, look.city.pack.stations.rate[s]
        return n

    return change


def farthest_with(code: int) -> Change:
    """Every routed car for which some station has this verdict goes to the farthest such one."""

    def change(look: Look, out: I32, n: int) -> int:
        place = {int(car[r.P_SEQ]): k for k, car in enumerate(look.cars)}
        for row in out[:n]:
            s = look.farthest(place[int(row[r.D_SEQ])], code) if row[r.D_KIND] == ActionKind.ROUTE else -1
            if s >= 0:
                row[r.D_STATION], row[r.D_RATE] = s, look.city.pack.stations.rate[s]
        return n

    return change


def put_off(minutes: int, while_dear: bool = False) -> Change:
    """Every car that wants to charge now is put off by `minutes` (by 5 while prices are above the usual), whatever its patience."""

    def change(look: Look, out: I32, n: int) -> int:
        lay = look.city.layout
        usual = np.asarray(lay.view(look.city.cf, "K_PRICE"), np.float64)
        dear = bool((np.asarray(lay.view(look.o, "O_PRICE"), np.float64) > 1.2 * usual).any())
        if while_dear and not dear:
            return n
        kept = 0
        for car in look.cars:
            patient = car[r.P_PAT] >= minutes or not while_dear
            if car[r.P_FLEX] == 0.0 and patient:
                kept = put(out, kept, int(car[r.P_SEQ]), ActionKind.DEFER, defer_min=minutes)
        return kept

    return change


def silence_from(tick: int) -> Change:
    """No answers from a tick on."""
    return lambda look, out, n: n if look.tick < tick else 0


def nearest_on_the_hottest_feeder() -> Change:
    """Every routed car goes to the nearest station of the feeder with the highest equivalent load."""

    def change(look: Look, out: I32, n: int) -> int:
        lay = look.city.layout
        feeder = int(np.asarray(lay.view(look.o, "O_FHEAT")).argmax())
        mine = np.asarray(lay.view(look.city.ci, "J_FEEDER"))[: lay.dims["S"]] == feeder
        place = {int(car[r.P_SEQ]): k for k, car in enumerate(look.cars)}
        for row in out[:n]:
            if row[r.D_KIND] != ActionKind.ROUTE:
                continue
            codes, travel = look.codes(place[int(row[r.D_SEQ])])
            legal = np.flatnonzero(mine & (codes == r.V_OK))
            if len(legal):
                s = int(legal[travel[legal].argmin()])
                row[r.D_STATION], row[r.D_RATE] = s, look.city.pack.stations.rate[s]
        return n

    return change


def shifts_for_all() -> Change:
    """Every pending car carries a load_shift, whether the feeders need it or not."""

    def change(look: Look, out: I32, n: int) -> int:
        kept = 0
        for car in look.cars:
            kept = put(out, kept, int(car[r.P_SEQ]), ActionKind.LOAD_SHIFT, rate=0)
        return kept

    return change
