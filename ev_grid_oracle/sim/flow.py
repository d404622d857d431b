"""AC power flow of every radial feeder, with and without charging, and the heat of heads and transformers.

Backward/forward sweep on constant-power loads (Shirmohammadi et al. 1988), all feeders side by side in
lanes: lane k is feeder k with charging, lane F + k the same feeder with base load alone. Row d holds the
d-th bus of every feeder; a bus's parent stands in an earlier row. Voltages of the last tick are the start
of the next, so about three sweeps suffice. Heat is first order: dx/dt = (u^2 - x) / tau (after IEC
60076-7); the equivalent load is sqrt(x).
"""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.schema.compiled import kernel
from ev_grid_oracle.schema.rows import (
    FD_ADD,
    FD_BASEKW,
    FD_EVKWH,
    FD_KVA,
    FD_NOISE,
    FD_OUT,
    FD_P,
    FD_S,
    FD_SB,
    FD_VMIN,
    FD_X,
    FD_XB,
    J_BUSES,
    J_CHAIN,
    J_FEEDER,
    J_PAR,
    J_POS,
    K_CONST,
    K_FBASE,
    K_FKVA,
    K_FSHAPE,
    K_LEVEL,
    K_R,
    K_SHARE,
    K_X,
    N_D,
    N_F,
    N_FL,
    N_S,
    N_SP,
    Q_ALPHA,
    Q_HEAT,
    Q_PFB,
    Q_PFC,
    Q_SBASE,
    Q_VSRC,
    ST_KVA,
    ST_KW,
    ST_KWH,
    ST_U,
    ST_X,
    V_IM,
    V_RE,
    X,
    X_COMMON,
    X_GRIDLOAD,
    X_HEAT,
    Y,
    Y_DAYTYPE,
    Y_SEASON,
    Y_START,
    Y_SWEEPS,
    Y_TICK,
)

TOLERANCE = 1.0e-15  # of the largest squared change of a voltage, pu^2 (3e-8 pu)
MAX_SWEEPS = 60
V_FLOOR2 = 0.25  # loads are seen at 0.5 pu at least, so that a collapse stays finite


@kernel
def base_load(f, i, cf, at):  # type: ignore[no-untyped-def]
    """Active base load of every feeder now, kW (0 without supply), into FD_BASEKW."""
    y = at[Y]
    slot = (i[y + Y_START] + 5 * i[y + Y_TICK] + 14400) % 1440 // 5
    day = i[y + Y_DAYTYPE]
    level = cf[at[K_LEVEL] + 2 * i[y + Y_SEASON] + day]
    heat = f[at[X] + X_HEAT] * cf[at[K_CONST] + Q_HEAT]
    for k in range(at[N_F]):
        shape = cf[at[K_FSHAPE] + (day * at[N_F] + k) * 288 + slot]
        noise = 1.0 + f[at[X] + X_COMMON] + f[at[FD_NOISE] + k]
        frac = cf[at[K_FBASE] + k] * shape * level * noise + f[at[FD_ADD] + k] + heat
        kw = max(frac, 0.0) * cf[at[K_FKVA] + k] * cf[at[K_CONST] + Q_PFB]
        f[at[FD_BASEKW] + k] = kw if f[at[FD_OUT] + k] == 0.0 else 0.0


@kernel
def solve(f, cf, ci, at, p, q, jr, ji):  # type: ignore[no-untyped-def]
    """Sweep to convergence on loads p, q (D, FL) in pu; returns the number of sweeps.

    Leaves the currents of the last sweep in jr, ji: row d is the current of the line to bus d.
    """
    depth = at[N_D]
    lanes = at[N_FL]
    n_f = at[N_F]
    n = depth * lanes
    vr = f[at[V_RE] : at[V_RE] + n].reshape((depth, lanes))
    vi = f[at[V_IM] : at[V_IM] + n].reshape((depth, lanes))
    r = cf[at[K_R] : at[K_R] + n].reshape((depth, lanes))
    x = cf[at[K_X] : at[K_X] + n].reshape((depth, lanes))
    source = cf[at[K_CONST] + Q_VSRC]
    sweeps = 0
    while sweeps < MAX_SWEEPS:
        sweeps += 1
        for d in range(depth):
            for lane in range(lanes):
                re, im = vr[d, lane], vi[d, lane]
                m = re * re + im * im
                m = m if m > V_FLOOR2 else V_FLOOR2
                inv = 1.0 / m
                jr[d, lane] = (p[d, lane] * re + q[d, lane] * im) * inv
                ji[d, lane] = (p[d, lane] * im - q[d, lane] * re) * inv
        for d in range(depth - 1, 0, -1):
            if ci[at[J_CHAIN] + d] == 1:
                for lane in range(lanes):
                    jr[d - 1, lane] += jr[d, lane]
                    ji[d - 1, lane] += ji[d, lane]
            else:
                for k in range(n_f):
                    up = ci[at[J_PAR] + d * n_f + k]
                    if up >= 0:
                        jr[up, k] += jr[d, k]
                        ji[up, k] += ji[d, k]
                        jr[up, n_f + k] += jr[d, n_f + k]
                        ji[up, n_f + k] += ji[d, n_f + k]
        worst = 0.0
        for d in range(depth):
            if d == 0 or ci[at[J_CHAIN] + d] == 1:
                for lane in range(lanes):
                    ur = source if d == 0 else vr[d - 1, lane]
                    ui = 0.0 if d == 0 else vi[d - 1, lane]
                    re = ur - (r[d, lane] * jr[d, lane] - x[d, lane] * ji[d, lane])
                    im = ui - (r[d, lane] * ji[d, lane] + x[d, lane] * jr[d, lane])
                    dr, di = re - vr[d, lane], im - vi[d, lane]
                    change = dr * dr + di * di
                    worst = change if change > worst else worst
                    vr[d, lane] = re
                    vi[d, lane] = im
            else:
                for half in range(2):
                    for k in range(n_f):
                        lane = half * n_f + k
                        up = ci[at[J_PAR] + d * n_f + k]
                        ur = source if up < 0 else vr[up, lane]
                        ui = 0.0 if up < 0 else vi[up, lane]
                        re = ur - (r[d, lane] * jr[d, lane] - x[d, lane] * ji[d, lane])
                        im = ui - (r[d, lane] * ji[d, lane] + x[d, lane] * jr[d, lane])
                        dr, di = re - vr[d, lane], im - vi[d, lane]
                        change = dr * dr + di * di
                        worst = change if change > worst else worst
                        vr[d, lane] = re
                        vi[d, lane] = im
        if worst < TOLERANCE:
            break
    return sweeps


