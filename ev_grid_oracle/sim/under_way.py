"""Walk-ins that are on the road already when a world starts or is given another future."""

from __future__ import annotations

from ev_grid_oracle.schema.compiled import counters, kernel
from ev_grid_oracle.schema.rows import (
    B_FLEX,
    B_WALKIN,
    C_FLAGS,
    C_READY,
    C_STATE,
    C_TARR,
    C_TREQ,
    CAR,
    N_C,
    N_CAR,
    Y_FLEX,
    Y_NORM,
    Y_TICK,
    Y,
)
from ev_grid_oracle.sim.cars import free_car, leave_calendar
from ev_grid_oracle.sim.demand import arrivals

HISTORY_TICKS = 10  # who set out longer ago has arrived


@kernel
def under_way(f, i, u, cf, ci, at, minutes, km, own, enter, which):  # type: ignore[no-untyped-def]
    """Draw the walk-ins of the last `HISTORY_TICKS` and keep those that have not arrived by now.

    `which` is `HIDDEN_WALKINS` (unannounced ones) or `ALL_WALKINS` of `sim.demand.arrivals`. The sums of
    the living are stale afterwards: call `recount`.
    """
    y = at[Y]
    tick = i[y + Y_TICK]
    asked = counters(1)
    asked[0] = -1
    for back in range(HISTORY_TICKS, 0, -1):
        i[y + Y_TICK] = tick - back
        arrivals(f, i, u, cf, ci, at, minutes, km, own, enter, which, f, i, asked)
    i[y + Y_TICK] = tick
    for c in range(at[N_C]):
        b = at[CAR] + c * N_CAR
        walkin = i[b + C_STATE] == 3 and (i[b + C_FLAGS] & B_WALKIN) != 0
        if walkin and i[b + C_TARR] < 5 * tick and i[b + C_TREQ] < 5 * tick:
            leave_calendar(i, at, b, c)
            free_car(i, at, c)


@kernel
def recount(i, at):  # type: ignore[no-untyped-def]
    """Set the sums of the living from the cars themselves."""
    y = at[Y]
    norm, flex = 0, 0
    now = 5 * i[y + Y_TICK]
    for c in range(at[N_C]):
        b = at[CAR] + c * N_CAR
        if i[b + C_STATE] > 0:
            if (i[b + C_FLAGS] & B_FLEX) != 0 and now <= i[b + C_READY]:
                flex += 1
            else:
                norm += 1
    i[y + Y_NORM] = norm
    i[y + Y_FLEX] = flex
