"""``python -m viz.gradio_demo``: the page on a Space's CPU or on this machine."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from ev_grid_oracle.schema.errors import OptionError
from ev_grid_oracle.viz.frames_cli import call, say
from ev_grid_oracle.viz.ports import why_not

EXAMPLE = "PORT=7860 python -m viz.gradio_demo"


def gradio_demo(
    host: Annotated[
        str,
        typer.Option(
            "--host", help="Address; by default this machine alone, 0.0.0.0 where PORT or SPACE_ID is set."
        ),
    ] = "",
    port: Annotated[int, typer.Option("--port", help="Port; by default PORT, else 7860.")] = 0,
    city: Annotated[str, typer.Option("--city", help="City.")] = "bengaluru",
    pause: Annotated[
        float, typer.Option("--pause", help="Seconds between two ticks of a run, 0 to 10.")
    ] = 0.12,
) -> None:
    """A page with map, KPIs and a switch between baseline and oracle; every visitor has a world of his own."""
    from ev_grid_oracle.viz.gradio_app import build, gradio, launch

    if not 0.0 <= pause <= 10.0:
        raise OptionError(f"A pause of {pause:g} s is out of range.", "Choose 0 to 10.")
    gradio()
    asked = port or port_of(os.environ.get("PORT", ""))
    hosted = bool(os.environ.get("PORT") or os.environ.get("SPACE_ID"))
    address = host or ("0.0.0.0" if hosted else "127.0.0.1")
    check_free(address, asked)
    page = build(city, pause)
    say(f"http://{address}:{asked}/ (Ctrl-C ends it)")
    launch(page, address, asked, block=True)


def port_of(text: str) -> int:
    """The port that ``PORT`` names; 7860 where it is empty."""
    if not text.strip():
        return 7860
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        raise OptionError(f"PORT is {text[:20]!r}.", "Set a number from 1 to 65535.")
    return int(text)


def check_free(host: str, port: int) -> None:
    """Raise `OptionError` where the address cannot be listened on."""
    if not 0 < port < 65536:
        raise OptionError(f"Port {port} is out of range.", "Choose 1 to 65535.")
    taken = why_not(host, port)
    if taken is not None:
        raise OptionError(f"Cannot listen on {host}:{port}: {taken}.", "Choose another --port.")


def main() -> int:
    """The command; returns its exit code."""
    return call(gradio_demo, "viz.gradio_demo", EXAMPLE)
