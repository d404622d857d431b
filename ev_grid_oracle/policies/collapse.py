"""Policies that no honest score may rank above the baseline: what learners of a wrong reward collapse into.

They read the observation row like any other policy. `random` draws from a stream of its own, made of the
policy's seed; the world's streams are out of its reach.
"""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.policies.base import F64, I32, PolicyContext
from ev_grid_oracle.policies.legal import MoveReader, Moves, put
from ev_grid_oracle.schema.enums import ActionKind, Rate

RANDOM_TAG = 0x52414E44  # keeps the stream apart from any other use of a policy's seed
DEFER_CHOICES_MIN = (5, 15, 30, 60, 120)


class _Collapse:
    """One answer per pending car, each by itself."""

    name = ""
    source = "policy"

    def begin(self, context: PolicyContext) -> None:
        """A new episode."""
        self._reader = MoveReader(context.city)
        self._rates = context.city.pack.stations.rate
        self._slots = context.city.pack.stations.slots

    def answer(self, o: F64, out: I32) -> int:
        """Decisions for observation row `o` into `out` (MD, 8); returns how many."""
        n = 0
        for k in range(self._reader.count(o)):
            n = self._one(self._reader.moves(o, k), out, n)
        return n

    def _one(self, car: Moves, out: I32, n: int) -> int:
        raise NotImplementedError


class Random(_Collapse):
    """Each legal move of a car equally often: wait, every usable station at every rate it has, deferrals,
    and a demand response of one tick at a drawn station."""

    name = "random"

    def begin(self, context: PolicyContext) -> None:
        """A new episode: the stream starts again from the policy's seed."""
        super().begin(context)
        self._bits = np.random.PCG64(np.random.SeedSequence((context.seed, RANDOM_TAG)))

    def _below(self, n: int) -> int:
        """A whole number below n; raw bits, so that it is the same in every release of numpy."""
        return int(self._bits.random_raw()) * n >> 64

    def _one(self, car: Moves, out: I32, n: int) -> int:
        routes = [(int(s), rate) for s in car.stations for rate in range(int(self._rates[s]) + 1)]
        defers = [m for m in DEFER_CHOICES_MIN if m <= car.defer_min]
        shifts = 1 if len(car.stations) else 0
        pick = self._below(1 + len(routes) + len(defers) + shifts)
        if pick == 0:
            return n
        pick -= 1
        if pick < len(routes):
            return put(out, n, car.seq, ActionKind.ROUTE, *routes[pick])
        pick -= len(routes)
        if pick < len(defers):
            return put(out, n, car.seq, ActionKind.DEFER, defer_min=defers[pick])
        station = int(car.stations[self._below(len(car.stations))])
        return put(
            out, n, car.seq, ActionKind.LOAD_SHIFT, station, self._below(int(self._rates[station]) + 1)
        )


class AlwaysDefer(_Collapse):
    """Every car as long as the rules allow; one whose patience is shorter than a tick is left alone."""

    name = "always_defer"

    def _one(self, car: Moves, out: I32, n: int) -> int:
        if car.defer_min < 1:
            return n
        return put(out, n, car.seq, ActionKind.DEFER, defer_min=car.defer_min)


class AlwaysLoadShift(_Collapse):
    """Every car carries a demand response of one tick on the tightest feeder, at the slow rate."""

    name = "always_load_shift"

    def _one(self, car: Moves, out: I32, n: int) -> int:
        return put(out, n, car.seq, ActionKind.LOAD_SHIFT, rate=Rate.SLOW)


class Nearest(_Collapse):
    """The usable station with the least travel, at the rate of its class; ties by the city's order."""

    name = "nearest"

    def _one(self, car: Moves, out: I32, n: int) -> int:
        if not len(car.stations):
            return n
        s = int(car.stations[int(np.argmin(car.travel_min[car.stations]))])
        return put(out, n, car.seq, ActionKind.ROUTE, s, int(self._rates[s]))


class SameStation(_Collapse):
    """The station with the most slots (ties by the city's order), whoever asks; others wait."""

    name = "same_station"

    def _one(self, car: Moves, out: I32, n: int) -> int:
        s = int(np.argmax(self._slots))
        if s not in car.stations:
            return n
        return put(out, n, car.seq, ActionKind.ROUTE, s, int(self._rates[s]))
