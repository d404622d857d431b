"""The city map: cars where the simulator has them, pictures that follow the state, keys, and what goes wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pygame", reason="the city map needs the extra viz")
pytest.importorskip("matplotlib", reason="the city map takes its letters from matplotlib")

from ev_grid_oracle.city import load_city
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.schema.errors import OptionError, UnknownScenarioError
from ev_grid_oracle.viz import canvas as c
from ev_grid_oracle.viz import pygame_map
from ev_grid_oracle.viz.canvas_map import STATES, CityMap, state_of
from ev_grid_oracle.viz.frames import LaneRun, verdicts
from ev_grid_oracle.viz.frames_cli import call
from ev_grid_oracle.viz.geometry import M_PER_DEG, Traffic, fitted
from ev_grid_oracle.viz.pygame_state import MapState

ROOT = Path(__file__).resolve().parents[2]
OPTIONS = {"seed": 5, "scenario": "SilkBoardJam"}  # roads jam, cars are rerouted


@pytest.fixture(scope="module")
def lane() -> LaneRun:
    run = LaneRun(load_city("bengaluru"), "greedy_counting", OPTIONS)
    run.play()
    return run


@pytest.fixture(autouse=True)
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


def test_cars_stand_where_the_trace_says(lane: LaneRun) -> None:
    """A car starts at its node when it sets out, and is at its station when the simulator plugs it in or queues it."""
    roads, stations = lane.city.pack.roads, lane.city.pack.stations
    seen = 0
    for frame, shot in zip(lane.session.trace, lane.shots[1:], strict=True):
        ways = {car.name: car.way for car in shot.moving}
        for car in frame.cars:
            way = ways[car["id"]]
            depart, arrive = way.minutes[0], way.minutes[-1]
            assert depart == car["depart_min"] and np.all(np.diff(way.minutes) >= 0.0)
            assert (
                len(way.nodes) == 1 or abs(arrive - car["arrive_min"]) < 1e-6
            )  # one node: asked at its station
            assert way.at(depart) == (roads.node_lon[car["node"]], roads.node_lat[car["node"]])
            assert way.nodes[-1] == stations.node[car["station"]]
            seen += 1
    assert seen > 1000


def test_places_are_those_of_the_server(lane: LaneRun) -> None:
    """The command center draws the same cars within its 10 m, at every quarter of every tick."""
    pytest.importorskip("fastapi", reason="the other map is the server's")
    from ev_grid_oracle.server.render import RoadView, place_at

    view, routes, far, rerouted, seen = RoadView(lane.city), {}, 0.0, 0, 0
    roads = lane.city.pack.roads
    lat = float(np.mean(roads.node_lat))
    for t, frame in enumerate(lane.session.trace):
        before, now = (Traffic(s.traffic.key, s.traffic.factor) for s in lane.shots[t : t + 2])
        event = view.event(frame.cars, 5 * (t + 1), before, now)
        ways = {car.name: car.way for car in lane.shots[t + 1].moving}
        for car in event["cars"]:  # type: ignore[attr-defined]
            if car["route"] is not None:
                routes[car["id"]] = car["route"]
            rerouted += car["reroute_reason"] is not None
            for minute in np.arange(5.0 * t, 5.0 * t + 5.0, 1.25):
                a, b = place_at(routes[car["id"]], minute), ways[car["id"]].at(minute)
                east = (a[0] - b[0]) * np.cos(np.radians(lat)) * M_PER_DEG
                far = max(far, float(np.hypot(east, (a[1] - b[1]) * M_PER_DEG)))
                seen += 1
    assert rerouted > 0 and seen > 4000
    assert far <= 30.0


def test_numbers_are_the_sessions(lane: LaneRun) -> None:
    last = lane.shots[-1]
    kpis = lane.session.observation.info["kpis"]
    assert last.done and all(last.numbers[name] == value for name, value in kpis.items())  # type: ignore[attr-defined]
    for shot, frame in zip(lane.shots[1:], lane.session.trace, strict=True):
        assert np.array_equal(shot.occupied, frame.occupied) and np.array_equal(shot.queued, frame.queued)
    assert lane.sources == {"policy": 48}


def test_equal_lanes_tie(lane: LaneRun) -> None:
    assert {v.ahead for v in verdicts(lane.shots[-1], lane.shots[-1])} == {"tie"}
    other = LaneRun(load_city("bengaluru"), "always_defer", OPTIONS)
    other.play()
    told = {v.name: v.ahead for v in verdicts(other.shots[-1], lane.shots[-1])}
    assert told["minutes_to_charged"] == told["composite_car_minutes"] == "oracle"


def test_one_scale_and_every_station_inside() -> None:
    city = packed(load_city("bengaluru"))
    at = fitted(city, 0, 0, 880, 560, 30)
    x, y = at(city.pack.stations.lon, city.pack.stations.lat)
    assert x.min() >= 29 and x.max() <= 851 and y.min() >= 29 and y.max() <= 531
    east, north = at(at.lon + 0.01 / np.cos(np.radians(at.lat)), at.lat + 0.01)
    assert np.isclose(east - at.x, at.y - north)
    drawn = CityMap(city).station_xy
    gaps = np.hypot(*(drawn[:, None] - drawn[None]).transpose(2, 0, 1))
    assert gaps[np.triu_indices(len(drawn), 1)].min() > 28.0  # no glyph covers another


@pytest.mark.parametrize(
    ("numbers", "state"),
    [((3, 0, 8, 8), "free"), ((8, 0, 8, 8), "full"), ((8, 2, 8, 8), "queue"), ((1, 0, 2, 8), "less"), ((0, 0, 0, 8), "none")],
)  # fmt: skip
def test_state_of_a_station(numbers: tuple[int, int, int, int], state: str) -> None:
    assert state_of(*numbers) == state and state in STATES


def test_keys_drive_the_window() -> None:
    state = MapState("bengaluru", 3, "baseline", 6)
    first = c.rgb(state.picture())
    state.press("space")
    assert state.tick == 1 and state.minute == 0.0
    assert state.pass_time(0.6) and 0.0 < state.minute < 5.0
    moving = c.rgb(state.picture())
    state.pass_time(60.0)
    assert state.minute == 5.0 and c.rgb(state.picture()) != moving != first
    state.press("a")
    assert state.policy == "oracle" and state.tick == 1
    starts = {lane.session.trace.frame(0).tick for lane in state.lanes.values()}
    assert starts == {0}
    state.press("s")
    assert state.scenario != "baseline" and state.tick == 0 and state.policy == "oracle"
    state.press("p")
    while state.pass_time(60.0):
        pass
    assert state.done and state.tick == 6 and not state.playing
    state.press("space")
    assert state.tick == 6
    state.press("q")
    assert state.over


def test_window_without_a_screen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The real window on the dummy driver, its keys as real events; twice in one process, equal pictures."""
    written = []
    for name in ("one.png", "two.png"):
        argv = [
            "--press",
            "space,space,a,q",
            "--picture",
            str(tmp_path / name),
            "--seed",
            "9",
            "--ticks",
            "8",
        ]
        assert call(pygame_map.city_map, "viz.city_map", pygame_map.EXAMPLE, argv) == 0
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]
    image = c.pygame().image.load(str(tmp_path / "one.png"))
    assert image.get_size() == (c.WIDTH, c.HEIGHT) and len(set(c.rgb(image))) > 100
    assert "2 of 8 ticks played" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "code", "word"),
    [
        (["--press", "z"], 2, "E_OPTION"),
        (["--scenario", "nowhere", "--press", "q"], 2, "E_SCENARIO"),
        (["--city", "nowhere", "--press", "q"], 2, "E_CITY"),
        (["--ticks", "0"], 2, "E_OPTION"),
        (["--press", "q", "--picture", "/dev/null/x.png"], 3, "E_OPTION"),
    ],
)
def test_bad_input_is_one_sentence(
    argv: list[str], code: int, word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(pygame_map.city_map, "viz.city_map", pygame_map.EXAMPLE, argv) == code
    said = capsys.readouterr().err
    assert word in said and said.count("\n") == 1


def test_no_screen_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "nothing")
    c.pygame().display.quit()
    assert call(pygame_map.city_map, "viz.city_map", pygame_map.EXAMPLE, ["--press", "q"]) == 3
    assert "SDL_VIDEODRIVER=dummy" in capsys.readouterr().err


def test_missing_extra_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    assert call(pygame_map.city_map, "viz.city_map", pygame_map.EXAMPLE, ["--press", "q"]) == 4
    assert "[viz]" in capsys.readouterr().err


def test_options_of_a_map_are_checked() -> None:
    with pytest.raises(UnknownScenarioError):
        MapState("bengaluru", 1, "nowhere", 8)
    with pytest.raises(OptionError):
        MapState("bengaluru", -1, "baseline", 8)


def test_the_documented_command() -> None:
    line = [sys.executable, "-m", "viz.city_map", "--help"]
    done = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "--press" in done.stdout
