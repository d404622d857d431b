"""`/ws`: a world of its own per socket, and a session that survives whatever is sent."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any

import pytest
from fastapi.testclient import TestClient

from ev_grid_oracle.interfaces.openenv.environment import EVGridEnvironment


def _ask(socket: Any, kind: str, data: object = None) -> dict[str, Any]:
    frame = {"type": kind} if data is None else {"type": kind, "data": data}
    socket.send_text(json.dumps(frame))
    return _read(socket)


def _read(socket: Any) -> dict[str, Any]:
    def refuse(name: str) -> object:
        raise AssertionError(f"{name} in JSON")

    found: dict[str, Any] = json.loads(socket.receive_text(), parse_constant=refuse)
    return found


def test_two_sockets_in_turns_are_as_alone(client: TestClient) -> None:
    alone = {}
    for seed in (1, 2):
        twin = EVGridEnvironment("toy")
        twin.reset(seed=seed)
        alone[seed] = [float(twin.step(_nothing()).reward) for _ in range(10)]
    with client.websocket_connect("/ws") as a, client.websocket_connect("/ws") as b:
        _ask(a, "reset", {"seed": 1})
        _ask(b, "reset", {"seed": 2})
        for n in range(10):
            for socket, seed in ((a, 1), (b, 2)):
                assert _ask(socket, "step", {})["data"]["reward"] == alone[seed][n]
        assert _ask(a, "state")["data"]["step_count"] == 10


def _nothing() -> Any:
    from ev_grid_oracle.models import EVGridAction

    return EVGridAction()


def test_errors_carry_a_code_and_the_session_lives_on(client: TestClient) -> None:
    with client.websocket_connect("/ws") as socket:
        before = _ask(socket, "step", {})
        assert before["type"] == "error" and before["data"]["message"].startswith("E_NO_EPISODE")
        _ask(socket, "reset", {"seed": 1})
        for data in (
            {"seed": -4},
            {"seed": "x"},
            {"nope": 1},
            {"scenario": "flood2"},
            {"seed": None, "ticks": 0},
        ):
            refused = _ask(socket, "reset", data)
            assert refused["type"] == "error"
            assert refused["data"]["message"].startswith(("E_OPTION", "E_SCENARIO"))
        assert _ask(socket, "step", {})["data"]["observation"]["step"] == 1


@pytest.mark.parametrize(
    "frame",
    [
        "not json",
        "[]",
        "7",
        "null",
        '"text"',
        "[" * 50_000,
        "1" * 6000,
        '{"type": "step", "data": {"actions": [{"action_type": "route", "confidence": NaN}]}}',
        '{"type": "step", "data": {"actions": [{"action_type": "route", "station_id": "\\ud800"}]}}',
        '{"type": "step", "data": {"actions": [{"action_type": "fly"}]}}',
        '{"type": "step", "data": 3}',
        '{"type": "step", "data": {}, "extra": 1}',
        '{"type": "reset", "data": {"episode_id": "\\udfff"}}',
        '{"type": "\\ud800"}',
        '{"type": 4}',
        '{"type": "dance"}',
        "{}",
    ],
)
def test_broken_frames_get_an_error_and_nothing_moves(client: TestClient, frame: str) -> None:
    with client.websocket_connect("/ws") as socket:
        _ask(socket, "reset", {"seed": 1})
        socket.send_text(frame)
        reply = _read(socket)
        assert reply["type"] == "error" and reply["data"]["code"] and reply["data"]["message"]
        assert _ask(socket, "state")["data"]["step_count"] == 0


def test_bytes_and_long_frames(client: TestClient) -> None:
    with client.websocket_connect("/ws") as socket:
        _ask(socket, "reset", {"seed": 1})
        socket.send_bytes(b'{"type": "state"}')
        assert _read(socket)["data"]["code"] == "INVALID_JSON"
        seen = _ask(socket, "step", {"text": "a" * 2_000_000})
        assert seen["data"]["observation"]["errors"][0]["code"] == "E_TOO_LONG"
        seen = _ask(socket, "step", {"text": "\ud800"})
        assert seen["data"]["observation"]["errors"][0]["code"] == "E_ENCODING"
        assert _ask(socket, "step", {"text": "a" * 5_000_000})["data"]["message"].startswith("E_TOO_LONG")
        assert _ask(socket, "state")["data"]["step_count"] == 2


def test_after_the_end_the_last_observation_repeats(client: TestClient) -> None:
    with client.websocket_connect("/ws") as socket:
        _ask(socket, "reset", {"seed": 1, "ticks": 1})
        last = _ask(socket, "step", {})["data"]
        again = _ask(socket, "step", {})["data"]
        assert last["done"] and again["done"] and again["reward"] == 0.0
        assert again["observation"] == last["observation"]
        assert _ask(socket, "state")["data"]["step_count"] == 1


def test_capacity_is_said_and_freed(client: TestClient) -> None:
    with ExitStack() as opened:
        for k in range(8):
            socket = opened.enter_context(client.websocket_connect("/ws"))
            assert _ask(socket, "reset", {"seed": k})["type"] == "observation"
        assert client.get("/healthz").json()["sessions"]["ws"] == 8
        with client.websocket_connect("/ws") as ninth:
            assert _read(ninth)["data"]["code"] == "CAPACITY_REACHED"
    with client.websocket_connect("/ws") as socket:
        assert _ask(socket, "reset", {"seed": 1})["type"] == "observation"
        assert client.get("/healthz").json()["sessions"]["ws"] == 1


def test_http_and_sockets_do_not_meet(client: TestClient) -> None:
    client.post("/reset", json={"seed": 1})
    with client.websocket_connect("/ws") as socket:
        _ask(socket, "reset", {"seed": 2})
        _ask(socket, "step", {})
        assert client.get("/state").json()["step_count"] == 0


def test_mcp_survives_what_json_does_not_have(client: TestClient) -> None:
    for body in ('{"jsonrpc": "2.0", "id": NaN, "method": "x"}', '{"id": "\\ud800"}', "[]", "{", "{}"):
        reply = client.post("/mcp", content=body, headers={"Content-Type": "application/json"})
        assert reply.status_code == 200 and reply.json()["jsonrpc"] == "2.0"
