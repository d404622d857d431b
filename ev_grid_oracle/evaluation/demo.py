"""The demo: paired evenings, a report, and one evening of each policy as a trace."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.episode.trace import Trace
from ev_grid_oracle.evaluation.evening import play_evening
from ev_grid_oracle.evaluation.report import report
from ev_grid_oracle.evaluation.runner import Evaluation, Plan, Progress, evaluate
from ev_grid_oracle.evaluation.seeds import episode_seed
from ev_grid_oracle.evaluation.writing import to_json, write_atomic
from ev_grid_oracle.policies.llm.resolve import LORA_VARIABLE, SKIP_VARIABLE, has_small_model
from ev_grid_oracle.policies.registry import make_policy

POLICIES = ("baseline", "greedy_counting", "planner")
ORACLE = "oracle"


def default_policies() -> tuple[str, ...]:
    """`POLICIES`, with `oracle` before the planner where a model stands behind that name.

    Without one (no extra `oracle`, ``ORACLE_SKIP_LLM=1``) it would repeat another policy's column.
    """
    if os.environ.get(SKIP_VARIABLE, "").strip() == "1":
        return POLICIES
    if os.environ.get(LORA_VARIABLE, "").strip() or has_small_model():
        return (*POLICIES[:-1], ORACLE, POLICIES[-1])
    return POLICIES


@dataclass
class Demo:
    """What a demo left.

    Attributes:
        document: the report, as in the file.
        traces: policy -> trace of the first evening of the first scenario.
    """

    evaluation: Evaluation
    document: dict[str, object]
    report: Path
    traces: dict[str, Path]


def demo_ticks(plan: Plan) -> int:
    """Episode-ticks of a demo: the plan and one evening more of each policy."""
    return plan.total_ticks + len(plan.policies) * plan.ticks


def badges(document: dict[str, object]) -> list[str]:
    """One line a policy of a report: who acted under its name, and how many decisions each source made."""
    rows = document["policies"]
    assert isinstance(rows, dict)
    out = []
    for name, row in rows.items():
        counts = ", ".join(f"{n} by {source}" for source, n in row["source_counts"].items()) or "none"
        other = row["acted"] != name and row["headline"] == name
        acted = f" (played by {row['acted']})" if other else ""
        model = f"; model {row['model_hash']}" if row["model_hash"] else ""
        out.append(f"{row['headline']}{acted}: decisions {counts}{model}")
    return out


def play_demo(plan: Plan, folder: Path, progress: Progress, say: Callable[[str], None]) -> Demo:
    """Play `plan`, then one evening of each policy with its trace, and write everything to `folder`."""
    evaluation = evaluate(plan, progress)
    recorded: dict[str, Trace] = {}
    for name in plan.policies:
        say(f"recording one evening of {name}")
        session = Session(plan.city)
        play_evening(
            session,
            make_policy(name),
            lambda ticks, name=name: progress(name, ticks),  # type: ignore[misc]
            seed=episode_seed(plan.seed, 0),
            scenario=plan.scenarios[0],
            ticks=plan.ticks,
        )
        recorded[name] = session.trace
    folder.mkdir(parents=True, exist_ok=True)  # written at the end: a demo that is stopped leaves nothing
    traces = {name: trace.save(folder / f"{name}.evt") for name, trace in recorded.items()}
    document = report(evaluation)
    document["traces"] = {name: str(path) for name, path in traces.items()}
    path = folder / "report.json"
    write_atomic(path, to_json(document))
    return Demo(evaluation, document, path, traces)
