"""What a client of the demo API may name: no model but those the operator allows."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("openenv", reason="the server needs the server extra")
pytest.importorskip("httpx", reason="the test client needs httpx")

from fastapi.testclient import TestClient

from ev_grid_oracle.server.app import create_app
from ev_grid_oracle.server.settings import Settings


def test_a_request_cannot_make_the_server_fetch_or_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ORACLE_ALLOWED_MODELS", raising=False)
    with TestClient(create_app(Settings(city="toy")), raise_server_exceptions=False) as client:
        for name in (f"llm:{tmp_path}", "llm:owner/model", "openai:http://169.254.169.254/v1#m"):
            for lane in ("oracle", "baseline"):
                reply = client.post("/demo/new", json={lane: name, "seed": 3})
                assert reply.status_code == 422 and reply.json()["code"] == "E_POLICY", name
                assert "ORACLE_ALLOWED_MODELS" in reply.json()["hint"]
        monkeypatch.setenv("ORACLE_ALLOWED_MODELS", "llm:*")
        allowed = client.post("/demo/new", json={"oracle": f"llm:{tmp_path}", "seed": 3})
        # allowed, but the folder is empty: another policy stands in, and the reply says so
        assert allowed.status_code == 200 and "is not available" in allowed.text
