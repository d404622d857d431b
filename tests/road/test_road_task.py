"""The road task: moves, ends, reward, copies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from road_tools import city_with_roads

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.road import LEAST_LOST_MIN, LOST_MIN, UNIT_MIN, RoadSession
from ev_grid_oracle.protocol.road import RoadMove, render_road
from ev_grid_oracle.schema.errors import EpisodeOverError, NoEpisodeError, OptionError, SnapshotError


@pytest.fixture
def toy(city_toy: CityPack) -> RoadSession:
    task = RoadSession(city_toy)
    task.reset(seed=3)
    return task


def text(here: int, there: int) -> str:
    return render_road(RoadMove(here, there, "the fastest way", 0.9))


def test_life_of_a_trip(city_toy: CityPack) -> None:
    task = RoadSession(city_toy)
    with pytest.raises(NoEpisodeError):
        task.step(1)
    with pytest.raises(NoEpisodeError):
        task.snapshot()
    first = task.reset(seed=3)
    assert first.reward is None and first.breakdown == {} and not first.done and first.steps == 0
    kept = json.dumps(first.to_dict(), allow_nan=False)
    for node in task._trip.best.nodes[1:]:  # type: ignore[union-attr]
        obs = task.step(node)
    assert json.dumps(first.to_dict(), allow_nan=False) == kept
    assert obs.arrived and obs.terminated and not obs.truncated and obs.flags == () and obs.neighbours == ()
    before = task.snapshot()
    with pytest.raises(EpisodeOverError):
        task.step(obs.node)
    assert task.snapshot() == before and task.observation is obs
    assert task.reset(seed=3) == first


def test_every_form_of_a_move_is_the_same_move(toy: RoadSession) -> None:
    here, there = toy.observation.node, toy.observation.neighbours[0].node
    forms: list[object] = [
        there,
        RoadMove(here, there),
        {"current_node": here, "next_node": there},
        {"text": text(here, there)},
        text(here, there),
        text(here, there).encode(),
    ]
    seen = []
    for form in forms:
        toy.reset(seed=3)
        seen.append(toy.step(form))  # type: ignore[arg-type]
    assert all(obs == seen[0] for obs in seen)


@pytest.mark.parametrize(
    ("move", "code", "flag"),
    [
        ((3, 1), "E_NO_EDGE", "not_a_neighbour"),
        ((1, 2), "E_WRONG_NODE", "wrong_current_node"),
        ((3, 3), "E_SELF_MOVE", "not_a_neighbour"),
        ((3, 999_999), "E_NO_EDGE", "not_a_neighbour"),
    ],
)
def test_a_move_that_is_no_road_ends_the_trip_and_the_car_stays(
    one_way: CityPack, move: tuple[int, int], code: str, flag: str
) -> None:
    task = RoadSession(one_way)
    before = task.reset(start_node=3, target="TOY-A", start="17:00")
    obs = task.step(text(*move))
    assert obs.flags == (flag,) and obs.terminated and not obs.arrived
    assert [e["code"] for e in obs.info["errors"]] == [code]  # type: ignore[attr-defined]
    assert (obs.node, obs.kwh_left, obs.minutes) == (3, before.kwh_left, 0.0)
    assert obs.breakdown["failure"] == -LOST_MIN / UNIT_MIN


def test_a_text_with_two_moves_is_refused_and_costs_a_minute(one_way: CityPack) -> None:
    task = RoadSession(one_way)
    before = task.reset(start_node=3, target="TOY-A", start="17:00")
    obs = task.step("CURRENT_NODE: 3\nNEXT_NODE: 4\nNEXT_NODE: 4\nREASON: x\nCONFIDENCE: 1.0\n")
    assert [e["code"] for e in obs.info["errors"]] == ["E_MULTI"]  # type: ignore[attr-defined]
    assert (obs.node, obs.kwh_left, obs.minutes, obs.done) == (3, before.kwh_left, 1.0, False)
    assert obs.flags == ("invalid_action",) and obs.breakdown["format"] == -1.0
    assert task.step(None).breakdown["format"] == -1.0 and task.observation.steps == 2
    assert task.step(4).node == 4


@pytest.mark.parametrize(("start", "ok"), [(5, True), (4, True), (0, False)])
def test_a_trip_without_a_way_is_refused_at_reset(one_way: CityPack, start: int, ok: bool) -> None:
    task = RoadSession(one_way)
    if ok:
        assert task.reset(start_node=start, target="TOY-A").neighbours
    else:
        with pytest.raises(OptionError, match="no way"):
            task.reset(start_node=start, target="TOY-A")


def test_a_node_from_which_no_road_leads_on_ends_the_trip(city_toy: CityPack) -> None:
    links = ((0, 1), (1, 2), (0, 3), (3, 4))
    city = city_with_roads(city_toy, links, (1000.0,) * 4, (3,) * 4, 5, at=2)
    task = RoadSession(city)
    task.reset(start_node=0, target="TOY-A")
    obs = task.step(3)
    assert obs.flags == ("no_route",) and obs.terminated and obs.neighbours == ()
    total = sum(v for k, v in obs.breakdown.items() if k != "total")
    assert np.isfinite(total) and total == pytest.approx(obs.reward)
    json.dumps(obs.to_dict(), allow_nan=False)
    assert RoadSession.restore(task.snapshot(), city).observation == obs


def test_an_empty_battery_ends_the_trip_on_the_road(city_toy: CityPack) -> None:
    task = RoadSession(city_toy)
    obs = task.reset(seed=3, vehicle=city_toy.vehicles.names[0], max_steps=10_000)
    back = {obs.node: obs.neighbours[0].node, obs.neighbours[0].node: obs.node}
    left = [obs.kwh_left]
    while not obs.done:
        obs = task.step(back[obs.node])
        left.append(obs.kwh_left)
    assert obs.flags == ("battery_empty",) and obs.kwh_left == 0.0 and obs.terminated
    assert left == sorted(left, reverse=True) and min(left) == 0.0
    assert obs.breakdown["failure"] == -max(LEAST_LOST_MIN, LOST_MIN - obs.minutes) / UNIT_MIN


def test_the_step_limit_truncates_and_arriving_on_it_terminates(toy: RoadSession) -> None:
    best = toy._trip.best.nodes  # type: ignore[union-attr]
    toy.reset(seed=3, max_steps=len(best) - 1)
    for node in best[1:]:
        obs = toy.step(node)
    assert (obs.terminated, obs.truncated, obs.flags) == (True, False, ())
    obs = toy.reset(seed=3, max_steps=2)
    for _ in range(2):
        obs = toy.step(None)
    assert (obs.terminated, obs.truncated, obs.flags) == (False, True, ("invalid_action", "step_limit"))
    assert obs.breakdown["failure"] == -(LOST_MIN - 2.0) / UNIT_MIN


@pytest.mark.parametrize(
    "bad",
    [
        {"seed": -1},
        {"seed": 2**32},
        {"scenario": "flood"},
        {"start": "25:00"},
        {"start_node": 40},
        {"start_node": True},
        {"target": "BLR-99"},
        {"vehicle": "Tram"},
        {"max_steps": 0},
        {"shaping": 1},
        {"gamma": 0.0},
        {"gamma": float("nan")},
        {"colour": "red"},
    ],
)
def test_a_refused_option_leaves_the_trip_as_it_is(toy: RoadSession, bad: dict[str, object]) -> None:
    from ev_grid_oracle.schema.errors import EVGridError

    before = toy.observation
    with pytest.raises(EVGridError):
        toy.reset(**bad)  # type: ignore[arg-type]
    assert toy.observation is before and toy.step(before.neighbours[0].node).steps == 1


def test_an_option_given_changes_no_other_draw(city_blr: CityPack) -> None:
    task = RoadSession(city_blr)
    free = task.reset(seed=11)
    fixed = task.reset(seed=11, vehicle=free.vehicle, target=free.target_id, start_node=free.node)
    assert fixed == free
    other = task.reset(seed=11, vehicle=city_blr.vehicles.names[0])
    assert other.minute_of_day == free.minute_of_day


def test_snapshot_and_recipe_give_the_same_trip(toy: RoadSession) -> None:
    toy.step(toy.observation.neighbours[0].node)
    toy.step("nonsense")
    twin = RoadSession.restore(toy.snapshot())
    assert twin.observation.to_dict()["node"] == toy.observation.node
    assert twin.recipe() == toy.recipe() == json.loads(json.dumps(toy.recipe()))
    here = toy.observation.neighbours[-1].node
    assert twin.step(here) == toy.step(here)


def test_snapshots_that_do_not_hold_are_refused(toy: RoadSession, one_way: CityPack) -> None:
    blob = toy.snapshot()
    for bad in (b"", b"EVGD", blob[:-1], blob[:-1] + b"x", b"XXXX" + blob[4:], "text"):
        with pytest.raises(SnapshotError):
            RoadSession.restore(bad)  # type: ignore[arg-type]
    with pytest.raises(SnapshotError):
        RoadSession.restore(blob, "bengaluru")
    recipe = toy.recipe()
    other = {"id": "x", "sha256": ""}
    for broken in (
        {},
        {**recipe, "options": None},
        {**recipe, "answers": [[1]]},
        {**recipe, "city": other},
    ):
        with pytest.raises(SnapshotError):
            RoadSession.from_recipe(broken)


def test_nothing_names_the_seed_on_the_driver_s_channel(city_blr: CityPack) -> None:
    task = RoadSession(city_blr)
    obs = task.reset(seed=987_654_321, scenario="SilkBoardJam")
    shown = json.dumps(obs.to_dict()) + obs.prompt
    assert "987654321" not in shown and "SilkBoardJam" not in shown and "seed" not in shown
    assert task.host_view()["options"]["seed"] == 987_654_321  # type: ignore[index]


def test_target_is_a_useful_station_more_than_one_road_away(city_blr: CityPack) -> None:
    task = RoadSession(city_blr)
    targets, starts = set(), set()
    for seed in range(40):
        obs = task.reset(seed=seed)
        trip = task._trip
        assert trip is not None and len(trip.best.links) >= 2
        assert (
            obs.kwh_left
            >= 1.29 * (trip.best.km or 0.0) * float(city_blr.vehicles.wh_km[trip.vehicle]) / 1000.0
        )
        targets.add(obs.target_id)
        starts.add(obs.node)
    assert len(targets) > 10 and len(starts) > 30


def test_a_closed_corridor_of_a_scenario_is_driven_around(city_blr: CityPack) -> None:
    from ev_grid_oracle.schema.enums import EventKind

    base = city_blr.scenarios[0]
    task = RoadSession(city_blr)
    task.reset(seed=5, start="17:00")
    first = task._trip.best.links[0]  # type: ignore[union-attr]
    event = next(e for s in city_blr.scenarios for e in s.events)
    closed = replace(event, tick=0, kind=int(EventKind.LINK_CLOSED), targets=(first,), value=1.0)
    shut = replace(city_blr, scenarios=(replace(base, events=(closed,)),))
    other = RoadSession(shut)
    obs = other.reset(seed=5, start="17:00")
    there = int(city_blr.roads.link_to[first])
    parallel = [
        k for k in range(len(city_blr.roads.link_from))
        if k != first and city_blr.roads.link_from[k] == obs.node and city_blr.roads.link_to[k] == there
    ]  # fmt: skip
    assert parallel or there not in [n.node for n in obs.neighbours]


def test_same_trip_in_another_process() -> None:
    code = (
        "import hashlib, json; from ev_grid_oracle.episode.road import RoadSession as R\n"
        "t = R('toy'); o = t.reset(seed=42); h = hashlib.sha256()\n"
        "while not o.done:\n"
        "    o = t.step(o.neighbours[o.steps % len(o.neighbours)].node)\n"
        "    h.update(json.dumps(o.to_dict()).encode())\n"
        "print(h.hexdigest())"
    )
    found = set()
    for hashing in ("0", "1"):
        env = {**os.environ, "PYTHONHASHSEED": hashing}
        out = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        )
        found.add(out.stdout)
    assert len(found) == 1
