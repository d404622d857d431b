"""Tune the constants of `greedy_counting` on training evenings of every scenario.

    python benchmarks/tune_greedy.py --episodes 15 --steps 150 --out artifacts/tune_greedy.json

A coordinate search with random steps: one or two constants are moved at a time, all candidates meet the same
evenings, and a candidate is kept where the objective falls and the reward agrees (does not fall). The objective is
the mean composite_car_minutes plus three times the walk-in minutes by which a scenario passes the baseline's by more
than 1.5 %: demand response is paid by walk-ins too, and a dispatcher may not push its cost on them. The result is measured once more on held-out training evenings. Seeds come from a root of their own;
seeds of evaluations (SeedSequence(1, spawn_key=(index,))) are skipped. The constants are then frozen by hand in
`schema/rows.py` (`GREEDY_TUNED`); the script prints that line.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.kpis import kpi_table
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.evaluation.seeds import episode_seed
from ev_grid_oracle.schema import rows as r

F64 = npt.NDArray[np.float64]

TRAINING_ROOT = 2024
WALKIN_SHARE, WALKIN_WEIGHT = 0.015, 3.0
EVALUATION_ROOT, EVALUATION_EPISODES = 1, 1000

# constant -> (least, most): what a search may try. Weights that only rename another's unit are left out.
RANGES = {
    "wait_weight": (0.8, 3.0),
    "scarcity_weight": (0.0, 2.5),
    "scarcity_power": (1.0, 8.0),
    "feeder_weight_min": (0.0, 1.2),
    "feeder_from_frac": (0.8, 1.05),
    "feeder_ramp_frac": (0.01, 0.3),
    "lost_min": (0.0, 200.0),
    "dr_from_frac": (0.85, 1.1),
    "dr_heat_frac": (0.9, 1.06),
    "dr_ahead_ticks": (1.0, 8.0),
    "dr_minutes": (5.0, 10.0),
    "dr_queue_share": (-0.3, 2.0),
    "flex_busy_frac": (-0.1, 0.9),
    "flex_feeder_frac": (0.6, 1.1),
    "flex_slack_min": (5.0, 120.0),
    "site_share_weight": (0.0, 2.0),
}
WHOLE = {"scarcity_power": 1.0, "dr_ahead_ticks": 1.0, "dr_minutes": 5.0}


def training_seeds(episodes: int, block: int) -> list[int]:
    """Seeds of block `block` of training evenings, none of them an evaluation's."""
    taken = {episode_seed(EVALUATION_ROOT, k) for k in range(EVALUATION_EPISODES)}
    drawn = np.random.SeedSequence(TRAINING_ROOT, spawn_key=(block,)).generate_state(2 * episodes)
    return [int(s) for s in drawn if int(s) not in taken][:episodes]


class Evenings:
    """Training evenings of every scenario, played again and again from the same start.

    Args:
        block: which block of training seeds.
    """

    def __init__(self, city: CityPack, episodes: int, block: int) -> None:
        self._city = city
        options = [
            resolve(city, seed=seed, scenario=s.name).world
            for s in city.scenarios
            for seed in training_seeds(episodes, block)
        ]
        self._batch = Batch(city, len(options), max_answers=city.constants.max_pending)
        self._batch.reset(options)
        w = self._batch.world
        self._start = (w.f.copy(), w.i.copy(), w.u.copy())
        self._cf = w.cf.copy()

    def play(self, constants: F64 | None, rule: str = "greedy_counting") -> tuple[dict[str, F64], F64]:
        """KPI table (E,) each and total reward (E,) of `rule` with these constants."""
        w = self._batch.world
        w.f[:], w.i[:], w.u[:] = self._start
        w.cf = self._cf.copy()
        if constants is not None:
            w.layout.view(w.cf, "K_GREEDY")[: len(constants)] = constants
        self._batch.play(rule, 48)
        accounts = np.array(w.view("EP"), np.float64)  # a copy: the next play writes over the world
        return kpi_table(accounts, self._city), np.asarray(w.view("TSUM"), np.float64).sum(1)


def propose(now: F64, rng: np.random.Generator, width: float) -> tuple[F64, str]:
    """One or two constants moved by a normal step of `width` of their range."""
    names = list(RANGES)
    out = now.copy()
    moved = rng.choice(len(names), 1 + int(rng.random() < 0.3), replace=False)
    for k in moved:
        name = names[k]
        low, high = RANGES[name]
        j = r.GREEDY_NAMES.index(name)
        unit = WHOLE.get(name, 0.0)
        step = rng.normal() * width * (high - low)
        if unit and abs(step) < unit:
            step = unit if step > 0 else -unit
        value = min(max(out[j] + step, low), high)
        out[j] = round(value / unit) * unit if unit else float(f"{value:.3g}")
    return out, ", ".join(f"{names[k]}={out[r.GREEDY_NAMES.index(names[k])]:g}" for k in moved)


