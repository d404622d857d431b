"""One feeder on one sampled future: its stations car by car, its head's heat, and what a cap does to both.

Ticks of 5 minutes. Charging at a station runs at the mean power of its cars; a cap slows them down to it. Costs are
car-minutes: everybody's time, losses, and the reward's price of a head over its limit.
"""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.policies.local.draws import (
    A_DEFLECT,
    A_OWN,
    A_PATIENCE,
    A_TIME,
    S_DEFLECT,
    S_DR_TAIL,
    S_DR_TIME,
    S_LOST,
    mix,
)
from ev_grid_oracle.schema.compiled import inlined, kernel
from ev_grid_oracle.schema.rows import (
    AHEAD,
    J_FEEDER,
    K_CONST,
    N_K,
    N_S,
    O_DRCAP,
    O_DRLEFT,
    O_FBASE,
    O_FHEAT,
    O_FKVA,
    O_FNEXT,
    O_FREE,
    O_KW,
    O_OCC,
    Q_ALPHA,
    Q_NCOM,
    Q_NFEED,
    Q_NRHO,
    Q_PFC,
    Q_PROT,
)

W_KVA, W_MIN = 0.3, 3.0
"""The reward's price of a kVA-minute and of a minute over the limit."""
LOSSES = 1.02
"""Apparent power at the head over the sum of the base loads: line losses."""
TICK = 5.0
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_S11 = np.uint64(11)
_SCALE = 2.0**-53


@kernel
def noise_path(o, cf, at, feeder, key, k, base):  # type: ignore[no-untyped-def]
    """Base load of the coming ticks, kVA, on future `k`: the forecast times a noise that starts at today's."""
    const = at[K_CONST]
    rho = cf[const + Q_NRHO]
    kick = np.sqrt((1.0 - rho * rho) * (cf[const + Q_NCOM] * cf[const + Q_NCOM] + cf[const + Q_NFEED] * cf[const + Q_NFEED]))
    first = o[at[O_FNEXT] + feeder * AHEAD]
    z = o[at[O_FBASE] + feeder] / (LOSSES * first) - 1.0 if first > 0.0 else 0.0
    z = min(max(z, -0.2), 0.2)
    x = mix(key + np.uint64(feeder + 1) * _GOLDEN + np.uint64(k + 1) * np.uint64(0xD1B54A32D192ED03))
    for t in range(AHEAD):
        total = -2.0
        for _ in range(4):
            x = mix(x + _GOLDEN)
            total += float(x >> _S11) * _SCALE
        z = rho * z + kick * 1.7320508075688772 * total
        base[t] = LOSSES * o[at[O_FNEXT] + feeder * AHEAD + t] * (1.0 + z)


@inlined
def start_station(o, at, s, slots):  # type: ignore[no-untyped-def]
    """Minutes left at each usable slot; returns their number."""
    n = 0
    for k in range(at[N_K]):
        t = o[at[O_FREE] + s * at[N_K] + k]
        if t >= 1.0e8:
            break
        slots[n] = t
        n += 1
    return n


