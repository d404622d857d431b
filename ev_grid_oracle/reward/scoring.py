"""What was it worth? Scored after the tick's flow from the facts of the world alone; text is never seen.

Formulas: see `terms.py`. `u` = S / R of a feeder head (kVA over present rating), `q` the equivalent load
(square root of the thermal state), `_base` the same for the flow of base load alone.
"""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.reward.terms import (
    ANTI_HACK,
    FORMAT,
    GRID_LIMIT,
    GRID_STRESS,
    PEAK,
    PEAK_FROM,
    PENALTY,
    RENEWABLE,
    SERVICE,
    STRESS_FROM,
    URGENCY,
    V_BAND,
    W_BELOW,
    W_LIMIT,
    W_OVER_MIN,
    W_PEAK,
    W_RENEWABLE,
    W_STRESS,
    W_VOLT,
    WAIT,
)
from ev_grid_oracle.schema.compiled import inlined, part, stack
from ev_grid_oracle.schema.rows import (
    A_INVALID,
    C_NEXT,
    C_STATION,
    CAL,
    CAR,
    EP,
    FD_BASEKW,
    FD_EVKWH,
    FD_KVA,
    FD_OUT,
    FD_P,
    FD_S,
    FD_SB,
    FD_VMIN,
    FD_X,
    FD_XB,
    J_BUSES,
    K_CONST,
    N_CAR,
    N_F,
    N_FL,
    N_S,
    N_TERMS,
    N_TK,
    Q_N0,
    Q_PROT,
    Q_VMAX,
    Q_VMIN,
    RING,
    ST_KVA,
    ST_KWH,
    ST_OCC,
    ST_PRICE,
    ST_QN,
    ST_U,
    ST_UP,
    ST_X,
    T_BASE_OVER_MIN,
    T_BELOW_KWH,
    T_FLAGS,
    T_FORMAT,
    T_INR,
    T_KG,
    T_KWH,
    T_LOSS_KWH,
    T_OVER_KVA,
    T_OVER_MIN,
    T_PEAK,
    T_PEAK_EV,
    T_RKWH,
    T_SERVICE,
    T_STRESS,
    T_STRESS_EV,
    T_URGENT,
    T_VOLT,
    T_VOLT_MIN,
    T_WAIT,
    TERM,
    TK,
    TSUM,
    V_IM,
    V_RE,
    X_CARBON,
    X_MEANREN,
    X_RENEW,
    Y_TICK,
    X,
    Y,
)

DUE_MIN = 10  # who arrives within these minutes counts as present


@inlined
def station_stress(f, i, ci, at, due):  # type: ignore[no-untyped-def]
    """Slots above 85 %, counting who is due within 10 minutes after the tick; `due` (S,) scratch."""
    n_s = at[N_S]
    t = at[TK]
    for s in range(n_s):
        due[s] = 0.0
    end = 5 * (i[at[Y] + Y_TICK] + 1)
    chain = stack(DUE_MIN)  # the next car of each minute: side by side, since every car is a wait for memory
    left = 0
    for m in range(DUE_MIN):
        c = i[at[CAL] + ((end + m) & (RING - 1))]
        chain[m] = c
        left += 1 if c >= 0 else 0
    while left > 0:
        left = 0
        for m in range(DUE_MIN):
            c = int(chain[m])
            if c >= 0:
                b = at[CAR] + c * N_CAR
                due[i[b + C_STATION]] += 1.0
                chain[m] = i[b + C_NEXT]
                left += 1 if i[b + C_NEXT] >= 0 else 0
    total = 0.0
    for s in range(n_s):
        up = float(max(i[at[ST_UP] + s], 1))
        present = float(i[at[ST_OCC] + s] + i[at[ST_QN] + s])
        total += max(present + due[s] - STRESS_FROM * up, 0.0)
        if present > STRESS_FROM * up:
            f[t + T_STRESS_EV] += 1.0
        f[t + T_KWH] += f[at[ST_KWH] + s]
        f[t + T_INR] += f[at[ST_KWH] + s] * f[at[ST_PRICE] + s]
    f[t + T_STRESS] = total


@inlined
def over_limit(q2, u, protection):  # type: ignore[no-untyped-def]
    return q2 > 1.0 or u > protection


