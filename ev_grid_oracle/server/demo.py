"""`/demo/`: what the command center calls. A host's channel: it names seed, scenario and schedule."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, WebSocket, WebSocketDisconnect
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.models import Number
from ev_grid_oracle.schema.axes import MAX_SEED
from ev_grid_oracle.server.demo_chunk import encode_chunk
from ev_grid_oracle.server.demo_city import city_facts
from ev_grid_oracle.server.demo_session import MAX_TICKS, DemoSession
from ev_grid_oracle.server.demo_trace import TraceSession, read_trace
from ev_grid_oracle.server.faults import NOT_FOUND, RESPONSES, UnknownSessionError, json_reply
from ev_grid_oracle.server.settings import Settings
from ev_grid_oracle.server.store import Kept, SessionStore

NO_SESSION = 4404
"""Close code of `/demo/live` for a session that does not exist."""


class NewBody(BaseModel):
    """Options of a demo session. Without a seed the scenario's story is told."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"scenario": "heatwave_peak", "seed": 7}, {}]}
    )

    seed: StrictInt | None = Field(None, ge=0, le=MAX_SEED)
    scenario: StrictStr = Field("baseline", max_length=80)
    fleet_mode: StrictStr = Field("mixed", max_length=80)
    start: StrictStr | None = Field(None, max_length=40)
    day_type: StrictStr | None = Field(None, max_length=40)
    season: StrictStr | None = Field(None, max_length=40)
    ticks: StrictInt = Field(48, ge=1, le=MAX_TICKS)
    participation: Number | None = Field(None, gt=0.0, le=1.0, strict=True)
    demand: StrictStr = Field("open", max_length=40)
    settle: StrictBool = True
    baseline: StrictStr = Field("baseline", max_length=200, description="Policy of the first lane.")
    oracle: StrictStr = Field("oracle", max_length=200, description="Policy of the second lane.")


class StepBody(BaseModel):
    """Play ticks in both lanes."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"session_id": "…", "ticks": 1}]}
    )

    session_id: StrictStr = Field(max_length=128)
    ticks: StrictInt = Field(1, ge=1, le=12, description="How many; the reply holds each tick's event.")


class SpawnBody(BaseModel):
    """One more request; at most one of node, lat and lon, zone. What is left out is usual for the persona."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"session_id": "…", "lat": 12.97, "lon": 77.6, "persona": "emergency"}]
        },
    )

    session_id: StrictStr = Field(max_length=128)
    node: StrictInt | None = Field(None, ge=0, description="Road node.")
    lat: Number | None = Field(None, strict=True)
    lon: Number | None = Field(None, strict=True)
    zone: StrictStr | None = Field(None, max_length=80)
    persona: StrictStr | None = Field(None, max_length=80)
    vehicle: StrictStr | None = Field(None, max_length=80)
    soc_frac: Number | None = Field(None, strict=True)
    target_frac: Number | None = Field(None, strict=True)
    urgency_frac: Number | None = Field(None, strict=True)
    patience_min: StrictInt | None = None

    def car(self) -> dict[str, object]:
        """What was said of the car."""
        return {k: v for k, v in self.model_dump(exclude={"session_id"}).items() if v is not None}


class DemoReply(BaseModel):
    """Fields that every reply of `/demo/` has; the rest depends on the route."""

    model_config = ConfigDict(extra="allow")

    session_id: str
    tick: int


Demos = SessionStore[DemoSession]
_OCTETS = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
FAULTS = {**RESPONSES, **NOT_FOUND}


