"""From an observation row to the small oracle's questions: what `prompt_compact` says of the `Observation`, from rows.

One `Eyes` per thread; it holds the scratch of the candidate-table kernel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.episode import candidates as c
from ev_grid_oracle.policies.base import F64, I32
from ev_grid_oracle.policies.llm import small_words as w
from ev_grid_oracle.protocol.prompt_compact import STATION_SHARE
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.axes import STEP_MINUTES
from ev_grid_oracle.schema.enums import RATE_KW

_HUGE = 1.0e6
AHEAD_TICKS = 5
AHEAD_MIN = 25.0
NEAR_FRAC = 0.97
"""Equivalent load from which a feeder is asked about: the planner's `cap_near_frac`."""
MOST_CAPS = 4
"""Caps of one tick at most."""
CAP_MINUTES = 15
DEFER_MINUTES = STEP_MINUTES
LEAST_PATIENCE_MIN = 10.0
"""A car with less patience is never put off."""
FLEXIBLE = 3.0
"""The kind of cars that may be put off: for others a deferral hides a bad choice behind a later one."""


@dataclass
class CarQuestion:
    """One car's question.

    Attributes:
        ids: (T,) tokens; `stations` (n,) and `rates` (n,) what each line stands for.
        may_defer: ``defer`` is among the answers.
        why: (n, 4) minutes to the best of travel, wait, feeder and harm proxies, for tests of REASON.
    """

    place: int
    seq: int
    ids: I32
    stations: I32
    rates: I32
    wait_min: F64
    may_defer: bool


@dataclass
class ReliefQuestion:
    """One feeder's question: `stations` and `rates` (n,) are the caps of its lines."""

    feeder: int
    ids: I32
    stations: I32
    rates: I32


