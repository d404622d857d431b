"""`evgrid verify`: a trace or an evaluation is a receipt; play it again and see whether it is true."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ev_grid_oracle.cli.options import Json
from ev_grid_oracle.cli.waiting import Waiting, load_simulator
from ev_grid_oracle.schema.errors import OptionError

EXAMPLE = "Example: evgrid verify run.evt --json   or: evgrid verify results.json --sample 50"
SAMPLE = 20
_SHOWN = 20


def verify(
    path: Annotated[
        Path, typer.Argument(help="A saved trace, a result of evgrid eval, or its store.", metavar="PATH")
    ],
    sample: Annotated[
        int | None,
        typer.Option(
            "--sample", help=f"Episodes of an evaluation that are played again; {SAMPLE} if not given."
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Play every episode of an evaluation again.")
    ] = False,
    city: Annotated[
        str | None,
        typer.Option("--city", help="Folder of the pack, where the city does not come with the package."),
    ] = None,
    json: Json = False,
) -> None:
    """Simulate a trace or an evaluation again and compare; exit code 1 if something is not true."""
    if sample is not None and (everything or sample < 0):
        raise OptionError("--sample is a number from 0, and not for use with --all.", "Give one of the two.")
    if not path.is_dir() and not _looks_like_json(path):
        _trace(path, city, json)
        return
    with Waiting("Verifying") as wait:
        load_simulator(wait)
        from ev_grid_oracle.evaluation.receipts_check import check_claims
        from ev_grid_oracle.evaluation.receipts_read import read_claims
        from ev_grid_oracle.evaluation.writing import to_json

        wait.say("reading the results")
        claims = read_claims(path, city)
        most = None if everything else SAMPLE if sample is None else sample
        wait.expect(len(claims.rows) if most is None else min(most, len(claims.rows)))
        wait.say("playing episodes again")
        verdict = check_claims(claims, most, wait.advance)
    if json:
        typer.echo(to_json({"path": str(path), **verdict.to_dict()}), nl=False)
    else:
        for finding in verdict.findings[:_SHOWN]:
            typer.echo(finding.message)
        if len(verdict.findings) > _SHOWN:
            typer.echo(f"... and {len(verdict.findings) - _SHOWN} more.")
        for note in verdict.notes:
            typer.echo(note)
        again = verdict.by_receipt + verdict.by_policy
        state = "true" if verdict.ok else f"{len(verdict.findings)} findings"
        typer.echo(
            f"{path}: {state}; {verdict.rows} of {verdict.expected} rows there, {again} episodes played again "
            f"({verdict.by_receipt} from their answers, {verdict.by_policy} by their policy)."
        )
    if not verdict.ok:
        raise typer.Exit(1)


def _looks_like_json(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(64).lstrip().startswith(b"{")
    except OSError:
        return False


def _trace(path: Path, city: str | None, json: bool) -> None:
    with Waiting("Verifying") as wait:
        load_simulator(wait)
        from ev_grid_oracle.city import load_city
        from ev_grid_oracle.episode.replay import verify_trace
        from ev_grid_oracle.evaluation.writing import to_json

        wait.say("playing the trace again")
        report = verify_trace(path, None if city is None else load_city(city))
    if json:
        typer.echo(to_json({"trace": str(path), **report.to_dict()}), nl=False)
    else:
        typer.echo(f"{path}: {report.message}")
    if not report.ok:
        raise typer.Exit(1)
