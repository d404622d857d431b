"""The watch of tests/sim/invariants.py over a whole batch: every check of every environment at every tick.

Cars and lists go through compiled loops (invariants_cars), everything else through NumPy over all environments at
once. A violation is a pair of environment and text; the first one of an environment is kept.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from invariants import bounds
from invariants_cars import TEXTS, gained, lists, living, picture, standing, stations

from ev_grid_oracle.reward.terms import TERMS
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.axes import SETTLE_TICKS
from ev_grid_oracle.sim.world import World

F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
OUT_OF_RANGE = len(TEXTS) - 1


class BatchWatch:
    """Checks all environments of `world`; call `begin` after a reset, `before` and `after` around each step.

    Args:
        strict: a car that found every row of the city taken (`Y_OVERFLOW`) is a fault like any other, and hides what
            comes after it; otherwise the caller counts it and everything else is checked on.

    Attributes:
        faults: environment -> the first thing that was violated since its `begin`.
    """

    def __init__(self, world: World, strict: bool = True) -> None:
        self.world, self.strict = world, strict
        pack = world.city.pack
        self.n_s, self.n_f = len(pack.stations.ids), len(pack.grid.feeder_ids)
        self.total = np.asarray(pack.stations.slots, np.int64)
        self.battery_kwh = np.asarray(pack.vehicles.battery_kwh, np.float64)
        self.efficiency = float(pack.constants.battery_efficiency)
        self.views = {s.name: world.view(s.name) for s in r.FIELDS if s.row in ("f", "i")}
        n, cars = world.n, self.views["CAR"].shape[1]
        self.faults: dict[int, str] = {}
        self._plugged, self._was_plugged = np.zeros((2, n, cars), np.bool_)
        self._to_go, self._had_to_go = np.zeros((2, n, cars))
        self._tick = np.zeros(n, np.int64)
        self._tsum = np.zeros((n, r.N_TERMS))
        self._limit = np.full((n, self.n_s), np.inf)
        self._seen, self._keys = np.zeros((2, cars), np.int64)
        self._bounds = {done: bounds(world, SETTLE_TICKS + 1 if done else 1) for done in (False, True)}

    # -- around a step --------------------------------------------------------------------------------
    def begin(self, envs: npt.ArrayLike) -> None:
        """New episodes stand in `envs`: forget the old ones and check the states they start from."""
        mine = np.zeros(self.world.n, np.bool_)
        mine[envs] = True
        for e in np.flatnonzero(mine).tolist():
            self.faults.pop(e, None)
        self._tsum[mine] = 0.0
        self._limit[mine] = np.inf
        self._state(mine)

    def before(self, mine: Mask) -> None:
        """Keep what the checks compare with."""
        self._tick[:] = self.views["Y"][:, r.Y_TICK]
        for e in np.flatnonzero(mine).tolist():
            self._picture(e, self._was_plugged, self._had_to_go)

    def after(self, rewards: F64, mine: Mask) -> None:
        """All checks after a step of the environments `mine` (n,) with `rewards` (n,)."""
        done = self.views["Y"][:, r.Y_DONE] != 0
        self._need(mine, self.views["Y"][:, r.Y_TICK] == self._tick + 1, "time goes forward by one tick")
        for e in np.flatnonzero(mine).tolist():
            self._picture(e, self._plugged, self._to_go)
        self._energy(mine)
        self._reward(rewards, done, mine)
        self._state(mine)
        self._accounts(done, mine)

    # -- parts ----------------------------------------------------------------------------------------
    def _need(self, mine: Mask, holds: Mask, text: str) -> None:
        for e in np.flatnonzero(mine & ~holds).tolist():
            self.faults.setdefault(e, text)

    def _picture(self, e: int, plugged: Mask, to_go: F64) -> None:
        v = self.views
        picture(v["CAR"][e], v["SLOT_CAR"][e], v["SLOT_G"][e], plugged[e], to_go[e])

    def _state(self, mine: Mask) -> None:
        """Everything that can be checked on the state alone."""
        for e in np.flatnonzero(mine).tolist():
            number = self._cars(e)
            if number:
                self.faults.setdefault(e, TEXTS[number])
        self._numbers(mine)

    def _cars(self, e: int) -> int:
        v = self.views
        y, cars = v["Y"][e], v["CAR"][e]
        try:
            number: int = lists(
                y, cars, v["PEND"][e], v["DEFD"][e], v["CAL"][e], v["ST_INB"][e], self._seen, self._keys, self.strict
            )
            if number == 0:
                number = stations(
                    cars, v["SLOT_CAR"][e], v["SLOT_G"][e], v["SLOT_CAP"][e], v["SLOT_A"][e], v["SLOT_B"][e], v["ST_OCC"][e],
                    v["ST_UP"][e], v["ST_MASK"][e], v["ST_QN"][e], v["ST_QH"][e], self.total, self._seen,
                )  # fmt: skip
            if number == 0:
                self._picture(e, self._plugged, self._to_go)
                number = living(y, cars, self._to_go[e], self.battery_kwh)
        except IndexError:
            number = OUT_OF_RANGE
        return number

    def _numbers(self, mine: Mask) -> None:
        """Finite, in range, in the physical order."""
        v, n_f, n_s = self.views, self.n_f, self.n_s
        finite = np.isfinite(self.world.f).all(1)
        for e in np.flatnonzero(mine & ~finite).tolist():
            names = [s.name for s in r.FIELDS if s.row == "f" and not np.isfinite(v[s.name][e]).all()]
            self.faults.setdefault(e, "not finite: " + ", ".join(names))
        base, head = v["FD_BASEKW"][:, :n_f], v["FD_P"][:, :n_f]
        with np.errstate(invalid="ignore"):  # a state that is not finite has its fault already
            loss = head - base - v["FD_EVKWH"][:, :n_f] * 12.0
            upright = ((v["FD_VMIN"][:, :n_f] >= 0.6) | (v["FD_OUT"][:, :n_f] != 0.0)).all(1)
            self._need(mine & upright, (loss >= -1e-6 * (1.0 + head)).all(1), "losses below zero")
            self._need(mine & upright, (loss <= 0.3 * head + 1e-6).all(1), "losses beyond belief")
            for name in ("FD_X", "FD_XB", "FD_S", "FD_SB", "ST_X", "ST_KWH"):
                self._need(mine, (v[name] >= 0.0).all(1), name)
            self._need(mine, v["ST_KW"][:, n_s:].sum(1) == 0.0, "padding draws")
            within = (v["ST_KW"][:, :n_s] <= self._limit * (1.0 + 1e-9)).all(1)
        self._need(mine & (v["Y"][:, r.Y_TICK] > 0), within, "site limit")
        self._limit[mine] = v["ST_LIMIT"][mine, :n_s]

    def _energy(self, mine: Mask) -> None:
        """Energy into the batteries = energy from the slots x efficiency, and energy by feeder adds up."""
        v, tk = self.views, self.views["TK"]
        into, gone = np.zeros((2, self.world.n))
        for e in np.flatnonzero(mine).tolist():
            into[e], gone[e] = gained(
                v["CAR"][e], self.battery_kwh, self._was_plugged[e], self._had_to_go[e], self._plugged[e], self._to_go[e]
            )
        drawn = v["ST_KWH"].sum(1)
        with np.errstate(invalid="ignore"):
            rest = drawn * self.efficiency - into
            # who came and went within the tick is in neither picture
            unseen = tk[:, r.T_SERVED] + tk[:, r.T_WSERVED] - gone
            self._need(mine, (unseen >= 0) & (rest > -1e-7), "more energy in the batteries than came from the slots")
            self._need(mine, (np.abs(rest) < 1e-7) | (unseen > 0), "energy is not conserved")
            self._need(mine, np.abs(drawn - v["FD_EVKWH"].sum(1)) < 1e-9, "stations and feeders")

    def _reward(self, rewards: F64, done: Mask, mine: Mask) -> None:
        """The total is the plain sum, each term has its sign and stays within what the pack allows."""
        term = np.asarray(self.views["TERM"], np.float64)
        self._need(mine, np.abs(rewards - term.sum(1)) <= 1e-9 * (1.0 + np.abs(rewards)), "the total is not the sum")
        self._tsum[mine] += term[mine]
        self._need(mine, np.isclose(self._tsum, self.views["TSUM"], rtol=1e-9, atol=1e-9).all(1), "TSUM")
        for ended in (False, True):
            low, high = self._bounds[ended]
            these = mine & (done == ended)
            for k, spec in enumerate(TERMS):
                holds = (low[k] <= term[:, k]) & (term[:, k] <= high[k])
                self._need(these, holds, f"{spec.name} out of its declared range")

    def _accounts(self, done: Mask, mine: Mask) -> None:
        """Every request and walk-in of the episode is served, lost, stranded or still there."""
        ep = self.views["EP"]
        there = np.zeros((self.world.n, 3))
        for e in np.flatnonzero(mine & ~done).tolist():
            there[e] = standing(self.views["CAR"][e])
        for total, parts, k, text in (
            (r.A_NREQ, (r.A_SERVED, r.A_LOST, r.A_STRANDED), 0, "requests"),
            (r.A_NFLEX, (r.A_FDONE, r.A_FMISS), 1, "flexible requests"),
            (r.A_NWALK, (r.A_WSERVED, r.A_WLOST), 2, "walk-ins"),
        ):
            self._need(mine, ep[:, total] == ep[:, list(parts)].sum(1) + there[:, k], text)
        capped = (ep[:, r.A_MTC] <= 240.0 * ep[:, r.A_NREQ]) & (ep[:, r.A_WMTC] <= 240.0 * ep[:, r.A_NWALK])
        self._need(mine, capped, "capped minutes")