class Eyes:
    """Reads observation rows of one city."""

    def __init__(self, city: PackedCity, lines: int = w.MOST_LINES) -> None:
        self.city, self.lines = city, lines
        d = city.layout.dims
        self.at = city.layout.at
        self.n_s, self.n_f, self.n_k = d["S"], d["F"], d["K"]
        self._x, self._pend = int(self.at[r.O_X]), int(self.at[r.O_PEND])
        self._table: F64 = np.zeros((self.n_s, c.N_COLUMNS))
        self._scratch = (
            np.zeros(d["SP"], np.int32), np.zeros(d["SP"]), np.zeros((d["MP"], 3)), np.zeros(d["F"]),
            np.zeros(d["K"]), np.zeros(8),
        )  # fmt: skip
        view = city.layout.view
        self._rate = np.asarray(view(city.ci, "J_RATE")[: self.n_s], np.int64)
        self._feeder = np.asarray(view(city.ci, "J_FEEDER")[: self.n_s], np.int64)
        self._walkin_min = np.asarray(view(city.cf, "K_WSLOT")[: self.n_s], np.float64)
        const = view(city.cf, "K_CONST")
        self._alpha, self._pf = float(const[r.Q_ALPHA]), float(const[r.Q_PFC])
        self._battery = np.asarray(view(city.cf, "K_BATT"), np.float64)
        self._nominal = float(city.pack.grid.feeder_kva.sum())
        self._by_id = np.argsort(np.argsort(np.array(city.pack.stations.ids)))

    def _field(self, o: F64, index: int, n: int) -> F64:
        start = int(self.at[index])
        return o[start : start + n]

    def pending(self, o: F64) -> F64:
        """(n, N_PCOL) pending cars."""
        n = int(o[self._x + r.OX_NPEND])
        return o[self._pend : self._pend + n * r.N_PCOL].reshape(n, r.N_PCOL)

    def expected_walkins(self, o: F64) -> F64:
        """(S,) walk-ins to expect in the hour."""
        ratio = (
            STATION_SHARE * self._field(o, r.O_RATIO, self.n_s)
            + (1.0 - STATION_SHARE) * o[self._x + r.OX_RATIO]
        )
        return np.asarray(self._field(o, r.O_USUAL, self.n_s) * ratio)

    # -- a car -------------------------------------------------------------------------------------
    def car(self, o: F64, k: int, given: I32) -> CarQuestion:
        """The question of pending car `k`; `given` (n, 8) are the answers before it in this tick."""
        city, t, s = self.city, self._table, self._scratch
        c.candidate_table(
            o, city.cf, city.ci, self.at, city.bank.minutes, city.bank.km, k, given, len(given), *s, t
        )  # fmt: skip
        car = o[self._pend + k * r.N_PCOL : self._pend + (k + 1) * r.N_PCOL]
        usable = np.flatnonzero((t[:, c.T_CODE] == r.V_OK) & (t[:, c.T_SCORE] < 1.0e17))
        shown = usable[np.lexsort((self._by_id[usable], t[usable, c.T_SCORE]))][: self.lines]
        rows = t[shown]
        fast = rows[:, c.T_TRAVEL] + rows[:, c.T_OWN]
        best = float(fast.min()) if len(shown) else np.inf
        patience, flexible = float(car[r.P_PAT]), car[r.P_FLEX] > 0.0
        kind = 2.0 if car[r.P_EMERG] > 0.0 else 1.0 if car[r.P_CRIT] > 0.0 else 3.0 if flexible else 0.0
        need = (car[r.P_TGT] - car[r.P_SOC]) * self._battery[int(car[r.P_VEHICLE])]
        x = o[self._x : self._x + 32]
        left = x[r.OX_TICKS] - x[r.OX_TICK]
        head = np.array(
            (
                x[r.OX_MOD],
                patience,
                kind,
                need,
                x[r.OX_RATIO],
                car[r.P_READY] if flexible else np.inf,
                best,
                left,
            )
        )
        free, wait = rows[:, c.T_FREE], rows[:, c.T_WAIT]
        lines = np.empty((len(shown), len(w.CAR.line)))
        lines[:, 0] = self._rate[shown]
        lines[:, 1] = rows[:, c.T_TRAVEL]
        lines[:, 2] = fast - best
        lines[:, 3] = np.where(free > 0.0, free, -wait)
        lines[:, 4] = rows[:, c.T_FREE30]
        lines[:, 5] = self.expected_walkins(o)[shown]
        lines[:, 6] = self._walkin_min[shown]
        lines[:, 7] = self._field(o, r.O_UP, self.n_s)[shown]
        lines[:, 8] = self._field(o, r.O_INB, self.n_s)[shown]
        lines[:, 9] = self._field(o, r.O_KW, self.n_s)[shown] / np.maximum(
            self._field(o, r.O_LIMIT, self.n_s)[shown], 1.0
        )
        lines[:, 10] = rows[:, c.T_FEEDER]
        lines[:, 11] = rows[:, c.T_SCORE] - (rows[0, c.T_SCORE] if len(shown) else 0.0)
        may = kind == FLEXIBLE and math.floor(patience + 0.5) >= LEAST_PATIENCE_MIN
        return CarQuestion(
            k, int(car[r.P_SEQ]), w.CAR.ids(head, lines), shown.astype(np.int32),
            rows[:, c.T_RATE].astype(np.int32), wait.copy(), may,
        )  # fmt: skip

    # -- feeders -----------------------------------------------------------------------------------
    def near_feeders(self, o: F64) -> npt.NDArray[np.int64]:
        """Feeders whose equivalent load the forecast brings near its limit within half an hour."""
        heat = self._field(o, r.O_FHEAT, self.n_f)
        kva = self._field(o, r.O_FKVA, self.n_f)
        ahead = self._field(o, r.O_FNEXT, self.n_f * r.AHEAD).reshape(self.n_f, r.AHEAD)
        ev = self._ev_kva(o)
        x = heat * heat
        top = x.copy()
        with np.errstate(divide="ignore", invalid="ignore"):
            for t in range(6):
                u = (ahead[:, t] + ev) / kva
                x = x + self._alpha * (u * u - x)
                top = np.fmax(top, x)
        return np.flatnonzero(top > NEAR_FRAC * NEAR_FRAC)

    def _ev_kva(self, o: F64) -> F64:
        return np.asarray(
            np.maximum(self._field(o, r.O_FS, self.n_f) - self._field(o, r.O_FBASE, self.n_f), 0.0),
            np.float64,
        )

    def carrier(self, o: F64, taken: frozenset[int]) -> int:
        """Place of the most patient pending car that is not critical and not in `taken` (numbers); -1 if none."""
        cars = self.pending(o)
        best, most = -1, float(STEP_MINUTES)
        for k in self.order(o):
            car = cars[k]
            if car[r.P_CRIT] == 0.0 and car[r.P_PAT] > most and int(car[r.P_SEQ]) not in taken:
                best, most = k, float(car[r.P_PAT])
        return best

    def order(self, o: F64) -> list[int]:
        """Places of the pending cars in the protocol's order, whatever order the row has them in."""
        cars = self.pending(o)

        def key(k: int) -> tuple[bool, bool, float, float]:
            car = cars[k]
            flexible = bool(car[r.P_FLEX] > 0.0)
            since = float(car[r.P_READY] if flexible else -car[r.P_WAITED])
            return bool(car[r.P_EMERG] == 0.0), flexible, since, float(car[r.P_SEQ])

        return sorted(range(len(cars)), key=key)

    def caps(self, o: F64, feeder: int, capped: frozenset[int]) -> tuple[I32, I32]:
        """Caps that may be put on stations of a feeder: (n,) stations, (n,) rates, largest draw first."""
        kw = self._field(o, r.O_KW, self.n_s)
        here = (
            (self._feeder == feeder) & (self._field(o, r.O_DRLEFT, self.n_s) <= 0.0)
            & (self._field(o, r.O_OCC, self.n_s) > 0.0) & (self._field(o, r.O_UP, self.n_s) > 0.0)
            & (self._field(o, r.O_SUP, self.n_s) > 0.0)
        )  # fmt: skip
        found = [s for s in np.flatnonzero(here) if int(s) not in capped]
        found.sort(key=lambda s: (-kw[s], self._by_id[s]))
        pairs = [(s, rate) for s in found for rate in range(int(self._rate[s]) - 1, -1, -1)][: w.MOST_LINES]
        return np.array([p[0] for p in pairs], np.int32), np.array([p[1] for p in pairs], np.int32)

    def relief(
        self, o: F64, feeder: int, capped: frozenset[int] = frozenset(), flexible: bool = False
    ) -> ReliefQuestion:
        """The question of one feeder; no lines where nothing may be capped."""
        stations, rates = self.caps(o, feeder, capped)
        kva = max(float(self._field(o, r.O_FKVA, self.n_f)[feeder]), 1.0)
        ahead = self._field(o, r.O_FNEXT, self.n_f * r.AHEAD).reshape(self.n_f, r.AHEAD)[feeder]
        ev = float(self._ev_kva(o)[feeder])
        kw, occupied = self._field(o, r.O_KW, self.n_s), self._field(o, r.O_OCC, self.n_s)

        def cut(station: int, rate: int) -> float:
            return float(max(kw[station] - RATE_KW[rate] * occupied[station], 0.0))

        ev -= sum(cut(s, 0) for s in capped if self._feeder[s] == feeder) / self._pf
        x = o[self._x : self._x + 32]
        heat = float(self._field(o, r.O_FHEAT, self.n_f)[feeder])
        head = np.array(
            (
                heat, (ahead[0] + ev) / kva, (ahead[2] + ev) / kva, (ahead[5] + ev) / kva, ev / kva, kva,
                x[r.OX_TICKS] - x[r.OX_TICK], 1.0 if flexible else 0.0,
            )
        )  # fmt: skip
        lines = np.zeros((len(stations), len(w.RELIEF)))
        if len(stations):
            up = self._field(o, r.O_UP, self.n_s)
            lines[:, 0] = rates
            lines[:, 1] = [cut(int(s), int(q)) for s, q in zip(stations, rates, strict=True)]
            lines[:, 2] = kw[stations]
            lines[:, 3] = occupied[stations]
            lines[:, 4] = self._field(o, r.O_QUEUE, self.n_s)[stations]
            lines[:, 5] = np.maximum(up - occupied, 0.0)[stations]
            lines[:, 6] = self._field(o, r.O_INB, self.n_s)[stations]
            lines[:, 7] = self.expected_walkins(o)[stations]
        return ReliefQuestion(feeder, w.RELIEF_QUESTION.ids(head, lines), stations, rates)

    # -- the world five ticks ahead ------------------------------------------------------------------
    def fullest(self, o: F64) -> I32:
        """(n,) the fullest stations now by (occupied + queued) / slots of the pack, ties by id."""
        slots = np.maximum(self.city.pack.stations.slots, 1)
        load = (self._field(o, r.O_OCC, self.n_s) + self._field(o, r.O_QUEUE, self.n_s)) / slots
        return np.lexsort((self._by_id, -load))[: w.MOST_LINES].astype(np.int32)

    def reference(self, o: F64) -> tuple[float, float]:
        """What the clock says of grid load and renewable share in five ticks."""
        ahead = self._field(o, r.O_FNEXT, self.n_f * r.AHEAD).reshape(self.n_f, r.AHEAD)
        sun = self._field(o, r.O_RNEXT, r.AHEAD)
        x = o[self._x : self._x + 32]
        rise = float((ahead[:, AHEAD_TICKS] - ahead[:, 0]).sum()) / self._nominal
        return float(x[r.OX_GRID]) + rise, float(x[r.OX_RENEW] + sun[AHEAD_TICKS] - sun[0])

    def world(self, o: F64) -> tuple[I32, I32]:
        """(T,) tokens of the world question and (n,) the stations of its lines."""
        stations = self.fullest(o)
        x = o[self._x : self._x + 32]
        load, share = self.reference(o)
        sun = self._field(o, r.O_RNEXT, r.AHEAD)
        frees = self._field(o, r.O_FREE, self.n_s * self.n_k).reshape(self.n_s, self.n_k)
        occupied, queued = self._field(o, r.O_OCC, self.n_s), self._field(o, r.O_QUEUE, self.n_s)
        ending = ((frees > 0.0) & (frees <= AHEAD_MIN)).sum(1).astype(np.float64)
        inbound = self._field(o, r.O_INBND, int(x[r.OX_NINB]) * r.N_ICOL).reshape(-1, r.N_ICOL)
        soon = inbound[inbound[:, r.I_ETA] <= AHEAD_MIN, r.I_STATION].astype(np.int64)
        coming = np.bincount(soon, minlength=self.n_s)[: self.n_s].astype(np.float64)
        per_car = self._field(o, r.O_KW, self.n_s) / np.maximum(occupied, 1.0)
        walkins = self.expected_walkins(o)
        begins = coming + walkins * (AHEAD_MIN / 60.0) * 0.5
        change = float((np.maximum(ending - queued - begins, -10.0) * per_car).sum()) / self._nominal
        head = np.array(
            (
                x[r.OX_MOD], x[r.OX_GRID], load - x[r.OX_GRID], x[r.OX_RENEW], share - x[r.OX_RENEW],
                x[r.OX_RENEW] - sun[0], x[r.OX_NPEND], change,
            )
        )  # fmt: skip
        up = self._field(o, r.O_UP, self.n_s)
        lines = np.stack([up, occupied, queued, ending, coming, walkins], 1)[stations]
        return w.WORLD_QUESTION.ids(head, lines), stations
