"""What stands on the screen is what stands in the trace."""

from __future__ import annotations

import json
import math
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from web_visit import Visitor, serving

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.policies.base import PolicyContext
from ev_grid_oracle.server import lanes
from ev_grid_oracle.server.demo_session import DemoSession
from ev_grid_oracle.server.render import place_at
from ev_grid_oracle.server.settings import Settings

PAIR = "seed=7&scenario=MonsoonStorm&lora=greedy_counting"
WITHIN_M = 30.0


@pytest.fixture(scope="module")
def told() -> Iterator[list[dict[str, Any]]]:
    """The same evening, played here."""
    options = {
        "seed": 7,
        "scenario": "MonsoonStorm",
        "fleet_mode": "mixed",
        "ticks": 48,
        "settle": True,
        "demand": "open",
    }
    demo = DemoSession(
        "s", load_city("bengaluru"), options, {"baseline": "baseline", "oracle": "greedy_counting"}, 60.0
    )
    events: list[dict[str, Any]] = []
    while not demo.done:
        events.append(demo.step())
    yield events
    demo.close()


def _exact(text: str | None) -> float | None:
    return None if text in (None, "null") else float(str(text))


def test_every_number_is_the_traces(visit: Visitor, told: list[dict[str, Any]]) -> None:
    one = visit()
    page = one.open(f"{PAIR}&played=48&t=48&panel=overview")
    one.until("document.querySelectorAll('[data-kpi]').length > 40")
    tiles = page.evaluate(
        """[...document.querySelectorAll('[data-kpi]')].map((t) => [t.dataset.kpi,
        [...t.querySelectorAll('dd')].map((d) => [d.dataset.exact, d.textContent]), t.querySelector('.delta b').textContent])"""
    )
    compare = told[-1]["compare"]
    known = {**compare["episode"], **compare["so_far"]}
    assert {name for name, _, _ in tiles} == set(known)
    for name, values, word in tiles:
        want = known[name]
        assert [_exact(v[0]) for v in values] == [want["baseline"], want["oracle"]], name
        for exact, shown in values:
            if _exact(exact) is not None:  # what is read is the number, rounded
                read = float(shown.replace(",", ""))
                assert math.isclose(read, float(exact), rel_tol=0.006, abs_tol=0.0006), name
        assert want["ahead"] in ("unknown", "neither") or want["ahead"] in word
    for tick in (13, 30):
        page.evaluate(f"window.evgrid.store.clock.seek({tick})")
        page.evaluate("window.evgrid.store.panel.value = 'decision'")
        page.wait_for_selector("[data-term=total]")
        terms = page.evaluate(
            "Object.fromEntries([...document.querySelectorAll('[data-term]')].map((t) => [t.dataset.term, Number(t.dataset.exact)]))"
        )
        assert terms == told[tick - 1]["lanes"]["oracle"]["frame"]["breakdown"]
        page.evaluate("window.evgrid.store.panel.value = 'stations'")
        rows = page.evaluate(
            "[...document.querySelectorAll('tr[data-station]')].map((r) => [...r.querySelectorAll('td.n')].map((c) => c.textContent))"
        )
        after = told[tick - 1]["lanes"]["oracle"]["after"]
        assert rows == [
            [f"{o}/{u}", str(q), str(i)]
            for o, u, q, i in zip(
                after["occupied"], after["slots_up"], after["queued"], after["inbound"], strict=True
            )
        ]


@pytest.mark.slow
def test_cars_are_drawn_where_they_are(visit: Visitor, told: list[dict[str, Any]]) -> None:
    """At tick boundaries and between: the buffers that go to the graphics card against the simulator's places."""
    one = visit(graphics=True)
    page = one.open(f"{PAIR}&played=30&t=30")
    one.map()
    routes: dict[str, list[tuple[int, Any]]] = {}
    for event in told[:30]:
        for car in event["lanes"]["oracle"]["render"]["cars"]:
            if car["route"]:
                routes.setdefault(car["id"], []).append((event["tick"], car["route"]))
    compared = 0
    for position in (12.0, 17.4, 22.0, 29.7):
        page.evaluate(f"window.evgrid.store.clock.seek({position})")
        drawn = page.evaluate(
            """(() => { const b = window.evgrid.stage().buffers.oracle; return b.cars.map((c, i) =>
            [c.id, b.positions[2 * i], b.positions[2 * i + 1], b.colors[4 * i + 3]]); })()"""
        )
        assert drawn
        for name, lon, lat, alpha in drawn:
            if not alpha or name not in routes:
                continue
            # a way taken in a tick holds from its end on; a car that set out in it is on that way at once
            k = math.floor(position)
            known = [r for tick, r in routes[name] if tick < k] or [routes[name][0][1]]
            here = place_at(known[-1], 5 * position)
            east = (lon - here[0]) * math.cos(math.radians(lat))
            assert math.hypot(east, lat - here[1]) * 111_195.0 < WITHIN_M, (name, position)
            compared += 1
    assert compared > 100


