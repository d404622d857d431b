"""What the small oracle is worth: paired with baseline, greedy_counting and planner on evenings it never saw.

    python benchmarks/oracle_eval.py --episodes 64
    python benchmarks/oracle_eval.py --model runs/oracle/warm-0 --label warm_start --episodes 64

Plays the evenings of the evaluation (seeds SeedSequence(1, spawn_key=(index,)), which no training seed is) in every
scenario; episodes already in the work file are not played again. Writes artifacts/oracle_eval.json: composite, reward
and KPIs by scenario with paired differences and 95 % intervals, pooled t, Holm-corrected p; in per cent of the whole
and of the avoidable car-minutes; answers, refused and invalid ones; latency; the forecast against persistence and the
clock. Labels in the work file other than `oracle` (a warm start, another seed) stand in the same tables; `clairvoyant`, where it was
borrowed, in one of its own.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from oracle_robust import oracle_block, robustness
from scipy import stats

from ev_grid_oracle.city import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.forecasts import Forecasts
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.evaluation.players import play_block
from ev_grid_oracle.evaluation.provenance import provenance
from ev_grid_oracle.evaluation.seeds import episode_seed
from ev_grid_oracle.evaluation.values import values_of
from ev_grid_oracle.evaluation.writing import to_json, write_atomic
from ev_grid_oracle.policies.base import PolicyContext
from ev_grid_oracle.policies.llm.small import SmallOracle
from ev_grid_oracle.policies.llm.small_net import FOLDER, Net
from ev_grid_oracle.policies.llm.small_text import predictions, texts
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.action import SimulationPrediction, StationForecast

SEED = 1
BLOCK = 16
RULES = ("baseline", "greedy_counting", "planner")
BOUND = "clairvoyant"
"""The offline search on the true future; it stands for fewer evenings, so it has a table of its own."""
KEYS = (
    "composite_car_minutes", "avoidable_car_minutes", "total_reward", "minutes_to_charged",
    "walkin_minutes_to_charged", "lost", "overload_kva_min", "overload_minutes",
)  # fmt: skip
Records = dict[tuple[str, str, int], dict[str, float]]


def read(path: Path) -> Records:
    """Work file -> (policy, scenario, index) -> values."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]
    return {(q["policy"], q["scenario"], q["index"]): q["values"] for q in rows}


def play(city: CityPack, args: argparse.Namespace, have: Records) -> Records:
    """Play what is missing, cheapest first."""
    args.work.parent.mkdir(parents=True, exist_ok=True)
    policy = SmallOracle(net=Net(args.model))
    begun = time.perf_counter()
    with args.work.open("a", encoding="utf-8") as file:
        for name in (args.label, *(n for n in RULES if n in args.rules.split(","))):
            for scenario in city.scenarios:
                left = [k for k in range(args.episodes) if (name, scenario.name, k) not in have]
                for first in range(0, len(left), BLOCK):
                    indices = left[first : first + BLOCK]
                    worlds = [
                        resolve(city, seed=episode_seed(SEED, k), scenario=scenario.name).world
                        for k in indices
                    ]
                    answers = 0
                    if name == args.label:
                        accounts, terms, answers = oracle_block(city, policy, worlds)
                    else:
                        played = play_block(name, city, worlds)
                        accounts, terms = played.accounts, played.terms
                    for e, k in enumerate(indices):
                        found = values_of(np.array(accounts[e]), np.array(terms[e]), city)
                        values = {key: float(found[key] or 0.0) for key in KEYS}
                        values["refused"], values["invalid"] = (
                            float(accounts[e][r.A_REFUSED]),
                            float(accounts[e][r.A_INVALID]),
                        )
                        values["answers"] = answers / len(indices)
                        have[name, scenario.name, k] = values
                        row = {"policy": name, "scenario": scenario.name, "index": k, "values": values}
                        file.write(json.dumps(row) + "\n")
                    file.flush()
                print(f"{name} {scenario.name} {time.perf_counter() - begun:.0f} s", flush=True)
    return have


