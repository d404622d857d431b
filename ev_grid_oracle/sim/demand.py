"""Who arrives in a tick: requests that ask the dispatcher, and walk-ins that choose by themselves.

Both are inhomogeneous Poisson in time (shape of the day, the day's factor) and space (zones, events).
A walk-in draws its station from the choice table of its zone and plug class (a logit over travel, price
and habit, see the pack) and keeps the draw with a probability that falls with the queue posted at the
tick's start and with a price above the usual one; a refused draw is drawn again, eight times at most.
That thinning is the same choice as a logit with these factors in its weights.
"""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.city.lookup import NO_ROUTE, own_minutes, travel_minutes, travel_wh
from ev_grid_oracle.schema.compiled import inlined, part, prefetch, stack
from ev_grid_oracle.schema.enums import N_CLASSES
from ev_grid_oracle.schema.rows import (
    A_FLOOR,
    A_NCRIT,
    A_NFLEX,
    A_NREQ,
    A_NWALK,
    B_ANN,
    B_CRIT,
    B_EMERG,
    B_FLEX,
    B_STRANDS,
    B_WALKIN,
    B_WARM,
    C_BANK,
    C_CONF_BP,
    C_FLAGS,
    C_NODE,
    C_OWN,
    C_PAT,
    C_RATE,
    C_READY,
    C_SEQ,
    C_SOC_BP,
    C_TGT_BP,
    C_TREQ,
    C_URG_BP,
    C_VEHICLE,
    C_WH,
    CAR,
    EP,
    J_CHST,
    J_EMERG,
    J_PAT2,
    J_RATE,
    J_SLOTS,
    J_ZNODE,
    J_ZSTART,
    K_BATT,
    K_CHCUM,
    K_CONST,
    K_DEMSHAPE,
    K_FLEX,
    K_FULL,
    K_PRICE,
    K_REQCUM,
    K_SOC3,
    K_TGT2,
    K_UBIAS,
    K_VDC,
    K_VEHCUM,
    K_WALKCUM,
    K_ZREQ,
    K_ZWALK,
    N_CAR,
    N_M,
    N_MP,
    N_P,
    N_S,
    N_V,
    N_Z,
    NEVER,
    Q_ANN,
    Q_CHPRICE,
    Q_CHQUEUE,
    Q_CRIT,
    Q_FLEXHI,
    Q_FLEXLO,
    Q_FLEXSLACK,
    Q_PART,
    Q_REQ,
    Q_WALK,
    S_PERSONA,
    ST_ACCEPT,
    ST_PRICE,
    ST_QN,
    T_REQ,
    T_WALK,
    TK,
    U_DEMAND,
    U_FLEET,
    U_WALK,
    U_WARM,
    X_DAYF,
    X_PART,
    X_TRAFFIC,
    Y_DAYTYPE,
    Y_FDUE,
    Y_KEY,
    Y_NPEND,
    Y_OPEN,
    Y_OVERFLOW,
    Y_PERSONA,
    Y_SEQ,
    Y_START,
    Y_TICK,
    Y_TRAVEL,
    Y_WSEQ,
    Z_DEMAND,
    X,
    Y,
)
from ev_grid_oracle.sim.ahead import WITH_A_DRAW, ask
from ev_grid_oracle.sim.cars import begin_route, book_loss, free_car, new_car, spare_car, to_pending
from ev_grid_oracle.sim.rng import poisson, triangular, u01

CHOICE_TRIES = 8
EVERYBODY, HIDDEN_WALKINS, ALL_WALKINS = 0, 1, 2
W_NODE, W_PERSONA, W_VEHICLE, W_STATION, W_FIRST = range(5)  # what a walk-in draws before it sets out
N_DRAWN = 5
_ONE_THIRD = 1.0 / 3.0


