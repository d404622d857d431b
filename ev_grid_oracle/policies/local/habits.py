"""Habits laid over greedy_counting's answers, for a search that looks for holes in the reward.

Each is a probability per answer: to leave a car unanswered, to put it off, to charge at a lower rate, to have it
carry a load_shift. Draws are counter-based, of a key of the caller's.
"""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.policies.local.draws import mix
from ev_grid_oracle.schema.compiled import inlined, kernel
from ev_grid_oracle.schema.rows import (
    D_DEFER,
    D_KIND,
    D_RATE,
    D_SEQ,
    D_STATION,
    J_RATE,
    N_PCOL,
    N_S,
    O_KW,
    O_PEND,
    O_X,
    OX_NPEND,
    P_PAT,
    P_SEQ,
)

(H_DROP, H_DEFER, H_DEFER_MIN, H_LOWER, H_SHIFT, H_SHIFT_MIN, H_SHIFT_RATE, H_SHIFT_ALL) = range(8)
HABIT_NAMES = ("drop", "defer", "defer_min", "lower_rate", "shift", "shift_min", "shift_rate", "shift_feeder")
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_S11 = np.uint64(11)
_SCALE = 2.0**-53


@inlined
def draw(key, seq, n):  # type: ignore[no-untyped-def]
    """Uniform in [0, 1) for a car and a question."""
    return float(mix(key + np.uint64(seq) * _GOLDEN + np.uint64(n) * np.uint64(0xD1B54A32D192ED03)) >> _S11) * _SCALE


@inlined
def patience(o, at, seq):  # type: ignore[no-untyped-def]
    """Patience left of the pending car numbered `seq`, minutes."""
    for k in range(int(o[at[O_X] + OX_NPEND])):
        if int(o[at[O_PEND] + k * N_PCOL + P_SEQ]) == seq:
            return o[at[O_PEND] + k * N_PCOL + P_PAT]
    return 0.0


@kernel
def habits(o, ci, at, dec, n, key, h):  # type: ignore[no-untyped-def]
    """Change the first `n` decisions by the habits `h` (8,), see H_*; returns the number left."""
    top = 0
    for s in range(at[N_S]):
        if o[at[O_KW] + s] > o[at[O_KW] + top]:
            top = s
    kept = 0
    for k in range(n):
        seq = dec[k, D_SEQ]
        if draw(key, seq, 0) < h[H_DROP]:
            continue
        for col in range(dec.shape[1]):
            dec[kept, col] = dec[k, col]
        if draw(key, seq, 1) < h[H_SHIFT]:
            dec[kept, D_KIND] = 2
            dec[kept, D_STATION] = -1 if h[H_SHIFT_ALL] > 0.5 else top
            dec[kept, D_RATE] = min(int(h[H_SHIFT_RATE]), ci[at[J_RATE] + top])
            dec[kept, D_DEFER] = int(h[H_SHIFT_MIN])
        elif draw(key, seq, 2) < h[H_DEFER]:
            minutes = min(int(h[H_DEFER_MIN]), int(patience(o, at, seq))) // 5 * 5
            if minutes < 5:
                continue
            dec[kept, D_KIND] = 1
            dec[kept, D_STATION] = -1
            dec[kept, D_DEFER] = minutes
        elif dec[kept, D_KIND] == 0 and draw(key, seq, 3) < h[H_LOWER]:
            dec[kept, D_RATE] = max(dec[kept, D_RATE] - 1, 0)
        kept += 1
    return kept
