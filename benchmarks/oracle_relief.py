"""Would another threshold make the small oracle's caps of strained feeders better? On validation decisions.

    python benchmarks/oracle_relief.py --model ev_grid_oracle/policies/llm/model --data runs/oracle/valid.npz

A cap is set where its log-odds exceed those of ``none``; here they must exceed them by -`shift`. Costs are the planner's on
sampled futures (against no cap), mean over the feeder questions of the validation evenings of `evgrid train`; a negative
mean is a gain. Nothing is played, so this chooses a threshold before any evening of the evaluation. Writes
artifacts/oracle_relief.json.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from ev_grid_oracle.city import load_city
from ev_grid_oracle.evaluation.provenance import provenance
from ev_grid_oracle.evaluation.writing import to_json, write_atomic
from ev_grid_oracle.policies.llm import small_words as w
from ev_grid_oracle.policies.llm.small_net import FOLDER, Net
from ev_grid_oracle.training.small_data import Decisions

SHIFTS = (-1.0, -0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0, 2.0)
BATCH = 16
DRAWS = 2000


def gaps(net: Net, data: Decisions) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """(M,) log-odds of the likeliest cap above ``none`` and (M,) what that cap costs, car-minutes."""
    rows = [
        ids[: w.RELIEF_QUESTION.length(int(n))].astype(np.int32)
        for ids, n in zip(data.relief_ids, data.relief_lines, strict=True)
    ]
    odds = np.concatenate([net.last(rows[k : k + BATCH]) for k in range(0, len(rows), BATCH)])
    caps = odds[:, w.POINTER : w.POINTER + w.MOST_LINES].copy()
    caps[np.arange(w.MOST_LINES)[None, :] >= data.relief_lines[:, None]] = -np.inf
    cost = data.relief_cost[np.arange(len(rows)), caps.argmax(1)]
    return caps.max(1) - odds[:, w.NONE_ID], cost.astype(np.float64)


def table(gap: np.ndarray[Any, Any], cost: np.ndarray[Any, Any]) -> dict[str, dict[str, float]]:
    """By shift: share of questions capped, mean cost, and its difference from shift 0 with a bootstrap interval."""
    rng = np.random.default_rng(np.random.SeedSequence(1, spawn_key=(11,)))
    pick = rng.integers(0, len(gap), (DRAWS, len(gap)))
    now = np.where(gap > 0.0, cost, 0.0)
    out = {}
    for shift in SHIFTS:
        paid = np.where(gap > -shift, cost, 0.0)
        means = (paid - now)[pick].mean(1)
        out[f"{shift:+.2f}"] = {
            "capped_share": float((gap > -shift).mean()), "mean_cost_min": float(paid.mean()),
            "against_0": float((paid - now).mean()), "low": float(np.quantile(means, 0.025)),
            "high": float(np.quantile(means, 0.975)),
        }  # fmt: skip
    return out


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, action="append", help="folders; the shipped one without")
    parser.add_argument("--data", type=Path, default=Path("runs/oracle/valid.npz"))
    parser.add_argument("--out", type=Path, default=Path("artifacts/oracle_relief.json"))
    args = parser.parse_args()
    data = Decisions.load(args.data)
    least = np.minimum(np.nanmin(np.where(np.isnan(data.relief_cost), np.inf, data.relief_cost), 1), 0.0)
    models = {}
    for folder in args.model or [FOLDER]:
        net = Net(folder)
        models[net.model_hash] = table(*gaps(net, data))
        for shift, row in models[net.model_hash].items():
            print(net.model_hash, shift, {k: round(v, 3) for k, v in row.items()})
    report = {
        "schema": "evgrid.oracle_relief.1", "questions": len(data.relief_ids), "planner_capped_share": float((least < 0).mean()),
        "planner_mean_cost_min": float(least.mean()), "models": models, "provenance": provenance(load_city("bengaluru")),
    }  # fmt: skip
    write_atomic(args.out, to_json(report))


if __name__ == "__main__":
    main()
