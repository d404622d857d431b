"""AC power flow of every radial feeder, with and without charging, and the heat of heads and transformers.

Backward/forward sweep on constant-power loads (Shirmohammadi et al. 1988), all feeders side by side in
lanes: lane k is feeder k with charging, lane F + k the same feeder with base load alone. Row d holds the
d-th bus of every feeder; a bus's parent stands in an earlier row. Voltages of the last tick are the start
of the next, so about three sweeps suffice. Heat is first order: dx/dt = (u^2 - x) / tau (after IEC
60076-7); the equivalent load is sqrt(x).
"""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.schema.compiled import inlined, kernel
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
    J_FEEDER,
    J_LATERAL,
    J_LATERALS,
    J_PAR,
    J_POS,
    K_CHAIN,
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

TOLERANCE = 1.0e-11  # of the largest squared change of a voltage's part in a sweep, pu^2; the next is 20 times less
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
def solve(f, cf, ci, at, w):  # type: ignore[no-untyped-def]
    """Sweep to convergence; returns the number of sweeps.

    w (6, D x FL): active and reactive loads in pu (given), then real and imaginary currents (filled): row
    d holds the current of the line to bus d; the rest is scratch. Voltages in V_RE, V_IM are start and
    result. Loops are short on purpose: a compiler vectorises a loop only while it can check at run time
    that the few arrays in it do not overlap.
    """
    depth = at[N_D]
    lanes = at[N_FL]
    n = depth * lanes
    vr, vi = f[at[V_RE] : at[V_RE] + n], f[at[V_IM] : at[V_IM] + n]
    r, x = cf[at[K_R] : at[K_R] + n], cf[at[K_X] : at[K_X] + n]
    p, q, jr, ji, tr, ti = w[0], w[1], w[2], w[3], w[4], w[5]
    source = cf[at[K_CONST] + Q_VSRC]
    sweeps = 0
    while sweeps < MAX_SWEEPS:
        sweeps += 1
        for k in range(n):
            m = vr[k] * vr[k] + vi[k] * vi[k]
            tr[k] = 1.0 / (m if m > V_FLOOR2 else V_FLOOR2)
        for k in range(n):
            jr[k] = (p[k] * vr[k] + q[k] * vi[k]) * tr[k]
        for k in range(n):
            ji[k] = (p[k] * vi[k] - q[k] * vr[k]) * tr[k]
        backward(cf, ci, at, jr)
        backward(cf, ci, at, ji)
        for k in range(n):
            tr[k] = r[k] * jr[k] - x[k] * ji[k]
        for k in range(n):
            ti[k] = r[k] * ji[k] + x[k] * jr[k]
        forward(cf, ci, at, tr, source)
        forward(cf, ci, at, ti, 0.0)
        moved = 0
        for k in range(n):
            change = tr[k] - vr[k]
            moved += 1 if change * change > TOLERANCE else 0
            vr[k] = tr[k]
        for k in range(n):
            change = ti[k] - vi[k]
            moved += 1 if change * change > TOLERANCE else 0
            vi[k] = ti[k]
        if moved == 0:
            break
    return sweeps


@inlined
def backward(cf, ci, at, j):  # type: ignore[no-untyped-def]
    """Add the current of every line (one part of it, D x FL) to its parent's, last row first."""
    lanes = at[N_FL]
    n_f = at[N_F]
    for d in range(at[N_D] - 1, 0, -1):
        o = d * lanes
        here, above = j[o : o + lanes], j[o - lanes : o]
        chain = cf[at[K_CHAIN] + o : at[K_CHAIN] + o + lanes]
        for lane in range(lanes):
            above[lane] += here[lane] * chain[lane]
        for n in range(ci[at[J_LATERALS] + d]):
            k = ci[at[J_LATERAL] + d * n_f + n]
            up = ci[at[J_PAR] + d * n_f + k]
            if up >= 0:
                j[up * lanes + k] += here[k]
                j[up * lanes + n_f + k] += here[n_f + k]


@inlined
def forward(cf, ci, at, drop, source):  # type: ignore[no-untyped-def]
    """Turn the drop along every line (one part, D x FL) into the voltage at its end, row by row."""
    lanes = at[N_FL]
    n_f = at[N_F]
    for lane in range(lanes):
        drop[lane] = source - drop[lane]
    for d in range(1, at[N_D]):
        o = d * lanes
        here, above = drop[o : o + lanes], drop[o - lanes : o]
        chain = cf[at[K_CHAIN] + o : at[K_CHAIN] + o + lanes]
        for lane in range(lanes):
            here[lane] = above[lane] * chain[lane] - here[lane]
        for n in range(ci[at[J_LATERALS] + d]):
            k = ci[at[J_LATERAL] + d * n_f + n]
            up = ci[at[J_PAR] + d * n_f + k]
            here[k] += source if up < 0 else drop[up * lanes + k]
            here[n_f + k] += source if up < 0 else drop[up * lanes + n_f + k]


@kernel
def flow(f, i, cf, ci, at, w):  # type: ignore[no-untyped-def]
    """Both flows of the tick on its mean powers, then loads, lowest voltages and heat.

    w (6, D x FL): scratch. Reads ST_KWH, writes ST_KW, FD_*, ST_U, ST_X, X_GRIDLOAD.
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
    for s in range(n_s):
        kwh = f[at[ST_KWH] + s]
        kw = kwh * 12.0
        f[at[ST_KW] + s] = kw
        k, d = ci[at[J_FEEDER] + s], ci[at[J_POS] + s]
        f[at[FD_EVKWH] + k] += kwh
        w[0, d * lanes + k] += kw / sbase
        w[1, d * lanes + k] += kw / sbase * tan_c
        u = kw / pfc / f[at[ST_KVA] + s]
        f[at[ST_U] + s] = u
        f[at[ST_X] + s] += alpha * (u * u - f[at[ST_X] + s])
    i[at[Y] + Y_SWEEPS] = solve(f, cf, ci, at, w)
    source = cf[const + Q_VSRC]
    total = 0.0
    rated = 0.0
    for k in range(n_f):
        supplied = f[at[FD_OUT] + k] == 0.0
        sr, si, br, bi = 0.0, 0.0, 0.0, 0.0
        for d in range(ci[at[J_BUSES] + k]):
            if ci[at[J_PAR] + d * n_f + k] < 0:
                sr += w[2, d * lanes + k]
                si += w[3, d * lanes + k]
                br += w[2, d * lanes + n_f + k]
                bi += w[3, d * lanes + n_f + k]
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
