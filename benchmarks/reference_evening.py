"""N0 and the other figures that a pack takes from its own reference evening.

The reference evening is scenario `baseline` on a weekday in summer, mixed fleet, under the baseline, as a
mean over the pack's `reference_seeds`. Prints what belongs into `manifest.toml` and what stands there.

    python benchmarks/reference_evening.py [city] [--check]

With --check it exits 1 where the pack's `n0_car_minutes` is off by more than 1 % or the median by more
than 2 events.
"""

from __future__ import annotations

import sys

import numpy as np

from ev_grid_oracle.city import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.sim.world import WorldOptions


def reference(city: CityPack, ticks: int = 48) -> tuple[float, float]:
    """(mean car-minutes a tick, median grid_stress_events) of the reference evening, without settle."""
    seeds = city.constants.reference_seeds
    batch = Batch(city, len(seeds))
    scenario = city.scenario("baseline")
    hour, minute = map(int, city.default_start.split(":"))
    batch.reset([WorldOptions(s, scenario, 60 * hour + minute, ticks=ticks, settle=False) for s in seeds])
    batch.play("baseline", ticks)
    accounts = batch.world.view("EP")
    return float(accounts[:, r.T_WAIT].mean() / ticks), float(np.median(accounts[:, r.T_STRESS_EV]))


def main() -> int:
    names = [a for a in sys.argv[1:] if not a.startswith("-")] or ["bengaluru"]
    bad = 0
    for name in names:
        city = load_city(name)
        n0, median = reference(city)
        c = city.constants
        print(f"{name}: n0_car_minutes = {n0:.1f} (pack: {c.n0_car_minutes}), high_stress_median = {median:.1f} "
              f"(pack: {c.high_stress_median})")  # fmt: skip
        bad += abs(n0 / c.n0_car_minutes - 1.0) > 0.01 or abs(median - c.high_stress_median) > 2.0
    return int("--check" in sys.argv and bad > 0)


if __name__ == "__main__":
    raise SystemExit(main())
