"""What stands before the routes: bodies and frames that would break the framework never reach it.

Three plain ASGI layers. A body above 1 MiB is 413. A body for the framework's own routes must be strict JSON
(NaN or lone surrogates would fail in its reply). A socket frame that is binary, no JSON object, or too long
is answered with an error frame and the session lives on; left to itself the framework would close it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from ev_grid_oracle.server.faults import fault_reply
from ev_grid_oracle.server.settings import MAX_BODY_BYTES

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

MAX_FRAME_BYTES = 4 * MAX_BODY_BYTES
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]", re.ASCII)
_FRAMEWORK = re.compile(r"(/road)?(/mcp|/[^/]+/(tasks|num_tasks|task|task_range))", re.ASCII)


class BodyLimit:
    """Refuses long bodies, declared or not."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        declared = next((v for k, v in scope["headers"] if k == b"content-length"), b"0")
        if not declared.isdigit() or int(declared[:19]) > MAX_BODY_BYTES:
            await _too_long(scope, receive, send)
            return
        seen = 0
        body: list[bytes] = []
        if any(k == b"transfer-encoding" for k, _v in scope["headers"]):
            while True:  # a body of unknown length is read first, so that 413 can still be said
                message = await receive()
                if message["type"] != "http.request":
                    return
                body.append(message.get("body", b""))
                seen += len(body[-1])
                if seen > MAX_BODY_BYTES:
                    await _too_long(scope, receive, send)
                    return
                if not message.get("more_body", False):
                    break
            await self.app(scope, _replay(b"".join(body), receive), send)
            return
        await self.app(scope, receive, send)


class StrictJson:
    """Bodies of the framework's own routes must be JSON that can be sent back."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        path = str(scope.get("path", ""))
        if scope["type"] != "http" or scope["method"] != "POST" or not _FRAMEWORK.fullmatch(path):
            await self.app(scope, receive, send)
            return
        parts = []
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return
            parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                break
        body = b"".join(parts)
        if _loose(body):
            status = 200 if path.endswith("/mcp") else 422
            reply = fault_reply(status, "E_ENCODING", "The body holds NaN, Infinity or a lone surrogate.")
            if path.endswith("/mcp"):
                error = {"code": -32700, "message": "Parse error"}
                reply.body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
                reply.headers["content-length"] = str(len(reply.body))
            await reply(scope, receive, send)
            return
        await self.app(scope, _replay(body, receive), send)


class FrameGuard:
    """Answers frames of `/ws` and `/mcp` sockets that the framework would close the session over."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket" or not str(scope.get("path", "")).endswith(("/ws", "/mcp")):
            await self.app(scope, receive, send)
            return

        async def checked() -> Message:
            while True:
                message = await receive()
                if message["type"] != "websocket.receive":
                    return message
                fault = frame_fault(message.get("text"))
                if fault is None:
                    return message
                await send({"type": "websocket.send", "text": fault})

        await self.app(scope, checked, send)


def frame_fault(text: str | None) -> str | None:
    """The error frame for a frame that must not pass, None for one that may."""
    if text is None:
        return _frame("INVALID_JSON", "E_FORMAT: A frame is text, not bytes.")
    if len(text) > MAX_FRAME_BYTES:
        return _frame("VALIDATION_ERROR", f"E_TOO_LONG: The frame is longer than {MAX_FRAME_BYTES} bytes.")
    try:
        frame = json.loads(text)
    except (ValueError, RecursionError) as exc:
        return _frame("INVALID_JSON", f"E_FORMAT: The frame is no JSON ({type(exc).__name__}).")
    if not isinstance(frame, dict):
        return _frame("UNKNOWN_TYPE", "E_FORMAT: A frame is a JSON object with a type.")
    if not isinstance(frame.get("type", ""), str):
        return _frame("UNKNOWN_TYPE", "E_FORMAT: The type of a frame is text.")
    if _SURROGATE.search(text):
        data = frame.get("data")
        if frame.get("type") == "step" and isinstance(data, dict):
            data = {k: v for k, v in data.items() if k != "text"}  # the parser judges that one
        if not _encodable([frame.get("type"), data, list(frame)]):
            return _frame("VALIDATION_ERROR", "E_ENCODING: The frame holds a lone surrogate.")
    return None


def _frame(code: str, message: str) -> str:
    return json.dumps({"type": "error", "data": {"message": message, "code": code}})


def _encodable(value: object) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        return False
    return True


def _loose(body: bytes) -> bool:
    """JSON with values that JSON does not have; what is no JSON at all the framework answers itself."""

    def refuse(name: str) -> object:
        raise ArithmeticError(name)

    try:
        value = json.loads(body, parse_constant=refuse)
    except ArithmeticError:
        return True
    except (ValueError, RecursionError):
        return False
    return not _encodable(value)


def _replay(body: bytes, receive: Receive) -> Receive:
    """A `receive` that gives `body` first."""
    given = False

    async def again() -> Message:
        nonlocal given
        if not given:
            given = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return again


async def _too_long(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
    hint = f"Send at most {MAX_BODY_BYTES} bytes."
    reply = fault_reply(413, "E_TOO_LONG", "The body is too long.", hint, headers={"connection": "close"})
    await reply(scope, receive, send)
