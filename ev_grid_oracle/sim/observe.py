"""From the world to what a control room may know: fills one observation row.

Hidden and never read here: stream keys, the day factor, unannounced walk-ins on the road, future events
not yet told (the Session lists those that are), noise to come.
"""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.city.lookup import charge_minutes
from ev_grid_oracle.schema.compiled import inlined, kernel
from ev_grid_oracle.schema.rows import (
    AHEAD,
    B_ANN,
    B_CRIT,
    B_EMERG,
    B_FLEX,
    B_WALKIN,
    C_FLAGS,
    C_NEXT,
    C_NODE,
    C_OWN,
    C_PAT,
    C_READY,
    C_SEQ,
    C_SOC_BP,
    C_STATE,
    C_STATION,
    C_TARR,
    C_TGT_BP,
    C_TREQ,
    C_TWAIT,
    C_URG_BP,
    C_VEHICLE,
    CAR,
    FD_ADD,
    FD_KVA,
    FD_OUT,
    FD_S,
    FD_SB,
    FD_VMIN,
    FD_X,
    I_ANN,
    I_ETA,
    I_OWN,
    I_STATION,
    J_FEEDER,
    J_SLOTS,
    K_CONST,
    K_FBASE,
    K_FKVA,
    K_FSHAPE,
    K_LEVEL,
    K_OTHERRE,
    K_SOLAR,
    K_USUAL,
    N_C,
    N_CAR,
    N_F,
    N_ICOL,
    N_K,
    N_MI,
    N_PCOL,
    N_S,
    N_SP,
    NONE_KW,
    O_DRCAP,
    O_DRLEFT,
    O_FBASE,
    O_FHEAT,
    O_FKVA,
    O_FNEXT,
    O_FREE,
    O_FS,
    O_FVMIN,
    O_INB,
    O_INBND,
    O_KW,
    O_LIMIT,
    O_OCC,
    O_PEND,
    O_PRICE,
    O_QMIN,
    O_QUEUE,
    O_RATIO,
    O_RNEXT,
    O_SUP,
    O_TRHEAT,
    O_TRKVA,
    O_UP,
    O_USUAL,
    O_X,
    OX_CARBON,
    OX_DAYTYPE,
    OX_GRID,
    OX_MOD,
    OX_NINB,
    OX_NPEND,
    OX_RATIO,
    OX_RENEW,
    OX_SEASON,
    OX_TICK,
    OX_TICKS,
    OX_TRAFFIC,
    OX_TRAVEL,
    P_CRIT,
    P_EMERG,
    P_FLEX,
    P_NDEF,
    P_NODE,
    P_PAT,
    P_PERSONA,
    P_READY,
    P_SEQ,
    P_SOC,
    P_TGT,
    P_URG,
    P_VEHICLE,
    P_WAITED,
    PEND,
    Q_EFF,
    Q_HEAT,
    Q_RAINSUN,
    S_NDEF,
    S_PERSONA,
    SLOT_A,
    SLOT_B,
    SLOT_CAP,
    SLOT_CAR,
    SLOT_G,
    ST_DRCAP,
    ST_DRSET,
    ST_DRTICK,
    ST_INB,
    ST_KVA,
    ST_KW,
    ST_LIMIT,
    ST_OCC,
    ST_PRICE,
    ST_QH,
    ST_QN,
    ST_RATIO,
    ST_UP,
    ST_X,
    X_CARBON,
    X_GRIDLOAD,
    X_HEAT,
    X_RAIN,
    X_RATIO,
    X_RENEW,
    X_SOLAR,
    X_TRAFFIC,
    Y_DAYTYPE,
    Y_NPEND,
    Y_SEASON,
    Y_START,
    Y_TICK,
    Y_TICKS,
    Y_TRAVEL,
    X,
    Y,
)

NO_SLOT = 1.0e9


@kernel
def slot_times(f, i, cf, ci, at, o):  # type: ignore[no-untyped-def]
    """O_FREE: minutes until each usable slot frees at the present caps and share, ascending."""
    sp, k_slots = at[N_SP], at[N_K]
    efficiency = cf[at[K_CONST] + Q_EFF]
    for s in range(at[N_S]):
        base = at[O_FREE] + s * k_slots
        up = i[at[ST_UP] + s]
        occupied = i[at[ST_OCC] + s]
        dr = f[at[ST_DRCAP] + s]
        total = 0.0
        for k in range(ci[at[J_SLOTS] + s]):
            j = k * sp + s
            if i[at[SLOT_CAR] + j] >= 0:
                want = f[at[SLOT_A] + j] + f[at[SLOT_B] + j] * f[at[SLOT_G] + j]
                total += min(min(want, f[at[SLOT_CAP] + j]), dr)
        stretch = max(total / f[at[ST_LIMIT] + s], 1.0) if f[at[ST_LIMIT] + s] > 0.0 else 1.0e6
        n = 0
        for k in range(ci[at[J_SLOTS] + s]):
            j = k * sp + s
            if i[at[SLOT_CAR] + j] < 0:
                continue
            cap = min(f[at[SLOT_CAP] + j], f[at[ST_DRSET] + s])
            t = stretch * charge_minutes(f[at[SLOT_G] + j], cap, f[at[SLOT_A] + j], f[at[SLOT_B] + j], efficiency)
            q = n
            while q > 0 and o[base + q - 1] > t:
                o[base + q] = o[base + q - 1]
                q -= 1
            o[base + q] = t
            n += 1
        free = max(up - occupied, 0)
        if free > 0:  # free slots first
            for q in range(n - 1, -1, -1):
                o[base + q + free] = o[base + q]
            for q in range(free):
                o[base + q] = 0.0
        elif occupied > up:  # slots taken away: the first to finish close
            gone = occupied - up
            for q in range(n - gone):
                o[base + q] = o[base + q + gone]
            n -= gone
        for q in range(n + free, k_slots):
            o[base + q] = NO_SLOT


