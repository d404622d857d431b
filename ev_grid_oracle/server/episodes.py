"""`POST /reset`, `POST /step`, `GET /state`: HTTP that keeps its episode from one request to the next.

The framework's own routes of these names make an environment, use it once and drop it. These keep one per
`X-Session-ID` header; requests without it share the session ``default``. Two requests of one session are
worked on one after the other. `/ws` is not touched: every socket has an environment of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, Protocol, TypeVar

from fastapi import APIRouter, Body, FastAPI, Header, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from openenv.core.env_server.types import Observation
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from ev_grid_oracle.interfaces.openenv.environment import EVGridEnvironment
from ev_grid_oracle.models import EVGridAction, EVGridObservation, EVGridState, Number
from ev_grid_oracle.schema.axes import MAX_SEED, MAX_TICKS
from ev_grid_oracle.schema.errors import EpisodeOverError, NoEpisodeError
from ev_grid_oracle.server.faults import RESPONSES, json_reply
from ev_grid_oracle.server.store import Kept, SessionStore, session_name

HEADER = "X-Session-ID"
SessionHeader = Annotated[
    str | None,
    Header(
        alias=HEADER,
        description="Which session; letters, digits and ._:-, at most 128. Requests without it share one.",
    ),
]


class ResetBody(BaseModel):
    """Options of an episode. `split` and `index` name a task instead of `seed` and `scenario`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {"seed": 7, "scenario": "heatwave_peak"},
                {"split": "test", "index": 3, "include_prompt": True},
                {},
            ]
        },
    )

    seed: StrictInt | None = Field(None, ge=0, le=MAX_SEED, description="None draws one.")
    episode_id: StrictStr | None = Field(None, min_length=1, max_length=255, description="Echoed.")
    split: StrictStr | None = Field(None, max_length=40, description="train, validation or test.")
    index: StrictInt | None = Field(None, ge=0, description="Index of the task in its split.")
    include_prompt: StrictBool = Field(False, description="Add the text prompt to the observation.")
    scenario: StrictStr | None = Field(None, max_length=80)
    fleet_mode: StrictStr | None = Field(None, max_length=80)
    start: StrictStr | None = Field(None, max_length=40, description="HH:MM city time, or ISO with a zone.")
    day_type: StrictStr | None = Field(None, max_length=40)
    season: StrictStr | None = Field(None, max_length=40)
    ticks: StrictInt | None = Field(None, ge=1, le=MAX_TICKS)
    participation: Number | None = Field(None, gt=0.0, le=1.0, strict=True)
    demand: StrictStr | None = Field(None, max_length=40, description="open or closed.")
    settle: StrictBool | None = None

    def options(self) -> dict[str, Any]:
        """What was given, for `EVGridEnvironment.reset`."""
        return {k: v for k, v in self.model_dump(exclude_unset=True).items() if v is not None}


class StepBody(BaseModel):
    """Answers of one tick."""

    model_config = ConfigDict(extra="forbid")

    action: EVGridAction
    timeout_s: Number | None = Field(None, gt=0.0, description="Accepted, not needed.")
    request_id: StrictStr | None = Field(None, max_length=255, description="Accepted, not needed.")


class Reply(BaseModel):
    """What `reset` and `step` return."""

    observation: EVGridObservation
    reward: Number | None = Field(description="null after a reset")
    done: bool
    metadata: dict[str, Any] | None = None


class Played(Protocol):
    """What these routes need of an environment."""

    @property
    def started(self) -> bool: ...
    @property
    def over(self) -> bool: ...


E = TypeVar("E", bound=Played)
Store = SessionStore[EVGridEnvironment]


def keep_episodes(app: FastAPI, store: Store) -> None:
    """Put the three routes into `app` in place of the framework's."""
    drop_routes(app, {"/reset", "/step", "/state"})
    app.include_router(episode_routes(store))


def drop_routes(app: FastAPI, paths: set[str]) -> None:
    """Take routes out of `app` by their path."""
    app.router.routes[:] = [route for route in app.router.routes if getattr(route, "path", "") not in paths]


def named(request: Request, given: str | None) -> str:
    """The session's id, remembered so that error replies echo it too."""
    name = session_name(given)
    request.scope.setdefault("state", {})["session_id"] = name
    return name


def episode_routes(store: Store) -> APIRouter:
    """The three routes over `store`."""
    routes = APIRouter(tags=["Episode over HTTP"])

    @routes.post("/reset", response_model=Reply, responses=RESPONSES, summary="Start an episode")
    async def reset(
        request: Request,
        x_session_id: SessionHeader = None,
        body: Annotated[ResetBody | None, Body()] = None,
    ) -> Response:
        """Starts an episode in the session and returns its first observation."""
        name = named(request, x_session_id)
        kept = store.open(name)
        options = {} if body is None else body.options()
        return await play(kept, name, lambda env: env.reset(**options), running=False)

    @routes.post("/step", response_model=Reply, responses=RESPONSES, summary="Play one tick")
    async def step(request: Request, body: StepBody, x_session_id: SessionHeader = None) -> Response:
        """Plays five minutes with these answers. A bad answer is data: see `errors` and `flags`."""
        name = named(request, x_session_id)
        return await play(known(store, name), name, lambda env: env.step(body.action), running=True)

    @routes.get("/state", response_model=EVGridState, responses=RESPONSES, summary="Where the episode stands")
    async def state(request: Request, x_session_id: SessionHeader = None) -> Response:
        """Clock, steps and sums of the session's episode; never its seed, scenario or schedule."""
        name = named(request, x_session_id)
        kept = known(store, name)
        async with kept.lock:
            if not kept.value.started:
                raise NoEpisodeError("No episode has been started in this session.", "Call reset first.")
            return json_reply(kept.value.state.model_dump(), headers={HEADER: name})

    return routes


def known(store: SessionStore[E], name: str) -> Kept[E]:
    """The session of that id; `NoEpisodeError` where there is none."""
    kept = store.find(name)
    if kept is None:
        raise NoEpisodeError(f"Session {name!r} has no episode, or it was dropped.", "Call reset first.")
    return kept


async def play(kept: Kept[E], name: str, work: Callable[[E], Observation], running: bool) -> Response:
    """Do `work` on a session while no one else does; `running` refuses one without a running episode."""
    async with kept.lock:
        if running and not kept.value.started:
            raise NoEpisodeError("No episode has been started in this session.", "Call reset first.")
        if running and kept.value.over:
            raise EpisodeOverError("The episode is over.", "Call reset to start another.")
        # A step takes a moment: on the loop it is done before a thread would get the interpreter's lock.
        observation = work(kept.value) if running else await run_in_threadpool(work, kept.value)
    return Response(wire_json(observation), headers={HEADER: name}, media_type="application/json")


def wire_json(observation: Observation) -> bytes:
    """The reply as OpenEnv's own routes write it; the models hold no number that JSON lacks."""
    shown = observation.model_dump_json(exclude={"reward", "done"})
    reward = json.dumps(observation.reward, allow_nan=False)
    extra = f',"metadata":{json.dumps(observation.metadata, allow_nan=False)}' if observation.metadata else ""
    text = f'{{"observation":{shown},"reward":{reward},"done":{json.dumps(observation.done)}{extra}}}'
    return text.encode()
