"""Life of a car: rows, lists, queues, plugs, and what is booked when it leaves."""

from __future__ import annotations

from ev_grid_oracle.city.lookup import plug_limit_kw, taper
from ev_grid_oracle.schema.compiled import inlined, kernel, part
from ev_grid_oracle.schema.rows import (
    A_BRIER,
    A_FDONE,
    A_FLATE,
    A_FMISS,
    A_LOST,
    A_MTC,
    A_MTP,
    A_NBRIER,
    A_NPLUG,
    A_PLUGGED,
    A_SERVED,
    A_STRANDED,
    A_UNSERVED_KWH,
    A_WAITSUM,
    A_WLOST,
    A_WMTC,
    A_WSERVED,
    A_WSTRANDED,
    B_ANN,
    B_CONF,
    B_CRIT,
    B_EMERG,
    B_FLEX,
    B_STRANDS,
    B_WALKIN,
    B_WARM,
    C_CONF_BP,
    C_FLAGS,
    C_NEXT,
    C_NODE,
    C_PAT,
    C_RATE,
    C_READY,
    C_SEQ,
    C_SOC_BP,
    C_STATE,
    C_STATION,
    C_TARR,
    C_TDEP,
    C_TGT_BP,
    C_TREQ,
    C_TWAIT,
    C_VEHICLE,
    C_WH,
    CAL,
    CAR,
    DEFD,
    EP,
    EP_WAIT_P,
    EP_WAIT_Z,
    J_NZONE,
    K_BATT,
    N_CAR,
    N_SP,
    NEVER,
    PEND,
    RING,
    S_PERSONA,
    SLOT_A,
    SLOT_B,
    SLOT_CAP,
    SLOT_CAR,
    SLOT_G,
    ST_INB,
    ST_MASK,
    ST_OCC,
    ST_QEXP,
    ST_QH,
    ST_QN,
    ST_UP,
    T_LOST,
    T_SERVED,
    T_SERVICE,
    T_STRANDED,
    T_URGENT,
    T_WLOST,
    T_WSERVED,
    TK,
    WALK_BIN_TICKS,
    WALK_BINS,
    WALK_PAST,
    WALKS,
    WALKSUM,
    Y_CRIT,
    Y_FLEX,
    Y_FREE,
    Y_NDEF,
    Y_NFREE,
    Y_NORM,
    Y_NPEND,
    Y_OVERFLOW,
    Y_PEXP,
    Y_TICK,
    Y,
)
from ev_grid_oracle.sim.ahead import fetch_car

PENDING, DEFERRED, ENROUTE, QUEUED, CHARGING = 1, 2, 3, 4, 5
CAP_MIN = 240.0
RATE_CAP_KW = (7.0, 30.0, 150.0)


@inlined
def new_car(i, at):  # type: ignore[no-untyped-def]
    """A free car row, or -1 (counted as overflow). The last row stays free: `spare_car`."""
    y = at[Y]
    if i[y + Y_NFREE] <= 1:
        i[y + Y_OVERFLOW] += 1
        return -1
    i[y + Y_NFREE] -= 1
    c = i[y + Y_FREE]
    following = i[at[CAR] + c * N_CAR + C_NEXT]
    i[y + Y_FREE] = following
    fetch_car(i, at, following)  # the next one to be drawn
    return c


@inlined
def spare_car(i, at):  # type: ignore[no-untyped-def]
    """The row that is never taken: a car that finds the table full is drawn there, and booked as lost."""
    return i[at[Y] + Y_FREE]


@inlined
def free_car(i, at, c):  # type: ignore[no-untyped-def]
    b = at[CAR] + c * N_CAR
    i[b + C_STATE] = 0
    i[b + C_NEXT] = i[at[Y] + Y_FREE]
    i[at[Y] + Y_FREE] = c
    i[at[Y] + Y_NFREE] += 1


@inlined
def start_waiting(i, at, b, now):  # type: ignore[no-untyped-def]
    """Patience runs from `now`; the minute at which it is used up."""
    i[b + C_TWAIT] = now
    return now + i[b + C_PAT]


@inlined
def stop_waiting(i, b, now):  # type: ignore[no-untyped-def]
    """Patience stands still from `now`."""
    i[b + C_PAT] -= now - i[b + C_TWAIT]


@inlined
def begin_route(i, at, b, c, station, now, minutes, wh):  # type: ignore[no-untyped-def]
    """Car `c` sets out; it stands in the calendar at its minute of arrival."""
    i[b + C_STATE] = ENROUTE
    i[b + C_STATION] = station
    i[b + C_TDEP] = now
    i[b + C_TARR] = now + minutes
    i[b + C_WH] = wh
    cell = at[CAL] + ((now + minutes) & (RING - 1))
    i[b + C_NEXT] = i[cell]
    i[cell] = c
    if (i[b + C_FLAGS] & B_WALKIN) == 0 or (i[b + C_FLAGS] & B_ANN) != 0:
        i[at[ST_INB] + station] += 1


