"""One minute of charging at every slot, stations side by side in the lanes of the vector unit."""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.schema.compiled import part, stack
from ev_grid_oracle.schema.rows import (
    K_CONST,
    N_K,
    N_SP,
    Q_EFF,
    ST_DRCAP,
    ST_KWH,
    ST_LIMIT,
)


@part
def charge_minute(f, cf, at, g, cap, a, b, wp):  # type: ignore[no-untyped-def]
    """Charge every slot for one minute; returns how many stations have a car that reached its target.

    g, cap, a, b: (K, SP) views of SLOT_*, or their first rows where the others are empty. Power of a slot
    = min(cap, demand-response cap, a + b g), scaled by the site's share where the sum passes the site
    limit. `wp` (K + 3, SP) is scratch; its last row gets the number of cars of each station that finished.
    Adds to ST_KWH. A finished slot holds exactly g == 0. Two rows of slots a turn: sums stay in registers,
    added in the order of the rows.
    """
    sp = at[N_SP]
    rows = len(g)
    limit = f[at[ST_LIMIT] : at[ST_LIMIT] + sp]
    dr = f[at[ST_DRCAP] : at[ST_DRCAP] + sp]
    kwh = f[at[ST_KWH] : at[ST_KWH] + sp]
    finished_at = wp[at[N_K] + 2]
    efficiency = cf[at[K_CONST] + Q_EFF]
    gain = efficiency / 60.0
    power, total, share, done = stack(rows * sp), stack(sp), stack(sp), stack(sp)
    for s in range(sp):
        total[s] = 0.0
        done[s] = 0.0
    even = rows // 2 * 2
    for k in range(0, even, 2):
        one, two = power[k * sp : (k + 1) * sp], power[(k + 1) * sp : (k + 2) * sp]
        for s in range(sp):
            p = a[k, s] + b[k, s] * g[k, s]
            p = cap[k, s] if cap[k, s] < p else p
            p = dr[s] if dr[s] < p else p
            q = a[k + 1, s] + b[k + 1, s] * g[k + 1, s]
            q = cap[k + 1, s] if cap[k + 1, s] < q else q
            q = dr[s] if dr[s] < q else q
            one[s] = p
            two[s] = q
            total[s] = total[s] + p + q
    for k in range(even, rows):
        one = power[k * sp : (k + 1) * sp]
        for s in range(sp):
            p = a[k, s] + b[k, s] * g[k, s]
            p = cap[k, s] if cap[k, s] < p else p
            p = dr[s] if dr[s] < p else p
            one[s] = p
            total[s] += p
    for s in range(sp):
        share[s] = limit[s] / total[s] * gain if total[s] > limit[s] else gain
        total[s] = 0.0
    for k in range(rows):
        one = power[k * sp : (k + 1) * sp]
        for s in range(sp):
            before = g[k, s]
            d = one[s] * share[s]
            full = d >= before
            d = before if full else d
            g[k, s] = before - d
            total[s] += d
            done[s] += 1.0 if full and before > 0.0 else 0.0
    finished = 0
    for s in range(sp):
        kwh[s] += total[s] / efficiency
        finished_at[s] = done[s]
        finished += 1 if done[s] > 0.0 else 0
    return finished


def numpy_twin(
    g: np.ndarray, cap: np.ndarray, a: np.ndarray, b: np.ndarray, limit: np.ndarray, dr: np.ndarray, efficiency: float
) -> tuple[np.ndarray, np.ndarray]:
    """The same minute in plain NumPy: (energy to go afterwards, kWh drawn by station). For tests."""
    power = np.minimum(np.minimum(a + b * g, cap), dr)
    total = power.sum(0)
    share = np.where(total > limit, limit / np.where(total > 0, total, 1.0), 1.0)
    gained = np.minimum(power * share * efficiency / 60.0, g)
    return g - gained, gained.sum(0) / efficiency
