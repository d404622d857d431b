"""One minute of charging at every slot, stations side by side in the lanes of the vector unit."""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.schema.compiled import kernel
from ev_grid_oracle.schema.rows import (
    K_CONST,
    N_K,
    N_SP,
    Q_EFF,
    SLOT_A,
    SLOT_B,
    SLOT_CAP,
    SLOT_G,
    ST_DRCAP,
    ST_KWH,
    ST_LIMIT,
)


@kernel
def charge_minute(f, cf, at, power, lanes):  # type: ignore[no-untyped-def]
    """Charge every slot for one minute; True if some car reached its target.

    Power of a slot = min(cap, demand-response cap, a + b g), scaled by the site's share where the sum
    passes the site limit. `power` (K, SP) and `lanes` (3, SP: sum, share, finished) are scratch;
    lanes[2] counts the cars of each station that finished. Adds to ST_KWH. A finished slot holds
    exactly g == 0.
    """
    sp = at[N_SP]
    k_slots = at[N_K]
    n = k_slots * sp
    g = f[at[SLOT_G] : at[SLOT_G] + n].reshape((k_slots, sp))
    cap = f[at[SLOT_CAP] : at[SLOT_CAP] + n].reshape((k_slots, sp))
    a = f[at[SLOT_A] : at[SLOT_A] + n].reshape((k_slots, sp))
    b = f[at[SLOT_B] : at[SLOT_B] + n].reshape((k_slots, sp))
    limit = f[at[ST_LIMIT] : at[ST_LIMIT] + sp]
    dr = f[at[ST_DRCAP] : at[ST_DRCAP] + sp]
    kwh = f[at[ST_KWH] : at[ST_KWH] + sp]
    efficiency = cf[at[K_CONST] + Q_EFF]
    gain = efficiency / 60.0
    total, share, done = lanes[0], lanes[1], lanes[2]
    for s in range(sp):
        total[s] = 0.0
        done[s] = 0.0
    for k in range(k_slots):
        for s in range(sp):
            p = a[k, s] + b[k, s] * g[k, s]
            p = cap[k, s] if cap[k, s] < p else p
            p = dr[s] if dr[s] < p else p
            power[k, s] = p
            total[s] += p
    for s in range(sp):
        share[s] = limit[s] / total[s] * gain if total[s] > limit[s] else gain
        total[s] = 0.0
    for k in range(k_slots):
        for s in range(sp):
            before = g[k, s]
            d = power[k, s] * share[s]
            full = d >= before
            d = before if full else d
            g[k, s] = before - d
            total[s] += d
            done[s] += 1.0 if full and before > 0.0 else 0.0
    finished = 0.0
    for s in range(sp):
        kwh[s] += total[s] / efficiency
        finished = done[s] if done[s] > finished else finished
    return finished > 0.0


def numpy_twin(
    g: np.ndarray, cap: np.ndarray, a: np.ndarray, b: np.ndarray, limit: np.ndarray, dr: np.ndarray, efficiency: float
) -> tuple[np.ndarray, np.ndarray]:
    """The same minute in plain NumPy: (energy to go afterwards, kWh drawn by station). For tests."""
    power = np.minimum(np.minimum(a + b * g, cap), dr)
    total = power.sum(0)
    share = np.where(total > limit, limit / np.where(total > 0, total, 1.0), 1.0)
    gained = np.minimum(power * share * efficiency / 60.0, g)
    return g - gained, gained.sum(0) / efficiency
