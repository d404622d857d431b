"""Random episodes: any scenario, any option, answers that are valid, silly, refused or doubled."""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import CarState
from ev_grid_oracle.sim.world import World, WorldOptions

STYLES = ("mixed", "refused", "defer", "shift", "one_station", "silent")


def options(city: CityPack, rng: np.random.Generator, ticks: int) -> WorldOptions:
    """Options drawn from everything `reset` allows."""
    scenario = city.scenarios[int(rng.integers(len(city.scenarios)))]
    persona = int(rng.integers(-1, len(city.personas.names))) if rng.random() < 0.3 else -1
    start = int(rng.integers(0, 288)) * 5 if rng.random() < 0.5 else 17 * 60
    return WorldOptions(
        seed=int(rng.integers(0, 2**32)),
        scenario=scenario,
        start_min=start,
        season=int(rng.integers(0, 4)),
        weekday=int(rng.integers(0, 7)),
        persona=persona,
        ticks=ticks,
        participation=float(rng.choice([0.0, 0.1, 0.25, 0.4])),
        open_demand=bool(rng.random() < 0.95),
        settle=bool(rng.random() < 0.5),
    )


def answers(world: World, e: int, rng: np.random.Generator, style: str, out: np.ndarray) -> int:
    """Write random answers for the pending cars of `e` into `out` (MD, 8); returns how many."""
    pack = world.city.pack
    n_s = len(pack.stations.ids)
    cars = world.view("CAR")[e]
    pending = cars[cars[:, r.C_STATE] == CarState.PENDING, r.C_SEQ].tolist()
    rows = []
    for seq in pending:
        if style == "silent" or rng.random() < 0.2:
            continue
        kind = {"defer": 1, "shift": 2, "one_station": 0}.get(style, int(rng.integers(0, 3)))
        station = 0 if style == "one_station" else int(rng.integers(0, n_s))
        if kind == 1 or (kind == 2 and rng.random() < 0.2):
            station = -1
        minutes = int(rng.choice([1, 5, 12, 30, 240])) if kind else 0
        rows.append([seq, kind, station, int(rng.integers(0, 3)), minutes, int(rng.integers(0, 10001)), 0, 0])
        if rng.random() < 0.05:
            rows.append([*rows[-1][:4], 5, 0, 0, 0])  # the same car twice
    if style != "silent" and rng.random() < 0.1:
        rows.append([int(rng.integers(10**6, 2 * 10**6)), 0, 0, 0, 0, 0, 0, 0])  # nobody's number
    rows = rows[: len(out)]
    if rows:
        out[: len(rows)] = rows
    return len(rows)
