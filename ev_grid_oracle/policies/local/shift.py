"""Corrections for feeders: a cap on one station, tried on sampled futures, taken only where it clearly pays."""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.policies.local.choose import prepare
from ev_grid_oracle.policies.local.draws import (
    S_DR_FUTURES,
    S_DR_GAIN,
    S_DR_MOST,
    S_DR_NEAR,
    S_DR_T,
    S_DR_TICKS,
)
from ev_grid_oracle.policies.local.feeder import feeder_costs
from ev_grid_oracle.schema.compiled import inlined, kernel
from ev_grid_oracle.schema.enums import RATE_KW
from ev_grid_oracle.schema.rows import (
    AHEAD,
    J_FEEDER,
    J_RATE,
    K_CONST,
    N_F,
    N_PCOL,
    N_S,
    O_DRCAP,
    O_DRLEFT,
    O_FHEAT,
    O_FKVA,
    O_FNEXT,
    O_OCC,
    O_PEND,
    O_SUP,
    O_UP,
    O_X,
    OX_NPEND,
    P_FLEX,
    P_SEQ,
    Q_ALPHA,
)
from ev_grid_oracle.sim.dispatch.common import write
from ev_grid_oracle.sim.dispatch.greedy import carrier, ev_kva


@inlined
def may_pass(o, cf, at, feeder, near):  # type: ignore[no-untyped-def]
    """True if the forecast brings the head's equivalent load near its limit within half an hour."""
    alpha = cf[at[K_CONST] + Q_ALPHA]
    heat = o[at[O_FHEAT] + feeder]
    x = heat * heat
    top = x
    for t in range(6):
        u = (o[at[O_FNEXT] + feeder * AHEAD + t] + ev_kva(o, at, feeder)) / o[at[O_FKVA] + feeder]
        x += alpha * (u * u - x)
        top = max(top, x)
    return top > near * near


@inlined
def paired_t(costs, against, n):  # type: ignore[no-untyped-def]
    """(mean gain, t) of costs below `against`."""
    mean, square = 0.0, 0.0
    for k in range(n):
        d = against[k] - costs[k]
        mean += d
        square += d * d
    mean /= n
    variance = max(square / n - mean * mean, 1.0e-9) / (n - 1)
    return mean, mean / np.sqrt(variance)


@kernel
def correct(o, cf, ci, at, dec, n, key, settings, tables, shares, usual_kw, mean_own, gaps, times, out, known, n_known, found, counts, base, ready, caps, slots, line, load, path, costs):  # type: ignore[no-untyped-def]
    """Append load_shifts for feeders near their limit; returns the number of answers now.

    Scratch: caps (S, 2), slots (K,), line (M, 2), load (AHEAD,), path (AHEAD,), costs (3, futures).
    """
    n_pending = int(o[at[O_X] + OX_NPEND])
    futures = min(int(settings[S_DR_FUTURES]), costs.shape[1])
    most = n + int(settings[S_DR_MOST])
    ticks = int(settings[S_DR_TICKS])
    for s in range(at[N_S]):
        caps[s, 0], caps[s, 1] = 1.0e9, 0.0
        if o[at[O_DRLEFT] + s] > 0.0:
            caps[s, 0], caps[s, 1] = o[at[O_DRCAP] + s], o[at[O_DRLEFT] + s] / 5.0
    for feeder in range(at[N_F]):
        if n >= most or n >= len(dec) or not may_pass(o, cf, at, feeder, settings[S_DR_NEAR]):
            continue
        for s in range(at[N_S]):
            if ci[at[J_FEEDER] + s] == feeder:
                prepare(
                    o, cf, at, s, key, settings, tables, shares, gaps, known, n_known, found, counts, base, ready, mean_own,
                    times, out,
                )  # fmt: skip
        now, trial, best = costs[0, :futures], costs[1, :futures], costs[2, :futures]
        feeder_costs(
            o, cf, ci, at, feeder, settings, key, -1, 0.0, 0, caps, usual_kw, known, n_known, found, counts, slots, line, load,
            path, now,
        )  # fmt: skip
        while n < most and n < len(dec):
            carries = carrier(o, at, n_pending, dec, n)
            if carries < 0:
                break
            x = at[O_PEND] + carries * N_PCOL
            price = settings[S_DR_GAIN] + (0.5 if o[x + P_FLEX] > 0.0 else 5.0)
            station, rate, gain = -1, 0, 0.0
            for s in range(at[N_S]):
                if ci[at[J_FEEDER] + s] != feeder or caps[s, 1] > 0.0 or o[at[O_OCC] + s] <= 0.0:
                    continue
                if o[at[O_UP] + s] <= 0.0 or o[at[O_SUP] + s] == 0.0:
                    continue
                for lower in range(ci[at[J_RATE] + s]):
                    feeder_costs(
                        o, cf, ci, at, feeder, settings, key, s, RATE_KW[lower], ticks, caps, usual_kw, known, n_known,
                        found, counts, slots, line, load, path, trial,
                    )  # fmt: skip
                    mean, t = paired_t(trial, now, futures)
                    if mean > price and mean > gain and t > settings[S_DR_T]:
                        station, rate, gain = s, lower, mean
                        for k in range(futures):
                            best[k] = trial[k]
            if station < 0:
                break
            write(dec, n, int(o[x + P_SEQ]), 2, station, rate, 5 * ticks, 5000)
            n += 1
            caps[station, 0], caps[station, 1] = RATE_KW[rate], ticks
            for k in range(futures):
                now[k] = best[k]
    return n
