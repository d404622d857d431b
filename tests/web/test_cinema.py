"""The cinema: the same frames as a pixel-art city, fetched when it is opened and gone when it is closed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page
from web_visit import DRAWN, Visit, Visitor

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.server.demo_session import DemoSession
from ev_grid_oracle.server.render import place_at

TICKS = 14
PAIR = f"seed=7&scenario=MonsoonStorm&lora=greedy_counting&played={TICKS}&t={TICKS}"
WITHIN_M = 30.0
STEP_MIN = 5.0
SCENE = "window.evgridCinema.scene"
LANES = ("baseline", "oracle")


class Told:
    """The same evening, played here: cars and ways of every tick boundary."""

    def __init__(self) -> None:
        options = {
            "seed": 7,
            "scenario": "MonsoonStorm",
            "fleet_mode": "mixed",
            "ticks": 48,
            "settle": True,
            "demand": "open",
        }
        policies = {"baseline": "baseline", "oracle": "greedy_counting"}
        demo = DemoSession("s", load_city("bengaluru"), options, policies, 60.0)
        start: Any = demo.state()["start"]
        self.renders: dict[str, list[Any]] = {lane: [start[lane]["render"]] for lane in LANES}
        for _ in range(TICKS):
            event: Any = demo.step()
            for lane in LANES:
                self.renders[lane].append(event["lanes"][lane]["render"])
        demo.close()

    def places(self, lane: str, position: float) -> dict[str, tuple[float, float]]:
        """Cars on the road at a position in ticks, in degrees."""
        k = math.floor(position)
        minute = STEP_MIN * position
        routes: dict[str, Any] = {}
        cars: dict[str, Any] = {}
        for n, render in enumerate(self.renders[lane][: k + 2]):
            for car in render["cars"]:
                if car["route"] and (n <= k or car["id"] not in routes):
                    routes[car["id"]] = car["route"]
                if n == k or (n == k + 1 and car["id"] not in cars):
                    cars[car["id"]] = car
        on = [name for name, car in cars.items() if car["depart_min"] <= minute < car["eta_min"]]
        return {name: place_at(routes[name], minute) for name in on}


@pytest.fixture(scope="module")
def told() -> Iterator[Told]:
    yield Told()


def _opened(one: Visit) -> Page:
    one.page.get_by_role("button", name="Cinema", exact=True).click()
    one.until(f"window.evgridCinema && {SCENE}.ready")
    return one.page


def _drawn(page: Page) -> dict[str, Any]:
    """What the sprites show after the frame that follows."""
    page.evaluate("new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(0))))")
    return {d["id"]: d for d in page.evaluate(f"{SCENE}.traffic.drawn()")}


def _compare(drawn: dict[str, Any], want: dict[str, tuple[float, float]]) -> None:
    assert want and set(drawn) == set(want)
    for name, here in want.items():
        east = (drawn[name]["lon"] - here[0]) * math.cos(math.radians(here[1]))
        assert math.hypot(east, drawn[name]["lat"] - here[1]) * 111_195.0 < WITHIN_M, name


def _journey(one: Visit, told: Told, renderer: str) -> None:
    asked: list[str] = []
    one.page.on("request", lambda r: asked.append(r.url))
    one.open(PAIR)
    one.until("s.link.value === 'open'")
    one.map()
    one.until(DRAWN)  # what the maps still ask for is not the cinema's
    assert not [url for url in asked if "/cinema-" in url]  # not part of the first load
    asked.clear()
    page = _opened(one)
    assert {url.rsplit("/", 1)[1].split("-")[0] for url in asked} == {"cinema"}
    assert page.evaluate("window.evgridCinema.renderer") == renderer
    one.accessible()

    # every sprite of both lanes is a car of the simulator, at its place, at and between tick boundaries
    _compare(_drawn(page), told.places("oracle", TICKS))
    for position in (6.0, 9.4, 13.5):
        page.evaluate(f"window.evgrid.store.clock.seek({position})")
        _compare(_drawn(page), told.places("oracle", position))
    page.keyboard.press("a")
    _compare(_drawn(page), told.places("baseline", 13.5))
    assert page.get_by_role("button", name="Baseline", exact=True).get_attribute("aria-pressed") == "true"

    # a car that moves turns the way it goes
    before = _drawn(page)
    page.evaluate("(() => { const c = window.evgrid.store.clock; c.position = 13.8; c.tell(false); })()")
    turned = 0
    for name, now in _drawn(page).items():
        if name not in before:
            continue
        east = (now["lon"] - before[name]["lon"]) * math.cos(math.radians(now["lat"]))
        north = now["lat"] - before[name]["lat"]
        if math.hypot(east, north) * 111_195.0 < 100.0:
            continue
        clockwise = math.degrees(math.atan2(-north, east))
        off = (clockwise - 22.5 * now["heading"] + 180.0) % 360.0 - 180.0
        assert abs(off) < 12.0, name
        turned += 1
    assert turned > 10

    # the camera follows a car, and the clock's keys stay the page's own
    page.keyboard.press("f")
    name = page.evaluate(f"{SCENE}.following")
    assert name in told.places("baseline", 13.8)
    one.until(f"document.querySelector('.cinema-following').textContent.includes('{name}')")
    _drawn(page)
    one.until(
        f"(() => {{ const c = {SCENE}.cameras.main.worldView, q = {SCENE}.traffic.of('{name}'); return c.contains(q.x, q.y); }})()"
    )
    page.keyboard.press("ArrowLeft")
    one.until("s.clock.position === 13")
    page.keyboard.press("t")  # a key of what is hidden does nothing
    assert one.value("s.theme.value") == "auto"

    # nobody was asked for anything while it was open; what is closed is gone, and opens again
    # (the browser itself looks for the page's icon whenever the address changes)
    assert [
        url for url in asked if "/ui/assets/cinema-" not in url and not url.endswith("/ui/icon.svg")
    ] == []
    page.evaluate("window.kept = [document.querySelector('dialog.cinema canvas'), window.evgridCinema.scene]")
    page.keyboard.press("Escape")
    one.until("!document.querySelector('dialog.cinema') && !window.evgridCinema")
    one.until("!window.kept[1].game.loop?.running && !window.kept[0].isConnected")
    assert page.evaluate("document.activeElement.textContent") == "Cinema"
    _opened(one)
    page.get_by_role("button", name="Close", exact=True).click()
    one.until("!document.querySelector('dialog.cinema')")


def test_the_cinema_shows_the_simulators_cars(visit: Visitor, told: Told) -> None:
    """Without graphics hardware: Phaser draws on a plain canvas."""
    _journey(visit(), told, "canvas")


@pytest.mark.slow
def test_the_cinema_with_graphics(visit: Visitor, told: Told) -> None:
    one = visit(graphics=True, width=700, height=480)
    _journey(one, told, "webgl")
    page = _opened(one)
    page.evaluate("(() => { window.gl = window.evgridCinema.scene.game.renderer.gl; })()")
    assert one.value("window.gl.isContextLost()") is False
    page.keyboard.press("Escape")
    one.until("window.gl.isContextLost()", 30.0)  # the graphics memory is given back, not only forgotten


def test_without_a_session_it_says_so(visit: Visitor) -> None:
    one = visit()
    one.open()
    page = _opened(one)
    page.get_by_text("No session yet").wait_for()
    page.keyboard.press("f")  # nothing to follow
    assert page.evaluate(f"{SCENE}.following") is None
    assert _drawn(page) == {}
    page.keyboard.press("Escape")
    one.until("!document.querySelector('dialog.cinema')")


def test_what_strains_pulses(visit: Visitor) -> None:
    """Stations with more cars than slots and feeders at their limit, by the numbers of the frames."""
    one = visit()
    one.open("seed=7&scenario=heatwave_peak&lora=greedy_counting&played=36&t=34")
    page = _opened(one)
    state = one.value(
        "(({occupied, queued, slots_up, feeder_load_pct, feeder_limit_pct}) => [occupied, queued, slots_up, feeder_load_pct, feeder_limit_pct].map((c) => [...c]))(s.book.value.state('oracle', 34))"
    )
    occupied, queued, up, load, limit = state
    stations = sum(o + q > u for o, q, u in zip(occupied, queued, up, strict=True))
    feeders = [
        f for f, v in enumerate(load) if v is not None and v >= (1.0 if limit[f] is None else limit[f])
    ]
    assert stations > 0 and feeders
    assert page.evaluate(f"{SCENE}.power.strainedStations.length") == stations
    assert page.evaluate(f"{SCENE}.power.strainedFeeders") == feeders
    one.shot("cinema")