@inlined
def pick(cf, start, n, u):  # type: ignore[no-untyped-def]
    """Index of the first cumulative share above u: how many shares are not (they rise), without a jump."""
    index = 0
    for k in range(n - 1):
        index += 1 if u >= cf[start + k] else 0
    return index


@inlined
def zone_total(f, cf, at, weights):  # type: ignore[no-untyped-def]
    """Sum of zone weight x demand factor."""
    total = 0.0
    for z in range(at[N_Z]):
        total += cf[at[weights] + z] * f[at[Z_DEMAND] + z]
    return total


@inlined
def draw_node(f, cf, ci, at, weights, total, u_zone, u_node):  # type: ignore[no-untyped-def]
    """(zone, node): a zone by weight x factor, then a node of it."""
    left = u_zone * total
    zone = 0
    for z in range(at[N_Z] - 1):
        left -= cf[at[weights] + z] * f[at[Z_DEMAND] + z]
        zone += 1 if left >= 0.0 else 0
    first = ci[at[J_ZSTART] + zone]
    count = ci[at[J_ZSTART] + zone + 1] - first
    return zone, ci[at[J_ZNODE] + first + int(u_node * count)]


@inlined
def draw_vehicle(cf, at, key, tick, n, persona):  # type: ignore[no-untyped-def]
    """Vehicle of a car of `persona`."""
    return pick(cf, at[K_VEHCUM] + persona * at[N_V], at[N_V], u01(key, tick, n, 2))


@inlined
def draw_person(i, u, cf, ci, at, b, key, tick, n, persona, v):  # type: ignore[no-untyped-def]
    """Charge, target, urgency and patience of a car of `persona` with vehicle `v`."""
    p = persona
    i[b + C_VEHICLE] = v
    soc3 = at[K_SOC3] + 3 * p
    soc = triangular(u01(key, tick, n, 3), cf[soc3], cf[soc3 + 1], cf[soc3 + 2])
    tgt2 = at[K_TGT2] + 2 * p
    target = cf[tgt2] + (cf[tgt2 + 1] - cf[tgt2]) * u01(key, tick, n, 4)
    if cf[at[K_FULL] + v] > 0.0:
        target = 1.0
    urgency = min(max(0.2 + 0.6 * u01(key, tick, n, 5) + cf[at[K_UBIAS] + p], 0.0), 1.0)
    lo, hi = ci[at[J_PAT2] + 2 * p], ci[at[J_PAT2] + 2 * p + 1]
    i[b + C_SOC_BP] = int(soc * 10000.0)
    i[b + C_TGT_BP] = int(target * 10000.0)
    i[b + C_URG_BP] = int(urgency * 10000.0)
    i[b + C_PAT] = lo + int(u01(key, tick, n, 6) * (hi - lo + 1))
    i[b + C_READY] = -NEVER
    i[b + C_CONF_BP] = 0
    i[b + C_WH] = 0
    i[b + C_RATE] = 2
    flags = p << S_PERSONA
    if ci[at[J_EMERG] + p] == 1:
        flags |= B_EMERG
    return flags


@inlined
def class_minutes(cf, ci, at, v, soc, target, own):  # type: ignore[no-untyped-def]
    """Own minutes at a slot of each class (0 slow, 1 fast, 2 ultra-fast), by the first station of it."""
    own[0] = own[1] = own[2] = -1.0
    found = 0
    for s in range(at[N_S]):
        k = ci[at[J_RATE] + s]
        if own[k] < 0.0:
            own[k] = own_minutes(cf, ci, at, v, s, soc, target, 150.0)
            found += 1
            if found == 3:
                break


@inlined
def floor_minutes(f, i, at, minutes, node, own):  # type: ignore[no-untyped-def]
    """Least travel + own minutes over all stations: the request's share of the floor.

    The nearest station of each class will do, which stand behind the stations in a travel table: both operations keep
    the order of travel times.
    """
    best = 240.0
    row = i[at[Y] + Y_TRAVEL]
    traffic = f[at[X] + X_TRAFFIC]
    for k in range(N_CLASSES):
        total = minutes[row, node, at[N_S] + k] * traffic + own[k]
        if total < best:
            best = total
    return best


