"""The planner's own draws: who may come to each station, and when.

Counter-based like the world's, but of a key of the planner's own: nothing here knows the world's streams.
Gaps are unit-exponential quantiles from a table (see `policies.planner_tables`), so no libm is needed.
"""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.schema.compiled import inlined, kernel
from ev_grid_oracle.schema.rows import (
    K_CONST,
    K_DEMSHAPE,
    K_USUAL,
    N_SP,
    O_RATIO,
    O_X,
    OX_DAYTYPE,
    OX_MOD,
    OX_RATIO,
    OX_TICK,
    OX_TICKS,
    Q_ANN,
    Q_REQ,
)

# settings of the planner, in one float64 row
(
    S_FUTURES, S_CANDIDATES, S_HORIZON, S_WALKINS, S_REQUESTS, S_ANNOUNCED, S_DEFLECT, S_ELSEWHERE, S_LOST, S_QUEUE_PAT,
    S_CRITICAL, S_FLEX_HARM, S_FLEX_SLACK, S_OTHERS, S_MIX, S_CAUTION, S_OWN_WAIT, S_DR_FUTURES, S_DR_T, S_DR_GAIN, S_DR_TIME,
    S_DR_TAIL, S_DR_TICKS, S_DR_MOST, S_DR_NEAR,
) = range(25)  # fmt: skip
N_SETTINGS = 32

# a sampled arrival
A_TIME, A_OWN, A_PATIENCE, A_DEFLECT = range(4)
N_ARRIVAL = 4

_M1 = np.uint64(0xBF58476D1CE4E5B9)
_M2 = np.uint64(0x94D049BB133111EB)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)
_BYTE = np.uint64(255)
_SCALE16 = 1.0 / 65536.0


@inlined
def mix(x):  # type: ignore[no-untyped-def]
    """SplitMix64's finaliser."""
    x = (x ^ (x >> _S30)) * _M1
    x = (x ^ (x >> _S27)) * _M2
    return x ^ (x >> _S31)


@inlined
def hourly(cf, at, block, minute):  # type: ignore[no-untyped-def]
    """Usual walk-ins an hour of a station at a minute of the day, between two hours by the line."""
    hour = int(minute) // 60 % 24
    part = (minute - 60.0 * (int(minute) // 60)) / 60.0
    return cf[block + hour * at[N_SP]] * (1.0 - part) + cf[block + (hour + 1) % 24 * at[N_SP]] * part


@kernel
def arrivals(o, cf, at, s, key, settings, share, walkins, requests, gaps, found, counts):  # type: ignore[no-untyped-def]
    """Futures of station `s`: who arrives in the hours to come beyond those already known.

    Walk-ins come at the usual rate times today's ratio; of those that set out before now the announced ones are
    known already, so they are left out of the first minutes. Requests come at a share of their usual rate.

    share: the station's part of all requests. walkins, requests (Q, 3): own minutes, patience, unused.
    gaps (256,): unit-exponential quantiles. found (K, M, 4) and counts (K,) are filled, times ascending.
    """
    day, now = int(o[at[O_X] + OX_DAYTYPE]), o[at[O_X] + OX_MOD]
    left = 5.0 * (o[at[O_X] + OX_TICKS] - o[at[O_X] + OX_TICK])
    horizon = min(settings[S_HORIZON], left + 20.0)
    block = at[K_USUAL] + day * 24 * at[N_SP] + s
    city, station = o[at[O_X] + OX_RATIO], o[at[O_RATIO] + s]
    ratio = settings[S_WALKINS] * (settings[S_MIX] * station + (1.0 - settings[S_MIX]) * city)
    known = cf[at[K_CONST] + Q_ANN]
    shape = at[K_DEMSHAPE] + 288 * day
    asking = settings[S_REQUESTS] * 12.0 * cf[at[K_CONST] + Q_REQ] * share * city
    top = 0.05
    for m in range(0, int(horizon) + 1, 30):
        slot = int(now + m) // 5 % 288
        top = max(top, hourly(cf, at, block, now + m) * ratio + asking * cf[shape + slot])
    top *= 1.1
    most = found.shape[1]
    n_samples = np.uint64(len(walkins))
    base = mix(key + np.uint64(s + 1) * _GOLDEN)
    for k in range(found.shape[0]):
        x = mix(base + np.uint64(k + 1) * _GOLDEN)
        t = 0.0
        n = 0
        while n < most:
            x = mix(x + _GOLDEN)
            t += gaps[int(x & _BYTE)] * 60.0 / top
            if t >= horizon:
                break
            walk = hourly(cf, at, block, now + t) * ratio
            if t < settings[S_ANNOUNCED]:
                walk *= 1.0 - known * (1.0 - t / settings[S_ANNOUNCED])
            if t > left:
                walk *= max(1.0 - (t - left) / 20.0, 0.0)  # demand ends with the episode; the last are on the road
            ask = asking * cf[shape + int(now + t) // 5 % 288] if t < left else 0.0
            u = float((x >> np.uint64(8)) & np.uint64(65535)) * _SCALE16 * top
            if u >= walk + ask:
                continue
            pick = int((x >> np.uint64(24)) % n_samples)
            found[k, n, A_TIME] = t
            if u < walk:
                found[k, n, A_OWN] = walkins[pick, 0]
                found[k, n, A_PATIENCE] = walkins[pick, 1]
                found[k, n, A_DEFLECT] = float((x >> np.uint64(44)) & np.uint64(65535)) * _SCALE16
            else:
                found[k, n, A_OWN] = requests[pick, 0]
                found[k, n, A_PATIENCE] = requests[pick, 1]
                found[k, n, A_DEFLECT] = -1.0  # a request does not choose by the posted queue
            n += 1
        counts[k] = n
