"""AC power flow of every radial feeder, with and without charging, and the heat of heads and transformers.

Backward/forward sweep on constant-power loads (Shirmohammadi et al. 1988), all feeders side by side in
lanes: lane k is feeder k with charging, lane F + k the same feeder with base load alone. Row d holds the
d-th bus of every feeder; a bus's parent stands in an earlier row. Voltages of the last tick are the start
of the next, so about three sweeps suffice. Heat is first order: dx/dt = (u^2 - x) / tau (after IEC
60076-7); the equivalent load is sqrt(x).
"""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.schema.compiled import inlined, kernel, part, stack
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
    J_FEEDER,
    J_POS,
    J_UP,
    J_UPS,
    K_CONST,
    K_FBASE,
    K_FKVA,
    K_FSHAPE,
    K_LEVEL,
    K_SHARE,
    K_UP,
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
    X_COMMON,
    X_GRIDLOAD,
    X_HEAT,
    Y_DAYTYPE,
    Y_SEASON,
    Y_START,
    Y_SWEEPS,
    Y_TICK,
    X,
    Y,
)
from ev_grid_oracle.sim.sweep import solve


@inlined
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


@part
def flow(f, i, cf, ci, at, w, next_f, next_i, asked):  # type: ignore[no-untyped-def]
    """Both flows of the tick on its mean powers, then loads, lowest voltages and heat.

    w (6, D x FL): scratch. next_f, next_i, asked: see `solve`. Reads ST_KWH, writes ST_KW, FD_*, ST_U, ST_X, X_GRIDLOAD.
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
    base = w[2]
    for lane in range(lanes):
        base[lane] = 0.0
    for k in range(n_f):
        base[k] = f[at[FD_BASEKW] + k] / sbase
        base[n_f + k] = base[k]
    for d in range(depth):
        p, q = w[0, d * lanes : (d + 1) * lanes], w[1, d * lanes : (d + 1) * lanes]
        share = cf[at[K_SHARE] + d * lanes : at[K_SHARE] + (d + 1) * lanes]
        for lane in range(lanes):
            value = share[lane] * base[lane]
            p[lane] = value
            q[lane] = value * tan_b
    for k in range(n_f):
        f[at[FD_EVKWH] + k] = 0.0
    alpha = cf[const + Q_ALPHA]
    transformers(f, at, pfc, alpha)
    for s in range(n_s):
        kw = f[at[ST_KW] + s]
        k, d = ci[at[J_FEEDER] + s], ci[at[J_POS] + s]
        f[at[FD_EVKWH] + k] += f[at[ST_KWH] + s]
        w[0, d * lanes + k] += kw / sbase
        w[1, d * lanes + k] += kw / sbase * tan_c
    i[at[Y] + Y_SWEEPS] = solve(f, cf, ci, at, w, next_f, next_i, asked)
    source = cf[const + Q_VSRC]
    real, kva, lowest = stack(lanes), stack(lanes), stack(lanes)
    heads(f, cf, ci, at, w, real, kva, lowest)
    total = 0.0
    rated = 0.0
    for k in range(n_f):
        supplied = f[at[FD_OUT] + k] == 0.0
        f[at[FD_P] + k] = source * real[k] * sbase
        f[at[FD_S] + k] = kva[k]
        f[at[FD_SB] + k] = kva[n_f + k]
        f[at[FD_VMIN] + k] = lowest[k] if supplied else 0.0
        u, ub = kva[k] / f[at[FD_KVA] + k], kva[n_f + k] / f[at[FD_KVA] + k]
        f[at[FD_X] + k] += alpha * (u * u - f[at[FD_X] + k])
        f[at[FD_XB] + k] += alpha * (ub * ub - f[at[FD_XB] + k])
        total += kva[k]
        rated += cf[at[K_FKVA] + k]
    f[at[X] + X_GRIDLOAD] = total / rated


@inlined
def transformers(f, at, pfc, alpha):  # type: ignore[no-untyped-def]
    """Mean power of every station, loading and heat of its transformer."""
    n_s = at[N_S]
    kwh, rating = f[at[ST_KWH] : at[ST_KWH] + n_s], f[at[ST_KVA] : at[ST_KVA] + n_s]
    power, loading, heat = f[at[ST_KW] : at[ST_KW] + n_s], f[at[ST_U] : at[ST_U] + n_s], f[at[ST_X] : at[ST_X] + n_s]
    kw, u = stack(n_s), stack(n_s)
    for s in range(n_s):
        kw[s] = kwh[s] * 12.0
        u[s] = kw[s] / pfc / rating[s]
    for s in range(n_s):
        power[s] = kw[s]
    for s in range(n_s):
        loading[s] = u[s]
    for s in range(n_s):
        heat[s] += alpha * (u[s] * u[s] - heat[s])


@inlined
def heads(f, cf, ci, at, w, real, kva, lowest):  # type: ignore[no-untyped-def]
    """Of every lane: real current and apparent power (kVA) at the head, lowest voltage of its buses (pu)."""
    lanes, depth = at[N_FL], at[N_D]
    source, sbase = cf[at[K_CONST] + Q_VSRC], cf[at[K_CONST] + Q_SBASE]
    imag = stack(lanes)
    for k in range(lanes):
        real[k] = w[2, k]
        imag[k] = w[3, k]
        lowest[k] = 4.0
    for d in range(1, depth):
        for n in range(ci[at[J_UPS] + d]):
            if ci[at[J_UP] + d * depth + n] < 0:
                o, here = d * lanes, at[K_UP] + (d * depth + n) * lanes
                for k in range(lanes):
                    real[k] += w[2, o + k] * cf[here + k]
                    imag[k] += w[3, o + k] * cf[here + k]
    for d in range(depth):  # a row that a feeder lacks holds the voltage of the row above
        re, im = at[V_RE] + d * lanes, at[V_IM] + d * lanes
        for k in range(lanes):
            m = f[re + k] * f[re + k] + f[im + k] * f[im + k]
            lowest[k] = m if m < lowest[k] else lowest[k]
    for k in range(lanes):
        kva[k] = source * np.sqrt(real[k] * real[k] + imag[k] * imag[k]) * sbase
        lowest[k] = np.sqrt(lowest[k])


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