@inlined
def comes_before(o, x, y_):  # type: ignore[no-untyped-def]
    """Order of pending cars: Emergency, the others by request time, flexible ones by ready_by, then id."""
    ex, ey = o[x + P_EMERG], o[y_ + P_EMERG]
    if ex != ey:
        return ex > ey
    fx, fy = o[x + P_FLEX], o[y_ + P_FLEX]
    if fx != fy:
        return fx < fy
    kx = o[x + P_READY] if fx > 0.0 else -o[x + P_WAITED]
    ky = o[y_ + P_READY] if fy > 0.0 else -o[y_ + P_WAITED]
    if kx != ky:
        return kx < ky
    return o[x + P_SEQ] < o[y_ + P_SEQ]


@kernel
def pending_cars(i, at, o):  # type: ignore[no-untyped-def]
    """O_PEND in the protocol's order."""
    y = at[Y]
    now = 5 * i[y + Y_TICK]
    n = i[y + Y_NPEND]
    for k in range(n):
        b = at[CAR] + i[at[PEND] + k] * N_CAR
        flags = i[b + C_FLAGS]
        x = at[O_PEND] + k * N_PCOL
        o[x + P_SEQ] = i[b + C_SEQ]
        o[x + P_PERSONA] = (flags >> S_PERSONA) & 255
        o[x + P_VEHICLE] = i[b + C_VEHICLE]
        o[x + P_NODE] = i[b + C_NODE]
        o[x + P_SOC] = i[b + C_SOC_BP] / 10000.0
        o[x + P_TGT] = i[b + C_TGT_BP] / 10000.0
        o[x + P_URG] = i[b + C_URG_BP] / 10000.0
        o[x + P_CRIT] = 1.0 if (flags & B_CRIT) != 0 else 0.0
        o[x + P_EMERG] = 1.0 if (flags & B_EMERG) != 0 else 0.0
        o[x + P_FLEX] = 1.0 if (flags & B_FLEX) != 0 else 0.0
        o[x + P_READY] = i[b + C_READY] - now if (flags & B_FLEX) != 0 else 0.0
        o[x + P_PAT] = i[b + C_PAT] - (now - i[b + C_TWAIT])
        o[x + P_WAITED] = now - i[b + C_TREQ]
        o[x + P_NDEF] = flags >> S_NDEF
        q = k
        while q > 0 and comes_before(o, at[O_PEND] + q * N_PCOL, at[O_PEND] + (q - 1) * N_PCOL):
            for col in range(N_PCOL):  # swap with the one before
                j = at[O_PEND] + q * N_PCOL + col
                o[j], o[j - N_PCOL] = o[j - N_PCOL], o[j]
            q -= 1
    o[at[O_X] + OX_NPEND] = n


@kernel
def inbound_cars(i, at, o):  # type: ignore[no-untyped-def]
    """O_INBND: routed requests and announced walk-ins by minute of arrival, then station, then number."""
    now = 5 * i[at[Y] + Y_TICK]
    n = 0
    for c in range(at[N_C]):
        b = at[CAR] + c * N_CAR
        if i[b + C_STATE] != 3:
            continue
        flags = i[b + C_FLAGS]
        walk = (flags & B_WALKIN) != 0
        if walk and (flags & B_ANN) == 0:
            continue
        if n >= at[N_MI]:
            break
        eta, s = float(i[b + C_TARR] - now), float(i[b + C_STATION])
        own = float(i[b + C_OWN])
        q = n
        while q > 0:
            x = at[O_INBND] + (q - 1) * N_ICOL
            if (o[x + I_ETA], o[x + I_STATION], o[x + I_OWN]) > (eta, s, own):
                for col in range(N_ICOL):
                    o[x + N_ICOL + col] = o[x + col]
                q -= 1
            else:
                break
        x = at[O_INBND] + q * N_ICOL
        o[x + I_STATION] = s
        o[x + I_ETA] = eta
        o[x + I_OWN] = own
        o[x + I_ANN] = 1.0 if walk else 0.0
        n += 1
    o[at[O_X] + OX_NINB] = n


