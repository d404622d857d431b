"""`evgrid train push`: a trained adapter or model to the Hub."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ev_grid_oracle.cli.options import Json
from ev_grid_oracle.evaluation.writing import to_json

EXAMPLE = "Example: evgrid train push ev_oracle_grpo_road/adapter --repo owner/name --dry-run"


def push(
    folder: Annotated[Path, typer.Argument(help="Folder of a saved adapter or model.")],
    repo: Annotated[str, typer.Option("--repo", help="Repository of the Hub, owner/name.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be sent; needs no token and no network.")
    ] = False,
    private: Annotated[bool, typer.Option("--private", help="A repository that is made is private.")] = False,
    json: Json = False,
) -> None:
    """Upload a trained adapter or model; secrets and weights that are no safetensors are refused."""
    from ev_grid_oracle.training.push import push as send

    report = send(
        folder, repo, dry_run=dry_run, private=private, tell=lambda text: typer.echo(text, err=json)
    )
    if json:
        typer.echo(to_json(report), nl=False)
