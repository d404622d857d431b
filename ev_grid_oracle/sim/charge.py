"""One minute of charging at every slot, stations side by side in the lanes of the vector unit."""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.schema.compiled import kernel
from ev_grid_oracle.schema.rows import (
    K_CONST,
    N_K,
    N_SP,
    Q_EFF,
    ST_DRCAP,
    ST_KWH,
    ST_LIMIT,
)


@kernel
def charge_minute(f, cf, at, g, cap, a, b, wp):  # type: ignore[no-untyped-def]
    """Charge every slot for one minute; returns how many stations have a car that reached its target.

    g, cap, a, b: (K, SP) views of SLOT_*. Power of a slot = min(cap, demand-response cap, a + b g),
    scaled by the site's share where the sum passes the site limit. `wp` (K + 3, SP) is scratch; its last
    row counts the cars of each station that finished. Adds to ST_KWH. A finished slot holds exactly
    g == 0.
    """
    sp = at[N_SP]
    k_slots = at[N_K]
    limit = f[at[ST_LIMIT] : at[ST_LIMIT] + sp]
    dr = f[at[ST_DRCAP] : at[ST_DRCAP] + sp]
    kwh = f[at[ST_KWH] : at[ST_KWH] + sp]
    efficiency = cf[at[K_CONST] + Q_EFF]
    gain = efficiency / 60.0
    total, share, done = wp[k_slots], wp[k_slots + 1], wp[k_slots + 2]
    for s in range(sp):
        total[s] = 0.0
        done[s] = 0.0
    for k in range(k_slots):
        for s in range(sp):
            p = a[k, s] + b[k, s] * g[k, s]
            p = cap[k, s] if cap[k, s] < p else p
            p = dr[s] if dr[s] < p else p
            wp[k, s] = p
            total[s] += p
    for s in range(sp):
        share[s] = limit[s] / total[s] * gain if total[s] > limit[s] else gain
        total[s] = 0.0
    for k in range(k_slots):
        for s in range(sp):
            before = g[k, s]
            d = wp[k, s] * share[s]
            full = d >= before
            d = before if full else d
            g[k, s] = before - d
            total[s] += d
            done[s] += 1.0 if full and before > 0.0 else 0.0
    finished = 0
    for s in range(sp):
        kwh[s] += total[s] / efficiency
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
