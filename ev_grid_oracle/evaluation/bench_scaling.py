"""How the cost of a tick grows with environments and with stations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation.bench_load import TICKS, seconds, workload
from ev_grid_oracle.evaluation.bench_tiled import tiled_city

ENVS = (1, 4, 16, 64, 256, 1024)
FACTORS = (1, 2, 4, 10)
DISTINCT = 8
"""Seeds recorded for each size; environments beyond them repeat these evenings in rows of their own."""


def bench_scaling(
    city: CityPack,
    envs: Sequence[int] = ENVS,
    factors: Sequence[int] = FACTORS,
    repeats: int = 3,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, object]:
    """Every point in both orders, microseconds per tick, environment and station, and how far they spread.

    `worst_over_fastest` is the dearest point's cost of one environment and station over the cheapest's,
    for each order; one is a cost that grows exactly with the number of environments and stations.
    """
    points: list[dict[str, object]] = []
    costs: dict[str, list[float]] = {"at_once": [], "tick_by_tick": []}
    for factor in factors:
        pack = tiled_city(city, factor)
        stations = len(pack.stations.ids)
        for n in envs:
            say(f"{n} environments x {stations} stations")
            load = workload(pack, n, distinct=DISTINCT)
            spread = {
                "at_once": seconds(load.run_at_once, load.rewind, repeats, 0.3, 8.0),
                "tick_by_tick": seconds(load.run_tick_by_tick, load.rewind, repeats, 0.3, 8.0),
            }
            point: dict[str, object] = {"envs": n, "stations": stations, "occupancy": load.occupancy_frac}
            for order, taken_s in spread.items():
                cost_us = 1e6 * taken_s / (TICKS * n * stations)
                costs[order].append(cost_us)
                point[f"us_per_env_station_{order}"] = cost_us
                point[f"ticks_per_s_{order}"] = n * TICKS / taken_s
            points.append(point)
    return {
        "points": points,
        "worst_over_fastest": {order: max(values) / min(values) for order, values in costs.items()},
    }
