"""`evgrid serve`: start the service on this machine."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from ev_grid_oracle.cli.options import City
from ev_grid_oracle.cli.waiting import Waiting
from ev_grid_oracle.schema.errors import MissingExtraError, OptionError
from ev_grid_oracle.viz.ports import why_not

EXAMPLE = "Example: evgrid serve --port 8000   (then open http://127.0.0.1:8000/ui/ or /docs)"


def serve(
    host: Annotated[str, typer.Option("--host", help="Address to listen on; 0.0.0.0 for all.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port to listen on.")] = 8000,
    city: City = "bengaluru",
    max_envs: Annotated[
        int | None,
        typer.Option("--max-envs", min=1, max=4096, help="Sockets at once (MAX_CONCURRENT_ENVS, 64)."),
    ] = None,
    ping_s: Annotated[
        float, typer.Option("--ping-s", min=1.0, help="A socket that misses a ping this long is freed.")
    ] = 20.0,
    log_level: Annotated[str, typer.Option("--log-level", help="debug, info, warning or error.")] = "info",
) -> None:
    """OpenEnv routes, HTTP episodes, demo, road task, two agents and the command center, in one process."""
    with Waiting("Starting the service") as wait:
        wait.say("loading")
        try:
            import uvicorn

            from ev_grid_oracle.city import load_city
        except ImportError as missing:
            raise MissingExtraError(
                "`evgrid serve` needs the `server` extra.",
                "Run: pip install 'openenv-ev-grid-oracle[server]'",
            ) from missing
        load_city(city)
        taken = why_not(host, port)
        if taken is not None:  # said before the addresses, not after them
            raise OptionError(
                f"Nobody can listen on {host} port {port}: {taken}.", "Choose another --port or --host."
            )
        os.environ["EVGRID_CITY"] = city
        if max_envs is not None:
            os.environ["MAX_CONCURRENT_ENVS"] = str(max_envs)
        from ev_grid_oracle.server.app import app
    typer.echo(f"http://{host}:{port}/ui/   routes: http://{host}:{port}/docs", err=True)
    uvicorn.run(
        app,
        host=host,
        port=port,
        workers=1,
        log_level=log_level,
        ws_ping_interval=ping_s,
        ws_ping_timeout=ping_s,
    )