@inlined
def grid_facts(f, i, cf, ci, at):  # type: ignore[no-untyped-def]
    """Peak, limits, voltages of the tick into TK."""
    t = at[TK]
    protection = cf[at[K_CONST] + Q_PROT]
    low, high = cf[at[K_CONST] + Q_VMIN], cf[at[K_CONST] + Q_VMAX]
    lanes = at[N_FL]
    n_f = at[N_F]
    peak, over_kva, over_min, below = 0.0, 0.0, 0.0, 0.0
    base_over = 0.0
    loss_kw = 0.0
    for k in range(n_f):
        r = f[at[FD_KVA] + k]
        u, ub = f[at[FD_S] + k] / r, f[at[FD_SB] + k] / r
        top, base = max(u - PEAK_FROM, 0.0), max(ub - PEAK_FROM, 0.0)
        peak += r * (top * top - base * base)
        if u < PEAK_FROM:
            below += f[at[FD_EVKWH] + k]
        if u > PEAK_FROM and ub <= PEAK_FROM:
            f[t + T_PEAK_EV] += 1.0
        x, xb = f[at[FD_X] + k], f[at[FD_XB] + k]
        if over_limit(x, u, protection):
            q, qb = np.sqrt(x), np.sqrt(xb)
            over_kva += r * max(min(q - 1.0, q - qb), 0.0)
            if over_limit(xb, ub, protection):
                base_over += 5.0
            else:
                over_min += 5.0
        loss_kw += f[at[FD_P] + k] - f[at[FD_BASEKW] + k] - 12.0 * f[at[FD_EVKWH] + k]
        if f[at[FD_VMIN] + k] < low and f[at[FD_OUT] + k] == 0.0:
            for d in range(ci[at[J_BUSES] + k]):
                j = d * lanes + k
                v = np.sqrt(f[at[V_RE] + j] ** 2 + f[at[V_IM] + j] ** 2)
                jb = j + n_f
                vb = np.sqrt(f[at[V_RE] + jb] ** 2 + f[at[V_IM] + jb] ** 2)
                if vb >= low:
                    f[t + T_VOLT] += 5.0 * min(max((low - v) / V_BAND, 0.0), 1.0)
                    if v < low or v > high:
                        f[t + T_VOLT_MIN] += 5.0
    for s in range(at[N_S]):
        x = f[at[ST_X] + s]
        if over_limit(x, f[at[ST_U] + s], protection):
            over_min += 5.0
            over_kva += f[at[ST_KVA] + s] * max(np.sqrt(x) - 1.0, 0.0)
    f[t + T_PEAK] = peak
    f[t + T_BELOW_KWH] = below
    f[t + T_OVER_KVA] = 5.0 * over_kva
    f[t + T_OVER_MIN] = over_min
    f[t + T_BASE_OVER_MIN] = base_over
    f[t + T_LOSS_KWH] = loss_kw / 12.0


@part
def score(f, i, cf, ci, at, penalty, invalid, due):  # type: ignore[no-untyped-def]
    """Terms of the tick into TERM, sums into TSUM and EP; returns the total.

    `penalty` is the verifier's anti_hack in car-minutes, `invalid` the number of refused texts.
    """
    t, term = at[TK], at[TERM]
    station_stress(f, i, ci, at, due)
    grid_facts(f, i, cf, ci, at)
    share = f[at[X] + X_RENEW]
    f[t + T_RKWH] = f[t + T_KWH] * share
    f[t + T_KG] = f[t + T_KWH] * f[at[X] + X_CARBON] / 1000.0
    f[t + T_FLAGS] = 1.0 if penalty > 0.0 or invalid > 0 else 0.0
    f[t + T_FORMAT] = PENALTY * invalid
    f[at[EP] + A_INVALID] += invalid
    n0 = cf[at[K_CONST] + Q_N0]
    f[term + WAIT] = -f[t + T_WAIT] / n0
    f[term + SERVICE] = -f[t + T_SERVICE] / n0
    f[term + URGENCY] = -f[t + T_URGENT] / n0
    f[term + GRID_STRESS] = -W_STRESS * 5.0 * f[t + T_STRESS] / n0
    f[term + PEAK] = (-W_PEAK * 5.0 * f[t + T_PEAK] + W_BELOW * f[t + T_BELOW_KWH]) / n0
    limits = W_LIMIT * f[t + T_OVER_KVA] + W_OVER_MIN * f[t + T_OVER_MIN] + W_VOLT * f[t + T_VOLT]
    f[term + GRID_LIMIT] = -limits / n0
    f[term + RENEWABLE] = W_RENEWABLE * f[t + T_KWH] * (share - f[at[X] + X_MEANREN]) / n0
    f[term + ANTI_HACK] = -penalty / n0
    f[term + FORMAT] = -PENALTY * invalid / n0
    total = 0.0
    for k in range(N_TERMS):
        total += f[term + k]
        f[at[TSUM] + k] += f[term + k]
    for k in range(N_TK):
        f[at[EP] + k] += f[t + k]
    return total
