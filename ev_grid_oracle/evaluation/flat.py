"""The flat form of a paired evaluation of two policies, `baseline` and `oracle`."""

from __future__ import annotations

from pathlib import Path

from ev_grid_oracle.evaluation.report import RECEIPTS, report
from ev_grid_oracle.evaluation.runner import Evaluation
from ev_grid_oracle.evaluation.values import REWARD_PREFIX
from ev_grid_oracle.evaluation.writing import to_json, write_atomic

SCHEMA = "evgrid.eval.flat/1"
POLICIES = ("baseline", "oracle")


def _plain(values: dict[str, float | None]) -> dict[str, float | None]:
    """Values without the reward's terms, which stand in the breakdown."""
    return {k: v for k, v in values.items() if not k.startswith(REWARD_PREFIX)}


def flat(evaluation: Evaluation, receipts: int | None = RECEIPTS) -> dict[str, object]:
    """The first scenario as two columns, `baseline` and `oracle`.

    Whoever acts as the oracle stands in ``policies["oracle"]["acted"]``; every further key is that of the general
    form for this scenario.
    """
    full = report(evaluation, receipts)
    run = full["runs"][0]  # type: ignore[index]
    base, oracle = POLICIES
    return {
        "schema": SCHEMA,
        "episodes": full["episodes"],
        "seed": full["seed"],
        "scenario": run["scenario"],
        "ticks": full["ticks"],
        "tick_minutes": full["tick_minutes"],
        "options": full["options"],
        "paired_same_world": run["paired_same_world"],
        base: _plain(run["policies"][base]),
        oracle: _plain(run["policies"][oracle]),
        "baseline_reward_breakdown_mean": run["breakdown"][base],
        "oracle_reward_breakdown_mean": run["breakdown"][oracle],
        "differences": run["differences"][oracle],
        "per_episode": [
            {
                "episode_index": row["episode_index"],
                "episode_seed": row["episode_seed"],
                "start": row["start"],
                base: row["values"][base],
                oracle: row["values"][oracle],
                "binary": row["binary"],
                "sources": row["sources"],
                "end": row["end"],
                "receipt_sha256": row["receipt_sha256"],
                "sha256": row["sha256"],
            }
            for row in run["per_episode"]
        ],
        "fairness": run["fairness"],
        "source_counts": run["source_counts"],
        "confidence": run["confidence"],
        "series": run["series"],
        **{k: full[k] for k in ("policies", "stations", "feeders", "episode_score_table", "manifest", "receipts",
                                "provenance")},
    }  # fmt: skip


def write_flat(evaluation: Evaluation, path: Path, receipts: int | None = RECEIPTS) -> dict[str, object]:
    """Write the flat form to `path`, whole or not at all; returns it."""
    document = flat(evaluation, receipts)
    write_atomic(path, to_json(document))
    return document
