"""Schemathesis over the routes: ours keep to their documents, the framework's never answer 5xx."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

pytest.importorskip("schemathesis", reason="the fuzz test needs schemathesis (dev extra)")
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from ev_grid_oracle.server.app import create_app
from ev_grid_oracle.server.settings import Settings

pytestmark = pytest.mark.slow
OURS = ("/reset", "/step", "/state", "/healthz", "/demo/", "/ma/")
CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance,
]  # fmt: skip


def _operations(app: FastAPI, path: str) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        schema = schemathesis.openapi.from_asgi(path, app)
        return [found.ok() for found in schema.get_all_operations()]


def _fuzz(operation: Any, mode: Any, checks: list[Any], examples: int) -> set[int]:
    """Statuses seen."""
    statuses: set[int] = set()

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def once(case: Any) -> None:
        statuses.add(case.call_and_validate(checks=checks).status_code)

    given(case=operation.as_strategy(generation_mode=mode))(once)()
    return statuses


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", ["/openapi.json", "/road/openapi.json"])
def test_routes_keep_to_their_documents(path: str) -> None:
    app = create_app(Settings(city="toy"))
    if path.startswith("/road"):
        app = next(route.app for route in app.routes if getattr(route, "path", "") == "/road")
        path = "/openapi.json"
    seen = 0
    for operation in _operations(app, path):
        ours = operation.path.startswith(OURS)
        checks = (CHECKS, 40) if ours else ([not_a_server_error], 15)
        statuses = _fuzz(operation, GenerationMode.POSITIVE, *checks)
        if any(body.media_type == "application/json" for body in operation.body):  # no bytes are wrong by type
            statuses |= _fuzz(operation, GenerationMode.NEGATIVE, *checks)
            assert not ours or 422 in statuses, operation.label
        seen += ours
    assert seen >= 3
