"""What `/docs` and `/openapi.json` say: title, words on sessions, and faults of every route."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from ev_grid_oracle.server.faults import Fault

_WORDS = """
{about}

**Two ways to play.** `WS /ws` gives every socket an environment of its own: use it to train (the OpenEnv
client does). `POST /reset`, `POST /step` and `GET /state` keep an episode from one request to the next under
the header `X-Session-ID`; requests without it share the session `default`. Kept are the {http} most recently
used ones; a dropped one answers 409 `E_NO_EPISODE`.

```
curl -X POST localhost:8000/reset -H 'content-type: application/json' -d '{{"seed": 7}}'
curl -X POST localhost:8000/step -H 'content-type: application/json' -d '{{"action": {{"actions": []}}}}'
curl localhost:8000/state
```

**Faults.** Every error body is `{{"code", "message", "hint", "detail"}}`. A bad *answer* is no error: the
reply is 200, with the code in `observation.errors` and a penalty in the reward.
"""


def describe(app: FastAPI, title: str, version: str, about: str, http: int = 512) -> None:
    """Give the app its own words, and document faults on routes that do not name them."""
    app.title, app.version = title, version
    app.description = _WORDS.format(about=about, http=http)
    app.license_info = {"name": "Apache-2.0", "identifier": "Apache-2.0"}
    app.contact = None
    app.separate_input_output_schemas = False  # a default need not be in a reply
    plain = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = plain()
            schemas = schema.setdefault("components", {}).setdefault("schemas", {})
            schemas.setdefault("Fault", Fault.model_json_schema())
            for path, methods in schema.get("paths", {}).items():
                for method, route in methods.items():
                    if isinstance(route, dict):
                        _faults(path, method, route)
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's documented way to extend the schema


_FAULT = {"application/json": {"schema": {"$ref": "#/components/schemas/Fault"}}}


def _faults(path: str, method: str, route: dict[str, Any]) -> None:
    """Faults that any route with a body can give, in our form; the framework names its own otherwise."""
    replies = route.setdefault("responses", {})
    if "422" in replies:
        replies["422"] = {"description": "A value is of the wrong type or out of range.", "content": _FAULT}
    if method == "post":
        replies.setdefault("400", {"description": "The body is no JSON.", "content": _FAULT})
        replies.setdefault("413", {"description": "The body is longer than 1 MiB.", "content": _FAULT})
    if "{env_name}" in path:
        replies["404"] = {"description": "No environment of that name.", "content": _FAULT}
        replies["400"] = {"description": "No split or task of that name, or no JSON.", "content": _FAULT}
