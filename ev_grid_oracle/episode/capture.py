"""One frame of a trace, copied out of a world's rows; and the check of decision rows from outside."""

from __future__ import annotations

from ev_grid_oracle.schema.compiled import kernel
from ev_grid_oracle.schema.rows import (
    C_BANK,
    C_FLAGS,
    C_NODE,
    C_SEQ,
    C_STATE,
    C_STATION,
    C_TARR,
    C_TDEP,
    C_VEHICLE,
    CAR,
    D_CONF,
    D_DEFER,
    D_KIND,
    D_RATE,
    D_STATION,
    FD_KVA,
    FD_S,
    FD_SB,
    FD_X,
    FLAG,
    N_C,
    N_CAR,
    N_DCOL,
    N_F,
    N_FLAGS,
    N_S,
    N_TERMS,
    N_TK,
    ST_KW,
    ST_OCC,
    ST_QN,
    TERM,
    TK,
    X_CARBON,
    X_GRIDLOAD,
    X_MEANREN,
    X_RENEW,
    Y_DONE,
    Y_NDEF,
    Y_NPEND,
    Y_START,
    Y_TICK,
    X,
    Y,
)
from ev_grid_oracle.sim.hashing import digest

# columns of a frame's whole numbers, before the flags and the stations
H_TICK, H_MINUTE, H_ANSWERS, H_REFUSED, H_CARS, H_PENDING, H_DEFERRED, H_DONE, H_SOURCE = range(9)
N_HEAD = 10
# columns of a frame's numbers, before terms, facts, stations and feeders
G_REWARD, G_LOAD, G_RENEW, G_CARBON, G_MEANREN = range(5)
N_GRID = 6
# columns of a car on the road
R_SEQ, R_FLAGS, R_NODE, R_STATION, R_DEPART, R_ARRIVE, R_TRAVEL, R_VEHICLE = range(8)
N_ROAD = 8
N_FEEDER = 4  # kVA, kVA of base load alone, present rating kVA, thermal state


@kernel
def capture(  # type: ignore[no-untyped-def]
    f, i, u, fw, iw, at, given, n, refused, reward, source, t, heads, numbers, words, answers, a0, cars, c0
):
    """Write frame `t` after a step; returns how many rows of `cars` are used.

    fw, iw: the rows as uint64 words. given (n, 8): judged answers. heads (T, ..) int32, numbers (T, ..)
    float64, words (T, 2) uint64 digest; answers (.., 8) from row a0, cars (.., 8) from row c0.
    """
    y, x = at[Y], at[X]
    tick = i[y + Y_TICK] - 1
    n_s, n_f = at[N_S], at[N_F]
    heads[t, H_TICK] = tick
    heads[t, H_MINUTE] = (i[y + Y_START] + 5 * tick + 14400) % 1440
    heads[t, H_ANSWERS] = n
    heads[t, H_REFUSED] = refused
    heads[t, H_PENDING] = i[y + Y_NPEND]
    heads[t, H_DEFERRED] = i[y + Y_NDEF]
    heads[t, H_DONE] = i[y + Y_DONE]
    heads[t, H_SOURCE] = source
    for k in range(N_FLAGS):
        heads[t, N_HEAD + k] = i[at[FLAG] + k]
    h = N_HEAD + N_FLAGS
    for s in range(n_s):
        heads[t, h + s] = i[at[ST_OCC] + s]
        heads[t, h + n_s + s] = i[at[ST_QN] + s]
    numbers[t, G_REWARD] = reward
    numbers[t, G_LOAD] = f[x + X_GRIDLOAD]
    numbers[t, G_RENEW] = f[x + X_RENEW]
    numbers[t, G_CARBON] = f[x + X_CARBON]
    numbers[t, G_MEANREN] = f[x + X_MEANREN]
    g = N_GRID
    for k in range(N_TERMS):
        numbers[t, g + k] = f[at[TERM] + k]
    g += N_TERMS
    for k in range(N_TK):
        numbers[t, g + k] = f[at[TK] + k]
    g += N_TK
    for s in range(n_s):
        numbers[t, g + s] = f[at[ST_KW] + s]
    g += n_s
    for k in range(n_f):
        numbers[t, g + k] = f[at[FD_S] + k]
        numbers[t, g + n_f + k] = f[at[FD_SB] + k]
        numbers[t, g + 2 * n_f + k] = f[at[FD_KVA] + k]
        numbers[t, g + 3 * n_f + k] = f[at[FD_X] + k]
    for k in range(n):
        for col in range(N_DCOL):
            answers[a0 + k, col] = given[k, col]
    c1 = c0
    for c in range(at[N_C]):
        b = at[CAR] + c * N_CAR
        if i[b + C_STATE] != 3:
            continue
        cars[c1, R_SEQ] = i[b + C_SEQ]
        cars[c1, R_FLAGS] = i[b + C_FLAGS]
        cars[c1, R_NODE] = i[b + C_NODE]
        cars[c1, R_STATION] = i[b + C_STATION]
        cars[c1, R_DEPART] = i[b + C_TDEP]
        cars[c1, R_ARRIVE] = i[b + C_TARR]
        cars[c1, R_TRAVEL] = i[b + C_BANK]
        cars[c1, R_VEHICLE] = i[b + C_VEHICLE]
        c1 += 1
    heads[t, H_CARS] = c1 - c0
    first, second = digest(fw, iw, i, u, at)
    words[t, 0] = first
    words[t, 1] = second
    return c1


@kernel
def first_bad_row(given, n, n_stations):  # type: ignore[no-untyped-def]
    """Index of the first decision row with a value outside its range, -1 if all hold.

    The kernels trust these ranges: a row from outside must pass here before it reaches one.
    """
    for k in range(n):
        kind, s = given[k, D_KIND], given[k, D_STATION]
        if kind < -1 or kind > 2 or given[k, D_RATE] < 0 or given[k, D_RATE] > 2:
            return k
        if s < -1 or s >= n_stations or (kind == 0 and s < 0):
            return k
        if given[k, D_DEFER] < 0 or given[k, D_DEFER] > 240 or (kind == 1 and given[k, D_DEFER] < 1):
            return k
        if given[k, D_CONF] < 0 or given[k, D_CONF] > 10000:
            return k
    return -1
