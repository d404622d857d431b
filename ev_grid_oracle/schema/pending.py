"""The list of pending cars: where a car of a given number stands in it."""

from __future__ import annotations

from ev_grid_oracle.schema.compiled import inlined
from ev_grid_oracle.schema.rows import C_SEQ, CAR, N_CAR, PEND, Y_NPEND, Y


@inlined
def pending_place(i, at, seq, guess):  # type: ignore[no-untyped-def]
    """Place in PEND of the pending car numbered `seq`, -1 if it is not pending.

    Looks from `guess` on and then before it, or from the end backwards where the list is shorter: answers mostly keep
    the order of the list, and a car that is taken off leaves its place to the last one.
    """
    count = i[at[Y] + Y_NPEND]
    behind = guess >= count
    for k in range(count):
        there = guess + k if guess + k < count else guess + k - count
        there = count - 1 - k if behind else there
        if i[at[CAR] + i[at[PEND] + there] * N_CAR + C_SEQ] == seq:
            return there
    return -1
