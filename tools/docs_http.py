"""The page of routes, from the service's own `/openapi.json` and its sockets. Needs the `server` extra."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from docs_tables import NOTE, table

SOCKETS = {
    "/ws": "OpenEnv session, one environment a socket: frames `reset`, `step`, `state`, `close`",
    "/mcp": "OpenEnv's tool protocol",
    "/demo/live/{session_id}": "events of a demo session from the number `from` on; `form=binary`: as chunks",
    "/road/ws": "the road task, one trip a socket",
}
"""Sockets of the service; a test holds the keys to the app's routes."""


def routes_page() -> str:
    """Routes, bodies and replies."""
    from ev_grid_oracle.server.app import app

    schema: Mapping[str, Any] = app.openapi()
    text = "# Routes\n\n" + NOTE
    text += "From `/openapi.json` of the running service; `/docs` shows the same with examples. How sessions, faults and\n"
    text += (
        "sockets work: [the service](http.md). The road task has the same OpenEnv routes below `/road/`.\n\n"
    )
    text += "## Requests\n\n"
    rows = []
    for path, methods in sorted(schema["paths"].items()):
        for method, route in sorted(methods.items()):
            where = [f"{p['name']} ({p['in']})" for p in route.get("parameters", [])]
            rows.append(
                (
                    f"`{method.upper()} {path}`",
                    route.get("summary", ""),
                    ", ".join(where),
                    _body(route),
                    _reply(route),
                )
            )
    text += table(("route", "what it does", "parameters", "body", "reply"), rows)
    text += "## Sockets\n\n"
    text += table(("socket", "what it carries"), ((f"`{path}`", words) for path, words in SOCKETS.items()))
    text += "## Bodies and replies\n\n"
    for name, model in sorted(schema["components"]["schemas"].items()):
        if "__" in name or name in OTHERS or not model.get("properties"):
            continue
        text += f"### `{name}`\n\n"
        needed = set(model.get("required", ()))
        text += table(
            ("field", "type", "needed", "meaning"),
            (
                (f"`{key}`", kind(field), "yes" if key in needed else "", field.get("description", ""))
                for key, field in model["properties"].items()
            ),
        )
    return text


OTHERS = ("HTTPValidationError", "ValidationError")
"""The framework's own models of a fault, which this service replaces by `Fault`."""


def _ref(name: str) -> str:
    return name.rsplit("/", 1)[-1].rsplit("__", 1)[-1]


def kind(field: Mapping[str, Any]) -> str:
    """The type of a field in a few words."""
    if "$ref" in field:
        return _ref(field["$ref"])
    for key in ("anyOf", "oneOf", "allOf"):
        if key in field:
            return " or ".join(dict.fromkeys(kind(one) for one in field[key]))
    if "enum" in field:
        return " or ".join(map(str, field["enum"]))
    if "const" in field:
        return str(field["const"])
    if field.get("type") == "array":
        return f"list of {kind(field.get('items', {}))}"
    return str(field.get("type", "any"))


def _body(route: Mapping[str, Any]) -> str:
    content = route.get("requestBody", {}).get("content", {}).get("application/json")
    return kind(content["schema"]) if content else ""


def _reply(route: Mapping[str, Any]) -> str:
    content = route.get("responses", {}).get("200", {}).get("content", {}).get("application/json")
    return kind(content["schema"]) if content and content.get("schema") else ""
