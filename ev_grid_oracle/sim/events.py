"""What happens to the city at the start of a tick: the schedule, incidents, weather, noise, prices."""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.schema.compiled import inlined, kernel, part
from ev_grid_oracle.schema.rows import (
    E_KIND,
    E_TARGET,
    E_TICK,
    E_VALUE,
    EV,
    FD_ADD,
    FD_KVA,
    FD_NOISE,
    FD_OUT,
    J_FEEDER,
    J_SLOTS,
    K_CONST,
    K_FKVA,
    K_LIMIT,
    K_LINKSTATE,
    K_MEANREN,
    K_OTHERRE,
    K_PRICE,
    K_SOLAR,
    K_TARIFF,
    K_TRKVA,
    K_USUAL,
    N_ECOL,
    N_F,
    N_S,
    N_SP,
    N_Z,
    Q_CO2,
    Q_IJAM,
    Q_IJAMMIN,
    Q_ISLOT,
    Q_ISLOTMIN,
    Q_NCOM,
    Q_NCORR,
    Q_NFEED,
    Q_NRHO,
    Q_RAINSUN,
    Q_TNOISE,
    ST_BROKEN,
    ST_DRCAP,
    ST_DRSET,
    ST_DRTICK,
    ST_KVA,
    ST_LIMIT,
    ST_PMUL,
    ST_PRICE,
    ST_RATIO,
    ST_UP,
    ST_UPSET,
    U_BASE,
    U_INCIDENT,
    U_TRAFFIC,
    WALK_BIN_TICKS,
    WALK_BINS,
    WALK_PAST,
    WALKS,
    WALKSUM,
    X_CARBON,
    X_CLOUD,
    X_COMMON,
    X_HEAT,
    X_MEANREN,
    X_RAIN,
    X_RATIO,
    X_RENEW,
    X_SOLAR,
    X_TNOISE,
    Y_CALENDAR,
    Y_DAYTYPE,
    Y_JAM,
    Y_JAM_UNTIL,
    Y_LINKSTATE,
    Y_NEV,
    Y_SEASON,
    Y_START,
    Y_TICK,
    Z_DEMAND,
    X,
    Y,
)
from ev_grid_oracle.sim.rng import normal4, u01

RATIO_PRIOR_STATION = 8.0  # walk-ins of prior weight behind "shrunk to 1"
RATIO_PRIOR_CITY = 30.0
USUAL_LAG_SLOTS = 5  # the usual counts walk-ins as they set out; they arrive some 25 minutes later


@inlined
def clock(i, at):  # type: ignore[no-untyped-def]
    """(5-minute slot of the day, day type) of the tick; the day type follows the calendar.

    Day 0 is a Wednesday where the episode starts on a weekday, a Sunday where it starts on one.
    """
    y = at[Y]
    total = i[y + Y_START] + 5 * i[y + Y_TICK]
    day = (total + 14400) // 1440 - 10
    weekday = (i[y + Y_CALENDAR] + day + 700) % 7  # 0 = Monday ... 6 = Sunday
    i[y + Y_DAYTYPE] = 1 if weekday == 6 else 0
    return (total + 14400) % 1440 // 5


@inlined
def set_range(f, start, n, target, value):  # type: ignore[no-untyped-def]
    if target >= 0:
        f[start + target] = value
    else:
        for k in range(n):
            f[start + k] = value


