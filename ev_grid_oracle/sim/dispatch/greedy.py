"""`greedy_counting`: the strong honest heuristic that stands beside the baseline in every table.

For each car, critical ones first, the least over stations and rates of

    travel + wait weight x expected wait at arrival + own charging minutes + scarcity + feeder term
    + a fine and the excess where the wait outlasts the patience,

the wait counted slot by slot from remaining charging times, the queue, every known car on the way and the
answers already given in this tick. The feeder term prices the car's energy by how far the feeder's thermal
state, carried forward on the base forecast, will stand above the line. A feeder about to pass its limit gets a
short load_shift of its largest station where nobody waits (a cap there would be paid by the queue), carried by
the most patient pending car. Flexible cars follow one plain rule: go when there is room, or when waiting longer
would miss ready_by. The constants are in the city's row (`G_*`), tuned once on training seeds by
`benchmarks/tune_greedy.py` and frozen.
"""

from __future__ import annotations

from ev_grid_oracle.city.lookup import own_minutes, plug_limit_kw
from ev_grid_oracle.schema.compiled import inlined, kernel
from ev_grid_oracle.schema.rows import (
    AHEAD,
    D_SEQ,
    G_DR_HEAT,
    G_DR_MAX,
    G_DR_MIN,
    G_DR_QUEUE,
    G_DR_TICKS,
    G_DR_U,
    G_FEEDER,
    G_FEEDER_AT,
    G_FEEDER_RAMP,
    G_FLEX_BUSY,
    G_FLEX_DEFER,
    G_FLEX_SLACK,
    G_FLEX_U,
    G_LOST,
    G_POWER,
    G_PRICE,
    G_SCARCE,
    G_SHARE,
    G_WAIT,
    J_FEEDER,
    J_RATE,
    K_BATT,
    K_CONST,
    K_GREEDY,
    N_F,
    N_PCOL,
    N_S,
    O_DRLEFT,
    O_FBASE,
    O_FHEAT,
    O_FKVA,
    O_FNEXT,
    O_FS,
    O_KW,
    O_LIMIT,
    O_OCC,
    O_PEND,
    O_PRICE,
    O_QUEUE,
    O_UP,
    O_X,
    OX_NPEND,
    P_CRIT,
    P_FLEX,
    P_PAT,
    P_READY,
    P_SEQ,
    P_SOC,
    P_TGT,
    P_VEHICLE,
    Q_ALPHA,
    Q_PFC,
    V_OK,
)
from ev_grid_oracle.sim.cars import RATE_CAP_KW
from ev_grid_oracle.sim.dispatch.common import free_at, reach, timeline, write


@inlined
def power(base, exponent):  # type: ignore[no-untyped-def]
    """base ** exponent for whole exponents 1 to 8, by multiplication (no libm)."""
    result = 1.0
    for _ in range(int(exponent)):
        result *= base
    return result


@inlined
def ev_kva(o, at, feeder):  # type: ignore[no-untyped-def]
    """What charging draws from the feeder now, kVA."""
    return max(o[at[O_FS] + feeder] - o[at[O_FBASE] + feeder], 0.0)


@inlined
def feeder_minutes(o, cf, at, feeder, eta, kw_min, added):  # type: ignore[no-untyped-def]
    """Cost of `kw_min` (kW x minutes) drawn from the feeder from minute `eta` on, car-minutes.

    The thermal state is carried forward on the base forecast and the present charging. A kW-minute drawn now
    raises the equivalent load by alpha and fades with (1 - alpha) a tick; it costs where that load stands
    above the line, fully once it is `feeder_ramp_frac` above.
    """
    g = at[K_GREEDY]
    line, ramp = cf[g + G_FEEDER_AT], cf[g + G_FEEDER_RAMP]
    alpha = cf[at[K_CONST] + Q_ALPHA]
    kva = o[at[O_FKVA] + feeder]
    ev = ev_kva(o, at, feeder) + added / cf[at[K_CONST] + Q_PFC]
    first = min(int(eta / 5.0), AHEAD - 1)
    heat = o[at[O_FHEAT] + feeder]
    x = heat * heat
    fading, total, weight = alpha, 0.0, 0.0
    for t in range(AHEAD):
        u = (o[at[O_FNEXT] + feeder * AHEAD + t] + ev) / kva
        x += alpha * (u * u - x)
        if t < first:
            continue
        weight = min(max((0.5 * (1.0 + x) - line) / ramp, 0.0), 1.0)  # sqrt(x) to first order around 1
        total += fading * weight
        fading *= 1.0 - alpha
    total += 0.5 * weight * fading / alpha  # half of what comes after the forecast
    return cf[g + G_FEEDER] * total * kw_min


