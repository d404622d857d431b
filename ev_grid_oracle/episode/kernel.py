"""One tick, composed: verify, act, play, score, turn; and the settle at the end of an episode."""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.reward.scoring import score
from ev_grid_oracle.reward.terms import SERVICE, URGENCY
from ev_grid_oracle.reward.verify import verify
from ev_grid_oracle.schema.compiled import inlined, kernel
from ev_grid_oracle.schema.rows import (
    C_STATE,
    CAR,
    D_CONF,
    EP,
    K_CONST,
    N_C,
    N_CAR,
    N_EP,
    N_TERMS,
    Q_N0,
    SETT,
    T_LOST,
    T_SERVICE,
    T_STRANDED,
    T_URGENT,
    T_WLOST,
    TERM,
    TK,
    TSUM,
    Y_DONE,
    Y_NFREE,
    Y_OPEN,
    Y_SETTLE,
    Y_TICK,
    Y_TICKS,
    Y,
)
from ev_grid_oracle.sim.ahead import fetch_cars, worth_asking
from ev_grid_oracle.sim.apply import apply_decisions
from ev_grid_oracle.sim.cars import lose
from ev_grid_oracle.sim.dispatch.baseline import decide as baseline
from ev_grid_oracle.sim.dispatch.greedy import decide as greedy
from ev_grid_oracle.sim.observe import observe
from ev_grid_oracle.sim.step import begin, play, turn

SETTLE_MAX = 72
RUNNING, TERMINATED, TRUNCATED = 0, 1, 2


@kernel
def settle(f, i, u, cf, ci, at, minutes, km, step, link_minutes, index, link_to, o, dec, w, wp, own, enter, codes, travel, extra, added, times, out, due, sf, si, pay):  # type: ignore[no-untyped-def]
    """Play the end of an episode out on a copy: same future, no new car, greedy_counting answers.

    Until nobody is left or 72 ticks have passed; cars then unfinished count as lost. With `pay` 1 the
    terms go into SETT and are added to the last tick's; the accounts (KPIs) are taken over either way.
    Returns what was added.
    """
    n_c = at[N_C]
    for k in range(len(f)):
        sf[k] = f[k]
    for k in range(len(i)):
        si[k] = i[k]
    y = at[Y]
    for k in range(N_TERMS):
        f[at[SETT] + k] = 0.0
    si[y + Y_OPEN] = 0
    if pay == 1:
        for _ in range(SETTLE_MAX):
            if si[y + Y_NFREE] == n_c:
                break
            observe(sf, si, cf, ci, at, o)
            n = greedy(o, cf, ci, at, minutes, km, dec, codes, travel, extra, added, times, out)
            for k in range(n):
                dec[k, D_CONF] = -1
            begin(sf, at)
            apply_decisions(sf, si, cf, ci, at, minutes, km, dec, n)
            play(sf, si, u, cf, ci, at, minutes, km, w, wp, own, enter, sf, si, False)
            score(sf, si, cf, ci, at, 0.0, 0, due)
            for k in range(N_TERMS):
                f[at[SETT] + k] += sf[at[TERM] + k]
            turn(sf, si, u, cf, ci, at, minutes, km, step, link_minutes, index, link_to)
    begin(sf, at)
    now = 5 * si[y + Y_TICK]
    for c in range(n_c):
        if si[at[CAR] + c * N_CAR + C_STATE] > 0:
            lose(sf, si, cf, ci, at, c, now, False)
    n0 = cf[at[K_CONST] + Q_N0]
    if pay == 1:
        f[at[SETT] + SERVICE] -= sf[at[TK] + T_SERVICE] / n0
        f[at[SETT] + URGENCY] -= sf[at[TK] + T_URGENT] / n0
    for k in range(N_EP):
        f[at[EP] + k] = sf[at[EP] + k]
    for k in (T_SERVICE, T_URGENT, T_LOST, T_STRANDED, T_WLOST):
        f[at[EP] + k] += sf[at[TK] + k]
    total = 0.0
    for k in range(N_TERMS):
        f[at[TERM] + k] += f[at[SETT] + k]
        f[at[TSUM] + k] += f[at[SETT] + k]
        total += f[at[SETT] + k]
    return total


