"""Columns of the observation vector from an observation row, compiled; their table is in `spaces`.

Values are unscaled; `masks.look` scales and cuts them. A NumPy twin that reads the decoded `Observation`
is in the tests.
"""

from __future__ import annotations

from ev_grid_oracle.episode import candidates as c
from ev_grid_oracle.interfaces.spaces import CANDIDATE, CAR, FEEDER, STATION
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.compiled import kernel

N_CARCOL, N_CANDCOL, N_STCOL, N_FDCOL = len(CAR), len(CANDIDATE), len(STATION), len(FEEDER)
IN_30, IN_60 = 6, 12  # ticks


@kernel
def city_columns(o, cf, ci, at, lay, x):  # type: ignore[no-untyped-def]
    """Blocks stations, feeders and clock into `x`, unscaled; returns the station a load_shift would cap.

    That is the station that draws most on the feeder with the least 1 - S / R (ties by order), -1 if none
    draws.
    """
    b = lay[2]
    for s in range(at[r.N_S]):
        x[b + 0] = o[at[r.O_OCC] + s]
        x[b + 1] = o[at[r.O_UP] + s]
        x[b + 2] = o[at[r.O_QUEUE] + s]
        x[b + 3] = o[at[r.O_INB] + s]
        x[b + 4] = o[at[r.O_SUP] + s]
        x[b + 5] = o[at[r.O_KW] + s] / max(o[at[r.O_LIMIT] + s], 1.0)
        x[b + 6] = o[at[r.O_LIMIT] + s]
        x[b + 7] = o[at[r.O_DRCAP] + s]
        x[b + 8] = o[at[r.O_DRLEFT] + s]
        x[b + 9] = o[at[r.O_PRICE] + s]
        x[b + 10] = o[at[r.O_FREE] + s * at[r.N_K]]
        x[b + 11] = o[at[r.O_USUAL] + s]
        x[b + 12] = o[at[r.O_RATIO] + s]
        x[b + 13] = cf[at[r.K_WSLOT] + s]
        x[b + 14] = o[at[r.O_TRHEAT] + s]
        x[b + 15] = ci[at[r.J_RATE] + s]
        b += N_STCOL
    tightest, most = 0, -1.0
    b = lay[3]
    for k in range(at[r.N_F]):
        rating = max(o[at[r.O_FKVA] + k], 1.0)
        volts = o[at[r.O_FVMIN] + k]
        supplied = volts == volts  # nan: no supply
        load = o[at[r.O_FS] + k] / rating
        x[b + 0] = load
        x[b + 1] = o[at[r.O_FKVA] + k] / cf[at[r.K_FKVA] + k]
        x[b + 2] = o[at[r.O_FHEAT] + k]
        x[b + 3] = o[at[r.O_FBASE] + k] / rating
        x[b + 4] = o[at[r.O_FNEXT] + k * r.AHEAD + IN_30] / rating
        x[b + 5] = o[at[r.O_FNEXT] + k * r.AHEAD + IN_60] / rating
        x[b + 6] = 1.0 - volts if supplied else 0.0
        x[b + 7] = 1.0 if supplied else 0.0
        x[b + 8] = cf[at[r.K_FKVA] + k]
        b += N_FDCOL
        if load > most:
            tightest, most = k, load
    b, clock = lay[5], at[r.O_X]
    x[b + 0] = o[clock + r.OX_TICK] / o[clock + r.OX_TICKS]
    x[b + 1] = o[clock + r.OX_TICKS] - o[clock + r.OX_TICK]
    x[b + 2] = o[clock + r.OX_MOD]
    x[b + 3] = 1.0 - abs(o[clock + r.OX_MOD] - 720.0) / 720.0
    x[b + 4] = o[clock + r.OX_DAYTYPE]
    for k in range(4):
        x[b + 5 + k] = 1.0 if int(o[clock + r.OX_SEASON]) == k else 0.0
    x[b + 9] = o[clock + r.OX_GRID]
    x[b + 10] = o[clock + r.OX_RENEW]
    x[b + 11] = o[at[r.O_RNEXT] + IN_30]
    x[b + 12] = o[at[r.O_RNEXT] + IN_60]
    x[b + 13] = o[clock + r.OX_CARBON]
    x[b + 14] = o[clock + r.OX_RATIO]
    x[b + 15] = o[clock + r.OX_TRAFFIC]
    x[b + 16] = o[clock + r.OX_NPEND]
    shift, kw = -1, 0.0
    for s in range(at[r.N_S]):
        if ci[at[r.J_FEEDER] + s] == tightest and o[at[r.O_KW] + s] > kw:
            shift, kw = s, o[at[r.O_KW] + s]
    return shift


@kernel
def car_columns(o, cf, ci, at, lay, k, table, x):  # type: ignore[no-untyped-def]
    """Blocks cars and candidates of pending car `k`, unscaled, from its candidate `table`."""
    p, b = at[r.O_PEND] + k * r.N_PCOL, lay[0] + k * N_CARCOL
    v = int(o[p + r.P_VEHICLE])
    x[b + 0] = 1.0
    x[b + 1] = o[p + r.P_SOC]
    x[b + 2] = o[p + r.P_TGT]
    x[b + 3] = max(o[p + r.P_TGT] - o[p + r.P_SOC], 0.0) * cf[at[r.K_BATT] + v]
    x[b + 4] = cf[at[r.K_VAC] + v]
    x[b + 5] = cf[at[r.K_VDC] + v]
    x[b + 6] = o[p + r.P_URG]
    x[b + 7] = o[p + r.P_CRIT]
    x[b + 8] = o[p + r.P_EMERG]
    x[b + 9] = o[p + r.P_FLEX]
    x[b + 10] = o[p + r.P_READY]
    x[b + 11] = o[p + r.P_PAT]
    x[b + 12] = o[p + r.P_WAITED]
    x[b + 13] = o[p + r.P_NDEF]
    b = lay[1] + k * at[r.N_S] * N_CANDCOL
    for s in range(at[r.N_S]):
        hourly = o[at[r.O_USUAL] + s] * o[at[r.O_RATIO] + s]
        x[b + 0] = 1.0 if table[s, c.T_CODE] == r.V_OK else 0.0
        x[b + 1] = table[s, c.T_TRAVEL]
        x[b + 2] = table[s, c.T_OWN]
        x[b + 3] = table[s, c.T_FREE]
        x[b + 4] = table[s, c.T_FREE30]
        x[b + 5] = table[s, c.T_WAIT]
        x[b + 6] = hourly * table[s, c.T_TRAVEL] / 60.0
        x[b + 7] = hourly
        x[b + 8] = cf[at[r.K_WSLOT] + s]
        x[b + 9] = o[at[r.O_KW] + s] / max(o[at[r.O_LIMIT] + s], 1.0)
        x[b + 10] = table[s, c.T_FEEDER]
        x[b + 11] = ci[at[r.J_RATE] + s]
        x[b + 12] = o[at[r.O_PRICE] + s]
        x[b + 13] = o[at[r.O_RATIO] + s]
        b += N_CANDCOL
