"""A page of the command center as a test visits it, and a server in a thread."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from playwright.sync_api import Page

from ev_grid_oracle.server.app import create_app
from ev_grid_oracle.server.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
AXE = ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js"
SHOTS = os.environ.get("EVGRID_UI_SHOTS")
"""Folder for the screenshots of every state; none are kept without it."""


NO_GRAPHICS = (
    "const get = HTMLCanvasElement.prototype.getContext; HTMLCanvasElement.prototype.getContext = "
    "function (kind, ...rest) { return kind.startsWith('webgl') ? null : get.call(this, kind, ...rest); };"
)
"""Run before the page's own scripts: a browser that has no WebGL."""


DRAWN = (
    "!window.evgrid.stage() || "
    "Object.values(window.evgrid.stage().hosts).every((h) => h.map.isStyleLoaded() && h.map.areTilesLoaded())"
)
"""The base map is there, or there is none."""


@contextmanager
def serving(settings: Settings) -> Iterator[str]:
    """A server in a thread; yields its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    server = uvicorn.Server(
        uvicorn.Config(create_app(settings), port=port, log_level="error", ws="websockets-sansio")
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        if not thread.is_alive():
            raise RuntimeError("the server did not start")
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(20)


@dataclass
class Visit:
    """A page and what went wrong on it."""

    page: Page
    base: str
    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def open(self, query: str = "") -> Page:
        """Go to the page and wait until it has said what it shows."""
        self.page.goto(f"{self.base}/ui/?{query}")
        self.until("!document.querySelector('.boot') && !s.busy.value")
        return self.page

    def until(self, expression: str, seconds: float = 120.0) -> None:
        """Wait until an expression holds; the page's policy forbids Playwright's own way, which evaluates text."""
        end = time.monotonic() + seconds
        while not self.value(expression):
            assert time.monotonic() < end, f"never came true: {expression}"
            self.page.wait_for_timeout(30)

    def map(self) -> None:
        """Wait for the maps."""
        self.until("window.evgrid.stage() !== null || s.noMap.value")

    def value(self, expression: str) -> Any:
        """Something of the page's state; `s` is its store."""
        return self.page.evaluate(f"(() => {{ const s = window.evgrid.store; return {expression}; }})()")

    def shot(self, name: str) -> None:
        """Keep a picture, where pictures are kept."""
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            self.until(DRAWN)
            self.page.wait_for_timeout(1500)
            self.page.screenshot(path=str(Path(SHOTS) / f"{name}.png"))

    def accessible(self) -> None:
        """No serious finding of axe."""
        if not AXE.is_file():
            return
        self.page.evaluate(AXE.read_text())
        found = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        serious = [
            f"{v['id']}: {v['nodes'][0]['html'][:160]}"
            for v in found["violations"]
            if v["impact"] in ("serious", "critical")
        ]
        assert not serious, serious


Visitor = Callable[..., Visit]
