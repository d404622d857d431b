"""`/road/`: the road task, an OpenEnv app of its own with the same routes and HTTP that keeps its trip."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Body, FastAPI, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from openenv.core.env_server.http_server import create_fastapi_app
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from ev_grid_oracle.interfaces.openenv.road import EVGridRoadEnvironment
from ev_grid_oracle.models import Number, RoadAction, RoadState, RoadView
from ev_grid_oracle.schema.axes import MAX_SEED
from ev_grid_oracle.schema.errors import EVGridError, NoEpisodeError
from ev_grid_oracle.server.docs import describe
from ev_grid_oracle.server.episodes import HEADER, SessionHeader, drop_routes, known, named, play
from ev_grid_oracle.server.faults import RESPONSES, SocketError, add_fault_handlers, json_reply
from ev_grid_oracle.server.settings import Settings
from ev_grid_oracle.server.store import SessionStore
from ev_grid_oracle.version import __version__

ABOUT = "The road task: an electric car at a node of the road network drives, road by road, to a charging station."


class RoadResetBody(BaseModel):
    """Options of a trip; what is left out is drawn from the seed."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"seed": 7}, {}]})

    seed: StrictInt | None = Field(None, ge=0, le=MAX_SEED)
    episode_id: StrictStr | None = Field(None, min_length=1, max_length=255)
    include_prompt: StrictBool = False
    scenario: StrictStr | None = Field(None, max_length=80)
    start: StrictStr | None = Field(None, max_length=40)
    day_type: StrictStr | None = Field(None, max_length=40)
    season: StrictStr | None = Field(None, max_length=40)
    start_node: StrictInt | None = Field(None, ge=0)
    target: StrictStr | None = Field(None, max_length=64, description="Id of a station.")
    vehicle: StrictStr | None = Field(None, max_length=80)
    max_steps: StrictInt | None = Field(None, ge=1, le=100_000)
    shaping: StrictBool | None = None
    gamma: Number | None = Field(None, gt=0.0, le=1.0, strict=True)

    def options(self) -> dict[str, Any]:
        """What was given."""
        return {k: v for k, v in self.model_dump(exclude_unset=True).items() if v is not None}


class RoadStepBody(BaseModel):
    """One move."""

    model_config = ConfigDict(extra="forbid")

    action: RoadAction
    timeout_s: Number | None = Field(None, gt=0.0)
    request_id: StrictStr | None = Field(None, max_length=255)


class RoadReply(BaseModel):
    """What `reset` and `step` return."""

    observation: RoadView
    reward: Number | None
    done: bool
    metadata: dict[str, Any] | None = None


class SocketRoadEnvironment(EVGridRoadEnvironment):
    """The environment behind a socket: its error texts carry the code."""

    def reset(self, *args: Any, **options: Any) -> RoadView:
        """As `EVGridRoadEnvironment.reset`."""
        try:
            return super().reset(*args, **options)
        except EVGridError as error:
            raise SocketError(error) from error

    def step(self, action: RoadAction, timeout_s: float | None = None, **kwargs: object) -> RoadView:
        """As `EVGridRoadEnvironment.step`."""
        try:
            return super().step(action, timeout_s, **kwargs)
        except EVGridError as error:
            raise SocketError(error) from error

    async def reset_async(self, *args: Any, **options: Any) -> RoadView:
        """In a thread: a first reset makes travel tables."""
        return await run_in_threadpool(self.reset, *args, **options)

    async def step_async(
        self, action: RoadAction, timeout_s: float | None = None, **kwargs: object
    ) -> RoadView:
        """On the loop: a step is done before a thread would get the interpreter's lock."""
        return self.step(action, timeout_s, **kwargs)


Trips = SessionStore[EVGridRoadEnvironment]


def road_app(settings: Settings) -> tuple[FastAPI, Trips]:
    """The app to be mounted at `/road`, and its HTTP sessions."""
    app: FastAPI = create_fastapi_app(
        partial(SocketRoadEnvironment, settings.city),
        RoadAction,
        RoadView,
        max_concurrent_envs=settings.max_concurrent_envs,
        env_name="ev_grid_oracle_road",
        state_cls=RoadState,
    )
    trips: Trips = SessionStore(
        lambda: EVGridRoadEnvironment(settings.city), settings.max_http_sessions, settings.session_idle_s
    )
    drop_routes(app, {"/reset", "/step", "/state"})
    app.include_router(_routes(trips))
    add_fault_handlers(app)
    describe(app, "EV Grid Oracle: road task", __version__, ABOUT)
    return app, trips


def _routes(trips: Trips) -> APIRouter:
    routes = APIRouter(tags=["Trip over HTTP"])

    @routes.post("/reset", response_model=RoadReply, responses=RESPONSES, summary="Start a trip")
    async def reset(
        request: Request,
        x_session_id: SessionHeader = None,
        body: Annotated[RoadResetBody | None, Body()] = None,
    ) -> Response:
        """Starts a trip in the session and returns its first observation."""
        name = named(request, x_session_id)
        options = {} if body is None else body.options()
        return await play(trips.open(name), name, lambda env: env.reset(**options), running=False)

    @routes.post("/step", response_model=RoadReply, responses=RESPONSES, summary="Drive one road")
    async def step(request: Request, body: RoadStepBody, x_session_id: SessionHeader = None) -> Response:
        """Drives to a neighbour; a move that is none ends the trip with a flag."""
        name = named(request, x_session_id)
        return await play(known(trips, name), name, lambda env: env.step(body.action), running=True)

    @routes.get("/state", response_model=RoadState, responses=RESPONSES, summary="Where the trip stands")
    async def state(request: Request, x_session_id: SessionHeader = None) -> Response:
        """Node, target, minutes and sums of the session's trip."""
        name = named(request, x_session_id)
        kept = known(trips, name)
        async with kept.lock:
            if not kept.value.started:
                raise NoEpisodeError("No trip has been started in this session.", "Call reset first.")
            return json_reply(kept.value.state.model_dump(), headers={HEADER: name})

    return routes
