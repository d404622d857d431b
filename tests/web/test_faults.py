"""When something breaks the page says what happened, and goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from web_visit import NO_GRAPHICS, SHOTS, Visitor

PAIR = "seed=7&lora=greedy_counting"


def test_the_city_cannot_be_had_and_then_can(visit: Visitor) -> None:
    one = visit()
    page = one.page
    fault = {"code": "E_INTERNAL", "message": "The city could not be read.", "hint": "Try again."}
    page.route("**/demo/city", lambda r: r.fulfill(status=500, json=fault))
    page.goto(f"{one.base}/ui/")
    page.wait_for_selector("[role=alert]")
    assert "The city could not be read." in (page.get_by_role("alert").text_content() or "")
    one.accessible()
    one.shot("18-error")
    page.unroute("**/demo/city")
    page.get_by_role("button", name="Try again").click()
    page.get_by_role("heading", name="Choose an evening").wait_for()
    assert [e for e in one.errors if "500" not in e] == []
    one.errors.clear()  # the browser itself logs a failed request


def test_offline_says_so_and_a_step_can_be_tried_again(visit: Visitor) -> None:
    one = visit()
    page = one.open(f"{PAIR}&played=2&t=2")
    one.until("s.link.value === 'open'")
    page.context.set_offline(True)
    page.get_by_role("button", name="Step", exact=True).click()
    page.wait_for_selector(".toast.error")
    assert "cannot be reached" in (page.locator(".toast.error").first.text_content() or "")
    one.shot("19-offline")
    page.context.set_offline(False)
    page.get_by_role("button", name="Step", exact=True).click()
    one.until("s.book.value.length === 3")
    one.errors.clear()


def test_a_slow_network_shows_what_is_loading(visit: Visitor) -> None:
    one = visit()
    page = one.page
    page.route("**/demo/city", lambda r: (page.wait_for_timeout(900), r.continue_()))
    page.goto(f"{one.base}/ui/", wait_until="commit")
    page.get_by_text("Loading the city…").first.wait_for()
    if SHOTS:
        page.screenshot(path=str(Path(SHOTS) / "17-loading.png"))
    page.get_by_role("heading", name="Choose an evening").wait_for()


def test_a_session_the_server_has_lost(visit: Visitor) -> None:
    one = visit()
    page = one.open(f"{PAIR}&played=3&t=3")
    page.route(
        "**/demo/step",
        lambda r: r.fulfill(
            status=404,
            json={
                "code": "E_NO_EPISODE",
                "message": "There is no demo session of that id.",
                "hint": "Start one.",
            },
        ),
    )
    page.get_by_role("button", name="Step", exact=True).click()
    page.get_by_test_id("linkbar").wait_for()
    assert "no longer has this session" in (page.get_by_test_id("linkbar").text_content() or "")
    assert one.value("s.book.value.length") == 3  # what was played is still there
    page.get_by_label("To the start").click()
    one.until("s.at.value === 0")
    one.shot("20-gone")
    page.unroute("**/demo/step")
    page.get_by_role("button", name="New", exact=True).click()
    one.until("s.link.value === 'open' && s.book.value.length === 0")
    one.errors.clear()


def test_the_stream_resumes_where_it_broke(visit: Visitor) -> None:
    one = visit()
    sockets: list[object] = []
    one.page.on("websocket", lambda w: sockets.append(w.url))
    page = one.open(f"{PAIR}&played=2&t=2")
    one.until("s.link.value === 'open'")
    page.context.set_offline(True)
    page.context.set_offline(False)
    page.evaluate("window.evgrid.store.link.value = 'lost'")
    assert (
        page.get_by_test_id("linkbar").is_visible()
        and page.get_by_text("stale: reconnecting").first.is_visible()
    )
    page.evaluate("window.evgrid.store.link.value = 'open'")
    page.get_by_role("button", name="Step", exact=True).click()
    one.until("s.book.value.length === 3")
    assert sockets and "form=binary&from=0" in str(sockets[0])
    one.errors.clear()


def test_broken_files_are_refused_with_a_reason(visit: Visitor, tmp_path: Path) -> None:
    one = visit()
    page = one.open(f"{PAIR}&played=1")
    good = {"format": "evgrid-view", "version": 1, "session": {}, "events": []}
    for name, text, why in (
        ("cut.json", '{"format": "evgrid-view", "ver', "It is no JSON."),
        ("other.json", '{"hello": 1}', "no run exported by this page"),
        ("city.json", json.dumps(good), "of another city"),
        ("none.json", json.dumps({**good, "session": None}), "lacks its session"),
        ("eval.json", '{"schema": "evgrid.eval/1", "runs": []}', "no pair of policies"),
    ):
        (tmp_path / name).write_text(text)
        page.locator("input[type=file]").set_input_files(tmp_path / name)
        toast = page.locator(".toast.error", has_text=name)
        toast.wait_for()
        assert why in (toast.text_content() or "")
    assert one.value("s.book.value.length") == 1


def test_without_graphics_there_are_lists(visit: Visitor) -> None:
    one = visit()
    one.page.add_init_script(NO_GRAPHICS)
    page = one.open(f"{PAIR}&played=3&t=3")
    page.get_by_test_id("flat").wait_for()
    assert page.get_by_test_id("flat").locator("li").count() == 2 * (25 + 1)
    one.shot("21-no-webgl")
    one.accessible()


@pytest.mark.slow
def test_the_map_comes_back_after_its_context_is_lost(visit: Visitor) -> None:
    one = visit(graphics=True)
    page = one.open(f"{PAIR}&played=6&t=4")
    one.map()
    canvas = "document.querySelector('[data-testid=map-oracle] canvas')"
    page.evaluate(
        f"window.lose = {canvas}.getContext('webgl2').getExtension('WEBGL_lose_context'); window.lose.loseContext()"
    )
    one.until("s.noMap.value")
    assert page.get_by_test_id("flat").is_visible()
    page.evaluate("window.lose.restoreContext()")
    one.until("!s.noMap.value")
    assert one.value("s.clock.position") == 4
    one.errors.clear()  # the browser logs the loss itself


def test_five_thousand_stations(visit: Visitor) -> None:
    one = visit()

    def many(route: object) -> None:
        reply = route.fetch()  # type: ignore[attr-defined]
        city = reply.json()
        first = city["stations"]
        city["stations"] = [
            {
                **first[k % 25],
                "id": f"X-{k:04d}",
                "at": [first[k % 25]["at"][0] + (k % 71) * 1e-3, first[k % 25]["at"][1] + (k % 53) * 1e-3],
            }
            for k in range(5000)
        ]
        route.fulfill(json=city)  # type: ignore[attr-defined]

    one.page.route("**/demo/city", many)
    page = one.open(f"{PAIR}&played=2&t=2&panel=stations&layers=stations")
    one.map()
    page.get_by_text("4800 more: search for one.").wait_for()
    page.get_by_role("searchbox").fill("X-4999")
    assert page.locator("tr[data-station]").count() == 1


def test_unknown_things_in_the_address(visit: Visitor) -> None:
    one = visit()
    page = one.open("seed=x&scenario=flood&mode=cube&panel=none&cam=a,b&layers=moon&ticks=1e9&t=-4")
    page.get_by_text("There is no scenario flood").wait_for()
    assert one.value("s.mode.value") == "ab" and one.value("s.setup.value.scenario") == "baseline"
    other = visit()
    page = other.open("seed=7&lora=https://example.org/model")
    page.wait_for_selector(".toast.error")
    assert "E_POLICY" in (page.locator(".toast.error").first.text_content() or "")
    other.errors.clear()
