"""Every fault as one body: ``{"code", "message", "hint", "detail"}``, with codes of `schema.codes`.

Replies never echo what a client sent but for field names, and are always valid JSON: no NaN, no lone
surrogates, whatever came in.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from ev_grid_oracle.schema.codes import CODES
from ev_grid_oracle.schema.errors import EVGridError

STATUS = {"E_NO_EPISODE": 409, "E_EPISODE_OVER": 409, "E_CAPACITY": 409, "E_EXTRA": 503, "E_INTERNAL": 500}
"""HTTP status of the library's errors; every other one is 422."""


class Fault(BaseModel):
    """Body of every error reply."""

    code: str = Field(description="One of the E_ codes of docs/reference/errors.md.")
    message: str
    hint: str
    detail: Any = Field(None, description="Which fields, where a request did not fit.")

    model_config = {
        "json_schema_extra": {
            "examples": [
                {
                    "code": "E_NO_EPISODE",
                    "message": "No episode has been started.",
                    "hint": "Call reset.",
                    "detail": None,
                }
            ]
        }
    }


class UnknownSessionError(EVGridError):
    """A demo, two-agent or road session of that id does not exist (any more)."""

    code = "E_NO_EPISODE"


class SocketError(EVGridError):
    """An error as a socket shows it: the framework sends its text alone, so the code stands in it."""

    def __init__(self, error: EVGridError) -> None:
        super().__init__(f"{error.code}: {error.message}", error.hint)
        self.code = error.code


RESPONSES: dict[int | str, dict[str, Any]] = {
    400: {"model": Fault, "description": "The body is no JSON."},
    409: {"model": Fault, "description": "E_NO_EPISODE before reset, E_EPISODE_OVER after the end."},
    413: {"model": Fault, "description": "The body is longer than 1 MiB."},
    422: {"model": Fault, "description": "A value is of the wrong type, unknown or out of range."},
}
NOT_FOUND: dict[int | str, dict[str, Any]] = {
    404: {"model": Fault, "description": "There is no session of that id."}
}


def fault_reply(
    status: int,
    code: str,
    message: str,
    hint: str = "",
    detail: object = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The reply of a fault."""
    body = {"code": code, "message": message, "hint": hint or CODES[code].cure, "detail": clean(detail)}
    return json_reply(body, status, headers)


def json_reply(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """JSON; a NaN in it is a fault of the server and raises."""
    text = json.dumps(body, allow_nan=False, separators=(",", ":"))
    return Response(text, status, headers=dict(headers or {}), media_type="application/json")


def clean(value: object, depth: int = 0) -> object:
    """`value` as JSON that any client can read."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, str):
        return value[:500].encode("utf-8", "replace").decode()
    if depth > 6:
        return None
    if isinstance(value, Mapping):
        return {str(clean(str(k))): clean(v, depth + 1) for k, v in list(value.items())[:50]}
    if isinstance(value, Sequence):
        return [clean(v, depth + 1) for v in list(value)[:50]]
    return clean(str(value))


def _session_header(request: Request) -> dict[str, str]:
    given = request.scope.get("state", {}).get("session_id")
    return {"X-Session-ID": given} if isinstance(given, str) else {}


async def _library(request: Request, error: Exception) -> Response:
    if not isinstance(error, EVGridError):
        raise error
    status = 404 if isinstance(error, UnknownSessionError) else STATUS.get(error.code, 422)
    return fault_reply(status, error.code, error.message, error.hint, headers=_session_header(request))


async def _request(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    where = [{"type": e.get("type"), "loc": e.get("loc"), "msg": e.get("msg")} for e in error.errors()]
    code = "E_FORMAT" if request.url.path.endswith("/step") else "E_OPTION"
    message = "The request does not fit."
    if where:
        last = where[0]["loc"][-1] if where[0]["loc"] else "body"
        message = f"{str(clean(str(last)))[:60]}: {where[0]['msg']}."
    hint = "See /docs for the fields of this route."
    return fault_reply(422, code, message, hint, where, _session_header(request))


async def _http(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    hint = "See /docs for the routes." if error.status_code in (404, 405) else "See /docs."
    message = error.detail if isinstance(error.detail, str) else "The request was refused."
    code = "E_FORMAT" if error.status_code == 400 else "E_OPTION"
    headers = {**_session_header(request), **(error.headers or {})}
    return fault_reply(error.status_code, code, str(clean(message)), hint, error.detail, headers)


async def _unforeseen(request: Request, error: Exception) -> Response:
    return fault_reply(500, "E_INTERNAL", f"The server failed with {type(error).__name__}.")


def add_fault_handlers(app: FastAPI) -> None:
    """Answer every exception of `app` with a `Fault`."""
    app.add_exception_handler(EVGridError, _library)
    app.add_exception_handler(RequestValidationError, _request)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(Exception, _unforeseen)
