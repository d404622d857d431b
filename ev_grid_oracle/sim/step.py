"""The order of a tick, visible in one place.

    act -> arrivals -> five minutes (arrive, plug, give up, charge, leave) -> power flow and heat
        -> clock + 1: events, incidents, weather, prices, deferred cars, traffic

The reward room scores the facts that this leaves in TK, ST_*, FD_* between the flow and the clock, so the
tick is cut in two kernels: `play` and `turn`.
"""

from __future__ import annotations

from ev_grid_oracle.schema.compiled import counters, inlined, kernel, part
from ev_grid_oracle.schema.rows import (
    B_FLEX,
    C_FLAGS,
    C_NEXT,
    C_READY,
    C_STATE,
    C_UNTIL,
    CAL,
    CAR,
    DEFD,
    N_C,
    N_CAR,
    N_K,
    N_MP,
    N_S,
    N_SP,
    N_TK,
    NEVER,
    RING,
    ST_KWH,
    ST_OCC,
    ST_QEXP,
    ST_QN,
    ST_UP,
    T_URGENT,
    T_WAIT,
    TK,
    Y_CRIT,
    Y_FDUE,
    Y_FLEX,
    Y_NDEF,
    Y_NORM,
    Y_NPEND,
    Y_PEXP,
    Y_TICK,
    Y,
)
from ev_grid_oracle.sim.ahead import WITH_AN_ARRIVAL, ask, fetch_car
from ev_grid_oracle.sim.cars import (
    arrive,
    expire_queue,
    expire_waiting,
    fill_slots,
    finish,
    finished_slots,
    to_pending,
)
from ev_grid_oracle.sim.charge import charge_minute
from ev_grid_oracle.sim.demand import accept_walkins, arrivals
from ev_grid_oracle.sim.events import open_tick, supply
from ev_grid_oracle.sim.flow import flow
from ev_grid_oracle.sim.traffic import reroute_all, set_travel

FLEX_WEIGHT = 0.1


@kernel
def flexible_due(i, at, now, left):  # type: ignore[no-untyped-def]
    """Flexible cars whose ready_by is this minute count fully from it on.

    Called in the minute Y_FDUE, a lower bound of the earliest ready_by to come, which it moves on. `left`: flexible cars
    whose ready_by has not passed; the search ends with the last of them.
    """
    y = at[Y]
    earliest = NEVER
    for c in range(at[N_C]):
        if left == 0:
            break
        b = at[CAR] + c * N_CAR
        if i[b + C_STATE] == 0 or (i[b + C_FLAGS] & B_FLEX) == 0 or i[b + C_READY] < now:
            continue
        left -= 1
        if i[b + C_READY] == now:
            i[y + Y_FLEX] -= 1
            i[y + Y_NORM] += 1
        else:
            earliest = min(earliest, i[b + C_READY])
    i[y + Y_FDUE] = earliest


@inlined
def begin(f, at):  # type: ignore[no-untyped-def]
    """A new tick: its facts start at zero (answers book into them too)."""
    for k in range(N_TK):
        f[at[TK] + k] = 0.0


@part
def play(f, i, u, cf, ci, at, minutes, km, w, wp, own, enter, next_f, next_i, asking):  # type: ignore[no-untyped-def]
    """Demand, five minutes and the power flow of tick Y_TICK. `w`, `wp`, `own`, `enter`: scratch (see World).

    While `asking` (`sim.ahead`), the rows `next_f`, `next_i` of the environment that is played next are asked for.
    """
    y = at[Y]
    sp = at[N_SP]
    n_s = at[N_S]
    tick = i[y + Y_TICK]
    for m in range(5):
        for k in range(3):
            enter[m, k] = 0
    asked = counters(1)
    asked[0] = 0 if asking else -1
    supply(f, i, ci, at)  # a load_shift acts from the tick it is answered in
    accept_walkins(f, i, cf, ci, at)
    arrivals(f, i, u, cf, ci, at, minutes, km, own, enter, 0, next_f, next_i, asked)
    for s in range(sp):
        f[at[ST_KWH] + s] = 0.0
    done, slots = wp[at[N_K] + 2], counters(at[N_K] * sp)
    for m in range(5):
        now = 5 * tick + m
        if now >= i[y + Y_FDUE]:
            to_come = i[y + Y_FLEX]
            for later in range(m, 5):
                to_come += enter[later, 1]
            flexible_due(i, at, now, to_come)
        i[y + Y_NORM] += enter[m, 0]
        i[y + Y_FLEX] += enter[m, 1]
        i[y + Y_CRIT] += enter[m, 2]
        cell = at[CAL] + (now & (RING - 1))
        c = i[cell]
        i[cell] = -1
        while c >= 0:
            following = i[at[CAR] + c * N_CAR + C_NEXT]
            if following >= 0:
                fetch_car(i, at, following)
            ask(next_f, next_i, at, asked, WITH_AN_ARRIVAL)
            arrive(f, i, cf, ci, at, c, now)
            c = following
        for s in range(n_s):
            if i[at[ST_QN] + s] > 0:
                if i[at[ST_OCC] + s] < i[at[ST_UP] + s]:
                    fill_slots(f, i, cf, ci, at, s, now)
                if now >= i[at[ST_QEXP] + s]:
                    expire_queue(f, i, cf, ci, at, s, now)
        if now >= i[y + Y_PEXP]:
            expire_waiting(f, i, cf, ci, at, now)
        f[at[TK] + T_WAIT] += i[y + Y_NORM] + FLEX_WEIGHT * i[y + Y_FLEX]
        f[at[TK] + T_URGENT] += 2.0 * i[y + Y_CRIT]
        left = charge_minute(f, i, cf, at, wp, next_f, next_i, asked)
        n, s = 0, 0
        while left > 0:
            if done[s] > 0.0:
                n = finished_slots(f, i, at, s, int(done[s]), slots, n)
                left -= 1
            s += 1
        for k in range(n):
            finish(f, i, ci, at, slots[k], now + 1)
    flow(f, i, cf, ci, at, w, next_f, next_i, asked)


@inlined
def wake_deferred(i, at):  # type: ignore[no-untyped-def]
    """Deferred cars whose time has come are pending again."""
    y = at[Y]
    tick = i[y + Y_TICK]
    k = 0
    while k < i[y + Y_NDEF]:
        c = i[at[DEFD] + k]
        b = at[CAR] + c * N_CAR
        if i[b + C_UNTIL] <= tick and i[y + Y_NPEND] < at[N_MP]:
            i[at[DEFD] + k] = i[at[DEFD] + i[y + Y_NDEF] - 1]
            i[y + Y_NDEF] -= 1
            to_pending(i, at, b, c, 5 * tick, True)
        else:
            k += 1


@kernel
def turn(f, i, u, cf, ci, at, minutes, km, step, link_minutes, index, link_to):  # type: ignore[no-untyped-def]
    """The clock turns: the city at the start of the next tick."""
    i[at[Y] + Y_TICK] += 1
    changed = open_tick(f, i, u, cf, ci, at)
    set_travel(f, i, cf, at, index)
    if changed:
        reroute_all(f, i, cf, at, minutes, km, step, link_minutes, index, link_to)
    wake_deferred(i, at)