def borrow(city: CityPack, path: Path, args: argparse.Namespace, have: Records) -> None:
    """Add records of `benchmarks/headroom.py` (same evenings) to the work file, two of each scenario played again first.

    Raises:
        SystemExit: a record differs from what the policy does now.
    """
    theirs = {
        key: v
        for key, v in read(path).items()
        if key[0] in (*RULES, BOUND) and key[2] < args.episodes and key not in have
    }
    for name in RULES:
        for scenario in city.scenarios:
            some = [k for k in range(args.episodes) if (name, scenario.name, k) in theirs][:2]
            worlds = [resolve(city, seed=episode_seed(SEED, k), scenario=scenario.name).world for k in some]
            if not worlds:
                continue
            played = play_block(name, city, worlds)
            for e, k in enumerate(some):
                now = values_of(np.array(played.accounts[e]), np.array(played.terms[e]), city)
                for key in KEYS:
                    if float(now[key] or 0.0) != theirs[name, scenario.name, k][key]:
                        raise SystemExit(
                            f"{path}: {name} on {scenario.name} {k} is of another version ({key}); play it anew."
                        )
    with args.work.open("a", encoding="utf-8") as file:
        for (name, scenario_name, k), found in sorted(theirs.items()):
            values = {key: float(found[key] or 0.0) for key in KEYS}
            have[name, scenario_name, k] = values
            row = {"policy": name, "scenario": scenario_name, "index": k, "values": values}
            file.write(json.dumps(row) + "\n")


def paired(a: np.ndarray, b: np.ndarray, avoidable: np.ndarray) -> dict[str, float]:
    """a - b: mean, 95 % interval, per cent of b and of b's avoidable car-minutes, t, p."""
    d = a - b
    n = len(d)
    error = float(d.std(ddof=1)) / n**0.5
    half = float(stats.t.ppf(0.975, n - 1)) * error
    mean = float(d.mean())
    t = mean / error if error > 0.0 else 0.0
    return {
        "n": n, "mean": mean, "low": mean - half, "high": mean + half, "per_cent": 100.0 * mean / abs(float(b.mean())),
        "per_cent_of_avoidable": 100.0 * mean / float(avoidable.mean()), "t": t, "p": float(2.0 * stats.t.sf(abs(t), n - 1)),
    }  # fmt: skip


def holm(values: list[float]) -> list[float]:
    """Holm-corrected p, in the given order."""
    order = np.argsort(values)
    out, worst = [0.0] * len(values), 0.0
    for rank, k in enumerate(order):
        worst = max(worst, min(1.0, (len(values) - rank) * values[k]))
        out[int(k)] = worst
    return out


def compare(have: Records, scenarios: list[str], name: str, against: str) -> dict[str, Any] | None:
    """`name` against `against`: pooled and by scenario, composite and reward, on the evenings both played."""
    pairs = {
        s: [k for (p, q, k) in have if p == name and q == s and (against, s, k) in have] for s in scenarios
    }
    if not all(len(v) > 1 for v in pairs.values()):
        return None

    def column(policy: str, key: str, chosen: list[str]) -> np.ndarray:
        return np.array([have[policy, s, k][key] for s in chosen for k in sorted(pairs[s])])

    out: dict[str, Any] = {"pooled": {}, "scenarios": {}}
    for key in KEYS:
        out["pooled"][key] = paired(
            column(name, key, scenarios),
            column(against, key, scenarios),
            column(against, "avoidable_car_minutes", scenarios),
        )
    for key in ("composite_car_minutes", "total_reward"):
        found = [
            paired(
                column(name, key, [s]),
                column(against, key, [s]),
                column(against, "avoidable_car_minutes", [s]),
            )
            for s in scenarios
        ]
        for s, row, p in zip(scenarios, found, holm([row["p"] for row in found]), strict=True):
            out["scenarios"].setdefault(s, {})[key] = {**row, "p_holm": p}
    return out