@pytest.mark.slow
def test_both_maps_use_one_scale_and_one_camera(visit: Visitor) -> None:
    one = visit(graphics=True)
    page = one.open("seed=7&lora=baseline&played=12&t=12")
    one.map()
    colors = page.evaluate(
        """['baseline', 'oracle'].map((lane) => { const l = window.evgrid.stage().hosts[lane].shown.find((x) => x.id === 'stations');
        return l.props.data.map((d) => l.props.getColor(d).join()); })"""
    )
    assert colors[0] == colors[1] and len(set(colors[0])) > 3
    page.evaluate("window.evgrid.stage().hosts.baseline.map.jumpTo({ center: [77.7, 12.95], zoom: 12 })")
    cameras = page.evaluate("['baseline', 'oracle'].map((lane) => window.evgrid.stage().hosts[lane].camera)")
    assert cameras[0] == cameras[1]


@pytest.mark.slow
def test_equal_policies_are_a_tie_everywhere(visit: Visitor) -> None:
    one = visit(graphics=True)
    page = one.open("seed=7&lora=baseline&played=48&t=48&mode=diff")
    one.map()
    assert (page.locator("[data-testid=headline] .big").text_content() or "") == "tie"
    words = page.locator("[data-kpi] .delta b").all_text_contents()
    assert set(words) <= {"tie", "not yet known"} and words.count("tie") > 30
    texts = page.evaluate(
        "(() => { const l = window.evgrid.stage().hosts.oracle.shown.find((x) => x.id === 'differences'); return l.props.data.map((d) => l.props.getText(d)); })()"
    )
    assert set(texts) == {"tie"}
    one.shot("16-tie")


class Slow:
    """A policy that thinks for longer than it may."""

    name, source = "planner", "planner"

    def begin(self, context: PolicyContext) -> None:
        """Nothing to get ready."""

    def answer(self, o: Any, out: Any) -> int:
        """Late."""
        time.sleep(0.2)
        return 0


def test_a_lane_that_was_answered_for_says_so_at_the_headline(
    visit: Visitor, ui: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = lanes.make_policy
    monkeypatch.setattr(
        lanes, "make_policy", lambda name, **how: Slow() if name == "planner" else real(name, **how)
    )
    with serving(Settings(city="toy", ui=ui, oracle_timeout_s=0.05)) as address:
        one = visit(address=address)
        page = one.open("seed=7&lora=planner&played=3&t=3")
        assert "TIMEOUT->baseline" in (page.get_by_test_id("badge-oracle").first.text_content() or "")
        headline = page.get_by_test_id("headline")
        assert "TIMEOUT->baseline" in (headline.text_content() or "")
        assert "The oracle did not act for itself throughout." in (headline.text_content() or "")
        one.shot("17-timeout")
        one.accessible()


def test_an_evaluation_shows_its_intervals(visit: Visitor, base: str, tmp_path: Path) -> None:
    d = {
        "n": 10,
        "mean": -20.5,
        "low": -24.0,
        "high": -17.0,
        "change_pct": -15.0,
        "wins": 10,
        "ties": 0,
        "losses": 0,
    }
    tied = {
        "n": 10,
        "mean": 0.0,
        "low": 0.0,
        "high": 0.0,
        "change_pct": 0.0,
        "wins": 0,
        "ties": 10,
        "losses": 0,
    }
    body = {
        "schema": "evgrid.eval/1", "episodes": 10, "seed": 1, "provenance": {"commit": "abc"},
        "policies": {"planner": {"acted": "planner", "source_counts": {"planner": 900}}},
        "runs": [{
            "scenario": "baseline", "reference": "baseline", "policies": {"baseline": {"minutes_to_charged": 138.0, "lost": 3.0}, "planner": {"minutes_to_charged": 117.5, "lost": 3.0}},
            "differences": {"planner": {"minutes_to_charged": d, "lost": tied}},
        }],
    }  # fmt: skip
    (tmp_path / "results.json").write_text(json.dumps(body))
    one = visit()
    page = one.open("seed=7&lora=baseline&played=1")
    page.locator("input[type=file]").set_input_files(tmp_path / "results.json")
    page.wait_for_selector("[data-testid=evaluation]")
    text = page.locator("[data-eval=minutes_to_charged]").text_content() or ""
    assert (
        "−20.5 [−24, −17]" in text and "interval clear of 0" in text and "better 10, tie 0, worse 0" in text
    )
    assert "tie" in (page.locator("[data-eval=lost] .delta").text_content() or "")
    assert "n = 10 evenings · seed 1 · source: planner 900" in (
        page.get_by_test_id("evaluation").text_content() or ""
    )
    with urllib.request.urlopen(f"{base}/ui/") as reply:
        assert "default-src 'self'" in reply.headers["content-security-policy"]