@kernel
def apply_event(f, i, cf, ci, at, kind, target, value):  # type: ignore[no-untyped-def]
    """One event: sets the present value of what it addresses (see schema.enums.EventKind)."""
    n_s, n_f = at[N_S], at[N_F]
    if kind == 0:
        set_range(f, at[FD_ADD], n_f, target, value)
    elif kind == 1:
        set_range(f, at[Z_DEMAND], at[N_Z], target, value)
    elif kind == 2 or kind == 4 or kind == 5:
        for s in range(n_s):
            if target < 0 or target == s:
                if kind == 2:
                    f[at[ST_LIMIT] + s] = cf[at[K_LIMIT] + s] * value
                elif kind == 4:
                    f[at[ST_KVA] + s] = cf[at[K_TRKVA] + s] * value
                else:
                    slots = ci[at[J_SLOTS] + s]
                    i[at[ST_UPSET] + s] = slots if value < 0.0 else min(int(value), slots)
    elif kind == 3:
        for k in range(n_f):
            if target < 0 or target == k:
                f[at[FD_KVA] + k] = cf[at[K_FKVA] + k] * value
    elif kind == 6:
        set_range(f, at[ST_PMUL], n_s, target, value)
    elif kind == 7:
        f[at[X] + X_SOLAR] = value
    elif kind == 10:
        set_range(f, at[FD_OUT], n_f, target, value)
    elif kind == 11:
        f[at[X] + X_HEAT] = value
    elif kind == 12:
        f[at[X] + X_RAIN] = value
    elif kind == K_LINKSTATE:
        i[at[Y] + Y_LINKSTATE] = int(value)


@part
def incidents(f, i, u, cf, ci, at):  # type: ignore[no-untyped-def]
    """Breakdowns of single bays and jams of corridors, at the pack's rates; one jam at a time."""
    y = at[Y]
    tick = i[y + Y_TICK]
    rate = cf[at[K_CONST] + Q_ISLOT]
    for s in range(at[N_S]):
        if u01(u[U_INCIDENT], tick, s, 0) < rate:
            i[at[ST_BROKEN] + s] = tick + int(cf[at[K_CONST] + Q_ISLOTMIN]) // 5
    jam(i, u, cf, at)


@inlined
def jam(i, u, cf, at):  # type: ignore[no-untyped-def]
    """The jammed corridor of the tick (Y_JAM, -1 none); True if it changed."""
    y = at[Y]
    tick = i[y + Y_TICK]
    before = i[y + Y_JAM]
    if i[y + Y_JAM] >= 0 and tick >= i[y + Y_JAM_UNTIL]:
        i[y + Y_JAM] = -1
    if i[y + Y_JAM] < 0:
        for k in range(int(cf[at[K_CONST] + Q_NCORR])):
            if u01(u[U_INCIDENT], tick, k, 1) < cf[at[K_CONST] + Q_IJAM]:
                i[y + Y_JAM] = k
                i[y + Y_JAM_UNTIL] = tick + int(cf[at[K_CONST] + Q_IJAMMIN]) // 5
                break
    return i[y + Y_JAM] != before


@part
def noise(f, i, u, cf, at):  # type: ignore[no-untyped-def]
    """AR(1) base-load noise (common and per feeder) and traffic noise, one step; stationary sd as named."""
    tick = i[at[Y] + Y_TICK]
    const = at[K_CONST]
    rho = cf[const + Q_NRHO]
    kick = np.sqrt(1.0 - rho * rho)
    f[at[X] + X_COMMON] = rho * f[at[X] + X_COMMON] + kick * cf[const + Q_NCOM] * normal4(u[U_BASE], tick, 0)
    for k in range(at[N_F]):
        draw = normal4(u[U_BASE], tick, k + 1)
        f[at[FD_NOISE] + k] = rho * f[at[FD_NOISE] + k] + kick * cf[const + Q_NFEED] * draw
    draw = normal4(u[U_TRAFFIC], tick, 0)
    f[at[X] + X_TNOISE] = rho * f[at[X] + X_TNOISE] + kick * cf[const + Q_TNOISE] * draw


@part
def prices_and_sun(f, i, cf, at, slot):  # type: ignore[no-untyped-def]
    """Station prices, renewable share and carbon intensity now."""
    y = at[Y]
    tariff = cf[at[K_TARIFF] + slot]
    for s in range(at[N_S]):
        f[at[ST_PRICE] + s] = cf[at[K_PRICE] + s] * f[at[ST_PMUL] + s] * tariff
    season = i[y + Y_SEASON]
    sun = cf[at[K_SOLAR] + 288 * season + slot] * f[at[X] + X_SOLAR] * f[at[X] + X_CLOUD]
    if f[at[X] + X_RAIN] > 0.0:
        sun *= cf[at[K_CONST] + Q_RAINSUN]
    share = min(sun + cf[at[K_OTHERRE] + 288 * season + slot], 0.98)
    f[at[X] + X_RENEW] = share
    f[at[X] + X_CARBON] = (1.0 - share) * cf[at[K_CONST] + Q_CO2]
    f[at[X] + X_MEANREN] = cf[at[K_MEANREN] + season]