@inlined
def ended(i, at):  # type: ignore[no-untyped-def]
    """0 running, 1 terminated, 2 truncated: judged after the clock has turned."""
    y = at[Y]
    if i[y + Y_OPEN] == 0 and i[y + Y_NFREE] == at[N_C]:
        return TERMINATED
    if i[y + Y_TICK] >= i[y + Y_TICKS]:
        return TERMINATED if i[y + Y_SETTLE] == 1 else TRUNCATED
    return RUNNING


@kernel
def tick(f, i, u, cf, ci, at, minutes, km, step, link_minutes, index, link_to, given, n, invalid, o, dec, w, wp, own, enter, codes, travel, extra, added, times, out, due, sf, si, next_f, next_i, asking):  # type: ignore[no-untyped-def]
    """One step of one environment with the answers `given` (n rows); returns the reward. `next_f`, `next_i`, `asking`: see `play`."""
    if asking:
        fetch_cars(i, at)
    begin(f, at)
    penalty = verify(f, i, cf, ci, at, minutes, km, given, n, invalid)
    apply_decisions(f, i, cf, ci, at, minutes, km, given, n)
    play(f, i, u, cf, ci, at, minutes, km, w, wp, own, enter, next_f, next_i, asking)
    total = score(f, i, cf, ci, at, penalty, invalid, due)
    turn(f, i, u, cf, ci, at, minutes, km, step, link_minutes, index, link_to)
    state = ended(i, at)
    i[at[Y] + Y_DONE] = state
    if state != RUNNING:
        total += settle(
            f, i, u, cf, ci, at, minutes, km, step, link_minutes, index, link_to, o, dec, w, wp, own, enter, codes, travel,
            extra, added, times, out, due, sf, si, i[at[Y] + Y_SETTLE],
        )  # fmt: skip
    return total


@kernel
def run(fs, is_, us, first, last, ticks, cf, ci, at, minutes, km, step, link_minutes, index, link_to, given, counts, invalid, rewards, o, dec, w, wp, own, enter, codes, travel, extra, added, times, out, due, sf, si):  # type: ignore[no-untyped-def]
    """`ticks` steps of environments `first` to `last - 1`, one environment after the other.

    given (ticks, E, MD, 8) int32, counts and invalid (ticks, E) int32, rewards (ticks, E) float64.
    An environment that is done stays as it is, with reward 0.
    """
    asking = worth_asking(ticks, len(fs), 8 * fs.shape[1] + 4 * is_.shape[1])
    for e in range(first, last):
        f, i, u = fs[e], is_[e], us[e]
        following = min(e + 1, last - 1)
        for t in range(ticks):
            if i[at[Y] + Y_DONE] != RUNNING:
                rewards[t, e] = 0.0
                continue
            rewards[t, e] = tick(
                f, i, u, cf, ci, at, minutes, km, step, link_minutes, index, link_to, given[t, e], np.int64(counts[t, e]),
                np.int64(invalid[t, e]), o, dec, w, wp, own, enter, codes, travel, extra, added, times, out, due, sf, si,
                fs[following], is_[following], asking,
            )  # fmt: skip


@kernel
def play_rule(fs, is_, us, first, last, ticks, rule, cf, ci, at, minutes, km, step, link_minutes, index, link_to, kept, kept_n, keep, rewards, o, dec, w, wp, own, enter, codes, travel, extra, added, times, out, due, sf, si):  # type: ignore[no-untyped-def]
    """`ticks` steps in which a built-in rule answers from the observation: 0 baseline, 1 greedy_counting.

    With `keep` 1 the answers go to kept (ticks, E, MD, 8) and kept_n (ticks, E). rewards (ticks, E).
    """
    for e in range(first, last):
        f, i, u = fs[e], is_[e], us[e]
        for t in range(ticks):
            if i[at[Y] + Y_DONE] != RUNNING:
                rewards[t, e] = 0.0
                continue
            observe(f, i, cf, ci, at, o)
            if rule == 0:
                n = baseline(o, cf, ci, at, minutes, km, dec, codes, travel)
            else:
                n = greedy(o, cf, ci, at, minutes, km, dec, codes, travel, extra, added, times, out)
            if keep == 1:
                n = min(n, kept.shape[2])
                for k in range(n):
                    for col in range(dec.shape[1]):
                        kept[t, e, k, col] = dec[k, col]
                kept_n[t, e] = n
            rewards[t, e] = tick(
                f, i, u, cf, ci, at, minutes, km, step, link_minutes, index, link_to, dec, n, np.int64(0), o, dec, w, wp, own, enter,
                codes, travel, extra, added, times, out, due, sf, si, f, i, False,
            )  # fmt: skip
