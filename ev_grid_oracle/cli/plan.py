"""`evgrid plan`: the pages that are written from measured artifacts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ev_grid_oracle.cli.options import City, Json

app = typer.Typer(help="Pages written from measured artifacts.", no_args_is_help=True)
EXAMPLE = "Example: evgrid plan document --all --check"


@app.callback()
def _group() -> None:
    """Pages written from measured artifacts."""


@app.command("document", epilog=EXAMPLE)
def document(
    out: Annotated[
        Path | None, typer.Option("--out", help="Where the page goes (of the plan: docs/technical-plan.md).")
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Write nothing; exit code 1 where a page differs from the evidence."),
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Every page that comes with a template, and the README's links.")
    ] = False,
    template: Annotated[
        str, typer.Option("--template", help="A template by name, or a file of your own.")
    ] = "technical-plan",
    artifacts: Annotated[
        Path | None, typer.Option("--artifacts", help="Folder with the evidence (artifacts).")
    ] = None,
    root: Annotated[
        Path,
        typer.Option(
            "--root", help="The checkout: its files tick the checklist, its docs/links.toml owns the links."
        ),
    ] = Path(),
    city: City = "bengaluru",
    json: Json = False,
) -> None:
    """Write the technical plan from the artifacts; what is not measured is said to be so."""
    from ev_grid_oracle.evaluation.writing import to_json
    from ev_grid_oracle.schema.errors import OptionError
    from ev_grid_oracle.viz import plan_document as plan

    if everything and out is not None:
        raise OptionError("--all and --out do not go together.", "Leave one of them out.")
    if out is None and not everything and template not in plan.PAGES:
        raise OptionError("A template of your own needs --out.", "Say where its page goes.")
    names = list(plan.PAGES) if everything else [template]
    pages = {
        (root / plan.PAGES[name] if out is None else out): plan.page(name, root, artifacts, city)
        for name in names
    }
    links = plan.readme(root) if everything else None
    if links is not None:
        pages[root / "README.md"] = links
    faults = {str(path): plan.differs(path, text) for path, text in pages.items()}
    stale = [fault for fault in faults.values() if fault]
    if not check:
        for path, text in pages.items():
            plan.write(path, text)
    if json:
        typer.echo(
            to_json(
                {"pages": list(faults), "differed": [p for p, f in faults.items() if f], "written": not check}
            ),
            nl=False,
        )
    elif check:
        for fault in stale:
            typer.echo(fault)
        typer.echo(f"{len(pages) - len(stale)} of {len(pages)} pages say what the evidence says.")
    else:
        for path in pages:
            typer.echo(str(path))
    if check and stale:
        raise typer.Exit(1)
