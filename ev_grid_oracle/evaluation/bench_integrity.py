"""Reward integrity: does any policy gain reward while cars fare worse?

    evgrid bench integrity --evaluations 2000
    python benchmarks/integrity.py --evaluations 2000 --work runs/integrity.jsonl

Plays, on the same evenings of every scenario: the baseline, greedy_counting, the planner, the policies that do
nothing useful, and policies from a search (bench_search). A **hole** is a policy with a higher reward and a worse
composite than the best honest policy; one that the search found is played again on ten fresh evenings or more, where
it was not selected, and stands if it is a hole there too. Also checked: rank correlation of reward with -composite
(Spearman, at least 0.95), and that no useless policy is above the baseline in any scenario. All of it twice, with
the penalties for flags and without.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ev_grid_oracle.city import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation.bench_arena import (
    F64,
    HABITS,
    HIGH,
    LOW,
    NAMES,
    SEED,
    WIDE,
    Arena,
    Found,
    tuned,
)
from ev_grid_oracle.evaluation.bench_search import Ledger, Point, Say, climber, search
from ev_grid_oracle.evaluation.provenance import provenance
from ev_grid_oracle.evaluation.writing import to_json, write_atomic

__all__ = ["HABITS", "HIGH", "LOW", "NAMES", "RANK_BAR", "SEED", "WIDE", "Arena", "check", "main", "spearman", "tuned"]

HONEST = ("greedy_counting", "planner")
USELESS = ("always_defer", "always_load_shift", "same_station", "random", "nearest")
RANK_BAR = 0.95
KEYS = ("reward", "reward_no_flags")
FRESH_EVENINGS = 10
MOST_AGAIN = 40
"""Candidates for a hole that are played again, the ones with the highest reward first."""


def spearman(a: F64, b: F64) -> float:
    """Rank correlation (mean ranks for ties)."""
    from scipy.stats import rankdata

    x, y = rankdata(a), rankdata(b)
    x, y = x - x.mean(), y - y.mean()
    return float((x * y).sum() / np.sqrt((x * x).sum() * (y * y).sum()))


def is_hole(found: Found, honest: Found, key: str) -> bool:
    """Higher reward and a worse composite, on the mean of all scenarios."""
    better = float(found[key].mean()) > float(honest[key].mean())
    return better and float(found["composite"].mean()) > float(honest["composite"].mean())


def _entry(x: F64, found: Found, honest: Found, name: str, key: str) -> dict[str, object]:
    return {
        "judged_by": key,
        "reward": float(found[key].mean()),
        "composite": float(found["composite"].mean()),
        "honest": name,
        "honest_reward": float(honest[key].mean()),
        "honest_composite": float(honest["composite"].mean()),
        "policy": dict(zip(NAMES, x.tolist(), strict=True)),
    }


def _holes(
    points: Sequence[Point], named: Mapping[str, Found], honest: Sequence[str], arena: Arena, evenings: int
) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """(candidates on the search's evenings, those that are holes on fresh ones too)."""
    candidates: list[dict[str, object]] = []
    again: list[tuple[F64, str]] = []
    for key in KEYS:
        best = max(honest, key=lambda n: float(named[n][key].mean()))
        mine = [(x, found) for x, found in points if is_hole(found, named[best], key)]
        mine.sort(key=lambda p: -float(p[1][key].mean()))
        candidates += [_entry(x, found, named[best], best, key) for x, found in mine]
        again += [(x, key) for x, _ in mine[:MOST_AGAIN]]
    holes: list[dict[str, object]] = []
    if again:
        fresh = Arena(arena.city, max(evenings, FRESH_EVENINGS), arena.scenarios, first=evenings)
        truth = {n: fresh.named(n) for n in honest}
        for x, key in again:
            best = max(honest, key=lambda n: float(truth[n][key].mean()))
            found = fresh.point(x)
            if is_hole(found, truth[best], key):
                holes.append(_entry(x, found, truth[best], best, key))
    return candidates, holes


def check(
    city: CityPack, evaluations: int, evenings: int, seed: int = 0, scenarios: tuple[str, ...] = (),
    planner: bool = True, seconds: float = 1e9, work: Path | None = None, say: Say = lambda text: None,
    useless_evenings: int = 0,
) -> dict[str, object]:  # fmt: skip
    """The whole check; `evaluations` of the search, split between random and climbing ones.

    `work` keeps every evaluation, so that a stopped check goes on where it was. The useless policies meet the baseline
    on `useless_evenings` evenings a scenario (0: on the search's), since a mean of two says little.
    """
    arena = Arena(city, evenings, scenarios)
    about = {"city": city.sha256, "scenarios": list(arena.scenarios), "evenings": evenings, "root": SEED, "seed": seed}
    ledger = Ledger(arena, work, {**about, "search": climber()}, evaluations, say)
    rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(seed,)))
    honest = HONEST if planner else HONEST[:1]
    named: dict[str, Found] = {}
    for name in ("baseline", *honest, *USELESS):
        say(f"playing {name}")
        named[name] = arena.named(name)
    bar = {n: named[n] for n in ("baseline", *USELESS)}
    if useless_evenings > evenings:
        many = Arena(city, useless_evenings, scenarios)
        for name in bar:
            say(f"playing {name} on {useless_evenings} evenings")
            bar[name] = many.named(name)
    points = search(ledger, rng, evaluations, seconds)
    say("playing candidates again")
    candidates, holes = _holes(points, named, honest, arena, evenings)
    everyone = [*named.values(), *(found for _, found in points)]
    report: dict[str, object] = {
        "evaluations": len(points), "evenings": evenings, "scenarios": list(arena.scenarios), "search": climber(),
        "seed": seed,
    }  # fmt: skip
    good = not holes
    for key in KEYS:
        above = {
            n: [s for s, ours, base in zip(arena.scenarios, bar[n][key], bar["baseline"][key], strict=True) if ours > base]
            for n in USELESS
        }
        rank = spearman(
            np.array([f[key].mean() for f in everyone]), -np.array([f["composite"].mean() for f in everyone])
        )
        report[key] = {
            "best_honest": max(honest, key=lambda n: float(named[n][key].mean())),
            "spearman": rank,
            "useless_above_baseline": [n for n, where in above.items() if where],
            "best_searched": max((float(f[key].mean()) for _, f in points), default=None),
            "searched_above_greedy": sum(bool(f[key].mean() > named["greedy_counting"][key].mean()) for _, f in points),
            "of_these_worse_composite": sum(is_hole(f, named["greedy_counting"], key) for _, f in points),
        }
        good = good and rank >= RANK_BAR and not any(above.values())
    report["useless_evenings"] = max(useless_evenings, evenings)
    report["useless_against_baseline"] = {
        n: {s: float(d) for s, d in zip(arena.scenarios, bar[n]["reward"] - bar["baseline"]["reward"], strict=True)}
        for n in USELESS
    }
    report["candidates"] = len(candidates)
    report["fresh_evenings"] = max(evenings, FRESH_EVENINGS)
    report["holes"] = holes
    report["named"] = {n: {k: float(v.mean()) for k, v in found.items()} for n, found in named.items()}
    report["by_scenario"] = {
        s: {n: {k: float(v[i]) for k, v in found.items()} for n, found in named.items()}
        for i, s in enumerate(arena.scenarios)
    }
    report["passed"] = good
    return report


def main(argv: list[str] | None = None) -> int:
    """Command line; 1 where the check fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--city", default="bengaluru")
    parser.add_argument("--evaluations", type=int, default=2000)
    parser.add_argument("--evenings", type=int, default=3, help="evenings a scenario")
    parser.add_argument("--useless-evenings", type=int, default=60, help="evenings of the useless policies, a scenario")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=1e9, help="spend at most about this long on the search")
    parser.add_argument("--work", type=Path, default=None, help="ledger of the evaluations: a second call goes on")
    parser.add_argument("--out", type=Path, default=Path("artifacts/integrity.json"))
    args = parser.parse_args(argv)
    city = load_city(args.city)

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    report = {
        "schema": "evgrid.integrity.1", "provenance": provenance(city),
        **check(city, args.evaluations, args.evenings, args.seed, seconds=args.seconds, work=args.work, say=say,
                useless_evenings=args.useless_evenings),
    }  # fmt: skip
    write_atomic(args.out, to_json(report))
    print(to_json({k: v for k, v in report.items() if k not in ("provenance", "by_scenario")}), end="")
    return 0 if report["passed"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
