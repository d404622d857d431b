"""HTTP keeps its episode: sessions by header, 409 before and after, nothing but documented codes."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.interfaces.openenv.local import LocalEvGridOracleEnv
from ev_grid_oracle.models import EVGridObservation
from ev_grid_oracle.schema.codes import CODES
from ev_grid_oracle.server.app import create_app
from ev_grid_oracle.server.settings import MAX_BODY_BYTES, Settings
from ev_grid_oracle.server.store import stored

NOTHING = {"action": {"actions": []}}


def _head(name: str) -> dict[str, str]:
    return {"X-Session-ID": name}


def _strict(text: str) -> Any:
    def refuse(name: str) -> object:
        raise AssertionError(f"{name} in JSON")

    return json.loads(text, parse_constant=refuse)


def _fault(reply: Any, status: int, code: str) -> None:
    assert reply.status_code == status, reply.text
    body = _strict(reply.text)
    assert set(body) == {"code", "message", "hint", "detail"}
    assert body["code"] == code and code in CODES and body["message"] and body["hint"]


def test_three_steps_are_three_steps(client: TestClient) -> None:
    first = client.post("/reset", json={"seed": 7, "episode_id": "mine"})
    assert first.status_code == 200 and first.headers["X-Session-ID"] == "default"
    assert first.json()["reward"] is None and not first.json()["done"]
    for _ in range(3):
        reply = client.post("/step", json=NOTHING)
        assert reply.status_code == 200
    state = client.get("/state").json()
    assert (state["episode_id"], state["step_count"], state["tick"]) == ("mine", 3, 3)
    assert not {"seed", "scenario", "schedule"} & set(state)


def test_sessions_are_apart_and_equal_their_twin(client: TestClient) -> None:
    names = [f"apart-{k}" for k in range(4)]
    twins = [LocalEvGridOracleEnv() for _ in names]
    for twin in twins:
        twin.environment._city = "toy"
    for k, name in enumerate(names):
        mine = client.post("/reset", json={"seed": k, "ticks": 6}, headers=_head(name))
        assert mine.headers["X-Session-ID"] == name
        _same(mine.json(), twins[k].reset(seed=k, ticks=6).observation)
    for n in range(6):
        for k, name in enumerate(names):
            action = {"text": f"refused {n}"} if k == 1 else {"actions": []}
            mine = client.post("/step", json={"action": action}, headers=_head(name))
            _same(mine.json(), twins[k].step(action).observation)


def _same(reply: dict[str, Any], twin: EVGridObservation) -> None:
    seen = EVGridObservation.model_validate(
        {**reply["observation"], "reward": reply["reward"], "done": reply["done"], "episode_id": None}
    )
    assert seen == twin.model_copy(update={"episode_id": None})


def test_before_reset_and_after_the_end(client: TestClient) -> None:
    head = _head("ends")
    _fault(client.post("/step", json=NOTHING, headers=head), 409, "E_NO_EPISODE")
    _fault(client.get("/state", headers=head), 409, "E_NO_EPISODE")
    assert client.post("/reset", json={"seed": 1, "ticks": 2}, headers=head).status_code == 200
    assert not client.post("/step", json=NOTHING, headers=head).json()["done"]
    last = client.post("/step", json=NOTHING, headers=head).json()
    assert last["done"] and last["observation"]["terminated"] and not last["observation"]["truncated"]
    before = client.get("/state", headers=head).json()
    reply = client.post("/step", json=NOTHING, headers=head)
    _fault(reply, 409, "E_EPISODE_OVER")
    assert reply.headers["X-Session-ID"] == "ends"
    assert client.get("/state", headers=head).json() == before
    for _ in range(2):
        assert client.post("/reset", json={"seed": 1}, headers=head).status_code == 200
    assert client.post("/step", json=NOTHING, headers=head).json()["observation"]["step"] == 1


@pytest.mark.parametrize(
    "body",
    [
        {"seed": -1}, {"seed": 2**32}, {"seed": "1"}, {"seed": 1.5}, {"seed": True}, {"ticks": 0},
        {"scenario": "flood2"}, {"scenario": 3}, {"start": "25:00"}, {"start": "2026-03-01T10:00:00"},
        {"demand": "some"}, {"participation": 0}, {"unknown": 1}, {"split": "test"},
        {"split": "nope", "index": 0}, {"split": "test", "index": 10**6}, {"episode_id": ""},
        {"episode_id": "x" * 256}, {"split": "test", "index": 1, "seed": 1}, [], "text", 7,
    ],
)  # fmt: skip
def test_wrong_resets_are_422_and_the_episode_goes_on(client: TestClient, body: object) -> None:
    head = _head("wrong-reset")
    client.post("/reset", json={"seed": 1, "episode_id": "kept"}, headers=head)
    reply = client.post("/reset", json=body, headers=head)
    assert reply.status_code == 422 and reply.json()["code"] in ("E_OPTION", "E_SCENARIO")
    assert client.get("/state", headers=head).json()["episode_id"] == "kept"


@pytest.mark.parametrize(
    "body",
    [
        '{"action": {"actions": [{"action_type": "route", "confidence": NaN}]}}',
        '{"action": {"actions": [{"action_type": "route", "confidence": "NaN"}]}}',
        '{"action": {"actions": [{"action_type": "route", "confidence": Infinity}]}}',
        '{"action": {"actions": [{"action_type": "charge"}]}}',
        '{"action": {"actions": [{"action_type": "route", "station_id": "\\ud800"}]}}',
        '{"action": {"actions": [{"action_type": "defer", "defer_minutes": 1e3}]}}',
        '{"action": {"actions": [{"action_type": "defer", "defer_minutes": 99999999999999999999999}]}}',
        '{"action": {"text": 5}}',
        '{"action": {"text": "", "actions": []}}',
        '{"action": {"\\ud800": 1}}',
        '{"action": []}',
        '{"action": null}',
        "{}",
        "[]",
        '"x"',
        '{"action": {"actions": []}, "speed": 2}',
        '{"action": {"actions": []}, "timeout_s": NaN}',
        '{"action": {"actions": []}, "timeout_s": -1}',
    ],
)
def test_ill_typed_steps_are_422_and_nothing_moves(client: TestClient, body: str) -> None:
    head = {**_head("ill"), "Content-Type": "application/json"}
    client.post("/reset", json={"seed": 1}, headers=_head("ill"))
    _fault(client.post("/step", content=body, headers=head), 422, "E_FORMAT")
    assert client.get("/state", headers=_head("ill")).json()["step_count"] == 0


@pytest.mark.parametrize("body", ["{", "not json", "[" * 50_000, "1" * 6000, b"\xff\xfe"])
def test_what_is_no_json_is_refused(client: TestClient, body: str | bytes) -> None:
    head = {**_head("no-json"), "Content-Type": "application/json"}
    client.post("/reset", json={"seed": 1}, headers=_head("no-json"))
    reply = client.post("/step", content=body, headers=head)
    assert reply.status_code in (400, 422) and _strict(reply.text)["code"] in CODES
    assert client.post("/step", json=NOTHING, headers=_head("no-json")).status_code == 200


def test_bad_answers_are_data(client: TestClient) -> None:
    head = _head("bad-answers")
    client.post("/reset", json={"seed": 1}, headers=head)
    for action, code in (
        ({"text": "hello"}, {"E_FORMAT", "E_LEADING", "E_KEY"}),
        ({"text": "a" * 70_000}, {"E_TOO_LONG"}),
        ({"text": "\ud800"}, {"E_ENCODING"}),
        ({"actions": [{"action_type": "route", "station_id": "BLR-99"}]}, {"E_STATION"}),
        ({"actions": [{"action_type": "route"}]}, {"E_SEMANTIC"}),
    ):
        data = json.dumps({"action": action})
        reply = client.post("/step", content=data, headers={**head, "Content-Type": "application/json"})
        assert reply.status_code == 200
        seen = _strict(reply.text)
        assert seen["observation"]["errors"][0]["code"] in code
        assert seen["observation"]["breakdown"]["format"] < 0


def test_two_megabytes_are_refused_declared_or_not(client: TestClient) -> None:
    head = {**_head("long"), "Content-Type": "application/json"}
    client.post("/reset", json={"seed": 1}, headers=_head("long"))
    body = json.dumps({"action": {"text": "a" * 2_000_000}})
    _fault(client.post("/step", content=body, headers=head), 413, "E_TOO_LONG")

    def chunks() -> Any:
        for k in range(0, len(body), 65536):
            yield body[k : k + 65536].encode()

    _fault(client.post("/step", content=chunks(), headers=head), 413, "E_TOO_LONG")
    assert len(body) > MAX_BODY_BYTES
    short = iter([json.dumps(NOTHING).encode()])
    assert client.post("/step", content=short, headers=head).status_code == 200


@pytest.mark.parametrize("name", ["", "a b", "x" * 129, "ä", "a/b"])
def test_a_session_id_has_a_form(client: TestClient, name: str) -> None:
    reply = client.post("/reset", json={}, headers={"X-Session-ID": name.encode("latin-1")})  # type: ignore[dict-item]
    _fault(reply, 422, "E_OPTION")


def test_no_body_resets_with_a_drawn_seed(client: TestClient) -> None:
    assert client.post("/reset", headers=_head("bare")).status_code == 200
    assert client.post("/reset", json={}, headers=_head("bare")).status_code == 200


def test_the_least_recently_used_session_goes() -> None:
    app = create_app(Settings(city="toy", max_http_sessions=2))
    with TestClient(app, raise_server_exceptions=False) as client:
        for name in ("a", "b", "a", "c"):
            client.post("/reset", json={"seed": 1}, headers=_head(name))
        _fault(client.post("/step", json=NOTHING, headers=_head("b")), 409, "E_NO_EPISODE")
        assert client.post("/step", json=NOTHING, headers=_head("a")).status_code == 200
        assert client.get("/healthz").json()["sessions"]["http"] == 2


def test_requests_of_one_session_are_worked_on_in_turn(client: TestClient) -> None:
    head = _head("turns")
    client.post("/reset", json={"seed": 1, "ticks": 40}, headers=head)
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: client.post("/step", json=NOTHING, headers=head).json(), range(24)))
    assert sorted(r["observation"]["step"] for r in replies) == list(range(1, 25))
    twin = Session("toy")
    twin.reset(seed=1, ticks=40)
    rewards = [twin.step().reward for _ in range(24)]
    assert [r["reward"] for r in sorted(replies, key=lambda r: r["observation"]["step"])] == rewards


def test_a_session_is_kept_as_recipe_and_snapshot(app_toy: FastAPI, client: TestClient) -> None:
    head = _head("stored")
    client.post("/reset", json={"seed": 5}, headers=head)
    for _ in range(3):
        client.post("/step", json=NOTHING, headers=head)
    kept = stored(app_toy.state.sessions, "stored")
    assert kept.recipe["options"]["seed"] == 5 and len(kept.recipe["steps"]) == 3  # type: ignore[index, arg-type]
    going_on = Session.restore(kept.snapshot)
    assert going_on.observation.state.tick == 3
    assert going_on.step().reward == client.post("/step", json=NOTHING, headers=head).json()["reward"]