@kernel
def cost_of(o, cf, ci, at, x, s, travel, extra, n_extra, added, times, out):  # type: ignore[no-untyped-def]
    """Cost of station `s` for the car at `x`, best rate.

    out: rate, wait, own minutes, free slots at arrival, busy share, own kW, feeder u at arrival.
    """
    g = at[K_GREEDY]
    v = int(o[x + P_VEHICLE])
    eta = travel[s]
    n = timeline(o, at, s, eta, extra, n_extra, times)
    wait = max(times[0] - eta, 0.0) if n > 0 else 1.0e6
    free = free_at(times, n, eta)
    busy = 1.0 - free / n if n > 0 else 1.0
    feeder = ci[at[J_FEEDER] + s]
    limit, socket = plug_limit_kw(cf, ci, at, v, s)
    top = ci[at[J_RATE] + s]
    kwh = (o[x + P_TGT] - o[x + P_SOC]) * cf[at[K_BATT] + v]
    strain = feeder_minutes(o, cf, at, feeder, eta + wait, 60.0 * kwh, added[feeder])
    best = 1.0e18
    for rate in range(top, -1, -1):
        cap = min(min(limit, socket), RATE_CAP_KW[rate])
        if rate < top and cap >= min(min(limit, socket), RATE_CAP_KW[rate + 1]):
            continue
        own = own_minutes(cf, ci, at, v, s, o[x + P_SOC], o[x + P_TGT], RATE_CAP_KW[rate])
        crowd = (o[at[O_KW] + s] * max(1.0 - 0.01 * eta, 0.4) + cap) / max(o[at[O_LIMIT] + s], 1.0)
        if crowd > 1.0:
            own *= 1.0 + cf[g + G_SHARE] * (min(crowd, 3.0) - 1.0)
        cost = eta + cf[g + G_WAIT] * wait + own
        cost += cf[g + G_SCARCE] * own * power(busy, cf[g + G_POWER])
        cost += strain
        cost += cf[g + G_PRICE] * o[at[O_PRICE] + s]
        over = wait - o[x + P_PAT]
        if over > 0.0:
            cost += cf[g + G_LOST] + over
        if cost < best:
            best = cost
            out[0] = rate
            out[1] = wait
            out[2] = own
            out[3] = free
            out[4] = busy
            out[5] = cap
            t = min(int(eta / 5.0), AHEAD - 1)
            ev = max(o[at[O_FS] + feeder] - o[at[O_FBASE] + feeder], 0.0)
            out[6] = (o[at[O_FNEXT] + feeder * AHEAD + t] + ev + added[feeder]) / o[at[O_FKVA] + feeder]
    return best


@inlined
def is_strained(o, cf, at, feeder):  # type: ignore[no-untyped-def]
    """True if the feeder's equivalent load is about to pass its limit, and its load is what does it."""
    g = at[K_GREEDY]
    alpha = cf[at[K_CONST] + Q_ALPHA]
    heat = o[at[O_FHEAT] + feeder]
    x, u = heat * heat, 0.0
    for t in range(min(int(cf[g + G_DR_TICKS]), AHEAD)):
        u = (o[at[O_FNEXT] + feeder * AHEAD + t] + ev_kva(o, at, feeder)) / o[at[O_FKVA] + feeder]
        x += alpha * (u * u - x)
    return u > cf[g + G_DR_U] and x > cf[g + G_DR_HEAT] * cf[g + G_DR_HEAT]


@inlined
def largest_station(o, cf, ci, at, feeder):  # type: ignore[no-untyped-def]
    """Station of the feeder that draws most, can be capped lower and keeps few waiting; -1 if none."""
    best, kw = -1, 0.0
    few = cf[at[K_GREEDY] + G_DR_QUEUE]
    for s in range(at[N_S]):
        if ci[at[J_FEEDER] + s] != feeder or ci[at[J_RATE] + s] == 0 or o[at[O_DRLEFT] + s] > 0.0:
            continue
        present = o[at[O_OCC] + s] + o[at[O_QUEUE] + s]
        if present <= (1.0 + few) * o[at[O_UP] + s] and o[at[O_KW] + s] > kw:
            best, kw = s, o[at[O_KW] + s]
    return best