@kernel
def flow(f, i, cf, ci, at, p, q, jr, ji):  # type: ignore[no-untyped-def]
    """Both flows of the tick on its mean powers, then loads, lowest voltages and heat.

    p, q, jr, ji: (D, FL) scratch. Reads ST_KWH, writes ST_KW, FD_*, ST_U, ST_X, X_GRIDLOAD.
    """
    n_f, n_s = at[N_F], at[N_S]
    lanes = at[N_FL]
    depth = at[N_D]
    const = at[K_CONST]
    sbase = cf[const + Q_SBASE]
    pfb, pfc = cf[const + Q_PFB], cf[const + Q_PFC]
    tan_b = np.sqrt(1.0 - pfb * pfb) / pfb
    tan_c = np.sqrt(1.0 - pfc * pfc) / pfc
    base_load(f, i, cf, at)
    share = cf[at[K_SHARE] : at[K_SHARE] + depth * lanes].reshape((depth, lanes))
    for d in range(depth):
        for half in range(2):
            for k in range(n_f):
                value = share[d, k] * (f[at[FD_BASEKW] + k] / sbase)
                p[d, half * n_f + k] = value
                q[d, half * n_f + k] = value * tan_b
        for lane in range(2 * n_f, lanes):
            p[d, lane] = 0.0
            q[d, lane] = 0.0
    for k in range(n_f):
        f[at[FD_EVKWH] + k] = 0.0
    alpha = cf[const + Q_ALPHA]
    for s in range(n_s):
        kwh = f[at[ST_KWH] + s]
        kw = kwh * 12.0
        f[at[ST_KW] + s] = kw
        k, d = ci[at[J_FEEDER] + s], ci[at[J_POS] + s]
        f[at[FD_EVKWH] + k] += kwh
        p[d, k] += kw / sbase
        q[d, k] += kw / sbase * tan_c
        u = kw / pfc / f[at[ST_KVA] + s]
        f[at[ST_U] + s] = u
        f[at[ST_X] + s] += alpha * (u * u - f[at[ST_X] + s])
    i[at[Y] + Y_SWEEPS] = solve(f, cf, ci, at, p, q, jr, ji)
    source = cf[const + Q_VSRC]
    total = 0.0
    rated = 0.0
    for k in range(n_f):
        supplied = f[at[FD_OUT] + k] == 0.0
        sr, si, br, bi = 0.0, 0.0, 0.0, 0.0
        for d in range(ci[at[J_BUSES] + k]):
            if ci[at[J_PAR] + d * n_f + k] < 0:
                sr += jr[d, k]
                si += ji[d, k]
                br += jr[d, n_f + k]
                bi += ji[d, n_f + k]
        f[at[FD_P] + k] = source * sr * sbase
        s_kva = source * np.sqrt(sr * sr + si * si) * sbase
        b_kva = source * np.sqrt(br * br + bi * bi) * sbase
        f[at[FD_S] + k] = s_kva
        f[at[FD_SB] + k] = b_kva
        low = 4.0
        for d in range(ci[at[J_BUSES] + k]):
            re = f[at[V_RE] + d * lanes + k]
            im = f[at[V_IM] + d * lanes + k]
            m = re * re + im * im
            low = m if m < low else low
        f[at[FD_VMIN] + k] = np.sqrt(low) if supplied else 0.0
        u, ub = s_kva / f[at[FD_KVA] + k], b_kva / f[at[FD_KVA] + k]
        f[at[FD_X] + k] += alpha * (u * u - f[at[FD_X] + k])
        f[at[FD_XB] + k] += alpha * (ub * ub - f[at[FD_XB] + k])
        total += s_kva
        rated += cf[at[K_FKVA] + k]
    f[at[X] + X_GRIDLOAD] = total / rated


@kernel
def flat_start(f, cf, at):  # type: ignore[no-untyped-def]
    """Every bus at the source's voltage."""
    n = at[N_D] * at[N_FL]
    for k in range(n):
        f[at[V_RE] + k] = cf[at[K_CONST] + Q_VSRC]
        f[at[V_IM] + k] = 0.0


@kernel
def settle_heat(f, at):  # type: ignore[no-untyped-def]
    """Thermal states at the start of a warm-up: x = u_base^2 (transformers carry charging only: u^2)."""
    for k in range(at[N_F]):
        ub = f[at[FD_SB] + k] / f[at[FD_KVA] + k]
        f[at[FD_X] + k] = ub * ub
        f[at[FD_XB] + k] = ub * ub
    for s in range(at[N_SP]):
        f[at[ST_X] + s] = f[at[ST_U] + s] * f[at[ST_U] + s]