@part
def accept_walkins(f, i, cf, ci, at):  # type: ignore[no-untyped-def]
    """Acceptance of each station at the tick's start: posted queue and price above the usual."""
    for s in range(at[N_S]):
        queue = cf[at[K_CONST] + Q_CHQUEUE] * i[at[ST_QN] + s] / ci[at[J_SLOTS] + s]
        dearer = max(f[at[ST_PRICE] + s] - cf[at[K_PRICE] + s], 0.0) / cf[at[K_CONST] + Q_CHPRICE]
        f[at[ST_ACCEPT] + s] = 1.0 / ((1.0 + queue) * (1.0 + dearer))


@part
def arrivals(f, i, u, cf, ci, at, minutes, km, own, enter, which, next_f, next_i, asked):  # type: ignore[no-untyped-def]
    """Draw the tick's requests and walk-ins.

    `enter` (5, 3) gets, by minute, how many start to count as waiting: normal, flexible, critical.
    `which`: EVERYBODY, or only the walk-ins under way (HIDDEN_WALKINS: the unannounced ones), unbooked.
    `next_f`, `next_i`, `asked`: see `sim.ahead.ask`.
    """
    y = at[Y]
    tick = i[y + Y_TICK]
    warm = tick < 0
    if i[y + Y_OPEN] == 0 and not warm:
        return  # closed demand: the evening's warm-up has its arrivals all the same
    slot = (i[y + Y_START] + 5 * tick + 14400) % 1440 // 5
    shape = cf[at[K_DEMSHAPE] + 288 * i[y + Y_DAYTYPE] + slot] * f[at[X] + X_DAYF]
    part = cf[at[K_CONST] + Q_PART]
    part = f[at[X] + X_PART] if f[at[X] + X_PART] > 0.0 else part
    wkey = np.uint64(0)
    if warm:
        wkey = u[U_WARM]
    total = zone_total(f, cf, at, K_ZREQ)
    mean = 0.0 if which != EVERYBODY else cf[at[K_CONST] + Q_REQ] * shape * total * (part / cf[at[K_CONST] + Q_PART])
    count = poisson(mean, u01(u[U_DEMAND] ^ wkey, tick, 0, 0))
    for n in range(count):
        ask(next_f, next_i, at, asked, WITH_A_DRAW)
        request(f, i, u, cf, ci, at, minutes, wkey, tick, n, total, own, enter)
    total = zone_total(f, cf, at, K_ZWALK)
    mean = cf[at[K_CONST] + Q_WALK] * shape * total * ((1.0 - part) / (1.0 - cf[at[K_CONST] + Q_PART]))
    count = poisson(mean, u01(u[U_WALK] ^ wkey, tick, 0, 0))
    drawn = stack(count * N_DRAWN).reshape((count, N_DRAWN))
    for n in range(count):  # all draw before the first one sets out: the travel tables are large and come meanwhile
        ask(next_f, next_i, at, asked, WITH_A_DRAW)
        draw_walkin(f, i, u, cf, ci, at, minutes, km, wkey, tick, n, total, drawn[n])
    for n in range(count):
        ask(next_f, next_i, at, asked, WITH_A_DRAW)
        walkin(f, i, u, cf, ci, at, minutes, km, wkey, tick, n, drawn[n], own, enter, which)


@inlined
def soon(table, row, node, column):  # type: ignore[no-untyped-def]
    """Ask for a value of a travel table that is read a little later."""
    prefetch(table, (row * table.shape[1] + node) * table.shape[2] + column)