@inlined
def carrier(o, at, n_pending, dec, n):  # type: ignore[no-untyped-def]
    """Index of the most patient pending car that is not critical and carries nothing yet, -1 if none."""
    best, patience = -1, 5.0
    for k in range(n_pending):
        x = at[O_PEND] + k * N_PCOL
        if o[x + P_CRIT] == 0.0 and o[x + P_PAT] > patience and answered(dec, n, int(o[x + P_SEQ])) == 0:
            best, patience = k, o[x + P_PAT]
    return best


@inlined
def answered(dec, n, seq):  # type: ignore[no-untyped-def]
    """How many of the first `n` decisions are car `seq`'s."""
    count = 0
    for k in range(n):
        count += dec[k, D_SEQ] == seq
    return count


@inlined
def shift_load(o, cf, ci, at, dec):  # type: ignore[no-untyped-def]
    """A load_shift of the largest station of every strained feeder; returns the number of answers."""
    g = at[K_GREEDY]
    n_pending = int(o[at[O_X] + OX_NPEND])
    n = 0
    for feeder in range(at[N_F]):
        if n >= len(dec) or n >= int(cf[g + G_DR_MAX]):
            break
        if not is_strained(o, cf, at, feeder):
            continue
        s = largest_station(o, cf, ci, at, feeder)
        k = carrier(o, at, n_pending, dec, n)
        if s < 0 or k < 0:
            continue
        seq = int(o[at[O_PEND] + k * N_PCOL + P_SEQ])
        write(dec, n, seq, 2, s, ci[at[J_RATE] + s] - 1, int(cf[g + G_DR_MIN]), 5000)
        n += 1
    return n


@kernel
def decide(o, cf, ci, at, minutes, km, dec, codes, travel, extra, added, times, out):  # type: ignore[no-untyped-def]
    """Fill `dec`; returns the number of answers.

    Scratch: codes (S,), travel (S,), extra (MP, 3), added (F,) kW given to each feeder in this tick,
    times (K,), out (8,).
    """
    g = at[K_GREEDY]
    n_pending = int(o[at[O_X] + OX_NPEND])
    n_extra = 0
    for k in range(at[N_F]):
        added[k] = 0.0
    n = shift_load(o, cf, ci, at, dec)
    n_shift = n
    for urgent in range(2):
        for k in range(n_pending):
            x = at[O_PEND] + k * N_PCOL
            if (o[x + P_CRIT] > 0.0) != (urgent == 0) or n >= len(dec):
                continue
            if answered(dec, n_shift, int(o[x + P_SEQ])) > 0:
                continue  # it carries a load_shift
            reach(o, cf, ci, at, minutes, km, x, codes, travel)
            best, best_cost = -1, 1.0e18
            rate, wait, own, busy, cap, u = 0, 0.0, 0.0, 0.0, 0.0, 0.0
            for s in range(at[N_S]):
                if codes[s] != V_OK:
                    continue
                if travel[s] >= best_cost:
                    continue
                cost = cost_of(o, cf, ci, at, x, s, travel, extra, n_extra, added, times, out)
                if cost < best_cost:
                    best, best_cost = s, cost
                    rate, wait, own, busy, cap, u = int(out[0]), out[1], out[2], out[4], out[5], out[6]
            if best < 0:
                continue
            seq = int(o[x + P_SEQ])
            if o[x + P_FLEX] > 0.0:
                room = busy < cf[g + G_FLEX_BUSY] and u < cf[g + G_FLEX_U]
                slack = o[x + P_READY] - travel[best] - wait - own
                defer = int(cf[g + G_FLEX_DEFER])
                if not room and slack > cf[g + G_FLEX_SLACK] + defer and o[x + P_PAT] > defer + 5.0:
                    if defer > 0:
                        write(dec, n, seq, 1, -1, rate, defer, 5000)
                        n += 1
                    continue
            sure = 9000 if wait + 5.0 < o[x + P_PAT] else 3000
            write(dec, n, seq, 0, best, rate, 0, sure)
            n += 1
            if n_extra < len(extra):
                extra[n_extra, 0] = best
                extra[n_extra, 1] = travel[best]
                extra[n_extra, 2] = own
                n_extra += 1
            added[ci[at[J_FEEDER] + best]] += cap
    return n
