"""`baseline`: the known greedy rule that every comparison starts from.

Among usable stations with a free slot the least of travel minutes + 1.2 x wait + 50 if occupied above 85 %
+ 0.3 x price + 2 x queue, at rate fast; if all are full it defers 5 minutes, or leaves the car unanswered
when less patience is left. It does not count its own answers of the same tick.
"""

from __future__ import annotations

from ev_grid_oracle.schema.compiled import kernel
from ev_grid_oracle.schema.rows import (
    N_K,
    N_PCOL,
    N_S,
    O_FREE,
    O_OCC,
    O_PEND,
    O_PRICE,
    O_QUEUE,
    O_UP,
    O_X,
    OX_NPEND,
    P_PAT,
    P_SEQ,
    V_OK,
)
from ev_grid_oracle.sim.dispatch.common import reach, write


@kernel
def decide(o, cf, ci, at, minutes, km, dec, codes, travel):  # type: ignore[no-untyped-def]
    """Fill `dec`; returns the number of answers. `codes` (S,) and `travel` (S,) are scratch."""
    n = 0
    limit = len(dec)
    for k in range(int(o[at[O_X] + OX_NPEND])):
        if n >= limit:
            break
        x = at[O_PEND] + k * N_PCOL
        reach(o, cf, ci, at, minutes, km, x, codes, travel)
        best, best_cost = -1, 1.0e18
        for s in range(at[N_S]):
            occupied, up = o[at[O_OCC] + s], o[at[O_UP] + s]
            if codes[s] != V_OK or occupied >= up:
                continue
            queue = o[at[O_QUEUE] + s]
            cost = travel[s] + 1.2 * o[at[O_FREE] + s * at[N_K]] + 0.3 * o[at[O_PRICE] + s] + 2.0 * queue
            if occupied / up > 0.85:
                cost += 50.0
            if cost < best_cost:
                best, best_cost = s, cost
        seq = int(o[x + P_SEQ])
        if best >= 0:
            write(dec, n, seq, 0, best, 1, 0, 5000)
            n += 1
        elif o[x + P_PAT] > 5.0:
            write(dec, n, seq, 1, -1, 1, 5, 5000)
            n += 1
    return n