@kernel
def station_path(o, at, s, settings, known, n_known, found, n_found, kw, cap_kw, cap_ticks, slots, line, load):  # type: ignore[no-untyped-def]
    """Station `s` through the ticks under a cap of its first `cap_ticks`; adds its power to load (AHEAD,) kW.

    kw: power of a car there, uncapped. line (M, 2) scratch: own minutes and last minute of those who wait.
    Returns everybody's minutes.
    """
    n = start_station(o, at, s, slots)
    if n == 0:
        return 0.0
    lost = settings[S_LOST]
    cost = 0.0
    a, b, waiting = 0, 0, 0
    mean = 60.0
    for t in range(AHEAD):
        now = TICK * t
        while True:  # who arrives in this tick joins the line
            ta = known[a, 0] if a < n_known else 1.0e9
            tb = found[b, A_TIME] if b < n_found else 1.0e9
            if min(ta, tb) >= now + TICK or waiting >= len(line):
                break
            if ta <= tb:
                line[waiting, 0], line[waiting, 1] = known[a, 1], ta + known[a, 2]
                a += 1
                waiting += 1
            else:
                if found[b, A_DEFLECT] * (1.0 + settings[S_DEFLECT] * waiting / n) <= 1.0:
                    line[waiting, 0], line[waiting, 1] = found[b, A_OWN], tb + found[b, A_PATIENCE]
                    waiting += 1
                b += 1
        speed = min(1.0, cap_kw / kw) if t < cap_ticks else 1.0
        head, used, busy = 0, 0.0, 0.0
        for k in range(n):
            left = TICK
            while left > 0.0:
                if slots[k] <= 0.0:
                    if head >= waiting:
                        break
                    slots[k] = line[head, 0]
                    mean = 0.9 * mean + 0.1 * line[head, 0]
                    head += 1
                spent = min(left, slots[k] / speed)
                slots[k] -= spent * speed
                if slots[k] < 1.0e-6:
                    slots[k] = 0.0
                left -= spent
                used += spent * speed
                busy += spent
        load[t] += used * kw / TICK
        kept = 0
        for q in range(head, waiting):  # those still waiting; whose patience ends is lost
            if line[q, 1] <= now + TICK:
                cost += lost
                continue
            line[kept, 0], line[kept, 1] = line[q, 0], line[q, 1]
            kept += 1
        waiting = kept
        cost += busy + TICK * waiting
    for k in range(n):
        cost += slots[k]
    for q in range(waiting):
        cost += line[q, 0] + (q + 1) * mean / n
    return cost


@kernel
def head_cost(o, cf, at, feeder, settings, base, load):  # type: ignore[no-untyped-def]
    """Price of the head over its limit on base (AHEAD,) kVA and load (AHEAD,) kW, car-minutes."""
    const = at[K_CONST]
    alpha, pf, protection = cf[const + Q_ALPHA], cf[const + Q_PFC], cf[const + Q_PROT]
    rating = o[at[O_FKVA] + feeder]
    heat = o[at[O_FHEAT] + feeder]
    x = heat * heat
    cost, u = 0.0, 0.0
    for t in range(AHEAD):
        u = (base[t] + load[t] / pf) / rating
        x += alpha * (u * u - x)
        if x > 1.0 or u > protection:
            cost += TICK * (W_KVA * rating * max(np.sqrt(x) - 1.0, 0.0) + W_MIN)
    for _ in range(int(settings[S_DR_TAIL])):  # the heat that the horizon leaves behind
        u *= 0.99
        x += alpha * (u * u - x)
        if x > 1.0:
            cost += TICK * (W_KVA * rating * (np.sqrt(x) - 1.0) + W_MIN)
    return cost


@inlined
def car_kw(o, at, s, usual_kw):  # type: ignore[no-untyped-def]
    """Mean power of a car at the station: what those there draw, towards the usual where few are."""
    occupied = o[at[O_OCC] + s]
    if o[at[O_DRLEFT] + s] > 0.0 and o[at[O_DRCAP] + s] < usual_kw:
        return usual_kw
    return (o[at[O_KW] + s] + 2.0 * usual_kw) / (occupied + 2.0)


@kernel
def feeder_costs(o, cf, ci, at, feeder, settings, key, station, cap_kw, ticks, caps, usual_kw, known, n_known, found, counts, slots, line, load, base, costs):  # type: ignore[no-untyped-def]
    """Cost of the feeder on every future, costs (K,), with a cap on `station` (-1: none more).

    caps (S, 2): kW and ticks of caps already decided or in force.
    """
    for k in range(len(costs)):
        noise_path(o, cf, at, feeder, key, k, base)
        for t in range(AHEAD):
            load[t] = 0.0
        time = 0.0
        for s in range(at[N_S]):
            if ci[at[J_FEEDER] + s] != feeder:
                continue
            cap, span = caps[s, 0], int(caps[s, 1])
            if s == station:
                cap, span = cap_kw, ticks
            kw = car_kw(o, at, s, usual_kw[s])
            time += station_path(
                o, at, s, settings, known[s], n_known[s], found[s, k], counts[s, k], kw, cap, span, slots, line, load
            )  # fmt: skip
        costs[k] = settings[S_DR_TIME] * time + head_cost(o, cf, at, feeder, settings, base, load)
