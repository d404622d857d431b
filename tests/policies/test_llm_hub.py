"""The Hub: a repository that does not exist, a Hub that is away, and one that never answers."""

from __future__ import annotations

import json
import socket
import time
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

pytest.importorskip("llguidance", reason="the train extra is not installed")
pytest.importorskip("huggingface_hub", reason="the train extra is not installed")

from huggingface_hub import constants
from llm_tools import saved, send, serving

from ev_grid_oracle.policies.llm import hub as ours
from ev_grid_oracle.policies.llm.guard import ModelError
from ev_grid_oracle.policies.llm.hub import find_model

pytestmark = pytest.mark.filterwarnings("ignore")

COMMIT = "1" * 40


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))


def at(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Hub stands at `address`."""
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(
        constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}"
    )


def test_a_repository_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(to: BaseHTTPRequestHandler) -> None:
        send(to, 404, b'{"error":"Repository not found"}', X_Error_Code="RepoNotFound")

    with serving(gone) as address:
        at(address, monkeypatch)
        with pytest.raises(ModelError, match="has no model 'nobody/nothing'"):
            find_model("nobody/nothing")


def test_a_hub_that_cannot_be_reached_or_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ours, "PROBE_S", 1.0)
    with socket.socket() as silent:  # takes connections and says nothing
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        at(f"http://127.0.0.1:{silent.getsockname()[1]}", monkeypatch)
        begun = time.monotonic()
        with pytest.raises(ModelError, match="cannot be fetched"):
            find_model("some/model")
        waited = time.monotonic() - begun
    assert 0.5 < waited < 30.0  # the limit ended it, far below the client's own retries
    at("http://127.0.0.1:9", monkeypatch)
    with pytest.raises(ModelError, match="cannot be fetched"):
        find_model("some/model")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelError, match="HF_HUB_OFFLINE"):
        find_model("some/model")


def test_what_was_fetched_once_serves_without_a_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = saved(tmp_path / "model")
    (folder / "evil.py").write_text("raise SystemExit")
    files = {p.name: p.read_bytes() for p in folder.iterdir()}
    asked: list[str] = []

    def repository(to: BaseHTTPRequestHandler) -> None:
        asked.append(to.path)
        name = to.path.split("?")[0].rsplit("/", 1)[-1]
        if "/resolve/" in to.path and name in files:
            send(to, 200, files[name], ETag=f'"{name}"', X_Repo_Commit=COMMIT)
        elif "/tree/" in to.path:
            tree = [{"type": "file", "path": n, "size": len(b), "oid": "2" * 40} for n, b in files.items()]
            send(to, 200, json.dumps(tree).encode(), Content_Type="application/json")
        elif to.path.startswith("/api/models/"):
            facts = {
                "id": "some/model",
                "modelId": "some/model",
                "sha": COMMIT,
                "private": False,
                "siblings": [],
            }
            facts["siblings"] = [{"rfilename": n, "size": len(b)} for n, b in files.items()]
            send(to, 200, json.dumps(facts).encode(), Content_Type="application/json")
        else:
            send(to, 404, b"{}", X_Error_Code="EntryNotFound")

    with serving(repository) as address:
        at(address, monkeypatch)
        found = find_model("some/model")
    names = {p.name for p in found.folder.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= names and "evil.py" not in names
    assert not any("evil" in path for path in asked)
    monkeypatch.setattr(ours, "PROBE_S", 1.0)
    assert find_model("some/model") == found  # the server is gone
