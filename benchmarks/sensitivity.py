"""Do the headline gains hold when the assumptions are off by a quarter?

    python benchmarks/sensitivity.py --episodes 8 --out artifacts/sensitivity.json

Demand, participation, feeder ratings, road speeds and patience are moved by +-25 %, one at a time; greedy_counting
and the planner keep the constants that were tuned on the unchanged city. Writes the JSON and docs/sensitivity.md. The
work file keeps every row that is done, so that a stopped run goes on where it was.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
from headroom_report import change

from ev_grid_oracle.city import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.evaluation.players import play_block
from ev_grid_oracle.evaluation.provenance import identity, provenance
from ev_grid_oracle.evaluation.seeds import episode_seed
from ev_grid_oracle.evaluation.values import values_of
from ev_grid_oracle.evaluation.writing import to_json, write_atomic

SEED = 1
STEPS = (0.75, 1.25)
KEYS = ("composite_car_minutes", "minutes_to_charged", "lost", "walkin_minutes_to_charged", "overload_kva_min",
        "overload_minutes", "total_reward")  # fmt: skip
ASSUMPTIONS = ("demand", "participation", "feeder ratings", "speeds", "patience")


def scaled(city: CityPack, what: str, factor: float) -> CityPack:
    """The city with one assumption multiplied by `factor`. Room for cars grows with it, so that nobody is left out."""
    room = replace(city.constants, max_cars=1024, max_pending=256)
    base = replace(city, constants=room)
    if what == "demand":
        c = replace(room, requests_per_tick=room.requests_per_tick * factor, walkins_per_tick=room.walkins_per_tick * factor)
        return replace(base, constants=c)
    if what == "participation":
        part = room.participation * factor
        c = replace(room, participation=part, requests_per_tick=room.requests_per_tick * factor,
                    walkins_per_tick=room.walkins_per_tick * (1.0 - part) / (1.0 - room.participation))  # fmt: skip
        return replace(base, constants=c)
    if what == "feeder ratings":
        grid = replace(city.grid, feeder_kva=city.grid.feeder_kva * factor, feeder_base_frac=city.grid.feeder_base_frac / factor)
        return replace(base, grid=grid)
    if what == "speeds":
        return replace(base, roads=replace(city.roads, free_flow_kmh=city.roads.free_flow_kmh * factor))
    if what == "patience":
        p = city.personas
        lo, hi = (np.maximum(np.rint(v * factor), 1).astype(np.int32) for v in (p.patience_lo_min, p.patience_hi_min))
        return replace(base, personas=replace(p, patience_lo_min=lo, patience_hi_min=hi))
    return base


def measure(city: CityPack, episodes: int) -> dict[str, object]:
    """Paired changes against the baseline, pooled over scenarios, and what the baseline loses."""
    values: dict[str, list[dict[str, float | None]]] = {}
    for policy in ("baseline", "greedy_counting", "planner"):
        values[policy] = []
        for scenario in city.scenarios:
            options = [
                resolve(city, seed=episode_seed(SEED, k), scenario=scenario.name).world for k in range(episodes)
            ]
            played = play_block(policy, city, options)
            values[policy] += [values_of(a, t, city) for a, t in zip(played.accounts, played.terms, strict=True)]
    out: dict[str, object] = {
        "baseline_lost_share": float(np.mean([v["lost_share"] or 0.0 for v in values["baseline"]]))
    }
    for policy, reference in (("greedy_counting", "baseline"), ("planner", "baseline"), ("planner", "greedy_counting")):
        out[f"{policy} against {reference}"] = {
            key: change([
                (float(a[key] or 0.0), float(b[key] or 0.0)) for a, b in zip(values[policy], values[reference], strict=True)
            ])
            for key in KEYS
        }  # fmt: skip
    return out


def document(report: Mapping[str, object]) -> str:
    """docs/sensitivity.md."""
    about = report["provenance"]
    out = ["# Sensitivity", "",
           "Gains when one assumption is off by a quarter, pooled over the scenarios, in per cent with 95 % intervals (paired on "
           f"the same evenings, {report['episodes']} a scenario). The constants of `greedy_counting` and `planner` stay those "
           "tuned on the unchanged city. Feeder ratings move with the base load in kVA unchanged. Written by "
           "`benchmarks/sensitivity.py` from `artifacts/sensitivity.json`.", "",
           f"Command `{about['command']}`, commit {str(about['commit'])[:10]}{' (modified)' if about['modified'] else ''}.", "",  # type: ignore[index]
           "| assumption | baseline loses | greedy: composite | greedy: overload kVA min | planner: composite | "
           "planner: minutes to charged | planner: lost | planner: overload kVA min | planner: overload min | planner against "
           "greedy: composite |", "| --- |" + " --: |" * 9]  # fmt: skip

    def cell(c: Mapping[str, float] | None) -> str:
        return "-" if c is None else f"{c['pct']:+.1f} [{c['low']:+.1f}, {c['high']:+.1f}]"

    for name, row in report["rows"].items():  # type: ignore[attr-defined]
        g, p, pg = (row[f"{a} against {b}"] for a, b in
                    (("greedy_counting", "baseline"), ("planner", "baseline"), ("planner", "greedy_counting")))  # fmt: skip
        cells = [g["composite_car_minutes"], g["overload_kva_min"], p["composite_car_minutes"], p["minutes_to_charged"], p["lost"],
                 p["overload_kva_min"], p["overload_minutes"], pg["composite_car_minutes"]]  # fmt: skip
        out.append(f"| {name} | {100 * row['baseline_lost_share']:.1f} % | {' | '.join(cell(c) for c in cells)} |")
    rows = report["rows"].values()  # type: ignore[attr-defined]

    def below(row: Mapping[str, Mapping[str, Mapping[str, float] | None]], pair: str) -> bool:
        c = row[pair]["composite_car_minutes"]
        return c is not None and c["high"] < 0.0

    held = sum(below(row, "planner against baseline") and below(row, "greedy_counting against baseline") for row in rows)
    ahead = sum(below(row, "planner against greedy_counting") for row in rows)
    n = len(rows)
    out += ["", f"Both dispatchers stay below the baseline's composite, interval clear of zero, in {held} of {n} rows; the planner "
            f"below `greedy_counting` in {ahead} of {n}."]  # fmt: skip
    return "\n".join(out) + "\n"


def load(path: Path, about: Mapping[str, object]) -> dict[str, object]:
    """Rows of the work file that were measured with this city, code and number of evenings; none of another."""
    if not path.exists():
        return {}
    kept = json.loads(path.read_text(encoding="utf-8"))
    return dict(kept["rows"]) if kept.get("about") == json.loads(to_json(about)) else {}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--city", default="bengaluru")
    parser.add_argument("--episodes", type=int, default=8, help="evenings a scenario")
    parser.add_argument("--work", type=Path, default=Path("runs/sensitivity.json"))
    parser.add_argument("--out", type=Path, default=Path("artifacts/sensitivity.json"))
    parser.add_argument("--doc", type=Path, default=Path("docs/sensitivity.md"))
    args = parser.parse_args()
    city = load_city(args.city)
    cases = [("as calibrated", "", 1.0)]
    cases += [(f"{what} {100 * (factor - 1):+.0f} %", what, factor) for what in ASSUMPTIONS for factor in STEPS]
    about = {**identity(city), "episodes": args.episodes, "seed": SEED}
    rows = load(args.work, about)
    for name, what, factor in cases:
        if name not in rows:
            rows[name] = measure(scaled(city, what, factor), args.episodes)
            write_atomic(args.work, to_json({"about": about, "rows": rows}))
            print(f"{name} done", flush=True)
    rows = {name: rows[name] for name, _, _ in cases}
    report = {"schema": "evgrid.sensitivity.1", "episodes": args.episodes, "provenance": provenance(city), "rows": rows}
    write_atomic(args.out, to_json(report))
    write_atomic(args.doc, document(json.loads(args.out.read_text(encoding="utf-8"))))
    print(args.doc.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
