"""A world at the start of an episode: drawn day, drawn occupancy, warm-up under the baseline."""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.city.lookup import own_minutes
from ev_grid_oracle.schema.compiled import counters, kernel
from ev_grid_oracle.schema.rows import (
    B_WALKIN,
    B_WARM,
    C_FLAGS,
    C_NEXT,
    C_NODE,
    C_OWN,
    C_SEQ,
    C_SOC_BP,
    C_STATE,
    C_STATION,
    C_TARR,
    C_TDEP,
    C_TGT_BP,
    C_TREQ,
    C_VEHICLE,
    CAL,
    CAR,
    E_KIND,
    E_TICK,
    E_VALUE,
    EP,
    EV,
    FD_KVA,
    FD_NOISE,
    J_RATE,
    J_SLOTS,
    K_CLOUDSD,
    K_CONST,
    K_FKVA,
    K_LIMIT,
    K_LINKSTATE,
    K_STARTOCC,
    K_TRKVA,
    K_WALKCUM,
    K_WSLOT,
    N_C,
    N_CAR,
    N_ECOL,
    N_EP,
    N_F,
    N_K,
    N_P,
    N_S,
    N_SP,
    N_TERMS,
    N_Y,
    N_Z,
    NEVER,
    NONE_KW,
    Q_DAYSD,
    Q_NCOM,
    Q_NFEED,
    Q_TDAY,
    RING,
    SETT,
    SLOT_CAR,
    ST_DRCAP,
    ST_DRSET,
    ST_DRTICK,
    ST_KVA,
    ST_LIMIT,
    ST_OCC,
    ST_PMUL,
    ST_QEXP,
    ST_QH,
    ST_UP,
    ST_UPSET,
    TSUM,
    U_BASE,
    U_DEMAND,
    U_OCC,
    U_TRAFFIC,
    U_WEATHER,
    X_CLOUD,
    X_COMMON,
    X_DAYF,
    X_SOLAR,
    X_TDAY,
    X_TRAFFIC,
    Y_DAYTYPE,
    Y_FDUE,
    Y_FREE,
    Y_IDLE,
    Y_JAM,
    Y_LINKSTATE,
    Y_LSSTREAK,
    Y_NEV,
    Y_NFREE,
    Y_NORM,
    Y_PEXP,
    Y_PILESTREAK,
    Y_SEASON,
    Y_SEQ,
    Y_START,
    Y_TICK,
    Y_WARM,
    Y_WSEQ,
    Z_DEMAND,
    X,
    Y,
)
from ev_grid_oracle.sim.apply import apply_decisions
from ev_grid_oracle.sim.cars import free_car, new_car, plug
from ev_grid_oracle.sim.demand import ALL_WALKINS, accept_walkins, draw_person, draw_vehicle, pick
from ev_grid_oracle.sim.dispatch.baseline import decide
from ev_grid_oracle.sim.events import clock, jam, prices_and_sun
from ev_grid_oracle.sim.flow import flat_start, flow, settle_heat
from ev_grid_oracle.sim.observe import observe
from ev_grid_oracle.sim.rng import normal12, u01
from ev_grid_oracle.sim.step import begin, play, turn
from ev_grid_oracle.sim.traffic import set_travel, travel_key
from ev_grid_oracle.sim.under_way import recount, under_way

START_LIFT = 1.03  # for the requests under way, which are not drawn and would arrive in the first minutes
DRAWS = 12  # tries at a car for a slot at the start; the slot stays empty after that many misses
LONGEST = 2.5  # sessions longer than this many times the usual are drawn as if of that length
NO_PLUG = 1.0e5
WARM_SEQ = 1_000_000  # numbers of cars from the warm-up are shifted below zero by this


