"""Headroom: what baseline, greedy_counting, planner and clairvoyant reach, and every bar of the reward's page.

    python benchmarks/headroom.py --episodes 100 --clairvoyant 20 --processes 2

Plays the evenings of the evaluation (seeds SeedSequence(1, spawn_key=(index,))) in every scenario and writes
artifacts/headroom.json and docs/headroom.md. Episodes already in the work file are not played again, so a long run
may be stopped and called anew; `--report` only writes the report of what is there. All policies meet the same
evenings; intervals are Student's t on paired differences. `always_defer` plays the evenings of the clairvoyant: the two
ends of the episode score (benchmarks/episode_score.py).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from headroom_report import Records, bars, document, tables

from ev_grid_oracle.city import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.options import EpisodeOptions, resolve
from ev_grid_oracle.evaluation.players import play_block, policy_seed
from ev_grid_oracle.evaluation.provenance import provenance
from ev_grid_oracle.evaluation.seeds import episode_seed
from ev_grid_oracle.evaluation.values import values_of
from ev_grid_oracle.evaluation.writing import to_json, write_atomic
from ev_grid_oracle.policies.base import PolicyContext
from ev_grid_oracle.policies.clairvoyant import Plan, Searcher, greedy_plan
from ev_grid_oracle.policies.planner import Planner
from ev_grid_oracle.schema import rows as r

SEED = 1
BLOCK = 10
RULES = ("baseline", "greedy_counting", "planner")
Job = tuple[str, str, str, tuple[int, ...], int]
"""City, policy, scenario, episode indices, sweeps of the clairvoyant."""


def options_of(city: CityPack, scenario: str, index: int) -> EpisodeOptions:
    """The evening `index` of a scenario."""
    return resolve(city, seed=episode_seed(SEED, index), scenario=scenario)


def planner_plan(searcher: Searcher, options: EpisodeOptions) -> Plan:
    """The planner's answers on the evening, as a start of the clairvoyant's search."""

    def play(batch: Batch, plan: Plan) -> None:
        policy = Planner()
        policy.begin(PolicyContext(batch.world.city, policy_seed(options.world.seed)))
        row = np.zeros(batch.world.layout.sizes["o"])
        for tick in range(options.world.ticks):
            n = policy.answer(batch.world.observe(0, row), batch.answers[0])
            batch.counts[0] = n
            plan.rows[tick, :n], plan.counts[tick] = batch.answers[0, :n], n
            batch.step()

    return searcher.record(play)


def replayed(city: CityPack, options: EpisodeOptions, plan: Plan) -> dict[str, object]:
    """Values of the episode under a plan, from an ordinary batch."""
    batch = Batch(city, 1, max_answers=plan.rows.shape[1])
    batch.reset([options.world])
    rows, counts = plan.rows[:, None].copy(), plan.counts[:, None].copy()
    batch.run(rows, counts, np.zeros_like(counts), np.zeros(counts.shape))
    world = batch.world
    found = values_of(np.array(world.view("EP")[0], np.float64), np.array(world.view("TSUM")[0], np.float64), city)
    return {n: v for n, v in found.items() if "zone" not in n}


def clairvoyant(city: CityPack, options: EpisodeOptions, sweeps: int, starts: Sequence[str]) -> dict[str, object]:
    """Values of the best plan found, and the composite's trail from each start."""
    searcher = Searcher(city, options)
    found = {}
    for start in starts:
        plan = planner_plan(searcher, options) if start == "planner" else greedy_plan(searcher, start)
        found[start] = searcher.search(plan, sweeps)
    best = min(found.values(), key=lambda f: f.composite[-1])
    values = replayed(city, options, best.plan)
    if abs(float(str(values["composite_car_minutes"])) - best.composite[-1]) > 1e-6 * best.composite[-1]:
        raise RuntimeError("A found plan, played again, gives another composite: search and batch disagree.")
    return {**values, "sweeps": sweeps, "trails": {start: list(f.composite) for start, f in found.items()}}


def play(job: Job) -> list[dict[str, object]]:
    """Records of one job."""
    name, policy, scenario, indices, sweeps = job
    city = load_city(name)
    options = [options_of(city, scenario, k) for k in indices]
    out: list[dict[str, object]] = []
    begun = time.perf_counter()
    if policy == "clairvoyant":
        for k, option in zip(indices, options, strict=True):
            starts = ("planner", "greedy_counting", "baseline") if k < 1 else ("planner",)
            values = clairvoyant(city, option, sweeps, starts)
            out.append({"policy": policy, "scenario": scenario, "index": k, "values": values})
        return out
    played = play_block(policy, city, [o.world for o in options])
    seconds = time.perf_counter() - begun
    for e, k in enumerate(indices):
        values = {n: v for n, v in values_of(played.accounts[e], played.terms[e], city).items() if "zone" not in n}
        values["ticks_per_s"] = len(indices) * options[0].world.ticks / seconds
        out.append({"policy": policy, "scenario": scenario, "index": k, "values": values})
    return out


