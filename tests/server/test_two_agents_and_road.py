"""`/ma/` and `/road/` over HTTP and sockets: same game and same trip as in Python."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient

from ev_grid_oracle.episode.road import RoadSession
from ev_grid_oracle.episode.two_agents import TwoAgents

AGENTS = {"grid_operator", "fleet_dispatcher"}


def test_a_game_is_the_game_in_python(client: TestClient) -> None:
    name = client.post("/ma/new", json={"seed": 7, "ticks": 4}).json()["session_id"]
    game = TwoAgents("toy")
    game.reset(seed=7, ticks=4)
    sent: list[dict[str, Any]] = [
        {"grid_operator": {"max_grid_load_pct": 0.9, "message": "be careful"}},
        {"fleet_dispatcher": {"text": "nonsense", "message": "CLAIM load F03 >= 0.1"}, "ghost": {}},
        {},
    ]
    for actions in sent:
        reply = client.post("/ma/step", json={"session_id": name, "actions": actions}).json()
        seen = game.step(actions)
        assert reply["session_id"] == name and set(reply["observations"]) == AGENTS
        for agent in AGENTS:
            assert reply["observations"][agent]["reward"] == seen[agent].reward
            assert reply["observations"][agent]["info"]["errors"] == seen[agent].info["errors"]
    last = client.post("/ma/auto_step", json={"session_id": name}).json()
    game.auto_step()
    assert last["done"] and last["totals"] == game.totals
    for path, body in (("/ma/step", {"actions": {}}), ("/ma/auto_step", {})):
        reply = client.post(path, json={"session_id": name, **body})
        assert reply.status_code == 409 and reply.json()["code"] == "E_EPISODE_OVER"
    state = client.get("/ma/state", params={"session_id": name}).json()
    assert len(state["timeline"]) == 4


def test_a_game_does_not_name_its_future(client: TestClient) -> None:
    seed = 3_405_691_582
    reply = client.post("/ma/new", json={"seed": seed, "scenario": "baseline"})
    state = client.get("/ma/state", params={"session_id": reply.json()["session_id"]})
    for text in (reply.text, state.text):
        assert str(seed) not in text and "schedule" not in text


def test_wrong_games(client: TestClient) -> None:
    for reply in (
        client.post("/ma/step", json={"session_id": "x", "actions": {}}),
        client.post("/ma/auto_step", json={"session_id": "x"}),
        client.get("/ma/state", params={"session_id": "x"}),
    ):
        assert reply.status_code == 404 and reply.json()["code"] == "E_NO_EPISODE"
    assert client.post("/ma/new", json={"seed": "x"}).status_code == 422
    name = client.post("/ma/new", json={"seed": 0}).json()["session_id"]
    for part in (
        '{"grid_operator": {"price_mult": NaN}}', '{"grid_operator": {"message": "\\ud800"}}',
        '{"fleet_dispatcher": {"text": "\\ud800"}}', '{"grid_operator": 7, "fleet_dispatcher": []}',
        '{"fleet_dispatcher": {"actions": [{"action_type": "route", "confidence": Infinity}]}}',
    ):  # fmt: skip
        body = f'{{"session_id": "{name}", "actions": {part}}}'
        reply = client.post("/ma/step", content=body, headers={"Content-Type": "application/json"})
        assert reply.status_code == 200, reply.text
        json.loads(reply.text, parse_constant=lambda c: pytest.fail(f"{c} in JSON"))


def test_a_trip_is_the_trip_in_python(client: TestClient) -> None:
    head = {"X-Session-ID": "trip"}
    assert client.post("/road/step", json={"action": {}}, headers=head).status_code == 409
    reply = client.post("/road/reset", json={"seed": 3, "include_prompt": True}, headers=head).json()
    task = RoadSession("toy")
    o = task.reset(3)
    assert reply["observation"]["prompt"] == o.prompt
    while not o.done:
        near = min(o.neighbours, key=lambda n: (n.target_km, n.node)).node
        reply = client.post("/road/step", json={"action": {"next_node": near}}, headers=head).json()
        o = task.step(near)
        assert reply["reward"] == o.reward and reply["done"] == o.done
        assert [n["node"] for n in reply["observation"]["neighbours"]] == [n.node for n in o.neighbours]
    over = client.post("/road/step", json={"action": {}}, headers=head)
    assert over.status_code == 409 and over.json()["code"] == "E_EPISODE_OVER"
    assert client.get("/road/state", headers=head).json()["done"]


def test_road_moves_that_are_none(client: TestClient) -> None:
    head = {"X-Session-ID": "moves"}
    client.post("/road/reset", json={"seed": 1}, headers=head)
    for action in (
        {"next_node": "3"},
        {"next_node": 1, "text": "x"},
        {"current_node": 1},
        {"text": 4},
        {"go": 1},
    ):
        reply = client.post("/road/step", json={"action": action}, headers=head)
        assert reply.status_code == 422 and reply.json()["code"] == "E_FORMAT"
    waits = client.post("/road/step", json={"action": {"text": "left"}}, headers=head).json()
    assert waits["observation"]["flags"] == ["invalid_action"] and not waits["done"]
    ends = client.post("/road/step", json={"action": {"next_node": 10**6}}, headers=head).json()
    assert ends["done"] and ends["observation"]["flags"] == ["not_a_neighbour"]
    for body in ({"target": "BLR-99"}, {"start_node": 10**6}, {"seed": -1}, {"speed": 1}):
        assert client.post("/road/reset", json=body, headers=head).status_code == 422


def test_road_sockets_repeat_the_end(client: TestClient) -> None:
    with client.websocket_connect("/road/ws") as socket:
        socket.send_text("[]")
        assert socket.receive_json()["type"] == "error"
        socket.send_text(json.dumps({"type": "reset", "data": {"seed": 1}}))
        assert socket.receive_json()["type"] == "observation"
        frame = json.dumps({"type": "step", "data": {"next_node": 10**6}})
        socket.send_text(frame)
        assert socket.receive_json()["data"]["done"]
        socket.send_text(frame)
        assert socket.receive_json()["data"]["reward"] == 0.0
        socket.send_text(json.dumps({"type": "reset", "data": {"seed": -1}}))
        assert socket.receive_json()["data"]["message"].startswith("E_OPTION")
