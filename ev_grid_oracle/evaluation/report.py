"""The JSON of an evaluation, in the form every reader of results knows."""

from __future__ import annotations

from ev_grid_oracle.evaluation.provenance import provenance
from ev_grid_oracle.evaluation.runner import Evaluation, Run

SCHEMA = "evgrid.eval/1"


def _run(run: Run, policies: tuple[str, ...]) -> dict[str, object]:
    reference = policies[0]
    return {
        "scenario": run.scenario,
        "paired_same_world": run.paired_same_world,
        "policies": {name: run.means(name) for name in policies},
        "reference": reference,
        "differences": {
            name: {key: d.as_dict() for key, d in run.differences(name, reference).items()}
            for name in policies[1:]
        },
        "per_episode": [
            {
                "episode_index": index,
                "episode_seed": seed,
                "values": {name: run.values[name][index] for name in policies},
                "binary": {name: run.binary[name][index] for name in policies},
            }
            for index, seed in enumerate(run.seeds)
        ],
    }


def report(evaluation: Evaluation) -> dict[str, object]:
    """``{schema, runs, policies, provenance}``; every number is finite or null."""
    plan = evaluation.plan
    return {
        "schema": SCHEMA,
        "episodes": plan.episodes,
        "seed": plan.seed,
        "ticks": plan.ticks,
        "runs": [_run(run, plan.policies) for run in evaluation.runs],
        "policies": {
            name: {
                "acted": evaluation.acted[name],
                "source_counts": evaluation.sources[name],
                "model_hash": None,
            }
            for name in plan.policies
        },
        "provenance": provenance(plan.city),
    }
