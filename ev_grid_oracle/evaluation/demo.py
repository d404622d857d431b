"""The demo: paired evenings, a report, and one evening of each policy as a trace."""

from __future__ import annotations

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
from ev_grid_oracle.policies.registry import make_policy

POLICIES = ("baseline", "greedy_counting", "planner")


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
