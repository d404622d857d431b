"""The two commands of a checkout: ``training/fair_eval.py`` and ``training/make_plots.py``.

Exit codes as everywhere: 0 ok, 2 usage, 3 bad input, 4 a missing extra, 130 stopped from the keyboard.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from ev_grid_oracle.schema.errors import EVGridError, OptionError

EvalJson = Annotated[Path, typer.Option("--eval-json", help="Report of evgrid eval or training/evaluate.py.")]

EXAMPLE_FAIR = (
    "Example: python training/fair_eval.py --eval-json training/eval_results.json "
    "--out-json artifacts/fair_eval_results.json --out-chart artifacts/fair_eval_chart.png"
)
EXAMPLE_PLOTS = (
    "Example: python training/make_plots.py --eval-json training/eval_results.json "
    "--fair-json artifacts/fair_eval_results.json --out-dir artifacts"
)


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def fair_eval(
    eval_json: EvalJson,
    out_json: Annotated[Path, typer.Option("--out-json", help="Where to write the statistics.")] = Path(
        "artifacts/fair_eval_results.json"
    ),
    out_chart: Annotated[
        Path | None, typer.Option("--out-chart", help="Where to write the chart (PNG); none without it.")
    ] = None,
    reference: Annotated[
        str | None, typer.Option("--reference", help="Policy to compare with; the file's first by default.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of bootstrap and sign flips.")] = 0,
    resamples: Annotated[int, typer.Option("--resamples", help="Draws of bootstrap and sign flips.")] = 9_999,
) -> None:
    """Fair statistics: Wilson, exact McNemar, BCa bootstrap, sign flips, Holm; says "no difference shown"."""
    from ev_grid_oracle.evaluation.stats import fair
    from ev_grid_oracle.evaluation.stats_read import read_results
    from ev_grid_oracle.evaluation.writing import check_writable, to_json, write_atomic

    if not 99 <= resamples <= 1_000_000:
        raise OptionError(f"{resamples} resamples are out of range.", "Choose 99 to 1000000.")
    if not 0 <= seed < 2**32:
        raise OptionError(f"Seed {seed} is out of range.", "Choose 0 to 4294967295.")
    for path in (out_json, out_chart):
        if path is not None:
            check_writable(path)
    results = read_results(eval_json)
    report = fair(
        results, reference=reference, seed=seed, resamples=resamples,
        progress=lambda scenario: _say(f"Testing {scenario}"),
    )  # fmt: skip
    write_atomic(out_json, to_json(report))
    for line in report["summary"]:  # type: ignore[attr-defined]  # a list of sentences
        typer.echo(line)
    typer.echo(f"Statistics: {out_json}")
    if out_chart is not None:
        from ev_grid_oracle.viz.figures import draw_chart
        from ev_grid_oracle.viz.figures_data import from_documents

        typer.echo(f"Chart: {draw_chart(from_documents(results, report), out_chart)}")


def make_plots(
    eval_json: EvalJson,
    fair_json: Annotated[Path, typer.Option("--fair-json", help="Statistics of training/fair_eval.py.")],
    out_dir: Annotated[Path, typer.Option("--out-dir", help="Folder of the figures.")] = Path("artifacts"),
    scenario: Annotated[
        str | None,
        typer.Option(
            "--scenario", help="Scenario that figures of single episodes show; the file's first by default."
        ),
    ] = None,
    only: Annotated[
        str | None, typer.Option("--only", help="Comma-separated file names; all figures without it.")
    ] = None,
) -> None:
    """Sixteen figures of one evaluation; what has no data says so in one line."""
    from ev_grid_oracle.evaluation.writing import check_writable
    from ev_grid_oracle.viz.figures import FIGURES, draw_all
    from ev_grid_oracle.viz.figures_data import figure_data

    names = [name.strip() for name in only.split(",")] if only is not None else list(FIGURES)
    unknown = [name for name in names if name not in FIGURES]
    if unknown:
        raise OptionError(f"There is no figure {unknown[0]!r}.", f"There are: {', '.join(FIGURES)}.")
    check_writable(out_dir / names[0])
    data = figure_data(eval_json, fair_json, scenario)
    drawn = 0
    for outcome in draw_all(data, out_dir, names):
        typer.echo(str(outcome))
        drawn += not outcome.reason
    typer.echo(f"{drawn} of {len(names)} figures drawn.")


def call(command: Callable[..., None], argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; bad input is one sentence, never a traceback."""
    name = command.__name__
    app = typer.Typer(
        pretty_exceptions_enable=False, add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )  # fmt: skip
    app.command(name, epilog=EXAMPLE_FAIR if command is fair_eval else EXAMPLE_PLOTS)(command)
    try:
        app(args=list(sys.argv[1:] if argv is None else argv), prog_name=f"{name}.py")
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else 0
    except EVGridError as error:
        _say(f"{name}: {error.code}: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        _say(f"{name}: stopped.")
        return 130
    except Exception as error:
        if os.environ.get("EVGRID_DEBUG"):
            raise
        text = " ".join(str(error).split())[:300]
        _say(
            f"{name}: E_INTERNAL: {type(error).__name__}: {text}. Report it; EVGRID_DEBUG=1 shows the traceback."
        )
        return 3
    return 0
