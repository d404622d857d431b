"""The Gradio page, started for real: a world for every visitor, streaming, limits, nothing from another origin."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gradio", reason="the page needs the extra viz")

from ev_grid_oracle.schema.errors import OptionError
from ev_grid_oracle.viz import gradio_app as app
from ev_grid_oracle.viz import gradio_cli
from ev_grid_oracle.viz.frames_cli import call
from ev_grid_oracle.viz.gradio_map import feeders_html, kpi_html, map_svg
from ev_grid_oracle.viz.gradio_state import TICKS, Visitor

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = Path("/usr/bin/chromium")
# the frameworks below gradio warn about each other's versions; that is not what is tested here
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The documented command in a process of its own, its port from PORT as on a Space."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = tmp_path_factory.mktemp("gradio") / "log.txt"
    line = [sys.executable, "-m", "viz.gradio_demo", "--host", "127.0.0.1", "--pause", "0"]
    with log.open("w") as file:
        server = subprocess.Popen(
            line, cwd=ROOT, env={**os.environ, "PORT": str(port)}, stdout=file, stderr=file
        )
    url = f"http://127.0.0.1:{port}/"
    try:
        while True:
            assert server.poll() is None, log.read_text()
            try:
                with urllib.request.urlopen(url, timeout=30):
                    break
            except OSError:
                time.sleep(0.2)
        yield url
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()
    assert "ev_grid_oracle" not in log.read_text()  # gradio prints its own refusals of a field; none is ours


@contextmanager
def visitor(address: str) -> Iterator[Any]:
    client = pytest.importorskip("gradio_client", reason="comes with gradio").Client(address, verbose=False)
    try:
        yield client
    finally:
        client.close()


def tick(shown: Any) -> int:
    found = re.search(r"tick (\d+) of 60", "".join(shown))
    assert found is not None
    return int(found[1])


def test_visitors_do_not_share_a_world(address: str) -> None:
    """Two private windows step five and two times; each keeps its own count, scenario and seed."""
    with visitor(address) as one, visitor(address) as two, visitor(address) as three:
        one.predict("baseline", 1, "baseline", api_name="/new")
        two.predict("MonsoonStorm", 2, "oracle", api_name="/new")
        for _ in range(5):
            shown = one.predict("baseline", 1, "baseline", api_name="/step")
        for _ in range(2):
            other = two.predict("MonsoonStorm", 2, "oracle", api_name="/step")
        assert tick(shown) == 5 and tick(other) == 2
        assert "seed 1<" in shown[0] and "MonsoonStorm · seed 2<" in other[0]
        again = one.predict("baseline", 1, "oracle", api_name="/show")  # the other lane, at the same tick
        assert tick(again) == 5 and "oracle" in again[0] and again[2] == shown[2]
        assert tick(three.predict("baseline", 1, "baseline", api_name="/load")) == 0  # a reload starts fresh


def test_a_run_streams_every_tick(address: str) -> None:
    with visitor(address) as me:
        job = me.submit("heatwave_peak", 5, "oracle", api_name="/run")
        shown = list(job)
        assert [tick(out) for out in shown] == list(range(1, TICKS + 1))
        assert "whole evening" in shown[-1][2] and "whole evening" not in shown[-2][2]
        assert (
            me.predict("heatwave_peak", 5, "oracle", api_name="/step")[:] == shown[-1]
        )  # nothing after the end


def test_many_visitors_at_once(address: str) -> None:
    """Eight at a time, more than are worked on at once: all are answered, each with its own seed."""

    def play(seed: int) -> tuple[int, str]:
        with visitor(address) as me:
            me.predict("baseline", seed, "baseline", api_name="/new")
            shown = me.predict("baseline", seed, "baseline", api_name="/step")
        return tick(shown), shown[0]

    with ThreadPoolExecutor(8) as pool:
        for seed, (played, head) in enumerate(pool.map(play, range(8))):
            assert played == 1 and f"seed {seed}<" in head


@pytest.mark.parametrize(("scenario", "seed"), [("nowhere", 1), ("baseline", -1), ("baseline", None)])
def test_bad_fields_are_one_sentence(address: str, scenario: str, seed: object) -> None:
    with visitor(address) as me:
        with pytest.raises(Exception) as caught:
            me.predict(scenario, seed, "baseline", api_name="/new")
        assert "Traceback" not in str(caught.value) and len(str(caught.value)) < 300
        assert tick(me.predict("baseline", 1, "baseline", api_name="/new")) == 0  # the page goes on


def test_limits_and_telemetry() -> None:
    async def build() -> Any:  # Gradio leaves an open event loop behind for every lock it makes outside of one
        return app.build("bengaluru")

    page = asyncio.run(build())
    assert page._queue.max_size == app.WAITING and page.default_config is not None
    assert {fn.concurrency_limit for fn in page.fns.values() if fn.queue} <= {app.AT_ONCE, "default"}
    assert page._queue.default_concurrency_limit == app.AT_ONCE
    assert page.analytics_enabled is False and os.environ["GRADIO_ANALYTICS_ENABLED"] == "False"


def test_numbers_are_the_sessions() -> None:
    me = Visitor("bengaluru", "baseline", 3)
    for _ in range(TICKS):
        me.step()
    me.step()  # nothing after the end
    assert me.tick == TICKS and me.done
    table = kpi_html(me.now("baseline"), me.now("oracle"))
    for lane in me.lanes.values():
        kpis = lane.session.observation.info["kpis"]
        assert f"<td>{kpis['minutes_to_charged']:.1f}</td>" in table  # type: ignore[index]
        drawn = map_svg(lane, lane.shots[-1])
        for k, slots in enumerate(lane.shots[-1].occupied):
            assert f">{slots}/{lane.shots[-1].slots_up[k]}<" in drawn
        shot = lane.shots[-1]
        assert feeders_html(lane, shot).count("!") == int((shot.feeder_load > shot.feeder_limit).sum())
    assert "tie" in kpi_html(me.now("baseline"), me.now("baseline"))
    assert 'class="oracle"' not in kpi_html(me.now("baseline"), me.now("baseline"))
    with pytest.raises(OptionError):
        me.now("nobody")


def test_in_a_browser(address: str, tmp_path: Path) -> None:
    """Load, switch, run to the end: no console error, nothing from another origin, the picture is not empty."""
    sync = pytest.importorskip("playwright.sync_api", reason="drives the browser")
    if not CHROMIUM.exists():
        pytest.skip("there is no Chromium here")
    asked, errors = [], []
    with sync.sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=str(CHROMIUM),
            args=["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                  "--disable-background-networking", "--disable-component-update", "--disable-sync"],
        )  # fmt: skip
        page = browser.new_page(viewport={"width": 1280, "height": 1000}, locale="en-GB")
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        page.wait_for_selector(".evmap", timeout=60_000)
        page.get_by_label("oracle").click()
        page.wait_for_selector(".badge:has-text('oracle')", timeout=60_000)
        page.get_by_role("button", name="Step").click()
        page.wait_for_selector("text=tick 1 of 60", timeout=60_000)
        page.get_by_role("button", name="Run 60 ticks").click()
        page.wait_for_selector("text=tick 60 of 60", timeout=120_000)
        assert page.locator(".evmap .slots").count() == 25
        picture = page.screenshot(full_page=True)
        browser.close()
    (tmp_path / "page.png").write_bytes(picture)
    assert len(picture) > 50_000
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
    assert errors == []


def test_port_of_a_space() -> None:
    assert gradio_cli.port_of("") == 7860 and gradio_cli.port_of("8080") == 8080
    for text in ("0", "65536", "x", "-1", "٣"):
        with pytest.raises(OptionError):
            gradio_cli.port_of(text)


def command(*argv: str) -> int:
    return call(gradio_cli.gradio_demo, "viz.gradio_demo", gradio_cli.EXAMPLE, argv)


def test_a_port_in_use_is_one_sentence(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--port", address.rstrip("/").rpartition(":")[2]) == 2
    said = capsys.readouterr().err
    assert "Cannot listen" in said and said.count("\n") == 1


def test_missing_extra_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "gradio", None)
    assert command() == 4
    assert "[viz]" in capsys.readouterr().err
