"""The drivers of the road task, compared on the same trips.

    python benchmarks/road.py [--city bengaluru] [--trips 200] [--seed 1] [--scenario baseline] [--json]

Prints, for each driver: share of trips that arrived, mean minutes, mean minutes over the fastest way (of those
that arrived), mean reward with its 95 % interval, and steps a second.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

from ev_grid_oracle.episode.road import RoadSession
from ev_grid_oracle.policies.road import drive, make_road_policy, road_policy_names


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--city", default="bengaluru")
    parser.add_argument("--trips", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scenario", default="baseline")
    parser.add_argument("--json", action="store_true")
    a = parser.parse_args()
    task = RoadSession(a.city)
    seeds = np.random.SeedSequence(a.seed).generate_state(a.trips).tolist()
    report: dict[str, dict[str, float | None]] = {}
    for name in road_policy_names():
        policy = make_road_policy(name)
        rewards, minutes, over, steps, clock = [], [], [], 0, 0.0
        for seed in seeds:
            first = task.reset(seed=seed, scenario=a.scenario)
            start = time.perf_counter()
            last, total = drive(task, policy, seed)
            clock += time.perf_counter() - start
            steps += last.steps - first.steps
            rewards.append(total)
            if last.arrived:
                minutes.append(last.minutes)
                over.append(last.minutes - float(last.info["fastest_minutes"]))  # type: ignore[arg-type]
        half = 1.96 * float(np.std(rewards, ddof=1)) / len(rewards) ** 0.5
        report[name] = {
            "arrived_share": len(minutes) / len(seeds),
            "minutes": float(np.mean(minutes)) if minutes else None,
            "minutes_over_fastest": float(np.mean(over)) if over else None,
            "reward": float(np.mean(rewards)),
            "reward_ci95": half,
            "steps_per_s": steps / clock,
        }
    if a.json:
        print(json.dumps({"city": a.city, "trips": a.trips, "scenario": a.scenario, "drivers": report}))
        return 0
    print(f"{a.trips} trips in {a.city}, scenario {a.scenario}")
    for name, r in report.items():
        shown = ", ".join(f"{key} {'-' if v is None else round(v, 2)}" for key, v in r.items())
        print(f"{name:15} {shown}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
