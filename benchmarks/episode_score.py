"""The two ends of the episode score: mean totals of always_defer and clairvoyant over 20 evenings a scenario.

    python benchmarks/headroom.py --clairvoyant 20      # plays them; may be stopped and called anew
    python benchmarks/episode_score.py                  # writes ev_grid_oracle/evaluation/data/episode_score.json

Reads the work file of the headroom run and plays nothing itself. Writes the table only if every scenario has all
evenings of both policies; with --check it exits 1 where the table in the package is not what the work file gives.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Mapping
from pathlib import Path

from headroom import SEED, load
from headroom_report import Records

from ev_grid_oracle.city import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation.provenance import provenance
from ev_grid_oracle.evaluation.score import TABLE
from ev_grid_oracle.evaluation.seeds import episode_seeds
from ev_grid_oracle.evaluation.writing import to_json, write_atomic
from ev_grid_oracle.schema.errors import OptionError

EVENINGS = 20
ENDS = ("always_defer", "clairvoyant")


def ends(records: Records, scenario: str, evenings: int) -> dict[str, float]:
    """Mean total reward of each end of one scenario.

    Raises:
        OptionError: evenings are missing.
    """
    out = {}
    for policy in ENDS:
        rows = [records.get((policy, scenario, k)) for k in range(evenings)]
        totals = [row["total_reward"] for row in rows if row is not None]
        if len(totals) < evenings:
            raise OptionError(
                f"{policy} has {len(totals)} of {evenings} evenings of {scenario}.",
                f"Play them: python benchmarks/headroom.py --clairvoyant {evenings}.",
            )
        out[policy] = math.fsum(totals) / evenings
    if out["clairvoyant"] <= out["always_defer"]:
        raise OptionError(f"In {scenario} the clairvoyant is not above always_defer.", "Search longer: --sweeps.")
    return out


def table(city: CityPack, records: Records, evenings: int = EVENINGS) -> dict[str, object]:
    """The table as `evaluation.score` reads it."""
    sweeps = [records["clairvoyant", s.name, k]["sweeps"] for s in city.scenarios for k in range(evenings)
              if ("clairvoyant", s.name, k) in records]  # fmt: skip
    entry: Mapping[str, object] = {
        "sha256": city.sha256,
        "scenarios": {s.name: ends(records, s.name, evenings) for s in city.scenarios},
    }
    return {
        "name": f"headroom-{evenings}",
        "root_seed": SEED,
        "episode_seeds": list(episode_seeds(SEED, evenings)),
        "clairvoyant_sweeps": {"least": min(sweeps, default=0), "most": max(sweeps, default=0)},
        "provenance": {k: v for k, v in provenance(city).items() if k != "machine"},
        "cities": {city.id: entry},
    }


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--city", default="bengaluru")
    parser.add_argument("--work", type=Path, default=Path("runs/headroom.jsonl"))
    parser.add_argument("--out", type=Path, default=TABLE)
    parser.add_argument("--evenings", type=int, default=EVENINGS, help="fewer give a table of another name")
    parser.add_argument("--check", action="store_true", help="compare only; 1 where they differ")
    args = parser.parse_args(argv)
    try:
        city = load_city(args.city)
        found = table(city, load(args.work), args.evenings)
    except OptionError as error:
        sys.stderr.write(f"{error.code}: {error}\n")
        return 3
    if args.check:
        there = json.loads(args.out.read_text(encoding="utf-8")) if args.out.exists() else {}
        equal = there.get("cities") == json.loads(to_json(found["cities"]))
        print("equal" if equal else f"{args.out} is not what {args.work} gives")
        return int(not equal)
    write_atomic(args.out, to_json(found))
    print(to_json(found["cities"]), end="")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
