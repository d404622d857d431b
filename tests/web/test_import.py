"""A trace as the command line writes it, dropped on the page; what is no trace is answered in a sentence."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from playwright.sync_api import Page
from typer.testing import CliRunner
from web_visit import Visitor

from ev_grid_oracle.cli.main import app
from ev_grid_oracle.episode.trace import Trace

DROP = """([name, text]) => { const data = new DataTransfer();
const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
data.items.add(new File([bytes], name)); window.dispatchEvent(new DragEvent('drop', { dataTransfer: data })); }"""
DIGESTS = "s.book.value.ticks.map((t) => t.lanes.oracle.frame.digest)"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `evgrid run` writes."""
    path = tmp_path_factory.mktemp("runs") / "run.evt"
    command = "run --policy greedy_counting --seed 5 --scenario MonsoonStorm --ticks 14 --out"
    done = CliRunner().invoke(app, [*command.split(), str(path)])
    assert done.exit_code == 0, done.output
    return path


def _drop(page: Page, name: str, data: bytes) -> None:
    page.evaluate(DROP, [name, base64.b64encode(data).decode()])


def test_a_dropped_trace_is_played_beside_the_baseline(visit: Visitor, written: Path) -> None:
    told = Trace.load(written)
    one = visit()
    page = one.open()
    _drop(page, "run.evt", written.read_bytes())
    page.get_by_text("Loaded run.evt: every tick of it is what the simulator gives.").wait_for()
    assert one.value(DIGESTS) == [frame.digest for frame in told]
    assert one.value("[s.setup.value.scenario, s.setup.value.seed]") == ["MonsoonStorm", "5"]
    badges = [page.get_by_test_id(f"badge-{lane}").first.text_content() for lane in ("baseline", "oracle")]
    assert badges == ["baseline", "greedy_counting"]
    page.get_by_label("To the newest tick").click()
    one.until("s.at.value === 14")
    assert page.get_by_text("Whole episode, after the settle").is_visible()
    page.evaluate("window.evgrid.store.panel.value = 'decision'")
    page.wait_for_selector("[data-testid=answer-text]")
    assert page.get_by_text("✓ the digest says: the same world").is_visible()
    one.shot("22-trace-dropped")


def test_a_broken_trace_is_answered_and_the_page_goes_on(visit: Visitor, written: Path) -> None:
    one = visit()
    page = one.open("seed=7&lora=greedy_counting&played=2&t=2")
    whole = written.read_bytes()
    for name, data, why in (
        ("cut.evt", whole[:-30], "The trace was cut or altered: its checksum does not hold."),
        ("other.evt", b"hello", "The file is no trace."),
        ("long.evt", b"EVGRID-TRACE " + b"0" * (2 << 20), "The body is too long."),
    ):
        _drop(page, name, data)
        toast = page.locator(".toast.error", has_text=name)
        toast.wait_for()
        assert f"{name} was not opened. {why}" in (toast.text_content() or "")
    one.shot("23-trace-broken")
    assert one.value("s.book.value.length") == 2 and one.value("s.link.value") == "open"
    page.get_by_role("button", name="Step", exact=True).click()
    one.until("s.at.value === 3")
    assert [e for e in one.errors if "422" not in e and "413" not in e] == []
    one.errors.clear()  # the browser itself logs a refused request
