"""What must hold in every world at the start of every tick, whatever was answered.

`Watch` looks at one environment before and after each step and raises `AssertionError` with a name.
Everything is counted anew from the car rows, never from the kernels' own sums.
"""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.reward.terms import TERMS
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.axes import SETTLE_TICKS
from ev_grid_oracle.schema.enums import CarState
from ev_grid_oracle.sim.world import World

ALIVE = (CarState.PENDING, CarState.DEFERRED, CarState.ENROUTE, CarState.QUEUED, CarState.CHARGING)


class Watch:
    """Checks environment `e` of `world`; call `before` and `after` around each step."""

    def __init__(self, world: World, e: int, room: bool = True) -> None:
        self.room = room  # without it cars may find the table full: they are lost, and all else holds
        self.world, self.e = world, e
        self.pack = world.city.pack
        self.n_s, self.n_f = len(self.pack.stations.ids), len(self.pack.grid.feeder_ids)
        self.const = world.layout.view(world.cf, "K_CONST")
        self.tsum = np.zeros(r.N_TERMS)

    def view(self, name: str) -> np.ndarray:
        return self.world.view(name)[self.e]

    # -- around a step --------------------------------------------------------------------------------
    def before(self) -> None:
        plugged = self.view("CAR")[:, r.C_STATE] == CarState.CHARGING
        self._tick = self.world.scalar(self.e, r.Y_TICK)
        self._plugged = plugged
        self._to_go = self.to_go()

    def to_go(self) -> np.ndarray:
        """(C,) kWh still to go into each car's battery; 0 for a car that is not plugged in."""
        out = np.zeros(len(self.view("CAR")))
        taken = self.view("SLOT_CAR") >= 0
        out[self.view("SLOT_CAR")[taken]] = self.view("SLOT_G")[taken]
        return out

    def after(self, reward: float) -> None:
        done = self.world.scalar(self.e, r.Y_DONE)
        assert self.world.scalar(self.e, r.Y_TICK) == self._tick + 1, "time goes forward by one tick"
        self.energy()
        self.reward(reward, bool(done))
        self.state()
        self.accounts(bool(done))

    # -- the parts ------------------------------------------------------------------------------------
    def state(self) -> None:
        """Everything that can be checked on the state alone."""
        self.lists()
        self.stations()
        self.sums()
        self.numbers()

    def lists(self) -> None:
        """Every car is in exactly one state and stands in that state's list, once."""
        y, cars = self.view("Y"), self.view("CAR")
        state = cars[:, r.C_STATE]
        now = 5 * int(y[r.Y_TICK])
        assert np.isin(state, (0, *ALIVE)).all(), "a state of no name"
        assert y[r.Y_OVERFLOW] == 0 or not self.room, "overflow"
        assert 0 <= y[r.Y_NDEF] <= len(self.view("DEFD")), "more deferred cars than the list holds"
        free, c = [], int(y[r.Y_FREE])
        while y[r.Y_NFREE] > len(free):
            free.append(c)
            c = int(cars[c, r.C_NEXT])
        assert sorted(free) == np.flatnonzero(state == 0).tolist(), "free rows and C_STATE disagree"
        for name, count, value in (("PEND", r.Y_NPEND, 1), ("DEFD", r.Y_NDEF, 2)):
            listed = self.view(name)[: y[count]].tolist()
            assert sorted(listed) == np.flatnonzero(state == value).tolist(), (
                f"list {name} and C_STATE disagree"
            )
        following, flags = cars[:, r.C_NEXT].tolist(), cars[:, r.C_FLAGS]
        road = set()
        for cell in np.flatnonzero(self.view("CAL") >= 0).tolist():
            c = int(self.view("CAL")[cell])
            while c >= 0:
                assert c not in road and state[c] == CarState.ENROUTE, "calendar and C_STATE disagree"
                road.add(c)
                assert cars[c, r.C_TARR] % r.RING == cell, "a car in another minute's cell"
                assert now <= cars[c, r.C_TARR] < now + r.RING, "an arrival in the past or beyond the ring"
                c = following[c]
        assert len(road) == int((state == CarState.ENROUTE).sum()), "a car on the road that never arrives"
        known = (state == CarState.ENROUTE) & (((flags & r.B_WALKIN) == 0) | ((flags & r.B_ANN) != 0))
        inbound = np.bincount(cars[known, r.C_STATION], minlength=len(self.view("ST_INB")))
        assert (inbound == self.view("ST_INB")).all(), "inbound"
        seqs = cars[(state > 0)][:, [r.C_FLAGS, r.C_SEQ]]
        names = [(int(f) & r.B_WALKIN, int(n)) for f, n in seqs]
        assert len(set(names)) == len(names), "two cars of one number"
        living = state > 0
        assert (cars[living, r.C_TREQ] <= now).all(), "a car from the future"

    def stations(self) -> None:
        """Slots and queues, one car each, in order."""
        cars, slots = self.view("CAR"), self.view("SLOT_CAR")
        total = self.pack.stations.slots
        used = set()
        for s in range(self.n_s):
            here = slots[:, s]
            taken = here[here >= 0].tolist()
            assert (here[total[s] :] == -1).all(), "a car on a slot that is not there"
            assert len(taken) == self.view("ST_OCC")[s] <= total[s], "slots over-filled or miscounted"
            assert 0 <= self.view("ST_UP")[s] <= total[s], "usable slots"
            used.update(taken)
            assert self.view("ST_MASK")[s] == sum(1 << k for k, c in enumerate(here) if c >= 0), "ST_MASK"
            c, queue = int(self.view("ST_QH")[s]), []
            while c >= 0:
                assert len(queue) <= len(cars), "a queue without an end"
                assert cars[c, r.C_STATE] == CarState.QUEUED and cars[c, r.C_STATION] == s, (
                    "a ghost in the queue"
                )
                queue.append(c)
                c = int(cars[c, r.C_NEXT])
            assert len(queue) == self.view("ST_QN")[s], "queue length"
            order = [(not cars[c, r.C_FLAGS] & r.B_EMERG, int(cars[c, r.C_TWAIT])) for c in queue]
            assert order == sorted(order), "the queue is not first come first served, emergencies first"
            used.update(queue)
        waiting = np.isin(cars[:, r.C_STATE], (CarState.QUEUED, CarState.CHARGING))
        assert len(used) == int(waiting.sum()), "a queued or charging car that stands nowhere"
        charging = np.flatnonzero(cars[:, r.C_STATE] == CarState.CHARGING).tolist()
        assert sorted(slots[slots >= 0].tolist()) == charging, "SLOT_CAR and C_STATE disagree"
        assert (self.view("SLOT_G")[slots >= 0] > 0.0).all(), "a full car at a plug"
        assert (self.view("SLOT_CAP")[slots >= 0] > 0.0).all(), "a plug that does not fit"
        empty = slots < 0
        for name in ("SLOT_G", "SLOT_CAP", "SLOT_A", "SLOT_B"):
            assert (self.view(name)[empty] == 0.0).all(), "an empty slot draws"

    def sums(self) -> None:
        """The sums of the living are what a recount gives."""
        y, cars = self.view("Y"), self.view("CAR")
        state, flags = cars[:, r.C_STATE], cars[:, r.C_FLAGS]
        now = 5 * int(y[r.Y_TICK])
        # a car due this very minute is switched over when the minute is played
        flexible = (state > 0) & ((flags & r.B_FLEX) != 0) & (cars[:, r.C_READY] >= now)
        critical = np.isin(state, ALIVE[:4]) & ((flags & r.B_CRIT) != 0)
        assert y[r.Y_FLEX] == int(flexible.sum()), "Y_FLEX"
        assert y[r.Y_NORM] == int((state > 0).sum() - flexible.sum()), "Y_NORM"
        assert y[r.Y_CRIT] == int(critical.sum()), "Y_CRIT"

    def numbers(self) -> None:
        """Finite, in range, in the physical order."""
        f = self.world.f[self.e]
        assert np.isfinite(f).all(), "not finite: " + ", ".join(
            s.name for s in r.FIELDS if s.row == "f" and not np.isfinite(self.view(s.name)).all()
        )
        cars = self.view("CAR")
        living = cars[cars[:, r.C_STATE] > 0]
        battery = self.pack.vehicles.battery_kwh[living[:, r.C_VEHICLE]]
        soc = living[:, r.C_SOC_BP] / 10000.0
        assert ((soc >= 0.0) & (soc <= 1.0)).all(), "state of charge"
        assert (living[:, r.C_TGT_BP] <= 10000).all(), "target"
        plugged = living[:, r.C_STATE] == CarState.CHARGING
        left = self.to_go()[cars[:, r.C_STATE] > 0][plugged]
        at_plug = living[plugged, r.C_TGT_BP] / 10000.0 - left / battery[plugged]
        assert ((at_plug >= -1e-9) & (at_plug <= 1.0)).all(), "state of charge at a plug"
        assert (at_plug >= (soc - living[:, r.C_WH] / 1000.0 / battery)[plugged] - 1e-9).all(), "charge fell"
        on_road = living[:, r.C_STATE] == CarState.ENROUTE
        fine = on_road & ((living[:, r.C_FLAGS] & r.B_STRANDS) == 0)
        assert (living[fine, r.C_WH] / 1000.0 <= soc[fine] * battery[fine] + 1e-9).all(), "drives on nothing"
        assert (living[on_road, r.C_TARR] > living[on_road, r.C_TDEP]).all(), "arrives before it leaves"
        n_f = self.n_f
        base, head = self.view("FD_BASEKW")[:n_f], self.view("FD_P")[:n_f]
        charging = self.view("FD_EVKWH")[:n_f] * 12.0
        loss = head - base - charging
        if (self.view("FD_VMIN")[:n_f] >= 0.6)[self.view("FD_OUT")[:n_f] == 0.0].all():
            assert (loss >= -1e-6 * (1.0 + head)).all(), "losses below zero"
            assert (loss <= 0.3 * head + 1e-6).all(), "losses beyond belief"
        for name in ("FD_X", "FD_XB", "FD_S", "FD_SB", "ST_X", "ST_KWH"):
            assert (self.view(name) >= 0.0).all(), name
        assert self.view("ST_KW")[self.n_s :].sum() == 0.0, "padding draws"
        tick_kw = self.view("ST_KW")[: self.n_s]
        if self.world.scalar(self.e, r.Y_TICK) > 0 and hasattr(self, "_limit"):
            assert (tick_kw <= self._limit * (1.0 + 1e-9)).all(), "site limit"
        self._limit = self.view("ST_LIMIT")[: self.n_s].copy()

    def energy(self) -> None:
        """Energy into the batteries = energy from the slots x efficiency, and energy by feeder adds up."""
        cars, tk = self.view("CAR"), self.view("TK")
        battery = self.pack.vehicles.battery_kwh[cars[:, r.C_VEHICLE]]
        wanted = (cars[:, r.C_TGT_BP] - cars[:, r.C_SOC_BP]) / 10000.0 * battery + cars[:, r.C_WH] / 1000.0
        plugged = cars[:, r.C_STATE] == CarState.CHARGING
        start = np.where(self._plugged, self._to_go, np.where(plugged, wanted, 0.0))
        gained = float((start - self.to_go()).sum())
        drawn = float(self.view("ST_KWH").sum())
        rest = drawn * self.pack.constants.battery_efficiency - gained
        # who came and went within the tick is in neither picture
        unseen = tk[r.T_SERVED] + tk[r.T_WSERVED] - float((self._plugged & ~plugged).sum())
        assert unseen >= 0 and rest > -1e-7, "more energy in the batteries than came from the slots"
        assert abs(rest) < 1e-7 or unseen > 0, "energy is not conserved"
        assert abs(drawn - float(self.view("FD_EVKWH").sum())) < 1e-9, "stations and feeders"

    def reward(self, reward: float, done: bool) -> None:
        """The total is the plain sum, each term has its sign and stays within what the pack allows."""
        term = self.view("TERM")
        assert abs(reward - float(term.sum())) <= 1e-9 * (1.0 + abs(reward)), "the total is not the sum"
        self.tsum += term
        assert np.allclose(self.tsum, self.view("TSUM"), rtol=1e-9, atol=1e-9), "TSUM"
        low, high = bounds(self.world, SETTLE_TICKS + 1 if done else 1)
        for k, spec in enumerate(TERMS):
            assert low[k] <= term[k] <= high[k], f"{spec.name} out of its declared range"

    def accounts(self, done: bool) -> None:
        """Every request and walk-in of the episode is served, lost, stranded or still there."""
        ep, cars = self.view("EP"), self.view("CAR")
        flags = cars[:, r.C_FLAGS]
        mine = (cars[:, r.C_STATE] > 0) & ((flags & r.B_WARM) == 0)
        walk, flex = (flags & r.B_WALKIN) != 0, (flags & r.B_FLEX) != 0
        plain, flexible, walkins = (
            0 if done else int((mine & which).sum()) for which in (~walk & ~flex, ~walk & flex, walk)
        )
        assert ep[r.A_NREQ] == ep[r.A_SERVED] + ep[r.A_LOST] + ep[r.A_STRANDED] + plain, "requests"
        assert ep[r.A_NFLEX] == ep[r.A_FDONE] + ep[r.A_FMISS] + flexible, "flexible requests"
        assert ep[r.A_NWALK] == ep[r.A_WSERVED] + ep[r.A_WLOST] + walkins, "walk-ins"
        assert ep[r.A_MTC] <= 240.0 * ep[r.A_NREQ] and ep[r.A_WMTC] <= 240.0 * ep[r.A_NWALK], "capped minutes"


