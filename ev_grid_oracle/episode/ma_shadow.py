"""The counterfactual: what `greedy_counting` would have done from here, on a fork with the true future."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.episode.ma_cars import CarWatch
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import ActionKind

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Shadow:
    """The ticks from `first` on, as `greedy_counting` plays them.

    Attributes:
        rows: its decision rows (n, 8) of the first tick.
        routed: by tick, (car number, station) of every route it gives.
        load_frac: by tick, (F,) load of the feeders over their nominal rating.
        plugged: by tick, numbers of the requests that plug in.
    """

    first: int
    rows: I32
    routed: tuple[tuple[tuple[int, int], ...], ...]
    load_frac: tuple[F64, ...]
    plugged: tuple[tuple[int, ...], ...]


def shadow(session: Session, ticks: int) -> Shadow:
    """Play `ticks` ticks (fewer where the episode ends) on `session.fork()`."""
    twin = session.fork()
    batch = twin._batch
    world = batch.world
    nominal = world.city.pack.grid.feeder_kva
    first = world.scalar(0, r.Y_TICK)
    size = world.layout.dims["MP"]
    watch = CarWatch(world)
    routed: list[tuple[tuple[int, int], ...]] = []
    loads: list[F64] = []
    plugged: list[tuple[int, ...]] = []
    opening = np.zeros((0, r.N_DCOL), np.int32)
    for n in range(ticks):
        if world.scalar(0, r.Y_DONE):
            break
        rows, count = np.zeros((1, 1, size, r.N_DCOL), np.int32), np.zeros((1, 1), np.int32)
        batch.play("greedy_counting", 1, (rows, count))
        given = rows[0, 0, : int(count[0, 0])]
        if n == 0:
            opening = given
        routes = given[given[:, r.D_KIND] == ActionKind.ROUTE]
        routed.append(tuple((int(row[r.D_SEQ]), int(row[r.D_STATION])) for row in routes))
        loads.append(world.view("FD_S")[0].astype(np.float64) / nominal)
        plugged.append(watch.update().plugged)
    return Shadow(first, opening, tuple(routed), tuple(loads), tuple(plugged))
