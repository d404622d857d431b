"""`greedy_counting`: the strong honest heuristic that stands beside the baseline in every table.

For each car, critical ones first, the least over stations and rates of

    travel + wait weight x expected wait at arrival + own charging minutes + scarcity + feeder term
    + 60 and the excess where the wait outlasts the patience,

the wait counted slot by slot from remaining charging times, the queue, every known car on the way and the
answers already given in this tick. A feeder about to pass its limit gets a short load_shift of its largest
station, carried by the most patient pending car. Flexible cars follow one plain rule: go when there is
room, or when waiting longer would miss ready_by. The constants are in the city's row (`G_*`), tuned once on
training seeds by `benchmarks/tune_greedy.py` and frozen.
"""

from __future__ import annotations

from ev_grid_oracle.city.lookup import own_minutes, plug_limit_kw
from ev_grid_oracle.schema.compiled import inlined, kernel
from ev_grid_oracle.schema.rows import (
    AHEAD,
    G_DR_HEAT,
    G_DR_MIN,
    G_DR_U,
    G_FEEDER,
    G_FEEDER_AT,
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
    K_CONST,
    K_GREEDY,
    N_F,
    N_PCOL,
    N_S,
    O_FBASE,
    O_FHEAT,
    O_FKVA,
    O_FNEXT,
    O_FS,
    O_KW,
    O_LIMIT,
    O_PEND,
    O_PRICE,
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
def feeder_minutes(o, cf, at, feeder, eta, kw, added):  # type: ignore[no-untyped-def]
    """Cost of `kw` more on the feeder when the car plugs in, car-minutes: grows once it would pass the line."""
    t = min(int(eta / 5.0), AHEAD - 1)
    ev = max(o[at[O_FS] + feeder] - o[at[O_FBASE] + feeder], 0.0)
    s = o[at[O_FNEXT] + feeder * AHEAD + t] + ev + (added + kw) / cf[at[K_CONST] + Q_PFC]
    over = s / o[at[O_FKVA] + feeder] - cf[at[K_GREEDY] + G_FEEDER_AT]
    if over <= 0.0:
        return 0.0
    return cf[at[K_GREEDY] + G_FEEDER] * over * over * kw / 30.0


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
        cost += feeder_minutes(o, cf, at, feeder, eta + wait, cap, added[feeder])
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
def strained_feeder(o, cf, at):  # type: ignore[no-untyped-def]
    """The feeder about to pass its limit by the most, -1 if none."""
    worst, found = 0.0, -1
    for k in range(at[N_F]):
        ev = max(o[at[O_FS] + k] - o[at[O_FBASE] + k], 0.0)
        u = (o[at[O_FNEXT] + k * AHEAD + 1] + ev) / o[at[O_FKVA] + k]
        if u > cf[at[K_GREEDY] + G_DR_U] and o[at[O_FHEAT] + k] > cf[at[K_GREEDY] + G_DR_HEAT] and u > worst:
            worst, found = u, k
    return found


@inlined
def largest_station(o, ci, at, feeder):  # type: ignore[no-untyped-def]
    """Station of the feeder that draws most, -1 if none draws."""
    best, kw = -1, 0.0
    for s in range(at[N_S]):
        if ci[at[J_FEEDER] + s] == feeder and o[at[O_KW] + s] > kw:
            best, kw = s, o[at[O_KW] + s]
    return best


@inlined
def carrier(o, at, n_pending):  # type: ignore[no-untyped-def]
    """Index of the most patient pending car that is not critical, -1 if none."""
    best, patience = -1, 5.0
    for k in range(n_pending):
        x = at[O_PEND] + k * N_PCOL
        if o[x + P_CRIT] == 0.0 and o[x + P_PAT] > patience:
            best, patience = k, o[x + P_PAT]
    return best


@kernel
def decide(o, cf, ci, at, minutes, km, dec, codes, travel, extra, added, times, out):  # type: ignore[no-untyped-def]
    """Fill `dec`; returns the number of answers.

    Scratch: codes (S,), travel (S,), extra (MP, 3), added (F,) kW given to each feeder in this tick,
    times (K,), out (8,).
    """
    g = at[K_GREEDY]
    n_pending = int(o[at[O_X] + OX_NPEND])
    n = 0
    n_extra = 0
    shift = -1
    for k in range(at[N_F]):
        added[k] = 0.0
    strained = strained_feeder(o, cf, at)
    if strained >= 0:
        s = largest_station(o, ci, at, strained)
        shift = carrier(o, at, n_pending)
        if s >= 0 and shift >= 0 and n < len(dec):
            x = at[O_PEND] + shift * N_PCOL
            rate = max(ci[at[J_RATE] + s] - 1, 0)
            write(dec, n, int(o[x + P_SEQ]), 2, s, rate, int(cf[g + G_DR_MIN]), 5000)
            n += 1
        else:
            shift = -1
    for urgent in range(2):
        for k in range(n_pending):
            x = at[O_PEND] + k * N_PCOL
            if (o[x + P_CRIT] > 0.0) != (urgent == 0) or k == shift or n >= len(dec):
                continue
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
                if not room and slack > cf[g + G_FLEX_SLACK] + defer and o[x + P_PAT] > defer:
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
