"""Writes a pack's `start_occupancy.csv`: what the baseline's stations hold at each hour of a long run.

An episode draws its occupancy from this table two hours before it starts and then warms up; so it begins
in a world as busy as its hour. Run again after a change of demand, stations or fleet:

    python benchmarks/start_occupancy.py bengaluru toy
"""

from __future__ import annotations

import csv
import sys

import numpy as np

from ev_grid_oracle.city import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.sim.world import WorldOptions

ENVS, DAYS, SKIP_TICKS, PASSES = 32, 2, 120, 2
WEEKDAYS = {"weekday": 1, "sunday": 6}


def occupancy(city: CityPack, weekday: int) -> np.ndarray:
    """(24, 3) mean occupancy at the start of each hour by slot class (0 where the city has none)."""
    stations = city.stations
    batch = Batch(city, ENVS)
    ticks = SKIP_TICKS + 288 if weekday == 6 else 288 * DAYS + SKIP_TICKS
    start = weekday - (1 if weekday == 6 else 0)  # a Sunday is reached from its Saturday
    scenario = city.scenario("baseline")
    options = [WorldOptions(s, scenario, 14 * 60, weekday=start, ticks=2016, settle=False) for s in range(ENVS)]
    batch.reset(options)
    total, count = np.zeros((24, 3)), np.zeros(24)
    for tick in range(ticks + 1):
        slot = 14 * 12 + tick
        day = (start + slot // 288) % 7
        if tick >= SKIP_TICKS and slot % 12 == 0 and (day == 6) == (weekday == 6):
            held = batch.world.view("ST_OCC")[:, : len(stations.ids)].mean(0)
            for k in range(3):
                mine = stations.rate == k
                if mine.any():
                    total[slot % 288 // 12, k] += held[mine].sum() / stations.slots[mine].sum()
            count[slot % 288 // 12] += 1
        batch.play("baseline", 1)
    return total / np.maximum(count, 1)[:, None]


def main() -> int:
    for name in sys.argv[1:] or ["bengaluru"]:
        city = load_city(name)
        rows = [
            [day, hour, *(f"{x:.3f}" for x in values)]
            for day, weekday in WEEKDAYS.items()
            for hour, values in enumerate(occupancy(city, weekday))
        ]
        with (city.path / "start_occupancy.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["day_type", "hour", "slow", "fast", "ultra_fast"])
            writer.writerows(rows)
        print(f"{name}: weekday 15 h {rows[15][2:]}, 20 h {rows[20][2:]}, Sunday 12 h {rows[36][2:]}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