def load(path: Path) -> Records:
    """Work file -> (policy, scenario, index) -> values."""
    found: Records = {}
    if path.exists():
        for text in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(text)
            if "total_reward" in row["values"]:  # early clairvoyant records hold the composite alone
                found[row["policy"], row["scenario"], row["index"]] = row["values"]
    return found


def done(values: Mapping[str, float] | None, policy: str, sweeps: int) -> bool:
    """Is an episode played, and a clairvoyant's searched as long as asked for (or until a sweep gained nothing)?"""
    if values is None or policy != "clairvoyant":
        return values is not None
    trails: Mapping[str, Sequence[float]] = values["trails"]  # type: ignore[assignment]
    return values["sweeps"] >= sweeps or all(len(t) - 1 < values["sweeps"] for t in trails.values())


def jobs(city: CityPack, name: str, args: argparse.Namespace, have: Records) -> Iterable[Job]:
    """What is still to be played, cheapest policies first."""
    for policy in (*RULES, "always_defer", "clairvoyant"):
        episodes = args.clairvoyant if policy in ("always_defer", "clairvoyant") else args.episodes
        block = 1 if policy == "clairvoyant" else BLOCK
        for first in range(0, episodes, block):
            for scenario in city.scenarios:
                span = range(first, min(first + block, episodes))
                left = tuple(k for k in span if not done(have.get((policy, scenario.name, k)), policy, args.sweeps))
                if left:
                    yield name, policy, scenario.name, left, args.sweeps


def run(args: argparse.Namespace) -> Records:
    """Play what is missing; returns all records."""
    city = load_city(args.city)
    packed(city)
    have = load(args.work)
    todo = list(jobs(city, args.city, args, have))
    args.work.parent.mkdir(parents=True, exist_ok=True)
    begun = time.perf_counter()
    with args.work.open("a", encoding="utf-8") as file, ProcessPoolExecutor(args.processes) as pool:
        results = pool.map(play, todo) if args.processes > 1 else map(play, todo)
        for n, (job, rows) in enumerate(zip(todo, results, strict=True)):
            for row in rows:
                file.write(json.dumps(row) + "\n")
                have[job[1], job[2], int(str(row["index"]))] = row["values"]  # type: ignore[assignment]
            file.flush()
            print(f"{n + 1}/{len(todo)} {job[1]} {job[2]} {job[3][0]}..  {time.perf_counter() - begun:.0f} s", flush=True)
            if time.perf_counter() - begun > args.seconds:
                print("stopped by --seconds; call again to go on")
                pool.shutdown(cancel_futures=True)
                break
    return have


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--city", default="bengaluru")
    parser.add_argument("--episodes", type=int, default=100, help="evenings a scenario for the three dispatchers")
    parser.add_argument("--clairvoyant", type=int, default=20, help="evenings a scenario for the clairvoyant")
    parser.add_argument("--sweeps", type=int, default=4, help="most sweeps of the clairvoyant's search; episodes searched less are searched anew")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop (and report) after this long")
    parser.add_argument("--report", action="store_true", help="only report what the work file holds")
    parser.add_argument("--work", type=Path, default=Path("runs/headroom.jsonl"))
    parser.add_argument("--out", type=Path, default=Path("artifacts/headroom.json"))
    parser.add_argument("--doc", type=Path, default=Path("docs/headroom.md"))
    args = parser.parse_args()
    records = load(args.work) if args.report else run(args)
    city = load_city(args.city)
    names = [s.name for s in city.scenarios]
    report: dict[str, object] = {
        "schema": "evgrid.headroom.1",
        "seed": SEED,
        "provenance": provenance(city),
        "greedy_constants": dict(zip(r.GREEDY_NAMES, r.GREEDY_TUNED, strict=True)),
        "tables": tables(records, names),
        "bars": bars(records, names),
    }
    write_atomic(args.out, to_json(report))
    write_atomic(args.doc, document(json.loads(args.out.read_text(encoding="utf-8"))))
    print(args.doc.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
