"""One station on one sampled future: first come first served over its slots, what everybody's time costs."""

from __future__ import annotations

from ev_grid_oracle.policies.local.draws import (
    A_DEFLECT,
    A_OWN,
    A_PATIENCE,
    A_TIME,
    S_DEFLECT,
    S_ELSEWHERE,
    S_LOST,
    S_QUEUE_PAT,
)
from ev_grid_oracle.schema.compiled import inlined, kernel
from ev_grid_oracle.schema.rows import (
    I_ETA,
    I_OWN,
    I_STATION,
    N_ICOL,
    N_K,
    O_FREE,
    O_INBND,
    O_QMIN,
    O_QUEUE,
    O_X,
    OX_NINB,
)


@kernel
def known_cars(o, at, s, settings, known):  # type: ignore[no-untyped-def]
    """Cars that are sure to come: the queue (minute 0), then those on the way; returns how many.

    known (M, 3): minutes until arrival, at the plug, patience.
    """
    n = 0
    for _ in range(int(o[at[O_QUEUE] + s])):
        if n >= len(known):
            break
        known[n, 0], known[n, 1], known[n, 2] = 0.0, o[at[O_QMIN] + s], settings[S_QUEUE_PAT]
        n += 1
    for k in range(int(o[at[O_X] + OX_NINB])):
        row = at[O_INBND] + k * N_ICOL
        if int(o[row + I_STATION]) != s:
            continue
        if n >= len(known):
            break
        known[n, 0], known[n, 1], known[n, 2] = o[row + I_ETA], o[row + I_OWN], 1.4 * settings[S_QUEUE_PAT]
        n += 1
    return n


@inlined
def add_known(known, n, eta, own, patience):  # type: ignore[no-untyped-def]
    """One more car on the way, in order of arrival; returns how many there are."""
    if n >= len(known):
        return n
    q = n
    while q > 0 and known[q - 1, 0] > eta:
        known[q, 0], known[q, 1], known[q, 2] = known[q - 1, 0], known[q - 1, 1], known[q - 1, 2]
        q -= 1
    known[q, 0], known[q, 1], known[q, 2] = eta, own, patience
    return n + 1


@inlined
def serve(times, n, arrival, own, patience, lost_min):  # type: ignore[no-untyped-def]
    """The car takes the earliest slot, or gives up; returns its minutes (wait and own, or a loss)."""
    start = max(times[0], arrival)
    wait = start - arrival
    if wait > patience:
        return max(lost_min, wait if wait < 240.0 else 240.0)
    t = start + own
    q = 0
    while q + 1 < n and times[q + 1] < t:
        times[q] = times[q + 1]
        q += 1
    times[q] = t
    return wait + own


@kernel
def future_cost(o, at, s, settings, known, n_known, found, n_found, mean_own, eta, own, patience, times, out):  # type: ignore[no-untyped-def]
    """Minutes of all cars at station `s` on one future, with the car (eta, own, patience) if eta >= 0.

    out[0] gets the cost of the others, out[1] the car's wait (a loss as its price). Returns False where the
    station has no slot.
    """
    k_slots = at[N_K]
    n = 0
    for k in range(k_slots):
        t = o[at[O_FREE] + s * k_slots + k]
        if t >= 1.0e8:
            break
        times[n] = t
        n += 1
    out[0] = 0.0
    out[1] = 0.0
    if n == 0:
        return False
    lost = settings[S_LOST]
    deflect, elsewhere = settings[S_DEFLECT] / max(mean_own, 1.0), settings[S_ELSEWHERE]
    total = 0.0
    a, b = 0, 0
    waiting = eta >= 0.0
    while a < n_known or b < n_found or waiting:
        ta = known[a, 0] if a < n_known else 1.0e9
        tb = found[b, A_TIME] if b < n_found else 1.0e9
        if waiting and eta < ta and eta <= tb:
            out[1] = serve(times, n, eta, own, patience, lost)
            waiting = False
        elif ta <= tb:
            total += serve(times, n, ta, known[a, 1], known[a, 2], lost)
            a += 1
        else:
            wait = times[0] - tb
            if wait > 0.0 and found[b, A_DEFLECT] * (1.0 + deflect * wait) > 1.0:
                total += found[b, A_OWN] + elsewhere  # it saw the queue and went somewhere else
            else:
                total += serve(times, n, tb, found[b, A_OWN], found[b, A_PATIENCE], lost)
            b += 1
    out[0] = total
    return True
