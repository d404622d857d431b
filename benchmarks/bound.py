"""Lower bounds of evenings, and the share of the possible gain that each dispatcher reaches.

    python benchmarks/bound.py --episodes 8

Plays baseline, greedy_counting and planner on the evenings of the evaluation (seeds SeedSequence(1,
spawn_key=(index,))), bounds each evening (`evaluation.bound`), adds the clairvoyant where benchmarks/headroom.py has
searched it, and writes artifacts/bound.json and docs/bound.md.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from ev_grid_oracle.city import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.evaluation.bound import STEPS, Relaxation, first_choices
from ev_grid_oracle.evaluation.bound_options import options_of
from ev_grid_oracle.evaluation.bound_share import Ratio, gain_share, ratio
from ev_grid_oracle.evaluation.bound_world import read_evening
from ev_grid_oracle.evaluation.players import play_block
from ev_grid_oracle.evaluation.provenance import provenance
from ev_grid_oracle.evaluation.seeds import episode_seed
from ev_grid_oracle.evaluation.values import values_of
from ev_grid_oracle.evaluation.writing import to_json, write_atomic

SEED = 1
POLICIES = ("baseline", "greedy_counting", "planner")
KEY = "composite_car_minutes"
Row = dict[str, float]


def clairvoyants(path: Path) -> dict[tuple[str, int], float]:
    """Composite of the clairvoyant by scenario and index, the best found; empty without a work file."""
    found: dict[tuple[str, int], float] = {}
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        row = json.loads(text)
        if row["policy"] == "clairvoyant":
            key = (row["scenario"], row["index"])
            found[key] = min(found.get(key, math.inf), row["values"][KEY])
    return found


def evenings(city: CityPack, scenario: str, episodes: int, steps: int) -> list[Row]:
    """One row an evening: the cost of each policy, the bound, and what it is made of."""
    worlds = [resolve(city, seed=episode_seed(SEED, k), scenario=scenario).world for k in range(episodes)]
    costs: dict[str, list[float]] = {}
    for name in POLICIES:
        played = play_block(name, city, worlds)
        values = [values_of(a, t, city) for a, t in zip(played.accounts, played.terms, strict=True)]
        costs[name] = [float(v[KEY] or 0.0) for v in values]
        costs["floor"] = [float(v["floor"] or 0.0) for v in values]
    rows = []
    for k, world in enumerate(worlds):
        evening = read_evening(city, world)
        begun = time.perf_counter()
        bound = Relaxation(evening, options_of(evening)).search(steps)
        held = first_choices(evening)
        first = Relaxation(held, options_of(held)).search(steps // 2)
        row = {name: values[k] for name, values in costs.items()}
        row |= {"index": k, "bound": bound.car_minutes, "bound_without_prices": bound.free_car_minutes}
        row |= {"held_to_first_choice": first.car_minutes, "seconds": time.perf_counter() - begun}
        rows.append(row)
    return rows


def table(rows: Sequence[Row]) -> dict[str, object]:
    """Means, shares of the possible gain, and the bound's own gap."""

    def col(name: str, of: Sequence[Row] = rows) -> list[float]:
        return [row[name] for row in of]

    known = [row for row in rows if "clairvoyant" in row]
    names = ("floor", "bound", "held_to_first_choice", *POLICIES)
    out: dict[str, object] = {
        "n": len(rows),
        "n_clairvoyant": len(known),
        "means": {n: math.fsum(col(n)) / len(rows) for n in names},
    }
    out["share_of_bound"] = {
        n: gain_share(col("baseline"), col(n), col("bound")).as_dict() for n in POLICIES[1:]
    }
    if known:
        base, best = col("baseline", known), col("clairvoyant", known)
        out["means_clairvoyant"] = {
            n: math.fsum(col(n, known)) / len(known)
            for n in ("bound", "held_to_first_choice", "planner", "clairvoyant")
        }
        out["share_of_clairvoyant"] = {
            n: gain_share(base, col(n, known), best).as_dict() for n in POLICIES[1:]
        }
        out["clairvoyant_share_of_bound"] = gain_share(base, best, col("bound", known)).as_dict()
        gap = [c - b for c, b in zip(best, col("bound", known), strict=True)]
        walk = [f - b for f, b in zip(col("held_to_first_choice", known), col("bound", known), strict=True)]
        out["gap_of_bound"] = ratio(gap, best).as_dict()
        out["gap_from_walkins_turned_away"] = ratio(walk, best).as_dict()
    return out


def _pct(value: Mapping[str, object] | None) -> str:
    if value is None or value["value"] is None:
        return "-"
    low, high = value["low"], value["high"]
    text = f"{100 * float(str(value['value'])):.1f}"
    return text if low is None else f"{text} [{100 * float(str(low)):.1f}, {100 * float(str(high)):.1f}]"