def bounds(world: World, ticks: int) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest value of each term over `ticks` ticks that the pack's maxima allow.

    With C cars, S slots, R ratings: nobody can wait more than 5 C car-minutes a tick, nobody is lost
    twice, and so on.
    """
    pack = world.city.pack
    c, n0 = pack.constants.max_cars, pack.constants.n0_car_minutes
    kwh = float((pack.stations.slots * 150.0).sum()) / 12.0
    rating = 2.0 * (float(pack.grid.feeder_kva.sum()) + float(pack.stations.transformer_kva.sum()))
    elements = len(pack.grid.feeder_ids) + len(pack.stations.ids)
    u = 40.0  # no feeder carries forty times its rating: the voltage is gone long before
    service = 240.0 * (c + 60.0 * ticks)
    wait = 5.0 * c * ticks
    low = [
        wait, service, 2.0 * wait + service, c * ticks, 0.05 * 5 * rating * u * u * ticks,
        ticks * (0.3 * 5 * rating * u + 15.0 * elements + 15.0 * len(pack.grid.bus_ids)), 0.5 * kwh * ticks,
        10.0 * (pack.constants.max_pending + 64 + 4), 10.0,
    ]  # fmt: skip
    high = [0.0, 0.0, 0.0, 0.0, 0.1 * kwh * ticks, 0.0, 0.5 * kwh * ticks, 0.0, 0.0]
    return -np.array(low) / n0, np.array(high) / n0 + 1e-12
