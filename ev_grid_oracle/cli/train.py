"""`evgrid train`: the small oracle on a laptop, or adapters of a large model on a GPU."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ev_grid_oracle.cli import push
from ev_grid_oracle.cli.options import Json
from ev_grid_oracle.evaluation.writing import to_json
from ev_grid_oracle.schema.errors import MissingExtraError

EXAMPLE = "Example: evgrid train --profile cpu-small --out runs/oracle"
BIG = "t4-qwen3b"

app = typer.Typer(invoke_without_command=True)
app.command("push", epilog=push.EXAMPLE)(push.push)


@app.callback(epilog=EXAMPLE)
def train(
    context: typer.Context,
    profile: Annotated[
        str,
        typer.Option(
            "--profile",
            help="cpu-small, t4-qwen3b or tiny-test.",
            autocompletion=lambda: ["cpu-small", BIG, "tiny-test"],
        ),
    ] = "cpu-small",
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder of the run; a stopped run goes on from there.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of weights, order and sampling.")] = 0,
    steps: Annotated[
        int | None, typer.Option("--steps", min=0, help="Steps of GRPO instead of the profile's; 0: none.")
    ] = None,
    threads: Annotated[int, typer.Option("--threads", help="Of torch (small profiles).")] = 1,
    uniform: Annotated[
        bool, typer.Option("--uniform", help="No curriculum: all states alike (small profiles).")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="t4-qwen3b: every part with a random shrunk model, two steps, no GPU."
        ),
    ] = False,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="t4-qwen3b: go on from the last checkpoint; small profiles always do."),
    ] = False,
    model: Annotated[
        str | None, typer.Option("--model", help="t4-qwen3b: another base, a folder or Hub id.")
    ] = None,
    report_to: Annotated[
        str,
        typer.Option(
            "--report-to",
            help="tensorboard (a log in the run's folder); wandb or trackio beside it; or none.",
            autocompletion=lambda: ["tensorboard", "wandb", "trackio", "none"],
        ),
    ] = "tensorboard",
    json: Json = False,
) -> None:
    """Train a dispatcher: data from the planner, warm start, GRPO, export and checks."""
    if context.invoked_subcommand is not None:
        return

    def tell(text: str) -> None:
        typer.echo(text, err=True)

    if profile == BIG:
        from ev_grid_oracle.training.big import OUT, run

        report = run(
            dry_run,
            out=out or OUT,
            steps=steps,
            seed=seed,
            resume=resume,
            model=model,
            report_to=report_to,
            tell=tell,
        )
    else:
        try:
            from ev_grid_oracle.training import small_run
        except ModuleNotFoundError as missing:  # its profiles already import torch
            raise MissingExtraError(
                f"Training needs the `train` extra ({missing.name} missing).",
                "Run: pip install 'openenv-ev-grid-oracle[train]'",
            ) from missing

        report = small_run.run(
            profile,
            out=out or small_run.OUT,
            seed=seed,
            uniform=uniform,
            threads=threads,
            steps=steps,
            report_to=report_to,
            tell=tell,
        )
    if json:
        typer.echo(to_json(report), nl=False)