def document(report: Mapping[str, object]) -> str:
    """docs/bound.md."""
    about, tables = report["provenance"], report["tables"]
    assert isinstance(about, Mapping) and isinstance(tables, Mapping)
    out = [
        "# Lower bound", "",
        "No dispatcher's `composite_car_minutes` of an evening is below its bound: a Lagrangian relaxation that charges for slots "
        "and for queues that turn walk-ins away (argument in `ev_grid_oracle/evaluation/bound.py` and `bound_options.py`). A "
        "share is (baseline - policy) / (baseline - best): of the bound, a floor of what was reached of the true optimum; of "
        "the clairvoyant's search, a ceiling. 95 % intervals by bootstrap over evenings. Written by `benchmarks/bound.py` from "
        "`artifacts/bound.json`.", "",
        f"Command `{about['command']}`, seeds `SeedSequence({report['seed']}, spawn_key=(index,))`, commit "
        f"{str(about['commit'])[:10]}{' (modified)' if about['modified'] else ''}, city {about['city']['sha256'][:16]}.", "",
        "## Share of the possible gain, in per cent", "",
        "| scenario | n | greedy_counting, of bound | planner, of bound | n with clairvoyant | clairvoyant, of bound | "
        "greedy_counting, of clairvoyant | planner, of clairvoyant |",
        "| --- | --: | --- | --- | --: | --- | --- | --- |",
    ]  # fmt: skip
    for name, t in tables.items():
        of, seen = t["share_of_bound"], t.get("share_of_clairvoyant", {})
        out.append(
            f"| {name} | {t['n']} | {_pct(of['greedy_counting'])} | {_pct(of['planner'])} | {t['n_clairvoyant']} | "
            f"{_pct(t.get('clairvoyant_share_of_bound'))} | {_pct(seen.get('greedy_counting'))} | {_pct(seen.get('planner'))} |"
        )
    out += [
        "", "## How tight the bound is", "",
        "Car-minutes an evening. The gap is (clairvoyant - bound) / clairvoyant; the part in the last column comes from walk-ins "
        "that a dispatcher might turn away with queues: the bound lets it choose, the search does not look for it. The rest is "
        "queue order, site limits, overload and what the search missed.", "",
        "| scenario | floor | bound | held to first choice | planner | baseline | gap to clairvoyant, % | of it walk-ins turned away, % |",
        "| --- | --: | --: | --: | --: | --: | --- | --- |",
    ]  # fmt: skip
    for name, t in tables.items():
        m = t["means"]
        cells = " | ".join(
            f"{m[k]:.0f}" for k in ("floor", "bound", "held_to_first_choice", "planner", "baseline")
        )
        out.append(
            f"| {name} | {cells} | {_pct(t.get('gap_of_bound'))} | {_pct(t.get('gap_from_walkins_turned_away'))} |"
        )
    out += [
        "", "The floor is no bound: it has every walk-in at its first choice. On evenings of toy size HiGHS solves the relaxed problem "
        "outright and brute force over all answers confirms the bound (`tests/evaluation/test_bound.py`).", "",
    ]  # fmt: skip
    return "\n".join(out)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--city", default="bengaluru")
    parser.add_argument("--scenarios", nargs="*", help="default: all of the city")
    parser.add_argument("--episodes", type=int, default=8)
    parser.add_argument("--steps", type=int, default=STEPS, help="of the search for prices")
    parser.add_argument(
        "--headroom", type=Path, default=Path("runs/headroom.jsonl"), help="work file with clairvoyants"
    )
    parser.add_argument("--out", type=Path, default=Path("artifacts/bound.json"))
    parser.add_argument("--doc", type=Path, default=Path("docs/bound.md"))
    args = parser.parse_args()
    city = load_city(args.city)
    names = args.scenarios or [s.name for s in city.scenarios]
    known = clairvoyants(args.headroom)
    rows: dict[str, list[Row]] = {}
    for name in names:
        rows[name] = evenings(city, name, args.episodes, args.steps)
        for row in rows[name]:
            if (name, int(row["index"])) in known:
                row["clairvoyant"] = known[name, int(row["index"])]
        print(
            f"{name}: bound {rows[name][0]['bound']:.0f}, planner {rows[name][0]['planner']:.0f}", flush=True
        )
    tables = {name: table(found) for name, found in rows.items()}
    if len(names) > 1:
        tables["all"] = table([row for found in rows.values() for row in found])
    report = {
        "schema": "evgrid.bound.1", "seed": SEED, "steps": args.steps, "provenance": provenance(city), "tables": tables, "evenings": rows,
    }  # fmt: skip
    write_atomic(args.out, to_json(report))
    write_atomic(args.doc, document(json.loads(args.out.read_text(encoding="utf-8"))))
    print(args.doc.read_text(encoding="utf-8"))


__all__ = ["Ratio", "document", "evenings", "table"]

if __name__ == "__main__":
    main()
