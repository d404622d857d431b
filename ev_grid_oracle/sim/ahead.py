"""What a tick asks memory for before it needs it; nothing here changes a value.

A batch that is played tick by tick and does not fit into the caches waits for memory in every tick: for its rows, which
lie in order, and for its cars, which lie anywhere and hang together in chains. So a tick begins by asking for the cars
that its lists name, and the rows of the environment that is played next come a few lines at a time all the while (a burst
would fill the queue of open requests and wait).
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

LINKS = 8  # of a chain
CACHED_BYTES = 16_000_000  # a batch of this size stays in the last cache of a server

# lines that are asked for at a time; found by measuring, see `evgrid bench world --scaling`
WITH_A_DRAW = 6
WITH_AN_ARRIVAL = 4
WITH_TWO_SLOTS = 5  # of a tile of stations
WITH_A_BUS = 8  # of every feeder, up or down


@inlined
def worth_asking(ticks, envs, row_bytes):  # type: ignore[no-untyped-def]
    """Whether a call that plays `ticks` of each environment of a batch of `envs` waits for memory at all."""
    return ticks == 1 and envs * row_bytes > CACHED_BYTES


@inlined
def ask(f, i, at, asked, count):  # type: ignore[no-untyped-def]
    """Ask for the next `count` lines of an environment's rows, all but its cars, the lists of them and of events.

    asked (1,) int64: lines asked for so far; below 0: nothing is to be asked for.
    """
    begin = asked[0]
    if begin < 0:
        return
    before, floats, after = at[CAR] // 16, at[EV] // 8, (len(i) - at[CAL] + 15) // 16
    end = min(begin + count, before + floats + after)
    for line in range(begin, min(end, before)):
        prefetch(i, 16 * line)
    for line in range(max(begin, before), min(end, before + floats)):
        prefetch(f, 8 * (line - before))
    for line in range(max(begin, before + floats), end):
        prefetch(i, at[CAL] + 16 * (line - before - floats))
    asked[0] = end


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
