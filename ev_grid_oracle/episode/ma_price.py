"""The operator's price factor, put on the world's own: stations' `ST_PMUL` and the price events still to come.

The kernels read `ST_PMUL` when the clock turns, so a factor set before a tick shows in the prices of the next.
An event of the scenario sets `ST_PMUL` anew; its value in the world's schedule is multiplied too, so that forks
and snapshots carry the factor without knowing of it. What the control room has been told keeps the scenario's
own value.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ev_grid_oracle.city.model import ScenarioEvent
from ev_grid_oracle.episode.interventions import PRICE
from ev_grid_oracle.episode.ma_directive import PRICE as RANGE
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import EventKind
from ev_grid_oracle.schema.errors import OptionError
from ev_grid_oracle.sim.world import World


def order_price(session: Session, mult: object) -> None:
    """From the next tick on, the session's world has `mult` x the scenario's price factors; its trace says so.

    Raises:
        OptionError: `mult` is no number that a directive may order.
    """
    session._running()
    if isinstance(mult, bool) or not isinstance(mult, int | float) or not RANGE[0] <= mult <= RANGE[1]:
        raise OptionError(
            f"price_mult is {str(mult)[:40]!r}.", f"Give a number from {RANGE[0]} to {RANGE[1]}."
        )
    set_price(session._world, session._schedule, float(mult))
    session._intervened(PRICE, {"mult": float(mult)})


def set_price(world: World, schedule: Sequence[ScenarioEvent], mult: float) -> None:
    """From the next tick on, environment 0 of `world` has `mult` x the scenario's price factors."""
    n_s, now = world.layout.dims["S"], world.scalar(0, r.Y_TICK)
    events = world.view("EV")[0][: world.scalar(0, r.Y_NEV)]
    base = {
        (e.tick, target): e.value
        for e in schedule
        if e.kind == EventKind.PRICE
        for target in (e.targets or (-1,))
    }
    present = np.ones(n_s)
    for row in events:
        if int(row[r.E_KIND]) != EventKind.PRICE:
            continue
        tick, target = int(row[r.E_TICK]), int(row[r.E_TARGET])
        value = base[tick, target]
        row[r.E_VALUE] = value * mult
        if tick <= now:
            present[slice(None) if target < 0 else target] = value
    world.view("ST_PMUL")[0][:n_s] = present * mult
