"""The `evgrid` command: its groups, and how every ending becomes an exit code.

0 ok, 1 a finding (a check failed), 2 usage, 3 bad input, 4 a missing extra, 130 stopped from the keyboard.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated

import typer

from ev_grid_oracle.cli import bench, city, demo, doctor, evaluate, plan, replay, run, serve, train, verify
from ev_grid_oracle.schema.errors import EVGridError
from ev_grid_oracle.version import __version__

OK, FINDING, USAGE, BAD_INPUT, MISSING_EXTRA, STOPPED = 0, 1, 2, 3, 4, 130

app = typer.Typer(
    name="evgrid",
    help="A city's EVs, charging stations and 11 kV feeders as one fast, deterministic world.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"evgrid {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """A city's EVs, charging stations and 11 kV feeders as one fast, deterministic world."""


app.command("demo", epilog=demo.EXAMPLE)(demo.demo)
app.command("run", epilog=run.EXAMPLE)(run.run)
app.command("eval", epilog=evaluate.EXAMPLE)(evaluate.evaluate)
app.command("replay", epilog=replay.EXAMPLE)(replay.replay)
app.command("verify", epilog=verify.EXAMPLE)(verify.verify)
app.command("serve", epilog=serve.EXAMPLE)(serve.serve)
app.command("doctor", epilog=doctor.EXAMPLE)(doctor.doctor)
app.add_typer(train.app, name="train")
app.add_typer(city.app, name="city")
app.add_typer(bench.app, name="bench")
app.add_typer(plan.app, name="plan")


def call(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; never a traceback unless EVGRID_DEBUG is set."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without UTF-8 shows `?`, it does not fail
    try:
        app(args=list(sys.argv[1:] if argv is None else argv), prog_name="evgrid")
    except SystemExit as ending:
        if ending.code == STOPPED:  # Typer catches the key itself, and says nothing
            sys.stderr.write("evgrid: stopped.\n")
        return ending.code if isinstance(ending.code, int) else OK
    except EVGridError as error:
        sys.stderr.write(f"evgrid: {error.code}: {error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("evgrid: stopped.\n")
        return STOPPED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except Exception as error:
        if os.environ.get("EVGRID_DEBUG"):
            raise
        text = " ".join(str(error).split())[:300]
        sys.stderr.write(
            f"evgrid: E_INTERNAL: {type(error).__name__}: {text}. "
            "Report it; EVGRID_DEBUG=1 shows the traceback.\n"
        )
        return BAD_INPUT
    return OK


def main() -> None:
    """Entry point of the `evgrid` script."""
    sys.exit(call())


if __name__ == "__main__":
    main()