@inlined
def leave_calendar(i, at, b, c):  # type: ignore[no-untyped-def]
    """Take a car off the road again (reroute, fork)."""
    cell = at[CAL] + (i[b + C_TARR] & (RING - 1))
    nxt = i[b + C_NEXT]
    if i[cell] == c:
        i[cell] = nxt
    else:
        k = i[cell]
        while k >= 0:
            kb = at[CAR] + k * N_CAR
            if i[kb + C_NEXT] == c:
                i[kb + C_NEXT] = nxt
                break
            k = i[kb + C_NEXT]
    if (i[b + C_FLAGS] & B_WALKIN) == 0 or (i[b + C_FLAGS] & B_ANN) != 0:
        i[at[ST_INB] + i[b + C_STATION]] -= 1


@inlined
def uncount(i, at, b, now, unplugged):  # type: ignore[no-untyped-def]
    """The car no longer counts in the minute-by-minute sums of the living."""
    y = at[Y]
    flags = i[b + C_FLAGS]
    if (flags & B_FLEX) != 0 and now < i[b + C_READY]:
        i[y + Y_FLEX] -= 1
    else:
        i[y + Y_NORM] -= 1
    if unplugged and (flags & B_CRIT) != 0:
        i[y + Y_CRIT] -= 1


@inlined
def book_minutes(f, i, at, ci, b, minutes):  # type: ignore[no-untyped-def]
    """Minutes to charged (at most 240) by kind, persona and zone; warm-up cars are not counted."""
    e = at[EP]
    flags = i[b + C_FLAGS]
    if (flags & B_WARM) != 0:
        return
    capped = min(minutes, CAP_MIN)
    if (flags & B_WALKIN) != 0:
        f[e + A_WMTC] += capped
        return
    if (flags & B_FLEX) != 0:
        return
    f[e + A_MTC] += capped
    p = (flags >> S_PERSONA) & 7
    z = ci[at[J_NZONE] + i[b + C_NODE]] & 31
    f[e + EP_WAIT_P + p] += capped
    f[e + EP_WAIT_P + 8 + p] += 1.0
    f[e + EP_WAIT_Z + z] += capped
    f[e + EP_WAIT_Z + 32 + z] += 1.0


@inlined
def book_confidence(f, i, at, b, in_time):  # type: ignore[no-untyped-def]
    """Brier score of the answer's CONFIDENCE (plugged in before patience is used up)."""
    if (i[b + C_FLAGS] & B_CONF) != 0:
        gap = i[b + C_CONF_BP] / 10000.0 - in_time
        f[at[EP] + A_BRIER] += gap * gap
        f[at[EP] + A_NBRIER] += 1.0
        i[b + C_FLAGS] &= ~B_CONF


@kernel
def book_loss(f, i, cf, ci, at, b, now, stranded):  # type: ignore[no-untyped-def]
    """Terms and accounts of the car at `b` that is lost (or whose battery is empty).

    `service` = max(60, 240 - age), 240 for a flexible one; a critical request's counts twice more in `urgency`.
    """
    t, e = at[TK], at[EP]
    flags = i[b + C_FLAGS]
    age = float(now - i[b + C_TREQ])
    cost = max(60.0, CAP_MIN - age)
    if (flags & B_FLEX) != 0:
        cost = CAP_MIN
    f[t + T_SERVICE] += cost
    if (flags & B_CRIT) != 0:
        f[t + T_URGENT] += 2.0 * cost
    book_minutes(f, i, at, ci, b, CAP_MIN)
    counted = (flags & B_WARM) == 0
    if (flags & B_WALKIN) != 0:
        f[t + T_WLOST] += 1.0
        if counted:
            f[e + A_WLOST] += 1.0
            if stranded:
                f[e + A_WSTRANDED] += 1.0
    else:
        if stranded:
            f[t + T_STRANDED] += 1.0
        else:
            f[t + T_LOST] += 1.0
        if counted:
            if (flags & B_FLEX) != 0:
                f[e + A_FMISS] += 1.0
                f[e + A_FLATE] += CAP_MIN
            elif stranded:
                f[e + A_STRANDED] += 1.0
            else:
                f[e + A_LOST] += 1.0
            need = (i[b + C_TGT_BP] - i[b + C_SOC_BP]) / 10000.0 * cf[at[K_BATT] + i[b + C_VEHICLE]]
            f[e + A_UNSERVED_KWH] += need


