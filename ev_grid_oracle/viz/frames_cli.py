"""How the commands of the `viz` folder are called: ``python -m viz.city_map`` and its neighbours.

Exit codes as everywhere: 0 ok, 2 usage, 3 bad input, 4 a missing extra, 130 stopped from the keyboard.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

import typer

from ev_grid_oracle.schema.errors import EVGridError


def say(text: str) -> None:
    """A line for people, on stderr."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def call(command: Callable[..., None], name: str, example: str, argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; bad input is one sentence, never a traceback."""
    app = typer.Typer(
        pretty_exceptions_enable=False, add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )  # fmt: skip
    app.command(name, epilog=f"Example: {example}")(command)
    try:
        app(args=list(sys.argv[1:] if argv is None else argv), prog_name=f"python -m {name}")
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else 0
    except EVGridError as error:
        say(f"{name}: {error.code}: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        say(f"{name}: stopped.")
        return 130
    except Exception as error:
        if os.environ.get("EVGRID_DEBUG"):
            raise
        text = " ".join(str(error).split())[:300]
        say(f"{name}: E_INTERNAL: {type(error).__name__}: {text}. EVGRID_DEBUG=1 shows the traceback.")
        return 3
    return 0