@part
def capacity(f, i, at):  # type: ignore[no-untyped-def]
    """Usable slots after breakdowns; demand-response caps that end; no power without supply."""
    tick = i[at[Y] + Y_TICK]
    for s in range(at[N_S]):
        broken = 1 if i[at[ST_BROKEN] + s] > tick else 0
        i[at[ST_UP] + s] = max(i[at[ST_UPSET] + s] - broken, 0)
        if i[at[ST_DRTICK] + s] <= tick:
            f[at[ST_DRSET] + s] = 1.0e9
    return


@part
def supply(f, i, ci, at):  # type: ignore[no-untyped-def]
    """The cap each slot sees: the load_shift's, or none of it where the feeder is dead."""
    for s in range(at[N_S]):
        dead = f[at[FD_OUT] + ci[at[J_FEEDER] + s]] != 0.0
        f[at[ST_DRCAP] + s] = 0.0 if dead else f[at[ST_DRSET] + s]


@part
def ratios(f, i, cf, at, slot):  # type: ignore[no-untyped-def]
    """Today's walk-in arrivals over the usual ones, of the last two hours (a ring of quarters), shrunk to 1."""
    y = at[Y]
    day = i[y + Y_DAYTYPE]
    then = (slot - USUAL_LAG_SLOTS) % 288
    hour = then // 12
    elapsed = (then % 12) / 12.0
    covered = (WALK_BINS - 1) * WALK_BIN_TICKS + (i[y + Y_TICK] + WALK_PAST - 1) % WALK_BIN_TICKS + 1
    before = covered / 12.0 - elapsed  # hours of the window that lie before this clock hour
    usual_all = 0.0
    seen_all = 0.0
    for s in range(at[N_S]):
        block = at[K_USUAL] + day * 24 * at[N_SP] + s
        usual = cf[block + hour * at[N_SP]] * elapsed
        usual += cf[block + (hour + 23) % 24 * at[N_SP]] * min(before, 1.0)
        usual += cf[block + (hour + 22) % 24 * at[N_SP]] * max(before - 1.0, 0.0)
        seen = i[at[WALKSUM] + s]
        f[at[ST_RATIO] + s] = (RATIO_PRIOR_STATION + seen) / (RATIO_PRIOR_STATION + usual)
        usual_all += usual
        seen_all += seen
    f[at[X] + X_RATIO] = (RATIO_PRIOR_CITY + seen_all) / (RATIO_PRIOR_CITY + usual_all)


@kernel
def open_tick(f, i, u, cf, ci, at):  # type: ignore[no-untyped-def]
    """The city at the start of tick Y_TICK. Returns True if the links of the roads changed state."""
    y = at[Y]
    tick = i[y + Y_TICK]
    slot = clock(i, at)
    links = i[y + Y_LINKSTATE]
    jammed = i[y + Y_JAM]
    for n in range(i[y + Y_NEV]):
        e = at[EV] + n * N_ECOL
        if int(f[e + E_TICK]) == tick:
            apply_event(f, i, cf, ci, at, int(f[e + E_KIND]), int(f[e + E_TARGET]), f[e + E_VALUE])
    incidents(f, i, u, cf, ci, at)
    noise(f, i, u, cf, at)
    capacity(f, i, at)
    supply(f, i, ci, at)
    prices_and_sun(f, i, cf, at, slot)
    ratios(f, i, cf, at, slot)
    if (tick + WALK_PAST) % WALK_BIN_TICKS == 0:
        ring = at[WALKS] + (tick + WALK_PAST) // WALK_BIN_TICKS % WALK_BINS * at[N_SP]
        for s in range(at[N_SP]):
            i[at[WALKSUM] + s] -= i[ring + s]
            i[ring + s] = 0
    return i[y + Y_LINKSTATE] != links or (i[y + Y_JAM] != jammed and i[y + Y_JAM] >= 0)
