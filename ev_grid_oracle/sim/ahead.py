"""What a tick asks memory for before it needs it; nothing here changes a value.

A batch that is played tick by tick and does not fit into the caches waits for memory in every tick: for its rows, which
lie in order and come fast, and for its cars, which lie anywhere and hang together in chains. So a tick begins by asking
for the cars that its lists name, and the rows of the environment that is played next come a few lines at a time while
this one works (a burst would fill the queue of open requests and wait). Measured by `evgrid bench world --scaling`.
"""

from __future__ import annotations

from ev_grid_oracle.schema.compiled import inlined, prefetch, stack
from ev_grid_oracle.schema.rows import (
    C_NEXT,
    C_UNTIL,
    CAL,
    CAR,
    DEFD,
    EV,
    N_CAR,
    N_S,
    PEND,
    RING,
    ST_QH,
    ST_QN,
    Y_FREE,
    Y_NDEF,
    Y_NPEND,
    Y_TICK,
    Y,
)

NOTHING, CARS, CARS_AND_ROWS = 0, 1, 2
PIECES = 16
LINKS = 8  # of a chain
CACHED_BYTES = 16_000_000  # a batch of this size stays in the last cache of a server
ROW_BYTES = 160_000  # two environments of this size stay in the cache of a core


@inlined
def how_far(ticks, envs, row_bytes):  # type: ignore[no-untyped-def]
    """What to ask for ahead in a call that plays `ticks` of each environment of a batch of `envs`."""
    if ticks > 1 or envs * row_bytes <= CACHED_BYTES:
        return NOTHING  # it is there already
    return CARS_AND_ROWS if row_bytes <= ROW_BYTES else CARS


@inlined
def fetch_piece(f, i, at, piece):  # type: ignore[no-untyped-def]
    """Ask for part `piece` of `PIECES` of an environment's rows, all but its cars and the list of events."""
    n = at[EV] // 8
    for k in range(piece * n // PIECES, (piece + 1) * n // PIECES):
        prefetch(f, 8 * k)
    n = at[CAR] // 16
    for k in range(piece * n // PIECES, (piece + 1) * n // PIECES):
        prefetch(i, 16 * k)
    n = (len(i) - at[PEND]) // 16
    for k in range(piece * n // PIECES, (piece + 1) * n // PIECES):
        prefetch(i, at[PEND] + 16 * k)


@inlined
def fetch_car(i, at, c):  # type: ignore[no-untyped-def]
    """Ask for the row of car `c` (two lines)."""
    b = at[CAR] + c * N_CAR
    prefetch(i, b)
    prefetch(i, b + N_CAR - 1)


@inlined
def fetch_cars(i, at):  # type: ignore[no-untyped-def]
    """Ask for the cars that the lists of the coming tick name: pending, deferred, queued, arriving.

    Queues and minutes of arrival are chains; they are followed side by side, since a chain alone would wait for every
    car of it.
    """
    y = at[Y]
    for k in range(i[y + Y_NPEND]):
        fetch_car(i, at, i[at[PEND] + k])
    for k in range(i[y + Y_NDEF]):
        prefetch(i, at[CAR] + i[at[DEFD] + k] * N_CAR + C_UNTIL)
    fetch_car(i, at, i[y + Y_FREE])
    chains = stack(at[N_S] + 5)
    n = 0
    for m in range(5):
        c = i[at[CAL] + ((5 * i[y + Y_TICK] + m) & (RING - 1))]
        if c >= 0:
            chains[n] = c
            n += 1
            fetch_car(i, at, c)
    for s in range(at[N_S]):
        if i[at[ST_QN] + s] > 0:
            chains[n] = i[at[ST_QH] + s]
            n += 1
            fetch_car(i, at, i[at[ST_QH] + s])
    for _ in range(LINKS):
        left = 0
        for k in range(n):
            c = i[at[CAR] + int(chains[k]) * N_CAR + C_NEXT]
            if c >= 0:
                chains[left] = c
                left += 1
                fetch_car(i, at, c)
        n = left