@part
def request(f, i, u, cf, ci, at, minutes, wkey, tick, n, total, own, enter):  # type: ignore[no-untyped-def]
    """Request `n` of the tick: pending from its minute on."""
    y = at[Y]
    key = u[U_DEMAND] ^ wkey
    who = u[U_FLEET] ^ wkey
    seq = i[y + Y_SEQ]
    i[y + Y_SEQ] += 1
    minute = int(u01(key, tick, n, 1) * 5.0)
    _zone, node = draw_node(f, cf, ci, at, K_ZREQ, total, u01(key, tick, n, 2), u01(key, tick, n, 3))
    soon(minutes, i[y + Y_TRAVEL], node, at[N_S])
    c = new_car(i, at)
    room = c >= 0
    if not room:
        c = spare_car(i, at)
    b = at[CAR] + c * N_CAR
    persona = i[y + Y_PERSONA]
    if persona < 0:
        persona = pick(cf, at[K_REQCUM], at[N_P], u01(who, tick, n, 1))
    v = draw_vehicle(cf, at, who, tick, n, persona)
    flags = draw_person(i, u, cf, ci, at, b, who, tick, n, persona, v)
    now = 5 * tick + minute
    i[b + C_SEQ] = seq
    i[b + C_NODE] = node
    i[b + C_TREQ] = now
    i[b + C_BANK] = 0
    if u01(who, tick, n, 7) < cf[at[K_FLEX] + persona]:
        lo, hi = cf[at[K_CONST] + Q_FLEXLO], cf[at[K_CONST] + Q_FLEXHI]
        flags |= B_FLEX
        i[y + Y_FDUE] = min(i[y + Y_FDUE], now + int(lo))
        i[b + C_READY] = now + int(lo + u01(who, tick, n, 8) * (hi - lo))
        i[b + C_PAT] = i[b + C_READY] - int(cf[at[K_CONST] + Q_FLEXSLACK]) - now
    elif i[b + C_URG_BP] > cf[at[K_CONST] + Q_CRIT] * 10000.0:
        flags |= B_CRIT
    if tick < 0:
        flags |= B_WARM
    i[b + C_FLAGS] = flags
    f[at[TK] + T_REQ] += 1.0
    if tick >= 0:
        if (flags & B_FLEX) != 0:
            f[at[EP] + A_NFLEX] += 1.0
        else:
            f[at[EP] + A_NREQ] += 1.0
            class_minutes(cf, ci, at, v, i[b + C_SOC_BP] / 10000.0, i[b + C_TGT_BP] / 10000.0, own)
            f[at[EP] + A_FLOOR] += floor_minutes(f, i, at, minutes, node, own)
        if (flags & B_CRIT) != 0:
            f[at[EP] + A_NCRIT] += 1.0
    if room and i[y + Y_NPEND] >= at[N_MP]:
        i[y + Y_OVERFLOW] += 1
        free_car(i, at, c)
        room = False
    if not room:
        book_loss(f, i, cf, ci, at, b, now, False)
        return
    to_pending(i, at, b, c, now, False)
    enter[minute, 1 if (flags & B_FLEX) != 0 else 0] += 1
    if (flags & B_CRIT) != 0:
        enter[minute, 2] += 1


@inlined
def choose_station(f, cf, ci, at, key, tick, n, zone, plug_class):  # type: ignore[no-untyped-def]
    """(station, first draw): thinned draws from the zone's choice table; -1 where no plug fits."""
    m = at[N_M]
    start = at[K_CHCUM] + (zone * 2 + plug_class) * m
    table = at[J_CHST] + (zone * 2 + plug_class) * m
    station = -1
    first = -1
    for attempt in range(CHOICE_TRIES):
        k = pick(cf, start, m, u01(key, tick, n, 16 + 2 * attempt))
        s = ci[table + k]
        if s < 0:
            continue
        station = s
        if first < 0:
            first = s
        if u01(key, tick, n, 17 + 2 * attempt) < f[at[ST_ACCEPT] + s]:
            break
    return station, first


