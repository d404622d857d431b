"""What a page is sent is what the simulator did: places of cars, chunks, who is ahead, why a tick went as it did."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.server.demo_chunk import decode_chunk, encode_chunk
from ev_grid_oracle.server.demo_compare import ahead, compare
from ev_grid_oracle.server.demo_session import DemoSession
from ev_grid_oracle.server.render import place_at

WITHIN_M = 30.0
SAME = {"baseline": "baseline", "oracle": "baseline"}
PAIR = {"baseline": "baseline", "oracle": "greedy_counting"}


def _demo(city: CityPack, policies: Mapping[str, str], **options: object) -> DemoSession:
    return DemoSession("s", city, {"seed": 7, **options}, policies, 60.0)


def _walked(city: PackedCity, car: Mapping[str, Any], minute: float) -> tuple[float, float]:
    """Where the simulator has a car that was not rerouted: along its table, in the minutes it was given."""
    bank, roads = city.bank, city.pack.roads
    row = int(bank.index.reshape(-1)[car["travel_key"]])
    node, station = car["node"], car["station"]
    whole = float(bank.minutes[row, node, station])
    spent = (minute - car["depart_min"]) * whole / (car["arrive_min"] - car["depart_min"])
    while (link := int(bank.step[row, node, station])) >= 0:
        took = float(bank.link_minutes[row, link])
        if spent < took:
            break
        spent -= took
        node = int(roads.link_to[link])
    else:
        return float(roads.node_lon[node]), float(roads.node_lat[node])
    to, part = int(roads.link_to[link]), spent / took
    return tuple(  # type: ignore[return-value]
        float(axis[node] + part * (axis[to] - axis[node])) for axis in (roads.node_lon, roads.node_lat)
    )


def _apart_m(a: tuple[float, float], b: tuple[float, float]) -> float:
    east = (a[0] - b[0]) * math.cos(math.radians(a[1]))
    return math.hypot(east, a[1] - b[1]) * 111_195.0


@pytest.mark.parametrize("scenario", ["baseline", "MonsoonStorm"])
def test_cars_are_drawn_where_the_simulator_has_them(scenario: str) -> None:
    demo = _demo(load_city("bengaluru"), PAIR, scenario=scenario, ticks=36)
    routes: dict[tuple[str, str], Any] = {
        (name, car["id"]): car["route"]
        for name, start in demo.state()["start"].items()  # type: ignore[attr-defined]
        for car in start["render"]["cars"]
    }
    compared = turned = 0
    while not demo.done:
        event: Any = demo.step()
        minute = 5 * (event["tick"] + 1)
        for name, lane in demo.lanes.items():
            facts = {car["id"]: car for car in lane.trace.frame(-1).cars}
            for shown in event["lanes"][name]["render"]["cars"]:
                car, old = facts[shown["id"]], routes.get((name, shown["id"]))
                route = shown["route"] or old
                assert route is not None, shown["id"]
                here = place_at(route, minute)
                if not car["rerouted"]:
                    assert _apart_m(here, _walked(lane.city, car, minute)) < WITHIN_M
                    compared += 1
                elif shown["route"] and old:  # the old way ends where the new one begins
                    assert _apart_m(here, place_at(old, minute)) < WITHIN_M
                    turned += 1
                roads, station = lane.city.pack.roads, lane.city.pack.stations.node[car["station"]]
                end = (float(roads.node_lon[station]), float(roads.node_lat[station]))
                assert _apart_m(place_at(route, shown["eta_min"]), end) < WITHIN_M
                assert np.all(np.diff(route["minutes"]) >= 0.0)
                routes[name, shown["id"]] = route
    assert compared > 1000
    assert turned > 0 or scenario == "baseline"
    demo.close()


def test_a_chunk_holds_the_event_and_nothing_else(city_toy: CityPack) -> None:
    demo = _demo(city_toy, PAIR, ticks=8)
    for _ in range(8):
        event = demo.step()
        chunk = encode_chunk(event)
        assert decode_chunk(chunk) == event
        assert encode_chunk(event) == chunk
    with pytest.raises(ValueError, match="no chunk"):
        decode_chunk(b"EVGX" + chunk[4:])
    demo.close()


def test_live_chunks_are_the_events(client: TestClient) -> None:
    name = client.post("/demo/new", json={"oracle": "greedy_counting", "seed": 7}).json()["session_id"]
    events = client.post("/demo/step", json={"session_id": name, "ticks": 3}).json()["events"]
    with client.websocket_connect(f"/demo/live/{name}?from=1&form=binary") as socket:
        assert [decode_chunk(socket.receive_bytes()) for _ in range(2)] == events[1:]


def test_equal_policies_tie_in_everything(city_toy: CityPack) -> None:
    demo = _demo(city_toy, SAME, ticks=12)
    while not demo.done:
        event: Any = demo.step()
        assert event["lanes"]["baseline"]["frame"] == event["lanes"]["oracle"]["frame"]
    for table in event["compare"].values():
        assert table and all(c["ahead"] in ("tie", "unknown") for c in table.values())
        assert any(c["ahead"] == "tie" for c in table.values())
    demo.close()


def test_who_is_ahead() -> None:
    assert [ahead(d, b) for d, b in ((-1.0, "lower"), (1.0, "lower"), (1.0, "higher"), (-1.0, "higher"))] == [
        "oracle", "baseline", "oracle", "baseline",
    ]  # fmt: skip
    assert (ahead(0.0, "lower"), ahead(0.0, None), ahead(2.0, "neither"), ahead(None, "lower")) == (
        "tie", "tie", "neither", "unknown",
    )  # fmt: skip
    assert compare({"lost": 3.0}, {"lost": None})["lost"]["ahead"] == "unknown"


def test_numbers_of_a_tick_are_the_traces(city_toy: CityPack) -> None:
    demo = _demo(city_toy, PAIR, ticks=6)
    while not demo.done:
        event: Any = demo.step()
        for name, lane in demo.lanes.items():
            seen, frame = event["lanes"][name], lane.session.trace.frame(-1)
            assert seen["frame"]["reward"] == frame.reward and seen["frame"]["digest"] == frame.digest
            assert seen["after"]["occupied"] == frame.occupied.tolist() == seen["frame"]["occupied"]
            assert seen["after"]["queued"] == frame.queued.tolist()
            assert seen["total_reward"] == lane.session.trace.rewards.sum()
    assert seen["episode_kpis"] == demo.lanes["oracle"].session.observation.info["kpis"]
    assert event["compare"]["episode"]["lost"]["oracle"] == seen["episode_kpis"]["lost"]
    demo.close()


def test_the_inspector_tells_a_tick_from_the_same_world(client: TestClient) -> None:
    name = client.post("/demo/new", json={"oracle": "greedy_counting", "seed": 7}).json()["session_id"]
    client.post("/demo/step", json={"session_id": name, "ticks": 4})
    client.post("/demo/spawn_vehicle", json={"session_id": name, "persona": "emergency", "node": 3})
    events = client.post("/demo/step", json={"session_id": name, "ticks": 8}).json()["events"]
    for tick in (6, 4, 11, 0):  # back and forth
        asked = {"session_id": name, "lane": "oracle", "tick": tick, "ask": "greedy_counting"}
        found = client.get("/demo/inspect", params=asked).json()
        assert found["same_world"] and found["parse"]["ok"] and found["tick"] == tick
        if tick >= 4:
            frame = events[tick - 4]["lanes"]["oracle"]["frame"]
            assert {t["name"]: t["value"] for t in found["waterfall"]} | {"total": found["total"]} == frame[
                "breakdown"
            ]
            assert len(found["answers"]) == len(frame["answers"])
        own = [(a["ev_id"], a["station_id"], a["charge_rate"]) for a in found["answers"]]
        assert own == [(a["ev_id"], a["station_id"], a["charge_rate"]) for a in found["other"]["answers"]]
        assert (found["prompt"] is None) == (not found["pending"])
    for params, status in (
        ({"lane": "oracle", "tick": 40}, 422), ({"lane": "oracle", "tick": 1, "ask": "gredy"}, 422),
        ({"lane": "left", "tick": 1}, 422),
    ):  # fmt: skip
        assert client.get("/demo/inspect", params={"session_id": name, **params}).status_code == status
    assert (
        client.get("/demo/inspect", params={"session_id": "x", "lane": "oracle", "tick": 0}).status_code
        == 404
    )


def test_the_city_is_told_once(client: TestClient, city_toy: CityPack) -> None:
    reply = client.get("/demo/city")
    city = reply.json()
    assert city["sha256"] == city_toy.sha256 and len(city["stations"]) == len(city_toy.stations.ids)
    south, north, west, east = city["bbox"]
    assert all(west <= s["at"][0] <= east and south <= s["at"][1] <= north for s in city["stations"])
    again = client.get("/demo/city", headers={"If-None-Match": reply.headers["etag"]})
    assert again.status_code == 304 and again.content == b""
    kannada = {p["name_kn"] for p in load_city_places()}
    assert "ಹೆಬ್ಬಾಳ" in kannada


def load_city_places() -> list[dict[str, Any]]:
    """Places of the shipped city."""
    from ev_grid_oracle.server.demo_city import city_facts

    facts: Any = city_facts(load_city("bengaluru"))
    places: list[dict[str, Any]] = facts["places"]
    return places


def test_a_lane_is_the_session_played_alone_to_its_digest(city_toy: CityPack) -> None:
    demo = _demo(city_toy, SAME, ticks=4)
    while not demo.done:
        demo.step()
    alone = Session(city_toy)
    alone.reset(seed=7, ticks=4)
    for t in range(4):
        alone.step(demo.lanes["oracle"].trace.part("answers", t).copy())
    assert alone.digest() == demo.lanes["oracle"].session.digest()
    demo.close()