@kernel
def lose(f, i, cf, ci, at, c, now, stranded):  # type: ignore[no-untyped-def]
    """Car `c` gives up (or its battery is empty): book the loss and free its row.

    The caller has taken it off its list.
    """
    b = at[CAR] + c * N_CAR
    uncount(i, at, b, now, True)
    book_loss(f, i, cf, ci, at, b, now, stranded)
    book_confidence(f, i, at, b, 0.0)
    free_car(i, at, c)


@part
def plug(f, i, cf, ci, at, c, s, now):  # type: ignore[no-untyped-def]
    """Put car `c` on the first empty slot of station `s` (the caller knows that one is usable)."""
    b = at[CAR] + c * N_CAR
    sp = at[N_SP]
    mask = i[at[ST_MASK] + s]
    k = 0
    while (mask >> k) & 1 == 1:
        k += 1
    i[at[ST_MASK] + s] = mask | (1 << k)
    j = k * sp + s
    v = i[b + C_VEHICLE]
    battery = cf[at[K_BATT] + v]
    soc = i[b + C_SOC_BP] / 10000.0 - i[b + C_WH] / 1000.0 / battery
    target = i[b + C_TGT_BP] / 10000.0
    limit, socket = plug_limit_kw(cf, ci, at, v, s)
    a, slope = taper(cf, at, v, target)
    cap = RATE_CAP_KW[i[b + C_RATE]]
    f[at[SLOT_G] + j] = (target - soc) * battery
    f[at[SLOT_CAP] + j] = min(min(limit, socket), cap)
    f[at[SLOT_A] + j] = a
    f[at[SLOT_B] + j] = slope
    i[at[SLOT_CAR] + j] = c
    i[b + C_STATE] = CHARGING
    i[at[ST_OCC] + s] += 1
    if (i[b + C_FLAGS] & B_CRIT) != 0:
        i[at[Y] + Y_CRIT] -= 1
    book_confidence(f, i, at, b, 1.0)
    if (i[b + C_FLAGS] & B_WARM) == 0 and (i[b + C_FLAGS] & B_WALKIN) == 0:
        e = at[EP]
        f[e + A_PLUGGED] += 1.0
        f[e + A_WAITSUM] += now - i[b + C_TREQ] - (i[b + C_TARR] - i[b + C_TDEP])
        if (i[b + C_FLAGS] & B_FLEX) == 0:
            f[e + A_NPLUG] += 1.0
            f[e + A_MTP] += now - i[b + C_TREQ]


