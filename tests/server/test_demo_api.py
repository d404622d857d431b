"""`/demo/`: two lanes on one world, spawned cars, live events, fallbacks that are said."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.policies.base import PolicyContext
from ev_grid_oracle.server import lanes
from ev_grid_oracle.server.demo_session import DemoSession


def _new(client: TestClient, **body: object) -> dict[str, Any]:
    reply = client.post("/demo/new", json={"oracle": "greedy_counting", "seed": 7, **body})
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


def test_lanes_start_on_one_world_and_do_not_step_by_themselves(client: TestClient) -> None:
    state = _new(client)
    assert state["tick"] == 0 and state["lanes"]["baseline"]["digest"] == state["lanes"]["oracle"]["digest"]
    again = client.get("/demo/state", params={"session_id": state["session_id"]}).json()
    assert again == state and again["seed"] == 7 and again["scenario"] == "baseline"


def test_a_step_says_what_happened_in_both_lanes(client: TestClient) -> None:
    name = _new(client)["session_id"]
    reply = client.post("/demo/step", json={"session_id": name, "ticks": 12}).json()
    assert reply["session_id"] == name and reply["tick"] == 12 and len(reply["events"]) == 12
    routes = 0
    for n, event in enumerate(reply["events"]):
        assert event["seq"] == event["tick"] == n and set(event["lanes"]) == {"baseline", "oracle"}
        for lane, policy in (("baseline", "baseline"), ("oracle", "greedy_counting")):
            seen = event["lanes"][lane]
            assert seen["badge"]["acted"] == policy and set(seen["kpis"]) == {
                "discom",
                "cpo",
                "fleet",
                "driver",
            }
            for car in seen["render"]["cars"]:
                assert car["eta_min"] > 5 * n
                if car.get("route"):
                    routes += 1
                    assert len(car["route"]["path"]) == len(car["route"]["congestion"]) + 1
                    assert all(74 < lon < 76 and 14 < lat < 16 for lon, lat in car["route"]["path"])
    assert routes > 0


def test_the_baseline_lane_is_the_session_played_alone(client: TestClient, city_toy: CityPack) -> None:
    name = _new(client, ticks=6)["session_id"]
    events = client.post("/demo/step", json={"session_id": name, "ticks": 12}).json()["events"]
    assert len(events) == 6 and events[-1]["done"]
    session = Session(city_toy)
    o = session.reset(seed=7, ticks=6)
    lane = lanes.Lane(city_toy, "baseline", 60.0)
    policy = lanes.make_policy("baseline")
    policy.begin(PolicyContext(lane.city))
    out = np.zeros((lane.city.layout.dims["MP"], 8), np.int32)
    for event in events:
        n = policy.answer(o.row, out)
        o = session.step(out[:n].copy())
        assert event["lanes"]["baseline"]["frame"]["reward"] == o.reward
    assert events[-1]["lanes"]["baseline"]["episode_kpis"] == o.info["kpis"]
    reply = client.post("/demo/step", json={"session_id": name})
    assert reply.status_code == 409 and reply.json()["code"] == "E_EPISODE_OVER"


def test_a_spawned_car_is_in_both_lanes_and_in_the_recipe(client: TestClient) -> None:
    name = _new(client)["session_id"]
    client.post("/demo/step", json={"session_id": name})
    body = {"session_id": name, "persona": "emergency", "node": 3}
    event = client.post("/demo/spawn_vehicle", json=body).json()
    assert event["type"] == "spawn" and event["tick"] == 1 and event["session_id"] == name
    state = client.get("/demo/state", params={"session_id": name}).json()
    for lane in ("baseline", "oracle"):
        assert event["ev_id"][lane] in state["lanes"][lane]["pending"]
    assert state["recipe"]["spawned"] == [{"tick": 1, "car": {"node": 3, "persona": "emergency"}}]
    for car in ({"node": 10**6}, {"persona": "ghost"}, {"wings": 1}, {"lat": 12.9}):
        reply = client.post("/demo/spawn_vehicle", json={"session_id": name, **car})
        assert reply.status_code == 422 and reply.json()["code"] == "E_OPTION"


def test_live_events_come_from_any_number_on(client: TestClient) -> None:
    name = _new(client)["session_id"]
    client.post("/demo/step", json={"session_id": name, "ticks": 3})
    with client.websocket_connect(f"/demo/live/{name}?from=1") as socket:
        assert [socket.receive_json()["seq"] for _ in range(2)] == [1, 2]
        client.post("/demo/spawn_vehicle", json={"session_id": name})
        assert socket.receive_json()["type"] == "spawn"
        event = client.post("/demo/step", json={"session_id": name}).json()["events"][0]
        assert socket.receive_json() == event
    for path in ("/demo/live/nobody", f"/demo/live/{name}?from=-1"):
        with client.websocket_connect(path) as socket:
            assert socket.receive_json()["type"] == "error"


def test_unknown_sessions_and_wrong_bodies(client: TestClient) -> None:
    for reply in (
        client.post("/demo/step", json={"session_id": "x"}),
        client.post("/demo/spawn_vehicle", json={"session_id": "x"}),
        client.get("/demo/state", params={"session_id": "x"}),
    ):
        assert reply.status_code == 404 and reply.json()["code"] == "E_NO_EPISODE"
    for body, code in (
        ({"oracle": "gredy"}, "E_POLICY"), ({"scenario": "flood2"}, "E_SCENARIO"), ({"ticks": 5000}, "E_OPTION"),
        ({"seed": -1}, "E_OPTION"), ({"start": "9 o'clock"}, "E_OPTION"),
    ):  # fmt: skip
        reply = client.post("/demo/new", json=body)
        assert reply.status_code == 422 and reply.json()["code"] == code
    assert client.post("/demo/step", json={}).status_code == 422


def test_a_policy_that_cannot_be_had_is_stood_in_for(
    city_toy: CityPack, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = lanes.make_policy

    def missing(name: str, **how: Any) -> Any:
        if name == "oracle":
            raise ModuleNotFoundError("no model here")
        return real(name, **how)

    monkeypatch.setattr(lanes, "make_policy", missing)
    demo = DemoSession("s", city_toy, {"seed": 1}, {"baseline": "baseline", "oracle": "oracle"}, 60.0)
    badge = demo.step()["lanes"]["oracle"]["badge"]  # type: ignore[index]
    assert (badge["asked"], badge["acted"], badge["source"]) == ("oracle", "greedy_counting", "fallback")
    assert "no model here" in badge["note"]
    demo.close()


def test_a_policy_that_thinks_too_long_is_answered_for(city_toy: CityPack) -> None:
    class Slow:
        name, source = "slow", "llm"

        def begin(self, context: PolicyContext) -> None:
            self.asked = 0

        def answer(self, o: Any, out: Any) -> int:
            self.asked += 1
            time.sleep(0.2)
            return 0

    demo = DemoSession(
        "s", city_toy, {"seed": 1}, {"baseline": "baseline", "oracle": "greedy_counting"}, 0.01
    )
    lane = demo.lanes["oracle"]
    lane._policy = Slow()
    lane._policy.begin(PolicyContext(lane.city))
    badge = demo.step()["lanes"]["oracle"]["badge"]  # type: ignore[index]
    assert badge["source"] == "timeout" and badge["label"] == "TIMEOUT->baseline"
    assert lane.session.trace.frame(-1).source == "timeout"
    a, b = (demo.lanes[name].session.digest() for name in ("baseline", "oracle"))
    assert a == b  # what acted in both lanes is the baseline
    demo.close()
