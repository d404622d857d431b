"""Names of cars: the number a car carries in the world, and the id that people and texts see.

=====================  ==========  ==================================================
car                    id          number in the world
=====================  ==========  ==================================================
request of the episode EV-0001     0, 1, 2, ...
request of the warm-up EV-W001     -1,000,000, -999,999, ...
walk-in                WK-0001     0, 1, 2, ... (numbers of their own; never answered)
walk-in of the warm-up WK-W001     -1,000,000, ..., and -1, -2, ... for the first cars
=====================  ==========  ==================================================
"""

from __future__ import annotations

import re

WARM_SEQ = 1_000_000  # as in sim.start: numbers of the warm-up are shifted below zero by this
NOBODY = -(2**31)  # a number that no car carries: what an unknown id becomes in a decision row

_REQUEST = re.compile(r"EV-(W?)([0-9]{3,9})", re.ASCII)


def car_id(seq: int) -> str:
    """The id of the request numbered `seq`."""
    if seq >= 0:
        return f"EV-{seq + 1:04d}"
    return f"EV-W{seq + WARM_SEQ + 1:03d}" if seq <= -WARM_SEQ // 2 else f"EV-W{WARM_SEQ - seq:03d}"


def walkin_id(seq: int) -> str:
    """The id of the walk-in numbered `seq`, as traces show it."""
    return "WK" + car_id(seq)[2:]


def car_seq(ev_id: str) -> int:
    """The number behind a request's id; `NOBODY` for anything that is not the id of one."""
    match = _REQUEST.fullmatch(ev_id)
    if match is None:
        return NOBODY
    number = int(match[2])
    if match[1]:
        seq = number - 1 - WARM_SEQ if number <= WARM_SEQ // 2 else WARM_SEQ - number
    else:
        seq = number - 1
    return seq if car_id(seq) == ev_id else NOBODY