@part
def arrive(f, i, cf, ci, at, c, now):  # type: ignore[no-untyped-def]
    """Car `c` reaches its station: into the queue behind those who wait, emergencies first."""
    b = at[CAR] + c * N_CAR
    s = i[b + C_STATION]
    flags = i[b + C_FLAGS]
    if (flags & B_WALKIN) == 0 or (flags & B_ANN) != 0:
        i[at[ST_INB] + s] -= 1
    if (flags & B_WALKIN) != 0:
        tick = i[at[Y] + Y_TICK]
        i[at[WALKS] + (tick + WALK_PAST) // WALK_BIN_TICKS % WALK_BINS * at[N_SP] + s] += 1
        i[at[WALKSUM] + s] += 1
    if (flags & B_STRANDS) != 0:
        lose(f, i, cf, ci, at, c, now, True)
        return
    i[b + C_STATE] = QUEUED
    until = start_waiting(i, at, b, now)
    if until < i[at[ST_QEXP] + s]:
        i[at[ST_QEXP] + s] = until
    head = i[at[ST_QH] + s]
    emergency = flags & B_EMERG
    previous = -1
    k = head
    while k >= 0:
        kb = at[CAR] + k * N_CAR
        other = i[kb + C_FLAGS] & B_EMERG
        # first come first served; in one minute the lower number first, whatever the calendar's order
        before = other == emergency and (
            i[kb + C_TWAIT] < now or (i[kb + C_FLAGS] & B_WALKIN) < (flags & B_WALKIN)
            or ((i[kb + C_FLAGS] & B_WALKIN) == (flags & B_WALKIN) and i[kb + C_SEQ] < i[b + C_SEQ])
        )  # fmt: skip
        if other > emergency or before:
            previous = k
            k = i[kb + C_NEXT]
        else:
            break
    i[b + C_NEXT] = k
    if previous < 0:
        i[at[ST_QH] + s] = c
    else:
        i[at[CAR] + previous * N_CAR + C_NEXT] = c
    i[at[ST_QN] + s] += 1


@part
def fill_slots(f, i, cf, ci, at, s, now):  # type: ignore[no-untyped-def]
    """Plug queued cars in while the station has a usable slot."""
    while i[at[ST_QN] + s] > 0 and i[at[ST_OCC] + s] < i[at[ST_UP] + s]:
        c = i[at[ST_QH] + s]
        b = at[CAR] + c * N_CAR
        i[at[ST_QH] + s] = i[b + C_NEXT]
        i[at[ST_QN] + s] -= 1
        stop_waiting(i, b, now)
        plug(f, i, cf, ci, at, c, s, now)


@part
def expire_queue(f, i, cf, ci, at, s, now):  # type: ignore[no-untyped-def]
    """Cars of a queue whose patience is used up leave."""
    earliest = NEVER
    previous = -1
    c = i[at[ST_QH] + s]
    while c >= 0:
        b = at[CAR] + c * N_CAR
        following = i[b + C_NEXT]
        until = i[b + C_TWAIT] + i[b + C_PAT]
        if until <= now:
            if previous < 0:
                i[at[ST_QH] + s] = following
            else:
                i[at[CAR] + previous * N_CAR + C_NEXT] = following
            i[at[ST_QN] + s] -= 1
            lose(f, i, cf, ci, at, c, now, False)
        else:
            earliest = min(earliest, until)
            previous = c
        c = following
    i[at[ST_QEXP] + s] = earliest


@part
def expire_waiting(f, i, cf, ci, at, now):  # type: ignore[no-untyped-def]
    """Pending and deferred cars whose patience is used up leave; remembers the next such minute."""
    y = at[Y]
    earliest = NEVER
    for which in range(2):
        block, count = at[PEND], y + Y_NPEND
        if which == 1:
            block, count = at[DEFD], y + Y_NDEF
        k = 0
        while k < i[count]:
            c = i[block + k]
            b = at[CAR] + c * N_CAR
            until = i[b + C_TWAIT] + i[b + C_PAT]
            if until <= now:
                i[block + k] = i[block + i[count] - 1]
                i[count] -= 1
                lose(f, i, cf, ci, at, c, now, False)
            else:
                earliest = min(earliest, until)
                k += 1
    i[y + Y_PEXP] = earliest


@inlined
def finished_slots(f, i, at, s, count, slots, n):  # type: ignore[no-untyped-def]
    """Write the slots of the `count` cars of station `s` that have reached their target behind the first `n` of `slots`.

    Their cars are asked for: they lie anywhere.
    """
    mask = i[at[ST_MASK] + s]
    k = 0
    while count > 0:
        j = k * at[N_SP] + s
        if (mask >> k) & 1 == 1 and f[at[SLOT_G] + j] == 0.0:
            slots[n] = j
            fetch_car(i, at, i[at[SLOT_CAR] + j])
            n += 1
            count -= 1
        k += 1
    return n


@part
def finish(f, i, ci, at, j, now):  # type: ignore[no-untyped-def]
    """The car at slot `j` has reached its target and leaves at minute `now`."""
    s, k = j % at[N_SP], j // at[N_SP]
    c = i[at[SLOT_CAR] + j]
    i[at[ST_MASK] + s] &= ~(1 << k)
    b = at[CAR] + c * N_CAR
    i[at[SLOT_CAR] + j] = -1
    f[at[SLOT_CAP] + j] = 0.0
    f[at[SLOT_A] + j] = 0.0
    f[at[SLOT_B] + j] = 0.0
    i[at[ST_OCC] + s] -= 1
    flags = i[b + C_FLAGS]
    uncount(i, at, b, now - 1, False)  # it was counted in the minute that just ended
    book_minutes(f, i, at, ci, b, float(now - i[b + C_TREQ]))
    counted = (flags & B_WARM) == 0
    if (flags & B_WALKIN) != 0:
        f[at[TK] + T_WSERVED] += 1.0
        if counted:
            f[at[EP] + A_WSERVED] += 1.0
    else:
        f[at[TK] + T_SERVED] += 1.0
        if counted:
            if (flags & B_FLEX) != 0:
                f[at[EP] + A_FDONE] += 1.0
                f[at[EP] + A_FLATE] += min(max(now - i[b + C_READY], 0), 240)
            else:
                f[at[EP] + A_SERVED] += 1.0
    free_car(i, at, c)


@inlined
def to_pending(i, at, b, c, now, waiting):  # type: ignore[no-untyped-def]
    """Append to the pending list; False where it is full (the car stays where it was)."""
    y = at[Y]
    i[at[PEND] + i[y + Y_NPEND]] = c
    i[y + Y_NPEND] += 1
    i[b + C_STATE] = PENDING
    if not waiting:
        until = start_waiting(i, at, b, now)
        if until < i[y + Y_PEXP]:
            i[y + Y_PEXP] = until