@kernel
def observe(f, i, cf, ci, at, o):  # type: ignore[no-untyped-def]
    """Fill the observation row `o` from the world rows."""
    y, x = at[Y], at[O_X]
    tick = i[y + Y_TICK]
    minute = (i[y + Y_START] + 5 * tick + 14400) % 1440
    slot = minute // 5
    day, season = i[y + Y_DAYTYPE], i[y + Y_SEASON]
    o[x + OX_TICK] = tick
    o[x + OX_TICKS] = i[y + Y_TICKS]
    o[x + OX_MOD] = minute
    o[x + OX_DAYTYPE] = day
    o[x + OX_SEASON] = season
    o[x + OX_GRID] = f[at[X] + X_GRIDLOAD]
    o[x + OX_RENEW] = f[at[X] + X_RENEW]
    o[x + OX_CARBON] = f[at[X] + X_CARBON]
    o[x + OX_RATIO] = f[at[X] + X_RATIO]
    o[x + OX_TRAVEL] = i[y + Y_TRAVEL]
    o[x + OX_TRAFFIC] = f[at[X] + X_TRAFFIC]
    hour, part = slot // 12, (slot % 12) / 12.0
    for s in range(at[N_S]):
        o[at[O_OCC] + s] = i[at[ST_OCC] + s]
        o[at[O_QUEUE] + s] = i[at[ST_QN] + s]
        o[at[O_INB] + s] = i[at[ST_INB] + s]
        o[at[O_UP] + s] = i[at[ST_UP] + s]
        o[at[O_SUP] + s] = 1.0 - f[at[FD_OUT] + ci[at[J_FEEDER] + s]]
        o[at[O_KW] + s] = f[at[ST_KW] + s]
        o[at[O_LIMIT] + s] = f[at[ST_LIMIT] + s]
        o[at[O_DRCAP] + s] = f[at[ST_DRSET] + s]
        left = i[at[ST_DRTICK] + s] - tick
        o[at[O_DRLEFT] + s] = 5.0 * left if f[at[ST_DRSET] + s] < NONE_KW and left > 0 else 0.0
        o[at[O_PRICE] + s] = f[at[ST_PRICE] + s]
        usual = at[K_USUAL] + day * 24 * at[N_SP] + s
        now_h, next_h = cf[usual + hour * at[N_SP]], cf[usual + (hour + 1) % 24 * at[N_SP]]
        o[at[O_USUAL] + s] = now_h * (1.0 - part) + next_h * part
        o[at[O_RATIO] + s] = f[at[ST_RATIO] + s]
        o[at[O_TRHEAT] + s] = np.sqrt(f[at[ST_X] + s])
        o[at[O_TRKVA] + s] = f[at[ST_KVA] + s]
        total = 0.0
        c = i[at[ST_QH] + s]
        while c >= 0:
            b = at[CAR] + c * N_CAR
            total += i[b + C_OWN]
            c = i[b + C_NEXT]
        o[at[O_QMIN] + s] = total / i[at[ST_QN] + s] if i[at[ST_QN] + s] > 0 else 0.0
    level = cf[at[K_LEVEL] + 2 * season + day]
    heat = f[at[X] + X_HEAT] * cf[at[K_CONST] + Q_HEAT]
    for k in range(at[N_F]):
        o[at[O_FS] + k] = f[at[FD_S] + k]
        o[at[O_FKVA] + k] = f[at[FD_KVA] + k]
        o[at[O_FHEAT] + k] = np.sqrt(f[at[FD_X] + k])
        o[at[O_FBASE] + k] = f[at[FD_SB] + k]
        o[at[O_FVMIN] + k] = f[at[FD_VMIN] + k] if f[at[FD_OUT] + k] == 0.0 else np.nan
        shape = at[K_FSHAPE] + (day * at[N_F] + k) * 288
        for t in range(AHEAD):
            frac = cf[at[K_FBASE] + k] * cf[shape + (slot + t) % 288] * level + f[at[FD_ADD] + k] + heat
            o[at[O_FNEXT] + k * AHEAD + t] = max(frac, 0.0) * cf[at[K_FKVA] + k]
    sun = f[at[X] + X_SOLAR] * (cf[at[K_CONST] + Q_RAINSUN] if f[at[X] + X_RAIN] > 0.0 else 1.0)
    for t in range(AHEAD):
        later = 288 * season + (slot + t) % 288
        o[at[O_RNEXT] + t] = min(cf[at[K_SOLAR] + later] * sun + cf[at[K_OTHERRE] + later], 0.98)
    slot_times(f, i, cf, ci, at, o)
    pending_cars(i, at, o)
    inbound_cars(i, at, o)
