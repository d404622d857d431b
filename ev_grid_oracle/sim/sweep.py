"""The sweeps of the power flow: currents up the feeders, voltages down, until nothing moves.

Backward/forward sweep on constant-power loads (Shirmohammadi et al. 1988), all feeders side by side in
lanes (see `sim.flow`). Row d holds the d-th bus of every feeder; the rows that hold the parents of its
buses come before it (J_UP), each with a mask of the lanes it is meant for (K_UP).
"""

from __future__ import annotations

from ev_grid_oracle.schema.compiled import part, stack
from ev_grid_oracle.schema.rows import (
    J_UP,
    J_UPS,
    K_CONST,
    K_R,
    K_UP,
    K_X,
    N_D,
    N_FL,
    Q_VSRC,
    V_IM,
    V_RE,
)
from ev_grid_oracle.sim.ahead import WITH_A_BUS, ask

TOLERANCE = 1.0e-11  # of the largest squared change of a voltage's part in a sweep, pu^2; the next is 20 times less
MAX_SWEEPS = 60
V_FLOOR2 = 0.25  # loads are seen at 0.5 pu at least, so that a collapse stays finite


@part
def solve(f, cf, ci, at, w, next_f, next_i, asked):  # type: ignore[no-untyped-def]
    """Sweep to convergence; returns the number of sweeps.

    w (6, D x FL): active and reactive loads in pu (given), then real and imaginary currents (filled): row
    d holds the current of the line to bus d; the rest is not touched. Voltages in V_RE, V_IM are start
    and result. The sweeps work on copies on the stack. `next_f`, `next_i`, `asked`: see `sim.ahead.ask`.
    All loops stand in this one function: a function that is merged into another has been vectorised
    before, without knowing that its arrays lie apart.
    """
    depth = at[N_D]
    lanes = at[N_FL]
    n = depth * lanes
    re, im = f[at[V_RE] : at[V_RE] + n], f[at[V_IM] : at[V_IM] + n]
    r, x = cf[at[K_R] : at[K_R] + n], cf[at[K_X] : at[K_X] + n]
    given_p, given_q = w[0], w[1]
    source = cf[at[K_CONST] + Q_VSRC]
    p, q, vr, vi = stack(n), stack(n), stack(n), stack(n)
    jr, ji, nr, ni = stack(n), stack(n), stack(n), stack(n)
    for k in range(n):
        p[k] = given_p[k]
        q[k] = given_q[k]
        vr[k] = re[k]
        vi[k] = im[k]
    sweeps = 0
    while sweeps < MAX_SWEEPS:
        sweeps += 1
        for k in range(n):
            m = vr[k] * vr[k] + vi[k] * vi[k]
            t = 1.0 / (m if m > V_FLOOR2 else V_FLOOR2)
            jr[k] = (p[k] * vr[k] + q[k] * vi[k]) * t
            ji[k] = (p[k] * vi[k] - q[k] * vr[k]) * t
        for d in range(depth - 1, 0, -1):
            ask(next_f, next_i, at, asked, WITH_A_BUS)
            o = d * lanes
            for up_n in range(ci[at[J_UPS] + d]):
                up = ci[at[J_UP] + d * depth + up_n]
                if up >= 0:
                    above, mask = up * lanes, at[K_UP] + (d * depth + up_n) * lanes
                    here = cf[mask : mask + lanes]
                    for k in range(lanes):
                        jr[above + k] += jr[o + k] * here[k]
                        ji[above + k] += ji[o + k] * here[k]
        for k in range(n):
            nr[k] = 0.0 - (r[k] * jr[k] - x[k] * ji[k])
            ni[k] = 0.0 - (r[k] * ji[k] + x[k] * jr[k])
        for k in range(lanes):
            nr[k] += source
        for d in range(1, depth):
            ask(next_f, next_i, at, asked, WITH_A_BUS)
            o = d * lanes
            for up_n in range(ci[at[J_UPS] + d]):
                up, mask = ci[at[J_UP] + d * depth + up_n], at[K_UP] + (d * depth + up_n) * lanes
                here = cf[mask : mask + lanes]
                if up < 0:
                    for k in range(lanes):
                        nr[o + k] += source * here[k]
                else:
                    above = up * lanes
                    for k in range(lanes):
                        nr[o + k] += nr[above + k] * here[k]
                        ni[o + k] += ni[above + k] * here[k]
        moved = 0
        for k in range(n):
            a, b = nr[k] - vr[k], ni[k] - vi[k]
            moved += 1 if a * a > TOLERANCE or b * b > TOLERANCE else 0
            vr[k] = nr[k]
            vi[k] = ni[k]
        if moved == 0:
            break
    out_r, out_i = w[2], w[3]
    for k in range(n):
        re[k] = vr[k]
    for k in range(n):
        im[k] = vi[k]
    for k in range(n):
        out_r[k] = jr[k]
    for k in range(n):
        out_i[k] = ji[k]
    return sweeps
