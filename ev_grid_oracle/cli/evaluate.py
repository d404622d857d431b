"""`evgrid eval`: policies against each other on the same worlds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ev_grid_oracle.cli.options import (
    City,
    Json,
    Seed,
    Threads,
    Ticks,
    complete_policy,
    complete_scenario,
    listed,
)
from ev_grid_oracle.cli.waiting import Waiting, load_simulator

EXAMPLE = "Example: evgrid eval --policies baseline,planner --scenarios all --episodes 100 --out results.json"


def evaluate(
    policies: Annotated[
        str,
        typer.Option(
            "--policies", help="Comma-separated; the first is the reference.", autocompletion=complete_policy
        ),
    ] = "baseline,greedy_counting",
    scenarios: Annotated[
        str,
        typer.Option("--scenarios", help="Comma-separated, or all.", autocompletion=complete_scenario),
    ] = "baseline",
    episodes: Annotated[int, typer.Option("--episodes", help="Episodes for each scenario and policy.")] = 20,
    seed: Seed = 1,
    ticks: Ticks = 48,
    city: City = "bengaluru",
    threads: Threads = 1,
    out: Annotated[Path | None, typer.Option("--out", help="Write the JSON report to this file.")] = None,
    json: Json = False,
) -> None:
    """Paired evaluation: every policy plays the same worlds; tables, and a JSON report with --out."""
    with Waiting("Evaluating") as wait:
        load_simulator(wait)
        from ev_grid_oracle.city import load_city
        from ev_grid_oracle.evaluation.report import report
        from ev_grid_oracle.evaluation.runner import Plan
        from ev_grid_oracle.evaluation.runner import evaluate as play
        from ev_grid_oracle.evaluation.writing import check_writable, to_json, write_atomic

        pack = load_city(city)
        everything = tuple(s.name for s in pack.scenarios)
        plan = Plan(pack, listed(policies), listed(scenarios, everything), episodes, seed, ticks, threads)
        if out is not None:
            check_writable(out)
        wait.expect(plan.total_ticks)
        result = play(plan, lambda name, done: wait.advance(done, name))
        wait.say("writing the report")
        text = to_json(report(result))
        if out is not None:
            write_atomic(out, text)
    if json:
        typer.echo(text, nl=False)
        return
    from ev_grid_oracle.cli.show import comparison, console, values_table

    screen = console()
    reference = plan.policies[0]
    for run in result.runs:
        if len(plan.policies) == 1:
            title = f"{reference}: {run.scenario}, mean of {episodes} episodes"
            screen.print(values_table(title, run.means(reference)))
        for policy in plan.policies[1:]:
            screen.print(comparison(run, policy, reference))
    if out is not None:
        typer.echo(f"Report: {out}")
