"""Value of information: what greedy_counting and the planner gain when they know of walk-ins that nobody can see.

    python benchmarks/information.py --episodes 12

The same rules on the same evenings (seeds SeedSequence(1, spawn_key=(index,))), told of the walk-ins on the road, or of
all to come (`evaluation.information`); writes artifacts/information.json.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

from ev_grid_oracle.city import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.evaluation.information import HORIZON_TICKS, KNOWLEDGE, RULES, label, play_informed
from ev_grid_oracle.evaluation.paired import difference
from ev_grid_oracle.evaluation.provenance import provenance
from ev_grid_oracle.evaluation.seeds import episode_seed
from ev_grid_oracle.evaluation.values import Values, values_of
from ev_grid_oracle.evaluation.writing import to_json, write_atomic

SEED = 1
KEYS = (
    "composite_car_minutes",
    "minutes_to_charged",
    "walkin_minutes_to_charged",
    "lost",
    "walkin_lost",
    "total_reward",
)
SCENARIOS = ("baseline", "festival_surge", "station_outage")
Rows = list[tuple[int, Values]]


def play(city: CityPack, scenario: str, rule: str, knowledge: str, episodes: int) -> Rows:
    """(place of the evening, values) of one informed rule."""
    out: Rows = []
    for k in range(episodes):
        world = resolve(city, seed=episode_seed(SEED, k), scenario=scenario).world
        accounts, terms = play_informed(rule, knowledge, city, world)
        out.append((k, values_of(accounts, terms, city)))
    return out


def compare(rows: dict[str, Rows], rule: str) -> dict[str, object]:
    """Paired differences of each knowledge to the rule as anybody plays it."""
    base = rows[label(rule, "observed")]
    return {
        label(rule, k): {
            key: difference(
                rows[label(rule, k)], base, key, "higher" if key == "total_reward" else "lower"
            ).as_dict()
            for key in KEYS
        }
        for k in KNOWLEDGE
        if k != "observed"
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--city", default="bengaluru")
    parser.add_argument("--scenarios", nargs="*", default=list(SCENARIOS))
    parser.add_argument("--episodes", type=int, default=12)
    parser.add_argument("--out", type=Path, default=Path("artifacts/information.json"))
    args = parser.parse_args()
    city = load_city(args.city)
    tables: dict[str, object] = {}
    pooled: dict[str, Rows] = {}
    for n, scenario in enumerate(args.scenarios):
        rows = {
            label(rule, k): play(city, scenario, rule, k, args.episodes) for rule in RULES for k in KNOWLEDGE
        }
        means = {
            name: math.fsum(v[KEYS[0]] or 0.0 for _, v in found) / len(found) for name, found in rows.items()
        }
        tables[scenario] = {"means": means, "gains": {rule: compare(rows, rule) for rule in RULES}}
        for name, found in rows.items():  # evenings of other scenarios are other evenings
            pooled.setdefault(name, []).extend((10_000 * n + k, v) for k, v in found)
        print(scenario, {name: round(value) for name, value in means.items()}, flush=True)
    tables["all"] = {"gains": {rule: compare(pooled, rule) for rule in RULES}}
    report = {
        "schema": "evgrid.information.1", "seed": SEED, "episodes": args.episodes, "horizon_ticks": HORIZON_TICKS,
        "provenance": provenance(city), "tables": tables,
    }  # fmt: skip
    write_atomic(args.out, to_json(report))
    for rule in RULES:
        for name, found in compare(pooled, rule).items():
            d = found[KEYS[0]]  # type: ignore[index]
            base = abs(d["mean"] / d["change_pct"] * 100.0) if d["change_pct"] else 1.0
            print(
                f"{name}: {d['change_pct']:+.2f} % [{100 * d['low'] / base:+.2f}, {100 * d['high'] / base:+.2f}] of the composite, n {d['n']}"
            )


if __name__ == "__main__":
    main()