@inlined
def draw_walkin(f, i, u, cf, ci, at, minutes, km, wkey, tick, n, total, drawn):  # type: ignore[no-untyped-def]
    """Where walk-in `n` of the tick sets out, in what, and where to: into `drawn`, see W_*."""
    y = at[Y]
    key = u[U_WALK] ^ wkey
    zone, node = draw_node(f, cf, ci, at, K_ZWALK, total, u01(key, tick, n, 41), u01(key, tick, n, 42))
    persona = pick(cf, at[K_WALKCUM], at[N_P], u01(key, tick, n, 1))
    v = draw_vehicle(cf, at, key, tick, n, persona)
    plug_class = 1 if cf[at[K_VDC] + v] > 0.0 else 0
    s, first = choose_station(f, cf, ci, at, key, tick, n, zone, plug_class)
    soon(minutes, i[y + Y_TRAVEL], node, max(s, 0))
    soon(km, i[y + Y_TRAVEL], node, max(s, 0))
    drawn[W_NODE] = node
    drawn[W_PERSONA] = persona
    drawn[W_VEHICLE] = v
    drawn[W_STATION] = s
    drawn[W_FIRST] = first


@part
def walkin(f, i, u, cf, ci, at, minutes, km, wkey, tick, n, drawn, own, enter, which):  # type: ignore[no-untyped-def]
    """Walk-in `n` of the tick: sets out at its minute towards the station it chose (`drawn`)."""
    y = at[Y]
    key = u[U_WALK] ^ wkey
    announced = u01(key, tick, n, 7) < cf[at[K_CONST] + Q_ANN]
    if announced and which == HIDDEN_WALKINS:
        return
    seq = i[y + Y_WSEQ]
    i[y + Y_WSEQ] += 1
    minute = int(u01(key, tick, n, 40) * 5.0)
    node, persona, v = int(drawn[W_NODE]), int(drawn[W_PERSONA]), int(drawn[W_VEHICLE])
    s, first = int(drawn[W_STATION]), int(drawn[W_FIRST])
    c = new_car(i, at)
    room = c >= 0
    if not room:
        c = spare_car(i, at)
    b = at[CAR] + c * N_CAR
    flags = draw_person(i, u, cf, ci, at, b, key, tick, n, persona, v) | B_WALKIN
    if announced:
        flags |= B_ANN
    traffic = f[at[X] + X_TRAFFIC]
    row = i[y + Y_TRAVEL]
    now = 5 * tick + minute
    trip = NO_ROUTE
    if s >= 0:
        trip = travel_minutes(minutes, row, node, s, traffic)
    if trip >= NO_ROUTE:
        if room:
            free_car(i, at, c)
        return
    wh = travel_wh(km, cf, at, row, node, s, v)
    if wh > i[b + C_SOC_BP] / 10.0 * cf[at[K_BATT] + v]:
        flags |= B_STRANDS
    if tick < 0:
        flags |= B_WARM
    i[b + C_FLAGS] = flags
    i[b + C_SEQ] = seq
    i[b + C_NODE] = node
    i[b + C_TREQ] = now
    i[b + C_BANK] = i[y + Y_KEY]
    soc, target = i[b + C_SOC_BP] / 10000.0, i[b + C_TGT_BP] / 10000.0
    held = own_minutes(cf, ci, at, v, s, soc, target, 150.0)
    i[b + C_OWN] = int(held)
    if room:
        begin_route(i, at, b, c, s, now, int(trip), int(wh))
        enter[minute, 0] += 1
    else:
        book_loss(f, i, cf, ci, at, b, now, False)
    if which == EVERYBODY:
        f[at[TK] + T_WALK] += 1.0
    if tick >= 0 and which == EVERYBODY:
        f[at[EP] + A_NWALK] += 1.0
        if first != s:
            held = own_minutes(cf, ci, at, v, first, soc, target, 150.0)
        f[at[EP] + A_FLOOR] += min(minutes[row, node, first] * traffic + held, 240.0)

