"""`/ma/`: the two-agent game, by session id. Agents' channel: no seed, scenario or schedule before the end."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from secrets import randbelow
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.episode.ma_reward import RoleObservation
from ev_grid_oracle.episode.two_agents import TwoAgents
from ev_grid_oracle.models import Number
from ev_grid_oracle.schema.axes import MAX_SEED, MAX_TICKS
from ev_grid_oracle.server.faults import NOT_FOUND, RESPONSES, UnknownSessionError, json_reply
from ev_grid_oracle.server.settings import Settings
from ev_grid_oracle.server.store import Kept, SessionStore

FAULTS = {**RESPONSES, **NOT_FOUND}


class MaNewBody(BaseModel):
    """Options of an episode; without a seed one is drawn."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"seed": 7, "scenario": "baseline"}, {}]}
    )

    seed: StrictInt | None = Field(None, ge=0, le=MAX_SEED)
    scenario: StrictStr | None = Field(None, max_length=80)
    fleet_mode: StrictStr | None = Field(None, max_length=80)
    start: StrictStr | None = Field(None, max_length=40)
    day_type: StrictStr | None = Field(None, max_length=40)
    season: StrictStr | None = Field(None, max_length=40)
    ticks: StrictInt | None = Field(None, ge=1, le=MAX_TICKS)
    participation: Number | None = Field(None, gt=0.0, le=1.0, strict=True)
    demand: StrictStr | None = Field(None, max_length=40)
    settle: StrictBool | None = None


class MaStepBody(BaseModel):
    """Both agents' parts of a tick; a part that is missing or null does nothing."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "session_id": "…",
                    "actions": {
                        "grid_operator": {"feeder_caps": {"F03": 0.9}, "message": "CLAIM load F03 >= 0.8"},
                        "fleet_dispatcher": {"actions": [], "message": "PROMISE avoid BLR-07 FOR 4"},
                    },
                }
            ]
        },
    )

    session_id: StrictStr = Field(max_length=128)
    actions: dict[str, Any] = Field(
        default_factory=dict, max_length=16, description="By agent: grid_operator, fleet_dispatcher."
    )


class MaAutoBody(BaseModel):
    """Let the built-in players act."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"session_id": "…"}]})

    session_id: StrictStr = Field(max_length=128)


class MaReply(BaseModel):
    """What every route returns."""

    session_id: str
    tick: int
    done: bool
    terminated: bool
    truncated: bool
    observations: dict[str, Any] = Field(description="By agent: view, inbox, statements, reward, info.")
    totals: dict[str, Number] = Field(description="Sum of rewards by agent.")
    negotiation: dict[str, Number] = Field(description="Negotiation points by agent.")
    timeline: list[dict[str, Any]] = Field(description="The last tick; /ma/state: all of them.")


Games = SessionStore[TwoAgents]


def ma_routes(settings: Settings) -> tuple[APIRouter, Games]:
    """The routes and the games they keep."""
    games: Games = SessionStore(_never, settings.max_http_sessions, settings.session_idle_s)
    routes = APIRouter(prefix="/ma", tags=["Two agents"])

    @routes.post("/new", response_model=MaReply, responses=RESPONSES, summary="Start a game")
    async def new(body: MaNewBody) -> Response:
        """Starts a game and returns what both agents see."""
        name = uuid.uuid4().hex
        game = await run_in_threadpool(_start, settings.city, body)
        games.put(name, game)
        return json_reply(_reply(name, game))

    @routes.post("/step", response_model=MaReply, responses=FAULTS, summary="Play a tick")
    async def step(body: MaStepBody) -> Response:
        """Plays a tick. What an agent sends badly is listed in its `info.errors` and does nothing."""
        return await _play(games, body.session_id, lambda game: game.step(body.actions))

    @routes.post("/auto_step", response_model=MaReply, responses=FAULTS, summary="Built-in players")
    async def auto_step(body: MaAutoBody) -> Response:
        """Plays a tick with the built-in players."""
        return await _play(games, body.session_id, lambda game: game.auto_step())

    @routes.get("/state", response_model=MaReply, responses=FAULTS, summary="Where the game stands")
    async def state(session_id: Annotated[str, Query(max_length=128)]) -> Response:
        """What both agents were last told, and the negotiation so far."""
        kept = _known(games, session_id)
        async with kept.lock:
            return json_reply(_reply(session_id, kept.value, whole=True))

    return routes, games


def _never() -> TwoAgents:
    raise UnknownSessionError("A game is started by /ma/new.")


def _start(city: str, body: MaNewBody) -> TwoAgents:
    game = TwoAgents(load_city(city))
    options = {k: v for k, v in body.model_dump().items() if v is not None}
    seed = options.pop("seed", None)
    game.reset(randbelow(MAX_SEED + 1) if seed is None else seed, **options)
    return game


async def _play(games: Games, name: str, work: Callable[[TwoAgents], dict[str, RoleObservation]]) -> Response:
    kept = _known(games, name)
    async with kept.lock:
        await run_in_threadpool(work, kept.value)
        return json_reply(_reply(name, kept.value))


def _known(games: Games, name: str) -> Kept[TwoAgents]:
    kept = games.find(name)
    if kept is None:
        raise UnknownSessionError("There is no game of that id.", "Start one with /ma/new.")
    return kept


def _reply(name: str, game: TwoAgents, whole: bool = False) -> dict[str, object]:
    seen = game.observations
    one = next(iter(seen.values()))
    return {
        "session_id": name,
        "tick": game.session.observation.state.tick,
        "done": game.done,
        "terminated": one.terminated,
        "truncated": one.truncated,
        "observations": {agent: obs.to_dict() for agent, obs in seen.items()},
        "totals": dict(game.totals),
        "negotiation": dict(game.negotiation.totals),
        "timeline": game.timeline if whole else game.timeline[-1:],
    }
