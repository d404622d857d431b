"""Was it legal? Judged before the step, on the world as it stands; nothing is repaired here."""

from __future__ import annotations

from ev_grid_oracle.city.lookup import NO_ROUTE, plug_limit_kw, travel_minutes, travel_wh
from ev_grid_oracle.reward.terms import (
    F_GRID,
    F_IDLE,
    F_INVALID,
    F_PHANTOM,
    F_PILING,
    F_PILING_STREAK,
    F_SPAM,
    F_STALL,
    F_TELEPORT,
    F_WINDOW,
    IDLE_AT,
    PENALTY,
    PILING_AT,
    PILING_STREAK_AT,
    SPAM_BELOW,
    SPAM_STREAK_AT,
    SPAM_TICK_AT,
    STALL_AT,
)
from ev_grid_oracle.schema.compiled import counters, inlined, part, prefetch
from ev_grid_oracle.schema.enums import N_CLASSES
from ev_grid_oracle.schema.pending import pending_place
from ev_grid_oracle.schema.rows import (
    A_REFUSED,
    B_FLEX,
    C_FLAGS,
    C_NODE,
    C_PAT,
    C_READY,
    C_SOC_BP,
    C_TWAIT,
    C_VEHICLE,
    CAR,
    D_CODE,
    D_DEFER,
    D_KIND,
    D_RATE,
    D_SEQ,
    D_STATION,
    EP,
    FD_KVA,
    FD_OUT,
    FD_S,
    FD_X,
    FLAG,
    J_FEEDER,
    J_RATE,
    J_SLOTS,
    K_BATT,
    K_CONST,
    N_CAR,
    N_F,
    N_FLAGS,
    N_MP,
    N_S,
    PEND,
    Q_DETOUR,
    Q_PROT,
    S_NDEF,
    ST_INB,
    ST_OCC,
    ST_QN,
    ST_UP,
    V_DETOUR,
    V_OK,
    V_PLUG,
    V_RATE,
    V_STATION_DOWN,
    V_TIME_WINDOW,
    V_UNKNOWN_CAR,
    V_UNREACHABLE,
    X_TRAFFIC,
    Y_IDLE,
    Y_LSSTREAK,
    Y_NDEF,
    Y_NPEND,
    Y_PILESTREAK,
    Y_TICK,
    Y_TRAVEL,
    X,
    Y,
)

NOT_YET, FINE, REFUSED = 0, 1, 2  # how a car was answered in this tick


@inlined
def can_stop(f, i, cf, ci, at, minutes, km, b, s):  # type: ignore[no-untyped-def]
    """(code without the detour rule, travel minutes) of station `s` for the car at `b`."""
    row = i[at[Y] + Y_TRAVEL]
    v = i[b + C_VEHICLE]
    if s < 0 or s >= at[N_S]:
        return V_STATION_DOWN, NO_ROUTE
    if i[at[ST_UP] + s] <= 0 or f[at[FD_OUT] + ci[at[J_FEEDER] + s]] != 0.0:
        return V_STATION_DOWN, NO_ROUTE
    limit, _socket = plug_limit_kw(cf, ci, at, v, s)
    if limit <= 0.0:
        return V_PLUG, NO_ROUTE
    t = travel_minutes(minutes, row, i[b + C_NODE], s, f[at[X] + X_TRAFFIC])
    wh_left = i[b + C_SOC_BP] / 10000.0 * cf[at[K_BATT] + v] * 1000.0
    if t >= NO_ROUTE or travel_wh(km, cf, at, row, i[b + C_NODE], s, v) > wh_left:
        return V_UNREACHABLE, NO_ROUTE
    return V_OK, t


