"""The relaxed problem of small evenings solved outright with HiGHS: how far the search of `bound` is from its best.

The linear programme's optimum is the best value that prices can reach; with whole cars (`whole=True`, a mixed-integer
programme) it is the relaxed problem's own optimum, between that and the cost of the best dispatcher. For evenings of
toy size: one of Bengaluru has some 300,000 rows of plug-in minutes alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from ev_grid_oracle.evaluation.bound import I64, Relaxation
from ev_grid_oracle.evaluation.bound_world import F64
from ev_grid_oracle.schema.errors import EVGridError

MOST_COLUMNS = 200_000


class SolverError(EVGridError):
    """The relaxed problem was not solved."""

    code = "E_OPTION"


@dataclass(frozen=True)
class Columns:
    """Single possibilities: a row of the relaxation with the minutes at a slot written out; table -1: no slot."""

    row: I64
    cost: F64
    table: I64
    begin: I64
    end: I64


def solve(relaxed: Relaxation, whole: bool = False, seconds: float = 60.0) -> float:
    """Optimum of the relaxed problem, car-minutes.

    Raises:
        SolverError: the evening is too large, or HiGHS did not finish in `seconds`.
    """
    c = columns(relaxed)
    n = len(c.row)
    cars = sparse.csr_array(
        (np.ones(n), (relaxed.rank[c.row], np.arange(n))), (int(relaxed.rank.max(initial=-1)) + 1, n)
    )
    if n == 0:
        return 0.0
    one = np.ones(cars.shape[0])
    rows = [
        LinearConstraint(cars, one, one),
        LinearConstraint(_slots(relaxed, c), ub=relaxed.capacity.ravel()),
    ]
    if len(relaxed.scale):
        rows.append(LinearConstraint(_choices(relaxed, c), ub=np.zeros(len(relaxed.scale))))
    found = milp(
        c.cost, integrality=np.full(n, int(whole)), bounds=Bounds(0.0, 1.0), constraints=rows,
        options={"time_limit": seconds, "mip_rel_gap": 0.0},
    )  # fmt: skip
    if found.status != 0:
        raise SolverError(f"HiGHS stopped: {found.message}", "Give it more seconds or a smaller evening.")
    return float(found.fun)


def columns(relaxed: Relaxation) -> Columns:
    """Every row with every time of leaving that can matter: as soon as possible, or at a later tick's start up to the
    last tick in which a walk-in chooses (staying on is worth something only there)."""
    width, last = relaxed.end + 1, 5 * int((relaxed.place % relaxed.ticks).max(initial=0))
    out: list[tuple[int, float, int, int, int]] = []
    for k, to in enumerate(relaxed.to):
        kind = int(np.searchsorted(relaxed.blocks, to, side="right")) - 1
        cost = float(relaxed.cost[k])
        if kind == 3:
            out.append((k, cost, -1, 0, 0))
        elif kind == 2:
            s, first = divmod(int(to) - relaxed.blocks[2], width)
            out.append((k, cost, -1, 0, 0))
            for table in np.flatnonzero(relaxed.station_of == s):
                out += [
                    (k, cost, int(table), p, e)
                    for p in range(first, last)
                    for e in range(5 * (p // 5 + 1), last + 1, 5)
                ]
        else:
            table, done = divmod(int(to) - relaxed.blocks[kind], width)
            begin = int(relaxed.start[k]) % width
            ends = [done, *(e for e in range(5 * (done // 5 + 1), last + 1, 5))]
            out += [(k, cost + (e if kind == 0 else 0.0), table, begin, e) for e in ends]
        if len(out) > MOST_COLUMNS:
            raise SolverError(
                f"The evening has more than {MOST_COLUMNS} columns.", "Take a smaller city or fewer ticks."
            )
    row, costs, tables, begins, ends_ = (
        (np.array(x) for x in zip(*out, strict=True)) if out else (np.zeros(0),) * 5
    )
    whole = (np.asarray(x, np.int64) for x in (tables, begins, ends_))
    return Columns(np.asarray(row, np.int64), np.asarray(costs, np.float64), *whole)


def _slots(relaxed: Relaxation, c: Columns) -> sparse.csr_array:
    """Minutes of each (station, tick) that a column pays for."""
    at = np.flatnonzero(c.table >= 0)
    tick = 5 * np.arange(relaxed.ticks)
    spent = np.clip(c.end[at, None] - tick, 0, 5) - np.clip(c.begin[at, None] - tick, 0, 5)
    j, t = np.nonzero(spent * relaxed.pays[c.table[at]])
    row = relaxed.station_of[c.table[at[j]]] * relaxed.ticks + t
    return sparse.csr_array((spent[j, t].astype(float), (row, at[j])), (relaxed.shape[0], len(c.row)))


def _choices(relaxed: Relaxation, c: Columns) -> sparse.csr_array:
    """Each choice row: what the walk-in's options need less what waits, or stands at the slots."""
    out = np.zeros((len(relaxed.scale), len(c.row)))
    option, station = relaxed.option[c.row], np.where(c.table >= 0, relaxed.station_of[c.table], -1)
    for row, o, share in zip(relaxed.use_row, relaxed.use_option, relaxed.use, strict=True):
        out[row, option == o] += share
    for k, (place, scale, full) in enumerate(zip(relaxed.place, relaxed.scale, relaxed.full, strict=True)):
        s, tick = divmod(int(place), relaxed.ticks)
        if full:
            out[k] -= scale * ((station == s) & (c.begin < 5 * tick) & (c.end >= 5 * tick))
        else:
            mark = s * (relaxed.ticks + 1) + tick
            out[k] -= scale * ((relaxed.joins[c.row] <= mark) & (mark < relaxed.leaves[c.row]))
    return sparse.csr_array(out)
