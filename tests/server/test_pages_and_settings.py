"""Pages, documents, settings, store: what a visitor and an operator meet first."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from ev_grid_oracle.schema.errors import OptionError
from ev_grid_oracle.server.app import create_app
from ev_grid_oracle.server.settings import Settings, read_settings
from ev_grid_oracle.server.store import SessionStore


@pytest.mark.parametrize(
    "path", ["/", "/ui", "/ui/", "/web", "/web/", "/docs", "/health", "/healthz", "/metadata"]
)
def test_no_page_is_missing(client: TestClient, path: str) -> None:
    assert client.get(path, headers={"Accept": "text/html"}).status_code == 200


def test_the_page_without_a_ui_says_how_to_build_one(client: TestClient) -> None:
    page = client.get("/")
    assert str(page.url).endswith("/ui/") and "npm run build" in page.text
    assert 'href="/' not in page.text  # links are relative: behind a path prefix they hold too


def test_a_built_ui_is_served(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>centre</p>")
    (tmp_path / "app.js").write_text("1")
    with TestClient(create_app(Settings(city="toy", ui=tmp_path))) as client:
        assert "centre" in client.get("/").text and client.get("/ui/app.js").text == "1"
        assert client.get("/ui/nothing.js").status_code == 404


def test_healthz(client: TestClient) -> None:
    health = client.get("/healthz").json()
    assert health["versions"]["ev_grid_oracle"] and health["city"] == "toy"
    assert health["sessions"]["ws_max"] == 8 and health["sessions"]["http_max"] == 256


def test_documents_name_the_faults_of_our_routes(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    ours = {
        "/reset": {"400", "409", "413", "422"}, "/step": {"400", "409", "413", "422"}, "/state": {"409", "422"},
        "/demo/step": {"404", "409", "422"}, "/demo/state": {"404", "422"}, "/ma/step": {"404", "409", "422"},
        "/ma/new": {"422"}, "/demo/new": {"422"}, "/demo/spawn_vehicle": {"404", "409", "422"},
    }  # fmt: skip
    for path, faults in ours.items():
        for route in paths[path].values():
            assert faults <= set(route["responses"]), path
    road = client.get("/road/openapi.json").json()["paths"]
    assert {"/reset", "/step", "/state", "/schema", "/health"} <= set(road)


def test_schema_publishes_our_models(client: TestClient) -> None:
    schema = client.get("/schema").json()
    assert "actions" in schema["action"]["properties"] and "tick" in schema["state"]["properties"]
    assert "stations" in schema["observation"]["properties"]


def test_task_routes(client: TestClient) -> None:
    splits = client.get("/ev_grid_oracle/splits").json()
    assert [s["name"] for s in splits] == ["train", "validation", "test"]
    assert client.post("/ev_grid_oracle/num_tasks", json={"split": "test"}).json()["num_tasks"] > 0
    assert client.post("/ev_grid_oracle/task", json={"split": "test", "index": 3}).status_code == 200
    for body in ({"split": "test", "index": 10**6}, {"split": "nope", "index": 0}):
        assert client.post("/ev_grid_oracle/task", json=body).status_code == 400
    assert client.post("/other/num_tasks", json={"split": "test"}).status_code == 404


def test_unknown_paths_and_methods_are_faults(client: TestClient) -> None:
    for reply, status in ((client.get("/nope"), 404), (client.get("/step"), 405)):
        assert reply.status_code == status and set(reply.json()) == {"code", "message", "hint", "detail"}


def test_production_mode_has_no_episode_routes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENENV_MODE", "production")
    with TestClient(create_app(Settings(city="toy"))) as client:
        assert client.post("/reset", json={}).status_code == 404
        assert client.get("/health").status_code == 200


def test_settings_are_read_and_checked() -> None:
    assert read_settings({}).max_concurrent_envs == 64
    chosen = read_settings(
        {"MAX_CONCURRENT_ENVS": " 8 ", "SESSION_IDLE_TIMEOUT_S": "2.5", "EVGRID_CITY": "toy"}
    )
    assert (chosen.max_concurrent_envs, chosen.session_idle_s, chosen.city) == (8, 2.5, "toy")
    for name, value in (
        ("MAX_CONCURRENT_ENVS", "many"), ("MAX_CONCURRENT_ENVS", "0"), ("MAX_CONCURRENT_ENVS", "1.5"),
        ("MAX_HTTP_SESSIONS", "-1"), ("SESSION_IDLE_TIMEOUT_S", "nan"),
        ("DEMO_ORACLE_INFERENCE_TIMEOUT_SEC", "soon"),
    ):  # fmt: skip
        with pytest.raises(OptionError, match=name):
            read_settings({name: value})


def test_sessions_expire_after_a_while() -> None:
    now = [0.0]
    store: SessionStore[int] = SessionStore(lambda: 1, 10, 60.0, clock=lambda: now[0])
    store.open("a")
    now[0] = 50.0
    store.open("b")
    store.find("a")
    now[0] = 105.0
    assert store.find("b") is not None and store.find("a") is not None
    now[0] = 200.0
    assert len(store) == 0 and store.find("a") is None


def test_the_root_module_is_the_packages_app(app_toy: FastAPI) -> None:
    from ev_grid_oracle.server import app as packaged
    from server import app as root

    assert root.app is packaged.app and isinstance(app_toy, FastAPI)