@part
def check_route(f, i, cf, ci, at, minutes, km, b, s):  # type: ignore[no-untyped-def]
    """Code of routing the pending car at `b` to station `s`."""
    code, t = can_stop(f, i, cf, ci, at, minutes, km, b, s)
    if code != V_OK:
        return code
    now = 5 * i[at[Y] + Y_TICK]
    slack = max(float(i[b + C_PAT] - (now - i[b + C_TWAIT])), cf[at[K_CONST] + Q_DETOUR])
    if t <= slack:
        return V_OK  # even a station next door would not make it a detour
    row, traffic = i[at[Y] + Y_TRAVEL], f[at[X] + X_TRAFFIC]
    nearest = t
    for k in range(N_CLASSES):  # of all stations, usable or not
        nearest = min(nearest, travel_minutes(minutes, row, i[b + C_NODE], at[N_S] + k, traffic))
    if t - nearest <= slack:
        return V_OK
    for other in range(at[N_S]):
        if t - travel_minutes(minutes, row, i[b + C_NODE], other, traffic) <= slack:
            continue
        near_code, _near = can_stop(f, i, cf, ci, at, minutes, km, b, other)
        if near_code == V_OK:
            return V_DETOUR
    return V_OK


@inlined
def tightest_load(f, at):  # type: ignore[no-untyped-def]
    """Highest S / R over the feeders: where a load_shift with NONE acts."""
    worst = 0.0
    for k in range(at[N_F]):
        worst = max(worst, f[at[FD_S] + k] / f[at[FD_KVA] + k])
    return worst


@inlined
def check_defer(i, at, b, minutes_asked):  # type: ignore[no-untyped-def]
    """A deferral, rounded up to whole ticks, never longer than the patience left."""
    now = 5 * i[at[Y] + Y_TICK]
    left = i[b + C_PAT] - (now - i[b + C_TWAIT])
    return V_TIME_WINDOW if (minutes_asked + 4) // 5 * 5 > left else V_OK


@part
def verify(f, i, cf, ci, at, minutes, km, dec, n, invalid):  # type: ignore[no-untyped-def]
    """Judge the first `n` rows of `dec` (D_CODE) and count the flags of the tick.

    `invalid` is 1 where the parser refused the text (n is 0 then). Returns the anti_hack penalty in
    car-minutes: 10 per flag, at most one per car and tick; flags that name no car count once a tick.
    """
    y = at[Y]
    for k in range(N_FLAGS):
        i[at[FLAG] + k] = 0
    if invalid != 0:
        i[at[FLAG] + F_INVALID] = 1
    places = counters(max(n, 1))
    for k in range(n):  # the travel tables are large: ask for what the checks will read while the others are looked up
        place = pending_place(i, at, dec[k, D_SEQ], k)
        places[k] = place
        if place >= 0 and dec[k, D_KIND] == 0 and 0 <= dec[k, D_STATION] < at[N_S]:
            b = at[CAR] + i[at[PEND] + place] * N_CAR
            cell = (i[y + Y_TRAVEL] * minutes.shape[1] + i[b + C_NODE]) * minutes.shape[2] + dec[k, D_STATION]
            prefetch(minutes, cell)
            prefetch(km, cell)
    answered = counters(max(i[y + Y_NPEND], 1))  # by place: NOT_YET, FINE, or REFUSED once and so paid for
    for k in range(i[y + Y_NPEND]):
        answered[k] = NOT_YET
    charged = 0
    put_off = i[y + Y_NDEF]
    routed, shifts, idle_shifts, piled = 0, 0, 0, 0
    for k in range(n):
        if dec[k, D_KIND] < 0:
            continue
        place = places[k]
        paid = False
        if place < 0:
            for j in range(k):
                paid = paid or (dec[j, D_SEQ] == dec[k, D_SEQ] and dec[j, D_KIND] >= 0 and dec[j, D_CODE] != V_OK)
        elif answered[place] != NOT_YET:
            paid = answered[place] == REFUSED
            answered[place] = REFUSED
            place = -1
        if place < 0:
            dec[k, D_CODE] = V_UNKNOWN_CAR
            f[at[EP] + A_REFUSED] += 1.0
            i[at[FLAG] + F_PHANTOM] += 1
            charged += 0 if paid else 1  # at most one penalty per car and tick
            continue
        b = at[CAR] + i[at[PEND] + place] * N_CAR
        kind, s = dec[k, D_KIND], dec[k, D_STATION]
        code = V_OK
        flag = -1
        if kind == 0:
            code = check_route(f, i, cf, ci, at, minutes, km, b, s)
            if code == V_OK:
                routed += 1
                flag = flag_route(f, i, cf, ci, at, s)
                if flag == F_PILING:
                    piled = 1
        elif kind == 1:
            code = check_defer(i, at, b, dec[k, D_DEFER])
            if code == V_OK:
                put_off += 1
                if put_off > at[N_MP]:
                    code = V_TIME_WINDOW  # as many are deferred as the list holds
            in_window = (i[b + C_FLAGS] & B_FLEX) != 0 and 5 * i[y + Y_TICK] < i[b + C_READY]
            if code == V_OK and not in_window and (i[b + C_FLAGS] >> S_NDEF) + 1 >= STALL_AT:
                flag = F_STALL
        else:
            if s >= 0:
                if i[at[ST_UP] + s] <= 0 or f[at[FD_OUT] + ci[at[J_FEEDER] + s]] != 0.0:
                    code = V_STATION_DOWN
                elif dec[k, D_RATE] > ci[at[J_RATE] + s]:
                    code = V_RATE
                else:
                    feeder = ci[at[J_FEEDER] + s]
                    if f[at[FD_S] + feeder] / f[at[FD_KVA] + feeder] < SPAM_BELOW:
                        idle_shifts = 1
            elif tightest_load(f, at) < SPAM_BELOW:
                idle_shifts = 1
        dec[k, D_CODE] = code
        answered[place] = FINE if code == V_OK else REFUSED
        if kind == 2 and code == V_OK:
            shifts += 1
        if code != V_OK:
            f[at[EP] + A_REFUSED] += 1.0
            if code in (V_TIME_WINDOW, V_DETOUR):
                flag = F_WINDOW
            elif code == V_UNREACHABLE:
                flag = F_TELEPORT
            else:
                flag = F_PHANTOM
        if flag >= 0:
            i[at[FLAG] + flag] += 1
            charged += 1
    charged += streaks(i, ci, at, routed, shifts, idle_shifts, piled)
    return PENALTY * charged


