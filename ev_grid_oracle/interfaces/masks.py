"""From observation rows to what a learner sees, in one compiled pass: the vector and the legal choices.

`Looker` holds the scratch of one thread. A row is read as any policy reads it; a choice is legal exactly
where the verifier would accept its answer (a test plays every choice of many states to see it).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.episode.candidates import N_COLUMNS, T_CODE, candidate_table
from ev_grid_oracle.interfaces.features import N_FDCOL, N_STCOL, car_columns, city_columns
from ev_grid_oracle.interfaces.spaces import DEFER_MIN, NO_CAR, SLOTS, GymLayout, layout_of
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.compiled import kernel
from ev_grid_oracle.schema.enums import EventKind
from ev_grid_oracle.schema.observation import Announcement
from ev_grid_oracle.sim.observe import observe

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]
I8 = npt.NDArray[np.int8]

STATION_TOLD, FEEDER_TOLD = N_STCOL - 1, N_FDCOL - 1
_VALUE_SCALE = {EventKind.SLOTS: 16.0, EventKind.HEAT: 10.0}


@kernel
def legal(o, ci, at, k, table, shift, mask):  # type: ignore[no-untyped-def]
    """(choices,) 1 where the verifier would accept the answer for pending car `k`."""
    n = 1 + 3 * at[r.N_S]
    for s in range(at[r.N_S]):
        for rate in range(3):
            mask[1 + 3 * s + rate] = 1 if table[s, T_CODE] == r.V_OK else 0
    patience = o[at[r.O_PEND] + k * r.N_PCOL + r.P_PAT]
    for j in range(len(DEFER_MIN)):
        mask[n + j] = 1 if DEFER_MIN[j] <= patience else 0
    if shift >= 0 and o[at[r.O_UP] + shift] > 0.0 and o[at[r.O_SUP] + shift] > 0.0:
        for rate in range(ci[at[r.J_RATE] + shift] + 1):
            mask[n + len(DEFER_MIN) + rate] = 1


@kernel
def look(o, city, lay, bounds, tools, obs, mask, seqs):  # type: ignore[no-untyped-def]
    """Fill obs (size,), mask (SLOTS, choices) and seqs (SLOTS,) from row `o`.

    Returns the station that a load_shift would cap. The block ``told`` and the columns ``told`` stay 0: a row
    does not know of announcements.

    city: cf, ci, at, minutes, km. bounds (3, size): 1 / scale, low, high. tools: scratch, see `Looker`.
    """
    cf, ci, at, minutes, km = city
    given, codes, travel, extra, added, times, out, table, x = tools
    for j in range(len(x)):
        x[j] = 0.0
    shift = city_columns(o, cf, ci, at, lay, x)
    pending = int(o[at[r.O_X] + r.OX_NPEND])
    for k in range(SLOTS):
        for j in range(mask.shape[1]):
            mask[k, j] = 0
        mask[k, 0] = 1
        seqs[k] = NO_CAR
        if k >= pending:
            continue
        seqs[k] = int(o[at[r.O_PEND] + k * r.N_PCOL + r.P_SEQ])
        candidate_table(
            o, cf, ci, at, minutes, km, k, given, 0, codes, travel, extra, added, times, out, table
        )
        car_columns(o, cf, ci, at, lay, k, table, x)
        legal(o, ci, at, k, table, shift, mask[k])
    for j in range(len(x)):
        obs[j] = np.float32(min(max(x[j] * bounds[0, j], bounds[1, j]), bounds[2, j]))
    return shift


@kernel
def look_all(fs, is_, first, last, o, city, lay, bounds, tools, obs, mask, seqs, shift):  # type: ignore[no-untyped-def]
    """`look` for environments `first` to `last - 1` of a batch: arrays with a leading environment axis."""
    cf, ci, at, _minutes, _km = city
    for e in range(first, last):
        observe(fs[e], is_[e], cf, ci, at, o)
        shift[e] = look(o, city, lay, bounds, tools, obs[e], mask[e], seqs[e])


class Looker:
    """Reads rows of one city; one per thread."""

    def __init__(self, city: PackedCity) -> None:
        d = city.layout.dims
        self.city = city
        self.layout: GymLayout = layout_of(city)
        self._row: F64 = np.zeros(city.layout.sizes["o"])
        self._tools = (
            np.zeros((1, r.N_DCOL), np.int32),  # answers already given: none
            np.zeros(d["SP"], np.int32),
            np.zeros(d["SP"]),
            np.zeros((d["MP"], 3)),
            np.zeros(d["F"]),
            np.zeros(d["K"]),
            np.zeros(8),
            np.zeros((d["SP"], N_COLUMNS)),
            np.zeros(self.layout.size),
        )
        self._station = {name: s for s, name in enumerate(city.pack.stations.ids)}
        self._feeder = {name: k for k, name in enumerate(city.pack.grid.feeder_ids)}

    def _city(self) -> tuple[npt.NDArray[np.generic], ...]:
        """Rows and travel tables; fetched anew, since the bank of tables grows."""
        c = self.city
        return c.cf, c.ci, c.layout.at, c.bank.minutes, c.bank.km

    def one(self, row: F64, told: Sequence[Announcement], obs: F32, mask: I8, seqs: I32) -> int:
        """Fill obs (size,), mask (SLOTS, choices), seqs (SLOTS,) from an observation row.

        Returns the station that a load_shift would cap, -1 if none draws.
        """
        lay = self.layout
        shift: int = look(row, self._city(), lay.offsets, lay.bounds, self._tools, obs, mask, seqs)
        self.tell(told, obs)
        return shift

    def many(self, f: F64, i: I32, first: int, last: int, obs: F32, mask: I8, seqs: I32, shift: I32) -> None:
        """The same for environments `first` to `last - 1` of a batch, announcements apart (see `tell`)."""
        lay, city = self.layout, self._city()
        look_all(
            f, i, first, last, self._row, city, lay.offsets, lay.bounds, self._tools, obs, mask, seqs, shift
        )

    def tell(self, told: Sequence[Announcement], obs: F32) -> None:
        """Add what has been announced: the next event of each kind, and what it names."""
        if not told:
            return
        lay = self.layout
        kinds, stations, feeders = (lay.view(obs, b) for b in ("told", "stations", "feeders"))
        for a in sorted(told, key=lambda a: max(a.in_ticks, 0), reverse=True):  # the soonest is written last
            kind = EventKind[a.kind.upper()]
            named_s = [self._station[t] for t in a.targets if t in self._station]
            named_f = [self._feeder[t] for t in a.targets if t in self._feeder]
            stations[named_s, STATION_TOLD] = 1.0
            feeders[named_f, FEEDER_TOLD] = 1.0
            if named_s:
                share = len(named_s) / len(self._station)
            elif named_f:
                share = len(named_f) / len(self._feeder)
            else:
                share = 1.0
            value = a.value / _VALUE_SCALE.get(kind, 1.0)
            kinds[kind] = (1.0, min(max(a.in_ticks, 0) / 12.0, 2.0), min(max(value, -2.0), 4.0), share)
