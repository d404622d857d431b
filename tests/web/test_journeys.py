"""What people do on the page: open, run, scrub, compare, ask why, judge, share, take away and bring back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from web_visit import Visitor

PAIR = "seed=7&scenario=heatwave_peak&lora=greedy_counting"


def test_open_run_scrub(visit: Visitor) -> None:
    one = visit()
    page = one.open()
    assert page.get_by_role("heading", name="Choose an evening").is_visible()
    one.map()
    one.shot("01-launcher")
    one.accessible()
    page.locator("form.setup select").first.select_option("heatwave_peak")
    page.get_by_label("Seed").fill("7")
    page.locator("form.setup select").last.select_option("greedy_counting")
    page.get_by_role("button", name="New", exact=True).click()
    one.until("s.link.value === 'open'")
    assert one.value("s.book.value.length") == 0  # New does not step by itself
    assert page.get_by_text("No tick has been played.").is_visible()
    one.shot("01-no-tick-yet")
    page.get_by_role("button", name="Step", exact=True).click()
    one.until("s.at.value === 1")
    assert page.get_by_test_id("clock").text_content() == "17:05"
    page.get_by_test_id("run").click()
    one.shot("02-running")
    one.until("s.book.value.done")
    page.evaluate("window.evgrid.store.clock.pause()")
    page.get_by_test_id("scrubber").fill("30")
    one.until("s.at.value === 30")
    assert page.get_by_test_id("clock").text_content() == "19:30"
    one.shot("03-scrubbed")
    page.locator(".mark:not([disabled])").first.click()
    assert one.value("s.at.value") != 30
    page.get_by_label("To the newest tick").click()
    one.until("s.at.value === 48")
    assert page.get_by_text("Whole episode, after the settle").is_visible()
    one.shot("03-end")
    one.accessible()


@pytest.mark.slow
def test_swipe_and_difference(visit: Visitor) -> None:
    one = visit(graphics=True)
    page = one.open(f"{PAIR}&played=24&t=24&theme=dark")
    one.map()
    one.shot("04-side-by-side-dark")
    for mode in ("swipe", "diff"):
        page.get_by_label("Compare").select_option(mode)
        one.shot(f"05-{mode}")
    ids = page.evaluate("window.evgrid.stage().hosts.oracle.shown.map((l) => l.id)")
    assert "difference" in ids and "cars" in ids
    deltas = page.evaluate(
        "window.evgrid.stage().hosts.oracle.shown.find((l) => l.id === 'difference').props.data.map((d) => d.delta)"
    )
    state = "s.book.value.state('{}', s.at.value)"
    for k, delta in enumerate(deltas):
        a, b = (
            one.value(f"{state.format(lane)}.occupied[{k}] + {state.format(lane)}.queued[{k}]")
            for lane in ("baseline", "oracle")
        )
        assert delta == b - a
    assert page.get_by_label("Legend").get_by_text("Oracle − baseline").is_visible()


def test_panels_follow_map_and_table(visit: Visitor) -> None:
    one = visit()
    page = one.open(f"{PAIR}&played=12&t=12&panel=stations")
    page.get_by_role("searchbox").fill("jayanagar")
    row = page.locator("tr[data-station]")
    assert row.count() == 1
    row.get_by_role("button").click()
    assert page.get_by_test_id("station-detail").is_visible()
    assert one.value("s.selection.value.id") == "BLR-07"
    one.shot("06-station")
    one.accessible()
    page.get_by_role("tab", name="Grid").click()
    page.locator("[data-feeder=F09]").click()
    assert page.get_by_test_id("feeder-detail").is_visible()
    one.shot("07-grid")
    one.accessible()
    page.get_by_role("tab", name="Log").click()
    one.accessible()
    page.get_by_role("button", name="Layers").click()
    assert page.get_by_test_id("layers").is_visible()
    page.get_by_label("Feeders").first.check()
    one.shot("08-layers")
    one.accessible()


def test_why(visit: Visitor) -> None:
    one = visit()
    page = one.open(f"{PAIR}&played=20&t=20&panel=decision")
    page.wait_for_selector("[data-testid=answer-text]")
    text = page.get_by_test_id("answer-text").text_content() or ""
    assert "ACTION: route" in text and "STATION: BLR-" in text
    assert "✓" in (page.get_by_test_id("parse").text_content() or "")
    assert page.get_by_text("✓ the digest says: the same world").is_visible()
    page.get_by_text("Prompt").click()
    assert page.get_by_text("You dispatch EV charging").is_visible()
    one.shot("09-why")
    one.accessible()


def test_judge_mode_in_and_out(visit: Visitor) -> None:
    one = visit()
    page = one.open("seed=7&scenario=heatwave_peak&judge=1")
    page.wait_for_selector("[data-testid=judge]")
    page.get_by_role("button", name="Step", exact=True).last.click()
    one.until("s.game.value.timeline.length === 1")
    page.get_by_label("Grid operator says").fill("CLAIM load F03 >= 1.9")
    page.get_by_role("button", name="Step with these messages").click()
    page.wait_for_selector("[data-verdict=false]")
    assert "✗ false" in (page.locator("[data-verdict=false]").first.text_content() or "")
    points = page.locator(".totals tbody tr").first.locator("td").nth(2).text_content()
    assert points == "−1"
    one.shot("10-judge")
    one.accessible()
    page.get_by_role("button", name="Leave Judge Mode").click()
    assert one.value("s.judge.value") is False


def test_tour(visit: Visitor) -> None:
    one = visit()
    page = one.open(f"{PAIR}&played=6&t=6&tour=0")
    assert page.get_by_test_id("tour").is_visible()
    one.shot("11-tour")
    one.accessible()
    while page.get_by_test_id("tour").is_visible():
        page.get_by_test_id("tour").locator("button.primary").click()
    assert one.value("s.mode.value") == "ab"


@pytest.mark.slow
def test_deep_link_round_trip(visit: Visitor) -> None:
    one = visit(graphics=True)
    query = f"{PAIR}&fleet=taxi&played=10&t=7.5&speed=4&mode=swipe&panel=grid&sel=feeder:F03&theme=contrast&lane=baseline"
    page = one.open(query + "&layers=cars.stations.labels&cam=77.6000,12.9500,11.50")
    one.map()
    page.wait_for_timeout(600)
    first = page.url
    keys = "['setup','speed','mode','panel','selection','theme','lane','layers','follow']"
    view = one.value(
        f"JSON.stringify([{keys}.map((k) => s[k].value), s.clock.position, s.book.value.ticks.at(-1).lanes.oracle.frame.digest])"
    )
    again = visit(graphics=True)
    page = again.open(first.split("?")[1])
    again.map()
    page.wait_for_timeout(600)
    assert (
        again.value(
            f"JSON.stringify([{keys}.map((k) => s[k].value), s.clock.position, s.book.value.ticks.at(-1).lanes.oracle.frame.digest])"
        )
        == view
    )
    assert page.url == first
    again.shot("12-contrast")
    again.accessible()


@pytest.mark.slow
@pytest.mark.parametrize("by", ["button", "drop"])
def test_export_and_import(visit: Visitor, tmp_path: Path, by: str) -> None:
    one = visit(graphics=True)
    page = one.open(f"{PAIR}&played=8&t=8")
    one.map()
    files = {}
    for label in ("PNG of the maps", "CSV of both lanes", "JSON of the run"):
        page.locator(".menu").evaluate("(e) => { e.open = true; }")
        with page.expect_download() as waiting:
            page.get_by_role("button", name=label).click()
        path = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(path)
        files[path.suffix] = path
    assert files[".png"].read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    rows = files[".csv"].read_text().splitlines()
    assert len(rows) == 1 + 2 * 8 and rows[0].startswith("tick,minute_of_day,lane,source,reward")
    run = json.loads(files[".json"].read_text())
    assert [len(run["events"]), run["format"]] == [8, "evgrid-view"]
    other = visit()
    page = other.open()
    if by == "button":
        page.locator(".menu").evaluate("(e) => { e.open = true; }")
        page.locator("input[type=file]").set_input_files(files[".json"])
    else:
        page.evaluate(
            """(text) => { const data = new DataTransfer(); data.items.add(new File([text], 'run.json'));
            window.dispatchEvent(new DragEvent('drop', { dataTransfer: data })); }""",
            files[".json"].read_text(),
        )
    other.until("s.link.value === 'file'")
    same = "JSON.stringify([s.book.value.length, s.book.value.ticks.map((t) => t.lanes.oracle.frame.digest), s.book.value.carsAt('oracle', 8).ids])"
    assert other.value(same) == one.value(same)
    with page.expect_download() as waiting:  # taken away again, it is the same file
        page.locator(".menu").evaluate("(e) => { e.open = true; }")
        page.get_by_role("button", name="JSON of the run").click()
    waiting.value.save_as(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == run


def test_keyboard_only(visit: Visitor) -> None:
    one = visit()
    page = one.open(PAIR)
    page.keyboard.press("s")
    one.until("s.at.value === 1")
    page.keyboard.press("r")
    one.until("s.book.value.done")
    page.keyboard.press("Home")
    assert one.value("s.clock.position") == 0
    for key, position in (("ArrowRight", 1), ("Shift+ArrowRight", 13), ("ArrowLeft", 12), ("End", 48)):
        page.keyboard.press(key)
        assert one.value("s.clock.position") == position
    for key, what in (
        ("]", "s.speed.value === 2"),
        ("d", "s.mode.value === 'swipe'"),
        ("a", "s.lane.value === 'baseline'"),
        ("t", "s.theme.value === 'dark'"),
        ("l", "s.layersOpen.value"),
        ("3", "!s.layers.value.cars.on"),
    ):
        page.keyboard.press(key)
        assert one.value(what), key
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    assert page.get_by_role("dialog", name="Keys").is_visible()
    one.shot("13-keys")
    page.keyboard.press("Escape")
    page.get_by_label("Seed").focus()
    page.keyboard.type("t")  # off while something is typed
    assert one.value("s.theme.value") == "dark"
    page.get_by_role("tab", name="Overview").focus()
    page.keyboard.press("ArrowRight")
    assert one.value("s.panel.value") == "stations"


def test_phone(visit: Visitor) -> None:
    one = visit(390, 844, device_scale_factor=1, has_touch=True, is_mobile=True)
    page = one.open(f"{PAIR}&played=12&t=12")
    one.map()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    one.shot("14-phone")
    one.accessible()
    page.get_by_role("tab", name="Why").scroll_into_view_if_needed()
    page.get_by_role("tab", name="Why").click()
    page.wait_for_selector("[data-testid=waterfall]")
    one.shot("15-phone-why")
