"""What each station would mean for one pending car: the candidate table, from the observation row alone."""

from __future__ import annotations

from ev_grid_oracle.city.lookup import own_minutes, plug_limit_kw, travel_wh
from ev_grid_oracle.schema.compiled import inlined, kernel
from ev_grid_oracle.schema.rows import (
    D_KIND,
    D_RATE,
    D_SEQ,
    D_STATION,
    G_SHARE,
    J_FEEDER,
    J_RATE,
    K_GREEDY,
    N_F,
    N_K,
    N_PCOL,
    N_S,
    O_FREE,
    O_KW,
    O_LIMIT,
    O_PEND,
    O_USUAL,
    O_X,
    OX_NPEND,
    OX_TRAVEL,
    P_NODE,
    P_SEQ,
    P_SOC,
    P_TGT,
    P_VEHICLE,
    V_OK,
)
from ev_grid_oracle.sim.cars import RATE_CAP_KW
from ev_grid_oracle.sim.dispatch.common import free_at, reach
from ev_grid_oracle.sim.dispatch.greedy import cost_of

(
    T_CODE, T_TRAVEL, T_KWH, T_OWN, T_FREE, T_FREE30, T_WAIT, T_UNTIL, T_HOUR, T_SITE, T_FEEDER, T_RATE,
    T_SCORE,
) = range(13)  # fmt: skip
N_COLUMNS = 13
NEVER_MIN = 1.0e6  # stands for "no usable slot" and "no route"


@inlined
def pending_index(o, at, seq):  # type: ignore[no-untyped-def]
    """Place of the car numbered `seq` among the pending ones, -1 if it is not pending."""
    for k in range(int(o[at[O_X] + OX_NPEND])):
        if int(o[at[O_PEND] + k * N_PCOL + P_SEQ]) == seq:
            return k
    return -1


@inlined
def assume(o, cf, ci, at, minutes, km, given, n_given, codes, travel, extra, added):  # type: ignore[no-untyped-def]
    """Routes already answered, counted as `greedy_counting` counts its own of a tick.

    Fills `extra` (n, 3), rows of station, minutes until arrival, minutes at the plug, and `added` (F,)
    kW by feeder; returns the number of rows.
    """
    for k in range(at[N_F]):
        added[k] = 0.0
    n = 0
    for k in range(n_given):
        j = pending_index(o, at, given[k, D_SEQ])
        if given[k, D_KIND] != 0 or j < 0 or n >= len(extra):
            continue
        x = at[O_PEND] + j * N_PCOL
        s = given[k, D_STATION]
        reach(o, cf, ci, at, minutes, km, x, codes, travel)
        if codes[s] != V_OK:
            continue
        v = int(o[x + P_VEHICLE])
        rate_kw = RATE_CAP_KW[given[k, D_RATE]]
        limit, socket = plug_limit_kw(cf, ci, at, v, s)
        kw = min(min(limit, socket), rate_kw)
        own = own_minutes(cf, ci, at, v, s, o[x + P_SOC], o[x + P_TGT], rate_kw)
        crowd = (o[at[O_KW] + s] * max(1.0 - 0.01 * travel[s], 0.4) + kw) / max(o[at[O_LIMIT] + s], 1.0)
        if crowd > 1.0:
            own *= 1.0 + cf[at[K_GREEDY] + G_SHARE] * (min(crowd, 3.0) - 1.0)
        extra[n, 0] = s
        extra[n, 1] = travel[s]
        extra[n, 2] = own
        added[ci[at[J_FEEDER] + s]] += kw
        n += 1
    return n


@kernel
def candidate_table(  # type: ignore[no-untyped-def]
    o, cf, ci, at, minutes, km, car, given, n_given, codes, travel, extra, added, times, out, table
):
    """Fill `table` (S, 13), see T_*, for pending car number `car` of the row.

    given (n, 8): decision rows of answers already given. Scratch: codes (S,), travel (S,), extra (MP, 3),
    added (F,), times (K,), out (8,).
    """
    n_extra = assume(o, cf, ci, at, minutes, km, given, n_given, codes, travel, extra, added)
    x = at[O_PEND] + car * N_PCOL
    reach(o, cf, ci, at, minutes, km, x, codes, travel)
    row, node, v = int(o[at[O_X] + OX_TRAVEL]), int(o[x + P_NODE]), int(o[x + P_VEHICLE])
    for s in range(at[N_S]):
        cost = cost_of(o, cf, ci, at, x, s, travel, extra, n_extra, added, times, out)
        slots = 0
        for k in range(at[N_K]):
            if o[at[O_FREE] + s * at[N_K] + k] < 1.0e8:
                slots += 1
        fits = plug_limit_kw(cf, ci, at, v, s)[0] > 0.0
        table[s, T_CODE] = codes[s]
        table[s, T_TRAVEL] = travel[s]
        table[s, T_KWH] = (
            travel_wh(km, cf, at, row, node, s, v) / 1000.0 if travel[s] < NEVER_MIN else NEVER_MIN
        )
        rate_kw = RATE_CAP_KW[ci[at[J_RATE] + s]]
        own = own_minutes(cf, ci, at, v, s, o[x + P_SOC], o[x + P_TGT], rate_kw) if fits else NEVER_MIN
        table[s, T_OWN] = own
        table[s, T_FREE] = out[3]
        table[s, T_FREE30] = free_at(times, slots, travel[s] + 30.0)
        table[s, T_WAIT] = out[1]
        usual = o[at[O_USUAL] + s]
        table[s, T_UNTIL] = usual * min(travel[s], NEVER_MIN) / 60.0
        table[s, T_HOUR] = usual
        table[s, T_SITE] = o[at[O_LIMIT] + s] - o[at[O_KW] + s]
        table[s, T_FEEDER] = 1.0 - out[6]
        table[s, T_RATE] = out[0]
        table[s, T_SCORE] = cost if codes[s] == V_OK else 1.0e18
