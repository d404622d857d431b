"""Journeys through the command center in a real browser, on a server that the test starts in its own process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openenv", reason="the server needs the server extra")
pytest.importorskip("playwright", reason="journeys need playwright")

from playwright.sync_api import Browser, BrowserContext, sync_playwright
from web_visit import NO_GRAPHICS, SHOTS, Visit, Visitor, serving

from ev_grid_oracle.server.settings import Settings, read_settings

ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-unsafe-swiftshader",
]


@pytest.fixture(scope="session")
def ui() -> Path:
    """The built command center."""
    folder = read_settings({}).ui
    if folder is None:
        pytest.skip("the command center is not built: npm --prefix web ci && npm --prefix web run build")
    return folder


@pytest.fixture(scope="session")
def base(ui: Path) -> Iterator[str]:
    """A server of the shipped city."""
    with serving(Settings(ui=ui)) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Chromium, headless, drawing in software."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as p:
        try:
            made = p.chromium.launch(executable_path=path, args=ARGS)
        except Exception as exc:  # a machine without a browser
            pytest.skip(f"no Chromium here: {exc}"[:200])
        yield made
        made.close()


@pytest.fixture
def visit(browser: Browser, base: str) -> Iterator[Visitor]:
    """Opens pages; at the end none has logged an error or asked anybody but its own server."""
    contexts: list[BrowserContext] = []
    visits: list[Visit] = []

    def make(
        width: int = 1200 if SHOTS else 900,
        height: int = 760 if SHOTS else 560,
        address: str = base,
        motion: str = "reduce",
        graphics: bool = False,
        **options: Any,
    ) -> Visit:
        size = {"width": width, "height": height}
        context = browser.new_context(
            viewport=size, locale="en-GB", reduced_motion=motion, accept_downloads=True, **options
        )  # type: ignore[arg-type]
        context.set_default_timeout(120_000)
        contexts.append(context)
        one = Visit(context.new_page(), address)
        if not (
            graphics or SHOTS
        ):  # drawing in software is most of a visit's time: lists stand in for the maps
            one.page.add_init_script(NO_GRAPHICS)
        one.page.on("pageerror", lambda error: one.errors.append(str(error)))
        one.page.on("console", lambda m: one.errors.append(m.text) if m.type == "error" else None)
        one.page.on(
            "request",
            lambda r: None if r.url.startswith((address, "blob:", "data:")) else one.foreign.append(r.url),
        )
        visits.append(one)
        return one

    yield make
    for context in contexts:
        context.close()
    assert [e for one in visits for e in one.errors] == []
    assert [e for one in visits for e in one.foreign] == []
