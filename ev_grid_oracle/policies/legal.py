"""What a pending car may do, read from the observation row: the moves that the verifier would accept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.policies.base import F64, I32
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.axes import STEP_MINUTES
from ev_grid_oracle.schema.enums import ActionKind, Rate
from ev_grid_oracle.sim.dispatch.common import reach

MAX_DEFER_MIN = 240
EVEN_CHANCE_BP = 5000  # the confidence of a policy that has no view


@dataclass(frozen=True)
class Moves:
    """One pending car.

    Attributes:
        seq: its number.
        stations: (n,) stations it may be routed to, in the city's order.
        travel_min: (S,) minutes to every station.
        defer_min: longest legal deferral, whole ticks; 0 if its patience allows none.
    """

    seq: int
    stations: I32
    travel_min: F64
    defer_min: int


class MoveReader:
    """Reads `Moves` of one city's observation rows."""

    def __init__(self, city: PackedCity) -> None:
        self._city = city
        at = city.layout.at
        self._x, self._pend = int(at[r.O_X]), int(at[r.O_PEND])
        self._codes: I32 = np.zeros(city.layout.dims["SP"], np.int32)
        self._travel: F64 = np.zeros(city.layout.dims["SP"])

    def count(self, o: F64) -> int:
        """Pending cars."""
        return int(o[self._x + r.OX_NPEND])

    def moves(self, o: F64, k: int) -> Moves:
        """What pending car `k` may do."""
        c = self._city
        x = self._pend + k * r.N_PCOL
        reach(o, c.cf, c.ci, c.layout.at, c.bank.minutes, c.bank.km, x, self._codes, self._travel)
        n_s = c.layout.dims["S"]
        usable = np.flatnonzero(self._codes[:n_s] == r.V_OK).astype(np.int32)
        patience = int(o[x + r.P_PAT])
        defer = min(patience // STEP_MINUTES * STEP_MINUTES, MAX_DEFER_MIN)
        return Moves(int(o[x + r.P_SEQ]), usable, self._travel[:n_s].copy(), max(defer, 0))


def put(
    out: I32, n: int, seq: int, kind: ActionKind, station: int = -1, rate: int = Rate.FAST, defer_min: int = 0
) -> int:
    """Write one decision row; returns the number of rows now (unchanged where `out` is full)."""
    if n >= len(out):
        return n
    out[n] = (seq, kind, station, rate, defer_min, EVEN_CHANCE_BP, 0, 0)
    return n + 1
