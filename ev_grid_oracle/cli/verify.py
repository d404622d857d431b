"""`evgrid verify`: a trace is a receipt; play it again and see whether it is true."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ev_grid_oracle.cli.options import Json
from ev_grid_oracle.cli.waiting import Waiting, load_simulator

EXAMPLE = "Example: evgrid verify run.evt --json"


def verify(
    path: Annotated[Path, typer.Argument(help="A saved trace.", metavar="TRACE")],
    json: Json = False,
) -> None:
    """Simulate a trace again and compare digests, rewards and terms; exit code 1 if something differs."""
    with Waiting("Verifying") as wait:
        load_simulator(wait)
        from ev_grid_oracle.episode.replay import verify_trace
        from ev_grid_oracle.evaluation.writing import to_json

        wait.say("playing the trace again")
        report = verify_trace(path)
    if json:
        typer.echo(to_json({"trace": str(path), **report.to_dict()}), nl=False)
    else:
        typer.echo(f"{path}: {report.message}")
    if not report.ok:
        raise typer.Exit(1)