def demo_routes(settings: Settings) -> tuple[APIRouter, Demos]:
    """The routes and the sessions they keep."""
    demos: Demos = SessionStore(_never, settings.max_demo_sessions, settings.session_idle_s)
    routes = APIRouter(prefix="/demo", tags=["Demo"])

    @routes.post("/new", response_model=DemoReply, responses=RESPONSES, summary="Two lanes on one world")
    async def new(body: NewBody) -> Response:
        """Starts a session; it does not step by itself."""
        name = uuid.uuid4().hex
        session = await run_in_threadpool(_start, name, settings, body)
        demos.put(name, session)
        return json_reply(session.state())

    @routes.post(
        "/trace",
        response_model=DemoReply,
        responses=RESPONSES,
        summary="A trace file beside the baseline",
        openapi_extra=_OCTETS,
    )
    async def trace(request: Request) -> Response:
        """Verifies the file and starts a session that plays it; the other lane is the baseline on its world."""
        data = await request.body()
        name = uuid.uuid4().hex
        session = await run_in_threadpool(_open, name, settings, data)
        demos.put(name, session)
        return json_reply(session.state())

    @routes.post("/step", response_model=DemoReply, responses=FAULTS, summary="Play ticks")
    async def step(body: StepBody) -> Response:
        """Plays ticks in both lanes and returns their events: frame, render event, flags, KPIs, badge."""
        kept = _known(demos, body.session_id)
        session = kept.value
        async with kept.lock:
            events = await run_in_threadpool(session.play)
            for _ in range(1, body.ticks):
                if session.done:
                    break
                events += await run_in_threadpool(session.play)
            reply = {
                "session_id": session.session_id,
                "tick": session.tick,
                "done": session.done,
                "events": events,
            }
        await _tell(session)
        return json_reply(reply)

    @routes.post("/spawn_vehicle", response_model=DemoReply, responses=FAULTS, summary="One more request")
    async def spawn_vehicle(body: SpawnBody) -> Response:
        """Puts a request into both lanes at the start of the present tick; recorded like any action."""
        kept = _known(demos, body.session_id)
        async with kept.lock:
            event = await run_in_threadpool(kept.value.spawn, body.car())
        await _tell(kept.value)
        return json_reply(event)

    @routes.get("/state", response_model=DemoReply, responses=FAULTS, summary="Where both lanes stand")
    async def state(session_id: Annotated[str, Query(max_length=128)]) -> Response:
        """Both lanes, the schedule, and the recipe that plays the session again."""
        kept = _known(demos, session_id)
        async with kept.lock:
            return json_reply(kept.value.state())

    @routes.get("/inspect", response_model=DemoReply, responses=FAULTS, summary="Why a lane did what it did")
    async def inspect(
        session_id: Annotated[str, Query(max_length=128)],
        lane: Annotated[Literal["baseline", "oracle"], Query()],
        tick: Annotated[int, Query(ge=0, lt=MAX_TICKS)],
        ask: Annotated[str | None, Query(max_length=200, description="Policy to compare with.")] = None,
    ) -> Response:
        """Prompt, answer, parse, verdict and reward of a tick, and what another policy would have done."""
        kept = _known(demos, session_id)
        async with kept.lock:
            found = await run_in_threadpool(kept.value.inspect, lane, tick, ask)
        return json_reply({"session_id": session_id, **found})

    @routes.get("/city", summary="The city as a page draws it", response_model=dict[str, Any])
    async def city(request: Request) -> Response:
        """Roads, places, stations, grid, scenarios, words and units; unchanged while its ETag is."""
        facts = await run_in_threadpool(lambda: city_facts(load_city(settings.city)))
        tag = f'"{str(facts["sha256"])[:32]}"'
        headers = {"ETag": tag, "Cache-Control": "no-cache"}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return json_reply(facts, headers=headers)

    @routes.websocket("/live/{session_id}")
    async def live(socket: WebSocket, session_id: str) -> None:
        """Events from number `?from=` on, then each new one; `?form=binary` sends chunks (`demo_chunk`)."""
        await socket.accept()
        kept = demos.find(session_id)
        first = _first(socket.query_params.get("from"))
        if kept is None or first is None:
            code, what = ("E_NO_EPISODE", "There is no such session.") if kept is None else _FROM
            await socket.send_text(json.dumps({"type": "error", "code": code, "message": what}))
            await socket.close(NO_SESSION if kept is None else 4422)
            return
        binary = socket.query_params.get("form") == "binary"
        await _stream(socket, kept.value, first, _binary(socket) if binary else socket.send_text)

    return routes, demos


_FROM = ("E_OPTION", "from is no whole number from 0.")


def _never() -> DemoSession:
    raise UnknownSessionError("A demo session is started by /demo/new.")


def _start(name: str, settings: Settings, body: NewBody) -> DemoSession:
    city = load_city(settings.city)
    options: dict[str, Any] = {
        k: v for k, v in body.model_dump(exclude={"baseline", "oracle"}).items() if v is not None
    }
    scenario = city.scenario(body.scenario)
    options.setdefault("seed", scenario.story_seed)
    policies = {"baseline": body.baseline, "oracle": body.oracle}
    return DemoSession(name, city, options, policies, settings.oracle_timeout_s)


def _open(name: str, settings: Settings, data: bytes) -> DemoSession:
    city = load_city(settings.city)
    return TraceSession(name, city, read_trace(data, city))


def _known(demos: Demos, session_id: str) -> Kept[DemoSession]:
    kept = demos.find(session_id)
    if kept is None:
        raise UnknownSessionError("There is no demo session of that id.", "Start one with /demo/new.")
    return kept


async def _tell(session: DemoSession) -> None:
    async with session.news:
        session.news.notify_all()


def _first(text: str | None) -> int | None:
    if text is None:
        return 0
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _binary(socket: WebSocket) -> Callable[[str], Awaitable[None]]:
    async def send(event: str) -> None:
        await socket.send_bytes(encode_chunk(json.loads(event)))

    return send


async def _stream(
    socket: WebSocket, session: DemoSession, first: int, send: Callable[[str], Awaitable[None]]
) -> None:
    """Send events until the page goes away; what it sends is ignored."""
    gone = asyncio.create_task(_until_gone(socket))
    sent = first
    try:
        while not gone.done():
            while sent < len(session.events):
                await send(session.event_text(sent))
                sent += 1
            async with session.news:
                waiting = asyncio.create_task(_wait_for(session, sent))
            await asyncio.wait({gone, waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
    except (WebSocketDisconnect, RuntimeError):
        pass
    finally:
        gone.cancel()


async def _wait_for(session: DemoSession, sent: int) -> None:
    async with session.news:
        await session.news.wait_for(lambda: sent < len(session.events))


async def _until_gone(socket: WebSocket) -> None:
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