@kernel
def prepare(f, i, u, cf, ci, at):  # type: ignore[no-untyped-def]
    """An empty city on the drawn day; the caller has zeroed the rows and set the Y_* options and events."""
    y = at[Y]
    for s in range(at[N_SP]):
        f[at[ST_LIMIT] + s] = cf[at[K_LIMIT] + s]
        f[at[ST_KVA] + s] = cf[at[K_TRKVA] + s]
        f[at[ST_PMUL] + s] = 1.0
        f[at[ST_DRCAP] + s] = NONE_KW
        f[at[ST_DRSET] + s] = NONE_KW
        i[at[ST_DRTICK] + s] = -NEVER
        i[at[ST_QH] + s] = -1
        i[at[ST_QEXP] + s] = NEVER
        i[at[ST_UPSET] + s] = ci[at[J_SLOTS] + s]
        i[at[ST_UP] + s] = ci[at[J_SLOTS] + s]
    for k in range(at[N_F]):
        f[at[FD_KVA] + k] = cf[at[K_FKVA] + k]
        f[at[FD_NOISE] + k] = cf[at[K_CONST] + Q_NFEED] * normal12(u[U_BASE], -1000, k + 1)
    for z in range(at[N_Z]):
        f[at[Z_DEMAND] + z] = 1.0
    for k in range(at[N_K] * at[N_SP]):
        i[at[SLOT_CAR] + k] = -1
    for k in range(RING):
        i[at[CAL] + k] = -1
    n_c = at[N_C]
    for c in range(n_c):
        i[at[CAR] + c * N_CAR + C_NEXT] = c + 1 if c + 1 < n_c else -1
    i[y + Y_FREE] = 0
    i[y + Y_NFREE] = n_c
    i[y + Y_PEXP] = NEVER
    i[y + Y_JAM] = -1
    i[y + Y_FDUE] = NEVER
    x = at[X]
    day = cf[at[K_CONST] + Q_DAYSD] * normal12(u[U_DEMAND], -1000, 0)
    f[x + X_DAYF] = min(max(1.0 + day, 0.4), 1.6)
    f[x + X_TDAY] = min(max(1.0 + cf[at[K_CONST] + Q_TDAY] * normal12(u[U_TRAFFIC], -1000, 0), 0.7), 1.4)
    f[x + X_COMMON] = cf[at[K_CONST] + Q_NCOM] * normal12(u[U_BASE], -1000, 0)
    cloud = cf[at[K_CLOUDSD] + i[y + Y_SEASON]] * normal12(u[U_WEATHER], -1000, 0)
    f[x + X_CLOUD] = min(max(1.0 + cloud, 0.2), 1.15)
    f[x + X_SOLAR] = 1.0
    f[x + X_TRAFFIC] = f[x + X_TDAY]
    flat_start(f, cf, at)


@kernel
def occupy_city(f, i, u, cf, ci, at):  # type: ignore[no-untyped-def]
    """Cars at a drawn share of the slots, each somewhere between its request and its target."""
    y = at[Y]
    tick = i[y + Y_TICK]
    now = 5 * tick
    hour = (i[y + Y_START] + now + 14400) % 1440 // 60
    table = at[K_STARTOCC] + (i[y + Y_DAYTYPE] * 24 + hour) * 3
    n = 0
    for s in range(at[N_S]):
        share = START_LIFT * cf[table + ci[at[J_RATE] + s]]
        for _ in range(ci[at[J_SLOTS] + s]):
            n += 1
            if u01(u[U_OCC], tick, n, 0) >= share:
                continue
            c = new_car(i, at)
            if c < 0:
                continue
            b = at[CAR] + c * N_CAR
            flags = -1
            for attempt in range(DRAWS):  # long sessions are met more often than they begin
                key = u[U_OCC] + np.uint64(attempt)
                persona = pick(cf, at[K_WALKCUM], at[N_P], u01(key, tick, n, 1))
                v = draw_vehicle(cf, at, key, tick, n, persona)
                drawn = draw_person(i, u, cf, ci, at, b, key, tick, n, persona, v)
                soc, target = i[b + C_SOC_BP] / 10000.0, i[b + C_TGT_BP] / 10000.0
                held = own_minutes(cf, ci, at, i[b + C_VEHICLE], s, soc, target, 150.0)
                if held < NO_PLUG and u01(key, tick, n, 10) * LONGEST * cf[at[K_WSLOT] + s] < held:
                    flags = drawn
                    break
            if flags < 0:
                free_car(i, at, c)
                continue
            done = u01(u[U_OCC], tick, n, 9)
            soc, target = i[b + C_SOC_BP], i[b + C_TGT_BP]
            i[b + C_SOC_BP] = soc + int(done * (target - soc))
            i[b + C_FLAGS] = flags | B_WALKIN | B_WARM
            i[b + C_SEQ] = -n
            i[b + C_NODE] = 0
            i[b + C_STATION] = s
            i[b + C_TREQ] = now
            i[b + C_TDEP] = now
            i[b + C_TARR] = now
            i[b + C_OWN] = 0
            if i[at[ST_OCC] + s] < i[at[ST_UP] + s]:
                plug(f, i, cf, ci, at, c, s, now)
                i[y + Y_NORM] += 1