def with_bound(have: Records, names: list[str]) -> dict[str, Any] | None:
    """Everybody on the evenings that `clairvoyant` was played on: means, and the share of its gain over greedy_counting."""
    evenings = sorted((s, k) for (p, s, k) in have if p == BOUND)
    everybody = sorted({p for p, _, _ in have if all((p, s, k) in have for s, k in evenings)})
    if not evenings or not {"greedy_counting", BOUND} <= set(everybody):
        return None

    def column(policy: str, key: str) -> np.ndarray:
        return np.array([have[policy, s, k][key] for s, k in evenings])

    key = "composite_car_minutes"
    room = float((column("greedy_counting", key) - column(BOUND, key)).mean())
    return {
        "n": len(evenings), "evenings_a_scenario": len(evenings) / len(names),
        "means": {p: {k: float(column(p, k).mean()) for k in KEYS} for p in everybody},
        "per_cent_of_the_room": {
            p: 100.0 * float((column("greedy_counting", key) - column(p, key)).mean()) / room for p in everybody
        },
        "against_clairvoyant": {
            p: paired(column(p, key), column(BOUND, key), column(BOUND, "avoidable_car_minutes"))
            for p in everybody if p != BOUND
        },
    }  # fmt: skip


def speed(city: CityPack, policy: SmallOracle) -> dict[str, float]:
    """Latency of one car's answer and answers a second in batches, with and without text and forecast; one core."""
    pack = packed(city)
    batch = Batch(city, 32, max_answers=pack.layout.dims["MP"])
    worlds = [resolve(city, seed=episode_seed(SEED, k), scenario="baseline").world for k in range(batch.n)]
    batch.reset(worlds)
    batch.play("greedy_counting", 12)
    policy.begin_batch([PolicyContext(pack, 0)] * batch.n)
    rows = [batch.world.observe(e) for e in range(batch.n)]
    one = []
    none = np.zeros((0, r.N_DCOL), np.int32)
    for e in range(batch.n):
        for k in range(len(policy.eyes(e).pending(rows[e]))):
            begun = time.perf_counter()
            policy.net.last([policy.eyes(e).car(rows[e], k, none).ids])
            one.append(time.perf_counter() - begun)
    outs = [np.zeros((pack.layout.dims["MP"], r.N_DCOL), np.int32) for _ in rows]

    def rate(run: Any) -> float:
        begun, n = time.perf_counter(), 0
        for _ in range(3):
            n += run()
        return n / (time.perf_counter() - begun)

    def spoken(predict: bool) -> int:
        return sum(t.count("ACTION: ") for t in texts(policy, rows, range(batch.n), predict))

    begun = time.perf_counter()
    Net(policy.net.folder)
    load = time.perf_counter() - begun
    return {
        "answer_p50_ms": 1000.0 * float(np.median(one)), "answer_p95_ms": 1000.0 * float(np.quantile(one, 0.95)),
        "answers_per_s": rate(lambda: int(sum(policy.answer_batch(rows, outs, range(batch.n))))),
        "texts_per_s": rate(lambda: spoken(False)), "texts_with_forecast_per_s": rate(lambda: spoken(True)),
        "model_load_s": load,
    }  # fmt: skip


def forecasts(city: CityPack, policy: SmallOracle, evenings: int) -> dict[str, Any]:
    """Mean scores of the forecast block by the world's own judge: 0 is the clock, the model beside persistence."""
    pack = packed(city)
    scores: dict[str, dict[str, list[float]]] = {"oracle": {}, "persistence": {}}
    for index in range(evenings):
        scenario = city.scenarios[index % len(city.scenarios)].name
        batch = Batch(city, 1, max_answers=pack.layout.dims["MP"])
        batch.reset([resolve(city, seed=episode_seed(SEED, 500 + index), scenario=scenario).world])
        policy.begin(PolicyContext(pack, 0))
        judges = {name: Forecasts(city) for name in scores}
        for tick in range(48):
            o = batch.world.observe(0)
            batch.answers[:] = 0
            n = policy.answer(o, batch.answers[0])
            batch.counts[0] = n
            if tick % 4 == 0:
                made = {"oracle": predictions(policy, [o], [0])[0], "persistence": persistence(policy, o)}
                for name, found in made.items():
                    judges[name].judge(batch.world, o, batch.answers[0], n, found)
            batch.step()
        for name, judge in judges.items():
            for found in judge.made:
                for key, value in found.scores.items():
                    scores[name].setdefault(key, []).append(value)
    return {
        name: {k: float(np.mean(v)) for k, v in s.items()} | {"n": len(s["mean"])}
        for name, s in scores.items()
    }


