"""Server tests need the `server` extra; apps play Toytown, which compiles and steps fast."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("openenv", reason="the server needs the server extra")
pytest.importorskip("httpx", reason="the test client needs httpx")

from fastapi import FastAPI
from fastapi.testclient import TestClient

from ev_grid_oracle.server.app import create_app
from ev_grid_oracle.server.settings import Settings


@pytest.fixture(scope="session")
def app_toy() -> FastAPI:
    """An app with small caps, shared: tests name sessions of their own."""
    return create_app(Settings(city="toy", max_concurrent_envs=8, max_http_sessions=256))


@pytest.fixture
def client(app_toy: FastAPI) -> Iterator[TestClient]:
    """A client that gets the server's own error replies instead of its exceptions."""
    with TestClient(app_toy, raise_server_exceptions=False) as made:
        yield made
