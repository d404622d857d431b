"""`evgrid demo`: paired evenings on this machine, in a few minutes."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from ev_grid_oracle.cli.options import (
    City,
    Json,
    Scenario,
    Threads,
    Ticks,
    complete_policy,
    listed,
)
from ev_grid_oracle.cli.waiting import Waiting, load_simulator

EXAMPLE = "Example: evgrid demo --episodes 10 --scenario heatwave_peak"


def new_folder(root: Path = Path("runs")) -> Path:
    """A folder that is not there yet, named after the moment."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    names = [f"demo-{stamp}", *(f"demo-{stamp}-{n}" for n in range(2, 100))]
    return next(root / name for name in names if not (root / name).exists())


def demo(
    episodes: Annotated[int, typer.Option("--episodes", help="Paired evenings.")] = 10,
    scenario: Scenario = "baseline",
    policies: Annotated[
        str | None,
        typer.Option(
            "--policies",
            help="Comma-separated; the first is the reference. Default: baseline, greedy_counting, oracle "
            "(where its extra is installed) and planner.",
            autocompletion=complete_policy,
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="0 to 4294967295.")] = 1,
    ticks: Ticks = 48,
    city: City = "bengaluru",
    threads: Threads = 1,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for the files; default runs/demo-<moment>.")
    ] = None,
    json: Json = False,
) -> None:
    """Play the same evenings with several policies and compare them, with 95 % intervals."""
    with Waiting("Demo") as wait:
        load_simulator(wait)
        from ev_grid_oracle.city import load_city
        from ev_grid_oracle.evaluation.demo import badges, default_policies, demo_ticks, play_demo
        from ev_grid_oracle.evaluation.runner import Plan
        from ev_grid_oracle.evaluation.writing import check_writable, to_json

        chosen = default_policies() if policies is None else listed(policies)
        plan = Plan(load_city(city), chosen, (scenario,), episodes, seed, ticks, threads)
        folder = out or new_folder()
        check_writable(folder / "report.json")
        wait.expect(demo_ticks(plan))
        done = play_demo(plan, folder, lambda name, ticks: wait.advance(ticks, name), wait.say)
    if json:
        typer.echo(to_json(done.document), nl=False)
        return
    from ev_grid_oracle.cli.show import comparison, console

    screen = console()
    reference = plan.policies[0]
    for policy in plan.policies[1:]:
        screen.print(comparison(done.evaluation.runs[0], policy, reference))
    for line in badges(done.document):
        typer.echo(line)
    typer.echo(f"Report: {done.report}")
    for policy, path in done.traces.items():
        typer.echo(f"Trace of one evening, {policy}: {path}")
    last = done.traces[plan.policies[-1]]
    typer.echo(f"Next: evgrid verify {last}   or: evgrid replay {last}")