def persistence(policy: SmallOracle, o: Any) -> SimulationPrediction:
    """Everything stays as it is."""
    eyes = policy.eyes()
    at, stations = eyes.at, eyes.fullest(o)[:3]
    x = int(at[r.O_X])
    slots, ids = eyes.city.pack.stations.slots, eyes.city.pack.stations.ids
    top = tuple(
        StationForecast(
            ids[int(s)], float(o[int(at[r.O_OCC]) + s] / slots[s]), int(o[int(at[r.O_QUEUE]) + s])
        )
        for s in stations
    )
    return SimulationPrediction(float(o[x + r.OX_GRID]), float(o[x + r.OX_RENEW]), top)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--city", default="bengaluru")
    parser.add_argument("--episodes", type=int, default=64, help="evenings a scenario")
    parser.add_argument("--model", type=Path, default=FOLDER)
    parser.add_argument("--label", default="oracle")
    parser.add_argument("--rules", default=",".join(RULES), help="which of the others to play")
    parser.add_argument(
        "--borrow", type=Path, help="work file of benchmarks/headroom.py, checked before it is used"
    )
    parser.add_argument("--forecasts", type=int, default=22, help="evenings on which the forecast is judged")
    parser.add_argument("--play-only", action="store_true", help="add to the work file and end")
    parser.add_argument(
        "--compare-only", action="store_true", help="no speed, forecasts and robustness in the file"
    )
    parser.add_argument("--work", type=Path, default=Path("runs/oracle_eval.jsonl"))
    parser.add_argument("--out", type=Path, default=Path("artifacts/oracle_eval.json"))
    args = parser.parse_args()
    city = load_city(args.city)
    have = read(args.work)
    args.work.parent.mkdir(parents=True, exist_ok=True)
    if args.borrow:
        borrow(city, args.borrow, args, have)
    have = play(city, args, have)
    if args.play_only:
        return
    have = {key: values for key, values in have.items() if key[2] < args.episodes}
    names = [s.name for s in city.scenarios]
    labels = sorted({p for p, _, _ in have} - {*RULES, BOUND})
    policy = SmallOracle(net=Net(args.model))
    report: dict[str, Any] = {
        "schema": "evgrid.oracle_eval.1",
        "seed": SEED,
        "model_hash": policy.model_hash,
        "means": {
            p: {k: float(np.mean([v[k] for (q, _, _), v in have.items() if q == p])) for k in KEYS}
            for p in sorted({q for q, _, _ in have} - {BOUND})
        },
        "answers": {
            p: {
                k: float(sum(v[k] for (q, _, _), v in have.items() if q == p))
                for k in ("answers", "invalid", "refused")
            }
            for p in labels
        },
        "against": {
            p: {b: compare(have, names, p, b) for b in (*RULES, *labels) if b != p}
            for p in [*labels, "planner"]
        },
        "with_clairvoyant": with_bound(have, names),
        "provenance": provenance(city),
    }
    if not args.compare_only:
        report["speed"] = speed(city, policy)
        report["forecast_scores"] = forecasts(city, policy, args.forecasts)
        report["robustness"] = robustness(city, policy)
    write_atomic(args.out, to_json(report))
    for p, others in report["against"].items():
        for b, found in others.items():
            if found:
                q = found["pooled"]["composite_car_minutes"]
                print(
                    f"{p} - {b}: {q['per_cent']:+.3f} % [{q['low']:.0f}, {q['high']:.0f}] t {q['t']:.1f} n {q['n']}"
                )
    print(
        json.dumps(
            {k: report[k] for k in ("speed", "forecast_scores", "robustness") if k in report}, indent=1
        )
    )


if __name__ == "__main__":
    main()
