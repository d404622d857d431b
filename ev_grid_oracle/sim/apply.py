"""Verified answers take effect at the start of the tick."""

from __future__ import annotations

from ev_grid_oracle.city.lookup import own_minutes, travel_minutes, travel_wh
from ev_grid_oracle.schema.compiled import inlined, kernel
from ev_grid_oracle.schema.pending import pending_place
from ev_grid_oracle.schema.rows import (
    B_CONF,
    B_CRIT,
    C_BANK,
    C_CONF_BP,
    C_FLAGS,
    C_NODE,
    C_OWN,
    C_RATE,
    C_SOC_BP,
    C_STATE,
    C_TGT_BP,
    C_UNTIL,
    C_VEHICLE,
    CAR,
    D_CODE,
    D_CONF,
    D_DEFER,
    D_KIND,
    D_RATE,
    D_SEQ,
    D_STATION,
    DEFD,
    FD_KVA,
    FD_S,
    J_FEEDER,
    K_SLOTKW,
    MAX_DEFERRALS,
    N_CAR,
    N_F,
    N_MP,
    N_S,
    ONE_DEFERRAL,
    PEND,
    S_NDEF,
    ST_DRSET,
    ST_DRTICK,
    T_CRITDEF,
    T_DETOUR_KM,
    TK,
    X_TRAFFIC,
    Y_KEY,
    Y_NDEF,
    Y_NPEND,
    Y_TICK,
    Y_TRAVEL,
    X,
    Y,
)
from ev_grid_oracle.sim.cars import RATE_CAP_KW, begin_route, stop_waiting

DEFERRED = 2


@inlined
def unlist(i, at, place):  # type: ignore[no-untyped-def]
    """Take the car at `place` off the list of pending cars; the last one takes its place."""
    last = i[at[Y] + Y_NPEND] - 1
    i[at[PEND] + place] = i[at[PEND] + last]
    i[at[Y] + Y_NPEND] = last


@inlined
def loosest_feeder_margin(f, at):  # type: ignore[no-untyped-def]
    """Feeder with the least 1 - S / R, ties by order."""
    best, worst = 0, 1.0e9
    for k in range(at[N_F]):
        margin = 1.0 - f[at[FD_S] + k] / f[at[FD_KVA] + k]
        if margin < worst:
            best, worst = k, margin
    return best


@inlined
def cap_station(f, i, cf, at, s, rate, until):  # type: ignore[no-untyped-def]
    """Demand response at a station: the lowest cap wins while caps overlap, the later end stays."""
    cap = min(RATE_CAP_KW[rate], cf[at[K_SLOTKW] + s])
    tick = i[at[Y] + Y_TICK]
    if i[at[ST_DRTICK] + s] > tick:
        cap = min(cap, f[at[ST_DRSET] + s])
        until = max(until, i[at[ST_DRTICK] + s])
    f[at[ST_DRSET] + s] = cap
    i[at[ST_DRTICK] + s] = until


@kernel
def apply_decisions(f, i, cf, ci, at, minutes, km, dec, n):  # type: ignore[no-untyped-def]
    """Carry out the first `n` rows of `dec` whose D_CODE is 0 (legal). Others change nothing."""
    y = at[Y]
    tick = i[y + Y_TICK]
    now = 5 * tick
    row = i[y + Y_TRAVEL]
    for k in range(n):
        if dec[k, D_CODE] != 0 or dec[k, D_KIND] < 0:
            continue
        place = pending_place(i, at, dec[k, D_SEQ], k)
        if place < 0:
            continue
        c = i[at[PEND] + place]
        b = at[CAR] + c * N_CAR
        kind, s, rate = dec[k, D_KIND], dec[k, D_STATION], dec[k, D_RATE]
        if kind != 0 and (i[b + C_FLAGS] & B_CRIT) != 0:
            f[at[TK] + T_CRITDEF] += 1.0
        if kind == 0:
            trip = travel_minutes(minutes, row, i[b + C_NODE], s, f[at[X] + X_TRAFFIC])
            wh = travel_wh(km, cf, at, row, i[b + C_NODE], s, i[b + C_VEHICLE])
            unlist(i, at, place)
            stop_waiting(i, b, now)
            i[b + C_RATE] = rate
            i[b + C_BANK] = i[y + Y_KEY]
            if dec[k, D_CONF] >= 0 and tick >= 0:  # the warm-up's answers and the settle's are nobody's claim
                i[b + C_CONF_BP] = dec[k, D_CONF]
                i[b + C_FLAGS] |= B_CONF
            soc, target = i[b + C_SOC_BP] / 10000.0, i[b + C_TGT_BP] / 10000.0
            i[b + C_OWN] = int(own_minutes(cf, ci, at, i[b + C_VEHICLE], s, soc, target, RATE_CAP_KW[rate]))
            begin_route(i, at, b, c, s, now, int(trip), int(wh))
            f[at[TK] + T_DETOUR_KM] += km[row, i[b + C_NODE], s]
        elif kind == 1:
            if i[y + Y_NDEF] >= at[N_MP]:
                continue  # the verifier refuses such a deferral
            ticks = (dec[k, D_DEFER] + 4) // 5
            unlist(i, at, place)
            i[b + C_STATE] = DEFERRED
            i[b + C_UNTIL] = tick + ticks
            if i[b + C_FLAGS] >> S_NDEF < MAX_DEFERRALS:
                i[b + C_FLAGS] += ONE_DEFERRAL
            i[at[DEFD] + i[y + Y_NDEF]] = c
            i[y + Y_NDEF] += 1
        else:
            until = tick + max((dec[k, D_DEFER] + 4) // 5, 1)
            if s >= 0:
                cap_station(f, i, cf, at, s, rate, until)
            else:
                feeder = loosest_feeder_margin(f, at)
                for t in range(at[N_S]):
                    if ci[at[J_FEEDER] + t] == feeder:
                        cap_station(f, i, cf, at, t, rate, until)
