"""`evgrid demo`: paired evenings on this machine, in a few minutes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from datetime import datetime
from itertools import count
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
from ev_grid_oracle.evaluation.writing import check_writable

EXAMPLE = "Example: evgrid demo --episodes 10 --scenario heatwave_peak"


@contextmanager
def new_folder(root: Path = Path("runs")) -> Iterator[Path]:
    """A folder named after the moment, made at once, so that two demos of one second do not share it.

    It goes again, with a `root` that was not there, where nothing was written into it.
    """
    had_root = root.exists()
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    for number in count(1):
        folder = root / (f"demo-{stamp}" if number == 1 else f"demo-{stamp}-{number}")
        check_writable(folder / "report.json")
        try:
            folder.mkdir(parents=True)
            break
        except FileExistsError:
            continue
    try:
        yield folder
    finally:
        with suppress(OSError):  # it holds the demo
            folder.rmdir()
            if not had_root:
                root.rmdir()


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
        from ev_grid_oracle.evaluation.writing import to_json

        chosen = default_policies() if policies is None else listed(policies)
        plan = Plan(load_city(city), chosen, (scenario,), episodes, seed, ticks, threads)
        if out is not None:
            check_writable(out / "report.json")
        with new_folder() if out is None else nullcontext(out) as folder:
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
