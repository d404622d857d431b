"""One minute of charging at every slot, stations side by side in the lanes of the vector unit."""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.schema.compiled import part, stack
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
    ST_MASK,
)
from ev_grid_oracle.sim.ahead import WITH_TWO_SLOTS, ask

TILE = 32  # stations: 16 rows of 4 fields take 16 kB


@part
def charge_minute(f, i, cf, at, wp, next_f, next_i, asked):  # type: ignore[no-untyped-def]
    """Charge every slot for one minute; returns how many stations have a car that reached its target.

    Power of a slot = min(cap, demand-response cap, a + b g), scaled by the site's share where the sum passes the site
    limit. `wp` (K + 3, SP) is scratch; its last row gets the number of cars of each station that finished. Adds to
    ST_KWH. A finished slot holds exactly g == 0.
    Stations are taken in tiles that stay in the first cache, each up to its highest slot in use. Two rows of slots a turn:
    sums stay in registers, added in the order of the rows. `next_f`, `next_i`, `asked`: see `sim.ahead.ask`.
    All loops stand in this one function, as in `sim.sweep`.
    """
    sp, k_slots = at[N_SP], at[N_K]
    n = k_slots * sp
    g = f[at[SLOT_G] : at[SLOT_G] + n]
    cap = f[at[SLOT_CAP] : at[SLOT_CAP] + n]
    a = f[at[SLOT_A] : at[SLOT_A] + n]
    b = f[at[SLOT_B] : at[SLOT_B] + n]
    limit = f[at[ST_LIMIT] : at[ST_LIMIT] + sp]
    dr = f[at[ST_DRCAP] : at[ST_DRCAP] + sp]
    kwh = f[at[ST_KWH] : at[ST_KWH] + sp]
    finished_at = wp[k_slots + 2]
    efficiency = cf[at[K_CONST] + Q_EFF]
    gain = efficiency / 60.0
    power, total, share, done = stack(k_slots * TILE), stack(TILE), stack(TILE), stack(TILE)
    finished = 0
    for first in range(0, sp, TILE):
        width = min(TILE, sp - first)
        used = 0
        for s in range(width):
            used |= i[at[ST_MASK] + first + s]
        for s in range(width):
            total[s] = 0.0
            done[s] = 0.0
        rows = 0
        while used >> rows != 0:
            rows += 1
        even = rows // 2 * 2
        d1 = dr[first : first + width]
        for k in range(0, even, 2):
            ask(next_f, next_i, at, asked, WITH_TWO_SLOTS)
            one, two = power[k * TILE : k * TILE + TILE], power[(k + 1) * TILE : (k + 1) * TILE + TILE]
            o = k * sp + first
            g1, c1, a1, b1 = g[o : o + width], cap[o : o + width], a[o : o + width], b[o : o + width]
            o += sp
            g2, c2, a2, b2 = g[o : o + width], cap[o : o + width], a[o : o + width], b[o : o + width]
            for s in range(width):
                p = a1[s] + b1[s] * g1[s]
                p = c1[s] if c1[s] < p else p
                p = d1[s] if d1[s] < p else p
                q = a2[s] + b2[s] * g2[s]
                q = c2[s] if c2[s] < q else q
                q = d1[s] if d1[s] < q else q
                one[s] = p
                two[s] = q
                total[s] = total[s] + p + q
        for k in range(even, rows):
            one = power[k * TILE : k * TILE + TILE]
            o = k * sp + first
            g1, c1, a1, b1 = g[o : o + width], cap[o : o + width], a[o : o + width], b[o : o + width]
            for s in range(width):
                p = a1[s] + b1[s] * g1[s]
                p = c1[s] if c1[s] < p else p
                p = d1[s] if d1[s] < p else p
                one[s] = p
                total[s] += p
        for s in range(width):
            share[s] = limit[first + s] / total[s] * gain if total[s] > limit[first + s] else gain
            total[s] = 0.0
        for k in range(rows):
            one = power[k * TILE : k * TILE + TILE]
            g1 = g[k * sp + first : k * sp + first + width]
            for s in range(width):
                before = g1[s]
                d = one[s] * share[s]
                full = d >= before
                d = before if full else d
                g1[s] = before - d
                total[s] += d
                done[s] += 1.0 if full and before > 0.0 else 0.0
        for s in range(width):
            kwh[first + s] += total[s] / efficiency
            finished_at[first + s] = done[s]
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
