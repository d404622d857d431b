"""Ablations of the small oracle at a quarter of the budget, one table.

    python benchmarks/oracle_ablations.py --out runs/ablations
    python benchmarks/oracle_ablations.py --only "as shipped, a quarter;no GRPO"

Every variant is a training run of its own in a folder of its own and goes on where it stopped; what a variant does not
change (data, warm start) it shares with the first. Scores are paired on 16 evenings a scenario of the evaluation, with
greedy_counting and with the first variant. Writes artifacts/oracle_ablations.json after every variant: the table of
what is done, in whatever order and in however many calls.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ev_grid_oracle.city import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.evaluation.provenance import provenance
from ev_grid_oracle.evaluation.seeds import episode_seed
from ev_grid_oracle.evaluation.writing import to_json, write_atomic
from ev_grid_oracle.sim.world import WorldOptions
from ev_grid_oracle.training import small_run
from ev_grid_oracle.training.small_profile import SmallProfile, profile_of
from ev_grid_oracle.training.small_score import oracle_at, play

SEED = 1
FULL = profile_of("cpu-small")
QUARTER = replace(FULL, name="quarter", decisions=24_000, fresh=8_000, steps=50, check_every=25)
FIRST = "as shipped, a quarter"
VARIANTS: dict[str, tuple[SmallProfile, dict[str, Any]]] = {
    FIRST: (QUARTER, {}),
    "no GRPO": (QUARTER, {"steps": 0}),
    "rewards scaled by the group's deviation": (replace(QUARTER, scale_rewards=True), {}),
    "uniform instead of curriculum": (QUARTER, {"uniform": True}),
    "whole-city look-ahead, 8 ticks": (replace(QUARTER, city_ticks=8), {}),
    "whole-city look-ahead, 1 tick": (replace(QUARTER, city_ticks=1), {}),
    "own cost only": (replace(QUARTER, others=0.0), {}),
    "the final choice as the only label": (replace(QUARTER, warm=replace(FULL.warm, only_final=True)), {}),
    "no prediction block": (replace(QUARTER, warm=replace(FULL.warm, predict=False)), {}),
}
SCORED = ("composite_car_minutes", "overload_kva_min", "walkin_minutes_to_charged", "minutes_to_charged")


def share(source: Path, target: Path, names: tuple[str, ...]) -> None:
    """Link files that are the same in both runs; a name may be a folder."""
    for name in names:
        found = (
            [p for p in (source / name).rglob("*") if p.is_file()]
            if (source / name).is_dir()
            else [source / name]
        )
        for path in found:
            there = target / path.relative_to(source)
            if path.exists() and not there.exists():
                there.parent.mkdir(parents=True, exist_ok=True)
                os.link(path, there)


def scored(
    folder: Path, name: str, city: CityPack, player: Any, worlds: list[WorldOptions]
) -> dict[str, list[float]]:
    """Values of each evening in order, from ``score-<name>.json`` where they have been played."""
    path = folder / f"score-{name}-{len(worlds)}.json"
    if not path.exists():
        played = play(city, player() if callable(player) else player, worlds)
        write_atomic(path, to_json({k: [float(v[k] or 0.0) for v in played] for k in SCORED}))
    return dict(json.loads(path.read_text(encoding="utf-8")))


def difference(ours: dict[str, list[float]], theirs: dict[str, list[float]]) -> dict[str, float]:
    """Paired: mean difference of the composite with its 95 % interval (normal), per cent, t; per cent of overload."""
    key = SCORED[0]
    d = np.array(ours[key]) - np.array(theirs[key])
    error = float(d.std(ddof=1)) / len(d) ** 0.5
    base = float(np.mean(theirs[key]))
    load = float(np.mean(theirs["overload_kva_min"]))
    return {
        "n": float(len(d)), "car_minutes": float(d.mean()), "per_cent": 100.0 * float(d.mean()) / base,
        "per_cent_half_interval": 196.0 * error / base, "t": float(d.mean()) / error if error > 0.0 else 0.0,
        "overload_kva_per_cent": 100.0 * (float(np.mean(ours["overload_kva_min"])) / load - 1.0) if load > 0.0 else 0.0,
    }  # fmt: skip


def folder_of(out: Path, name: str) -> Path:
    """The folder of a variant."""
    return out / name.replace(",", "").replace("'", "").replace(" ", "-")


def train(out: Path, name: str) -> tuple[Path, float]:
    """Run or go on with a variant; its model's folder and the seconds of this call."""
    profile, options = VARIANTS[name]
    folder, first = folder_of(out, name), folder_of(out, FIRST)
    if folder != first and profile.others == FULL.others:
        same = profile.warm == FULL.warm
        fresh = ("fresh-0.npz",) if profile.city_ticks == FULL.city_ticks else ()
        share(first, folder, ("warm.npz", "valid.npz", *(("warm-0", *fresh) if same else ())))
    report = small_run.run(profile, out=folder, **options)
    kind = "warm-0" if options.get("steps") == 0 else f"model-0{'-uniform' if options.get('uniform') else ''}"
    return folder / kind, float(report["seconds"])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("runs/ablations"))
    parser.add_argument("--episodes", type=int, default=16, help="evenings a scenario")
    parser.add_argument("--only", default="", help="names of variants, split by semicolons")
    parser.add_argument("--artifact", type=Path, default=Path("artifacts/oracle_ablations.json"))
    args = parser.parse_args()
    city = load_city(FULL.city)
    worlds = [
        resolve(city, seed=episode_seed(SEED, k), scenario=s.name).world
        for k in range(args.episodes)
        for s in city.scenarios
    ]
    chosen = [n for n in args.only.split(";") if n] or list(VARIANTS)
    unknown = [n for n in chosen if n not in VARIANTS]
    if unknown:
        parser.error(f"no variant {unknown[0]!r}; there are {'; '.join(VARIANTS)}")
    args.out.mkdir(parents=True, exist_ok=True)
    theirs = scored(args.out, "greedy_counting", city, "greedy_counting", worlds)
    for name in chosen:
        model, seconds = train(args.out, name)
        folder = folder_of(args.out, name)
        scored(folder, "oracle", city, lambda model=model: oracle_at(model), worlds)
        notes = folder / "seconds.json"
        if not notes.exists():
            write_atomic(notes, to_json({"seconds": seconds}))
        table = summary(args.out, len(worlds), theirs)
        found = {"schema": "evgrid.oracle_ablations.2", "variants": table, "provenance": provenance(city)}
        write_atomic(args.artifact, to_json(found))
        print(name, table[name], flush=True)


def summary(out: Path, worlds: int, theirs: dict[str, list[float]]) -> dict[str, Any]:
    """The table of every variant that has been scored."""
    scores = {}
    for name in VARIANTS:
        path = folder_of(out, name) / f"score-oracle-{worlds}.json"
        if path.exists():
            scores[name] = json.loads(path.read_text(encoding="utf-8"))
    table: dict[str, Any] = {}
    for name, ours in scores.items():
        row: dict[str, Any] = {"against_greedy_counting": difference(ours, theirs)}
        if name != FIRST and FIRST in scores:
            row["against_first"] = difference(ours, scores[FIRST])
        notes = folder_of(out, name) / "seconds.json"
        row["seconds"] = json.loads(notes.read_text(encoding="utf-8"))["seconds"] if notes.exists() else None
        table[name] = row
    return table


if __name__ == "__main__":
    main()