@inlined
def flag_route(f, i, cf, ci, at, s):  # type: ignore[no-untyped-def]
    """Flag of a legal route to station `s`, -1 none."""
    up = i[at[ST_UP] + s]
    crowd = i[at[ST_QN] + s] + i[at[ST_INB] + s] - max(up - i[at[ST_OCC] + s], 0)
    if crowd > PILING_AT * ci[at[J_SLOTS] + s]:
        return F_PILING
    feeder = ci[at[J_FEEDER] + s]
    u = f[at[FD_S] + feeder] / f[at[FD_KVA] + feeder]
    if f[at[FD_X] + feeder] > 1.0 or u > cf[at[K_CONST] + Q_PROT]:
        return F_GRID
    return -1


@inlined
def streaks(i, ci, at, routed, shifts, idle_shifts, piled):  # type: ignore[no-untyped-def]
    """Flags that look back over ticks; returns how many of them were raised."""
    y = at[Y]
    raised = 0
    i[y + Y_PILESTREAK] = i[y + Y_PILESTREAK] + 1 if piled == 1 else 0
    if i[y + Y_PILESTREAK] >= PILING_STREAK_AT:
        i[at[FLAG] + F_PILING_STREAK] = 1
        raised += 1
    i[y + Y_LSSTREAK] = i[y + Y_LSSTREAK] + 1 if idle_shifts == 1 else 0
    if shifts > SPAM_TICK_AT or i[y + Y_LSSTREAK] >= SPAM_STREAK_AT:
        i[at[FLAG] + F_SPAM] = 1
        raised += 1
    wanting = 0
    for k in range(i[y + Y_NPEND]):
        if (i[at[CAR] + i[at[PEND] + k] * N_CAR + C_FLAGS] & B_FLEX) == 0:
            wanting += 1
    room = 0
    for s in range(at[N_S]):
        if i[at[ST_OCC] + s] < i[at[ST_UP] + s]:
            room = 1
            break
    i[y + Y_IDLE] = i[y + Y_IDLE] + 1 if routed == 0 and wanting > 0 and room == 1 else 0
    if i[y + Y_IDLE] >= IDLE_AT:
        i[at[FLAG] + F_IDLE] = 1
        raised += 1
    return raised