def objective(table: dict[str, F64], base: dict[str, F64], scenarios: int) -> float:
    """Mean composite and the penalty for walk-ins made to pay, car-minutes."""
    ours, theirs = (
        (t["walkin_minutes_to_charged"] * t["walkins"]).reshape(scenarios, -1).mean(1) for t in (table, base)
    )
    excess = np.maximum(ours - (1.0 + WALKIN_SHARE) * theirs, 0.0)
    return float(table["composite_car_minutes"].mean() + WALKIN_WEIGHT * excess.mean())


def summary(table: dict[str, F64], reward: F64, base: dict[str, F64]) -> str:
    """One line: composite, reward and the KPIs that the bars are about."""
    gain = 100.0 * (table["composite_car_minutes"].mean() / base["composite_car_minutes"].mean() - 1.0)
    parts = [f"composite {table['composite_car_minutes'].mean():.1f} ({gain:+.2f} %)", f"reward {reward.mean():.3f}"]
    for name in ("minutes_to_charged", "walkin_minutes_to_charged", "lost_share", "overload_kva_min", "overload_minutes"):
        parts.append(f"{name} {np.nanmean(table[name]):.4g} ({100 * (np.nanmean(table[name]) / np.nanmean(base[name]) - 1):+.1f} %)")
    return "  ".join(parts)


def search(
    city: CityPack, episodes: int, steps: int, start: F64, seconds: float
) -> tuple[F64, list[dict[str, object]]]:
    """The search; returns the constants and what was kept on the way."""
    evenings = Evenings(city, episodes, 0)
    base, _ = evenings.play(None, "baseline")
    best = start.copy()
    table, reward = evenings.play(best)
    scenarios = len(city.scenarios)
    least = objective(table, base, scenarios)
    print("start", summary(table, reward, base), flush=True)
    rng = np.random.default_rng(np.random.SeedSequence(TRAINING_ROOT, spawn_key=(1000,)))
    kept: list[dict[str, object]] = []
    begun = time.perf_counter()
    for step in range(steps):
        if time.perf_counter() - begun > seconds:
            break
        trial, what = propose(best, rng, 0.25 if step < steps / 2 else 0.1)
        t, w = evenings.play(trial)
        reached = objective(t, base, scenarios)
        if reached < least and w.mean() >= reward.mean():
            best, table, reward, least = trial, t, w, reached
            kept.append({"step": step, "moved": what, "objective": reached, "reward": float(w.mean())})
            print(f"{step:4d} {what:60s}", summary(t, w, base), flush=True)
    return best, kept


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--city", default="bengaluru")
    parser.add_argument("--episodes", type=int, default=15, help="evenings a scenario")
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop searching after this long")
    parser.add_argument("--out", type=Path, default=Path("artifacts/tune_greedy.json"))
    args = parser.parse_args()
    city = load_city(args.city)
    start = np.array(r.GREEDY_TUNED)
    best, kept = search(city, args.episodes, args.steps, start, args.seconds)
    held = Evenings(city, args.episodes, 1)
    base, _ = held.play(None, "baseline")
    before, after = held.play(start), held.play(best)
    d = after[0]["composite_car_minutes"] - before[0]["composite_car_minutes"]
    t = d.mean() / (d.std(ddof=1) / np.sqrt(len(d))) if d.std() > 0 else 0.0
    print("held out, before:", summary(*before, base))
    print("held out, after: ", summary(*after, base), f" paired t {t:.1f}")
    constants = {n: float(v) for n, v in zip(r.GREEDY_NAMES, best, strict=True)}
    print("GREEDY_TUNED = (" + ", ".join(f"{v:g}" for v in best) + ")")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    report = {
        "constants": constants,
        "training_root": TRAINING_ROOT,
        "episodes_a_scenario": args.episodes,
        "kept": kept,
        "held_out": {
            "composite_before": float(before[0]["composite_car_minutes"].mean()),
            "composite_after": float(after[0]["composite_car_minutes"].mean()),
            "paired_t": float(t),
            "reward_before": float(before[1].mean()),
            "reward_after": float(after[1].mean()),
        },
    }
    args.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
