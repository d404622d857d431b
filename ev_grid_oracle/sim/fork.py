"""Another future of the same present: everything hidden and everything to come is drawn again."""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.schema.compiled import kernel
from ev_grid_oracle.schema.rows import (
    B_ANN,
    B_WALKIN,
    C_FLAGS,
    C_STATE,
    CAR,
    E_KIND,
    E_KNOWN,
    E_TELL,
    E_TICK,
    E_VALUE,
    EV,
    K_CONST,
    K_LINKSTATE,
    N_C,
    N_CAR,
    N_ECOL,
    N_STREAMS,
    Q_DAYSD,
    X_DAYF,
    X_RATIO,
    Y_FORKED,
    Y_NEV,
    Y_NORM,
    Y_OPEN,
    Y_SEQ,
    Y_TICK,
    Y_WSEQ,
    X,
    Y,
)
from ev_grid_oracle.sim.cars import free_car, leave_calendar
from ev_grid_oracle.sim.demand import HIDDEN_WALKINS
from ev_grid_oracle.sim.rng import mix64, normal12
from ev_grid_oracle.sim.under_way import recount, under_way

RATIO_SD_SHARE = 0.6  # part of the day's spread that two hours of history leave open


@kernel
def redraw(f, i, u, cf, ci, at, minutes, km, own, enter, future):  # type: ignore[no-untyped-def]
    """Redraw every exogenous stream after now, numbered `future`; the same for all candidates.

    - stream keys are replaced, so demand, noise, weather, incidents to come are others;
    - unannounced walk-ins on the road are taken off it and drawn again from the last ticks' arrivals;
    - scheduled events that nobody has been told of are dropped;
    - the hidden day factor is drawn around today's ratio.
    """
    y = at[Y]
    tick = i[y + Y_TICK]
    for k in range(N_STREAMS):
        u[k] = mix64(np.uint64(future) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(k + 1))
    i[y + Y_FORKED] = 1
    kept = 0
    untold_links = False
    for n in range(i[y + Y_NEV]):
        e = at[EV] + n * N_ECOL
        ahead = f[e + E_TICK] > tick
        told = f[e + E_TELL] >= 0.0 and f[e + E_TICK] - f[e + E_TELL] <= tick
        links = int(f[e + E_KIND]) == K_LINKSTATE
        if ahead and not told:
            untold_links = untold_links or links
            continue
        for col in range(N_ECOL):
            f[at[EV] + kept * N_ECOL + col] = f[e + col]
        if ahead and links and untold_links:  # a told change must not bring an untold earlier one along
            f[at[EV] + kept * N_ECOL + E_VALUE] = f[e + E_KNOWN]
        kept += 1
    i[y + Y_NEV] = kept
    spread = RATIO_SD_SHARE * cf[at[K_CONST] + Q_DAYSD] * normal12(u[0], tick, 0)
    f[at[X] + X_DAYF] = min(max(f[at[X] + X_RATIO] + spread, 0.4), 1.6)
    for c in range(at[N_C]):
        b = at[CAR] + c * N_CAR
        flags = i[b + C_FLAGS]
        if i[b + C_STATE] == 3 and (flags & B_WALKIN) != 0 and (flags & B_ANN) == 0:
            leave_calendar(i, at, b, c)
            i[y + Y_NORM] -= 1
            free_car(i, at, c)
    if i[y + Y_OPEN] == 0:
        return
    seq, wseq = i[y + Y_SEQ], i[y + Y_WSEQ]
    under_way(f, i, u, cf, ci, at, minutes, km, own, enter, HIDDEN_WALKINS)
    i[y + Y_SEQ], i[y + Y_WSEQ] = seq, wseq + 100000
    recount(i, at)