@kernel
def warm_up(f, i, u, cf, ci, at, minutes, km, step, link_minutes, index, link_to, o, dec, w, wp, own, enter, codes, travel):  # type: ignore[no-untyped-def]
    """From the empty city to tick 0 under the baseline; accounts start at zero there."""
    y = at[Y]
    warm = i[y + Y_WARM]
    i[y + Y_TICK] = -warm
    prepare(f, i, u, cf, ci, at)
    clock(i, at)
    set_travel(f, i, cf, at, index)
    occupy_city(f, i, u, cf, ci, at)
    prices_and_sun(f, i, cf, at, clock(i, at))
    accept_walkins(f, i, cf, ci, at)
    under_way(f, i, u, cf, ci, at, minutes, km, own, enter, ALL_WALKINS)
    recount(i, at)
    begin(f, at)
    asked = counters(1)
    asked[0] = -1
    flow(f, i, cf, ci, at, w, f, i, asked)
    settle_heat(f, at)
    i[y + Y_TICK] = -warm - 1
    turn(f, i, u, cf, ci, at, minutes, km, step, link_minutes, index, link_to)
    for t in range(warm):
        observe(f, i, cf, ci, at, o)
        count = decide(o, cf, ci, at, minutes, km, dec, codes, travel)
        begin(f, at)
        apply_decisions(f, i, cf, ci, at, minutes, km, dec, count)
        play(f, i, u, cf, ci, at, minutes, km, w, wp, own, enter, f, i, False)
        if t == 0:
            settle_heat(f, at)
        turn(f, i, u, cf, ci, at, minutes, km, step, link_minutes, index, link_to)
    begin(f, at)
    for k in range(N_EP):
        f[at[EP] + k] = 0.0
    for k in range(N_TERMS):
        f[at[TSUM] + k] = 0.0
        f[at[SETT] + k] = 0.0
    i[y + Y_IDLE] = 0
    i[y + Y_LSSTREAK] = 0
    i[y + Y_PILESTREAK] = 0
    for c in range(at[N_C]):  # ids of the episode start at 1, those of the warm-up stay below
        b = at[CAR] + c * N_CAR
        if i[b + C_STATE] > 0 and i[b + C_SEQ] >= 0:
            i[b + C_SEQ] -= WARM_SEQ
    i[y + Y_SEQ] = 0
    i[y + Y_WSEQ] = 0


@kernel
def mark_tables(f, i, u, cf, at, first, last, keep, mark):  # type: ignore[no-untyped-def]
    """Mark the travel tables that ticks `first` to `last` will ask for, from the present state on.

    Walks the clock, the schedule and the jams; the int scalars are put back from `keep` (N_Y,) afterwards.
    """
    y = at[Y]
    for k in range(N_Y):
        keep[k] = i[y + k]
    for tick in range(first, last + 1):
        i[y + Y_TICK] = tick
        clock(i, at)
        for n in range(i[y + Y_NEV]):
            e = at[EV] + n * N_ECOL
            if int(f[e + E_TICK]) == tick and int(f[e + E_KIND]) == K_LINKSTATE:
                i[y + Y_LINKSTATE] = int(f[e + E_VALUE])
        if tick == first and first < 0:  # the warm-up starts on the roads as they are before a jam
            state, day, half_hour, corridor = travel_key(i, at)
            mark[state, day, half_hour, corridor] = True
        if tick > first or first < 0:
            jam(i, u, cf, at)
        state, day, half_hour, corridor = travel_key(i, at)
        mark[state, day, half_hour, corridor] = True
    for k in range(N_Y):
        i[y + k] = keep[k]
