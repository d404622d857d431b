"""`/healthz`, `/`, `/ui/`: is it up, and where is the command center."""

from __future__ import annotations

import threading
from collections.abc import Callable, MutableMapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from fastapi import FastAPI
from fastapi.middleware.gzip import GZipMiddleware
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, Field

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.protocol import PROTOCOL_VERSION
from ev_grid_oracle.server.faults import json_reply
from ev_grid_oracle.server.settings import Settings
from ev_grid_oracle.version import __version__

NO_UI = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>EV Grid Oracle</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:4rem auto;padding:0 1rem}
code,pre{background:#8882;padding:.1em .3em;border-radius:.3em}pre{padding:1em}</style></head><body>
<h1>EV Grid Oracle</h1>
<p>The service is up; the command center has not been built here.</p>
<pre>cd web
npm ci
npm run build</pre>
<p>Then start the server again, or point <code>EVGRID_UI_DIR</code> at the folder with its
<code>index.html</code>.</p>
<p>Meanwhile: <a href="../docs">the routes</a>, <a href="../healthz">health</a>.</p>
</body></html>
"""


POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; "
    "worker-src 'self' blob:; object-src 'none'; base-uri 'self'; form-action 'none'"
)
"""Of the command center's pages: whatever they are made to do, no request leaves the origin."""


class CommandCenter(StaticFiles):
    """The built pages: nothing from elsewhere, hashed assets for ever, the page itself asked for each time."""

    async def get_response(self, path: str, scope: MutableMapping[str, Any]) -> Response:
        """As `StaticFiles`, with headers."""
        response = await super().get_response(path, scope)
        hashed = path.replace("\\", "/").startswith("assets/")
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable" if hashed else "no-cache"
        response.headers["Content-Security-Policy"] = POLICY
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response


class Health(BaseModel):
    """What `/healthz` says."""

    status: str = "ok"
    ready: bool = Field(description="The simulator is compiled and the city loaded.")
    versions: dict[str, str | None]
    city: str
    sessions: dict[str, int] = Field(description="In use and most, by kind.")


class Readiness:
    """Compiles the simulator and loads the city beside the running server."""

    def __init__(self, city: str) -> None:
        self._city = city
        self._started = False
        self.ready = False
        self.fault = ""

    def start(self) -> None:
        """Begin, once."""
        if not self._started:
            self._started = True
            threading.Thread(target=self._warm, name="evgrid-warm-up", daemon=True).start()

    def _warm(self) -> None:
        try:
            session = Session(load_city(self._city), record=False)
            session.reset(seed=0, ticks=2)
            session.step()
            session.step()
            self.ready = True
        except Exception as exc:  # the server stays up and says what is wrong
            self.fault = f"{type(exc).__name__}: {exc}"[:200]


def add_pages(app: FastAPI, settings: Settings, count: Callable[[], dict[str, int]]) -> Readiness:
    """Add the pages; `count` gives sessions in use and most, by kind."""
    readiness = Readiness(settings.city)
    versions = {
        "ev_grid_oracle": __version__,
        "protocol": str(PROTOCOL_VERSION),
        **{name: _version(name) for name in ("openenv", "fastapi", "numba", "numpy")},
    }

    @app.get("/healthz", tags=["Health"], response_model=Health, summary="Versions, readiness, sessions")
    async def healthz() -> Response:
        body: dict[str, Any] = {
            "status": "ok" if not readiness.fault else "failing",
            "ready": readiness.ready,
            "versions": versions,
            "city": settings.city,
            "sessions": count(),
        }
        return json_reply(body)

    @app.get("/", include_in_schema=False)
    async def root() -> Response:
        return RedirectResponse("ui/")

    @app.get("/web", include_in_schema=False)
    async def web() -> Response:
        return RedirectResponse("ui/")

    @app.get("/web/", include_in_schema=False)
    async def web_folder() -> Response:
        return RedirectResponse("../ui/")

    if settings.ui is not None:
        app.mount("/ui", GZipMiddleware(CommandCenter(directory=settings.ui, html=True), 1024), name="ui")
    else:

        @app.get("/ui", include_in_schema=False)
        async def ui() -> Response:
            return RedirectResponse("ui/")

        @app.get("/ui/", include_in_schema=False)
        async def ui_folder() -> Response:
            return HTMLResponse(NO_UI)

    app.router.on_startup.append(readiness.start)
    return readiness


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
