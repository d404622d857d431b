"""What every dispatch rule asks of an observation row: may this car go there, and when would it charge."""

from __future__ import annotations

from ev_grid_oracle.city.lookup import NO_ROUTE, plug_limit_kw, travel_minutes, travel_wh
from ev_grid_oracle.schema.compiled import inlined, kernel
from ev_grid_oracle.schema.rows import (
    D_CODE,
    D_CONF,
    D_DEFER,
    D_KIND,
    D_RATE,
    D_SEQ,
    D_STATION,
    I_ETA,
    I_OWN,
    I_STATION,
    K_BATT,
    K_CONST,
    N_ICOL,
    N_K,
    N_S,
    O_FREE,
    O_INBND,
    O_QMIN,
    O_QUEUE,
    O_SUP,
    O_UP,
    O_X,
    OX_NINB,
    OX_TRAFFIC,
    OX_TRAVEL,
    P_NODE,
    P_PAT,
    P_SOC,
    P_VEHICLE,
    Q_DETOUR,
    V_DETOUR,
    V_OK,
    V_PLUG,
    V_STATION_DOWN,
    V_UNREACHABLE,
)


@inlined
def write(dec, n, seq, kind, station, rate, defer, confidence_bp):  # type: ignore[no-untyped-def]
    """One decision row."""
    dec[n, D_SEQ] = seq
    dec[n, D_KIND] = kind
    dec[n, D_STATION] = station
    dec[n, D_RATE] = rate
    dec[n, D_DEFER] = defer
    dec[n, D_CONF] = confidence_bp
    dec[n, D_CODE] = 0


@kernel
def reach(o, cf, ci, at, minutes, km, x, codes, travel):  # type: ignore[no-untyped-def]
    """For the pending car at `x`: verifier code and travel minutes of every station.

    The detour rule refuses a station that is farther than the nearest usable one by more than the
    patience left (or the pack's floor, whichever is larger).
    """
    row = int(o[at[O_X] + OX_TRAVEL])
    traffic = o[at[O_X] + OX_TRAFFIC]
    node, v = int(o[x + P_NODE]), int(o[x + P_VEHICLE])
    wh_left = o[x + P_SOC] * cf[at[K_BATT] + v] * 1000.0
    nearest = NO_ROUTE
    for s in range(at[N_S]):
        t = travel_minutes(minutes, row, node, s, traffic)
        travel[s] = t
        limit, _socket = plug_limit_kw(cf, ci, at, v, s)
        if o[at[O_UP] + s] <= 0.0 or o[at[O_SUP] + s] == 0.0:
            codes[s] = V_STATION_DOWN
        elif limit <= 0.0:
            codes[s] = V_PLUG
        elif t >= NO_ROUTE or travel_wh(km, cf, at, row, node, s, v) > wh_left:
            codes[s] = V_UNREACHABLE
        else:
            codes[s] = V_OK
            nearest = min(nearest, t)
    slack = max(o[x + P_PAT], cf[at[K_CONST] + Q_DETOUR])
    for s in range(at[N_S]):
        if codes[s] == V_OK and travel[s] - nearest > slack:
            codes[s] = V_DETOUR


@inlined
def occupy(times, n, start, minutes_held):  # type: ignore[no-untyped-def]
    """The earliest slot is taken at max(its time, start) and frees `minutes_held` later; times stay sorted."""
    t = max(times[0], start) + minutes_held
    q = 0
    while q + 1 < n and times[q + 1] < t:
        times[q] = times[q + 1]
        q += 1
    times[q] = t


@kernel
def timeline(o, at, s, eta, extra, n_extra, times):  # type: ignore[no-untyped-def]
    """Slot times of station `s` as a car arriving in `eta` minutes would find them.

    Counted: cars at the slots, the queue, every known car that arrives before, and `extra` (the answers
    already given in this tick: rows of station, eta, own minutes). Returns the number of usable slots;
    `times` (K,) ascending.
    """
    k_slots = at[N_K]
    n = 0
    for k in range(k_slots):
        t = o[at[O_FREE] + s * k_slots + k]
        if t >= 1.0e8:
            break
        times[n] = t
        n += 1
    if n == 0:
        return 0
    for _ in range(int(o[at[O_QUEUE] + s])):
        occupy(times, n, 0.0, o[at[O_QMIN] + s])
    for k in range(int(o[at[O_X] + OX_NINB])):
        row = at[O_INBND] + k * N_ICOL
        if o[row + I_ETA] > eta:
            break
        if int(o[row + I_STATION]) == s:
            occupy(times, n, o[row + I_ETA], o[row + I_OWN])
    for k in range(n_extra):
        if int(extra[k, 0]) == s and extra[k, 1] <= eta:
            occupy(times, n, extra[k, 1], extra[k, 2])
    return n


@inlined
def free_at(times, n, t):  # type: ignore[no-untyped-def]
    """Slots free at minute t."""
    count = 0
    for k in range(n):
        if times[k] <= t:
            count += 1
    return count
