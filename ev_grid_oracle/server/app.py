"""The app: OpenEnv's routes, HTTP episodes, demo, road, two agents and pages in one FastAPI.

    uvicorn ev_grid_oracle.server.app:app --host 0.0.0.0 --port 8000

Sessions live in this process: run one worker. `/ws` is for training (one environment a socket), HTTP for curl
and for showing.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any
from weakref import WeakSet

from ev_grid_oracle.schema.errors import EVGridError, MissingExtraError

try:
    from fastapi import FastAPI
    from fastapi.concurrency import run_in_threadpool
    from openenv.core.env_server.http_server import create_app as create_openenv_app
except ImportError as missing:
    raise MissingExtraError(
        "The server needs the `server` extra.", "Run: pip install 'openenv-ev-grid-oracle[server]'"
    ) from missing

from ev_grid_oracle.interfaces.openenv.environment import DESCRIPTION, NAME, EVGridEnvironment
from ev_grid_oracle.models import EVGridAction, EVGridObservation, EVGridState
from ev_grid_oracle.server.demo import demo_routes
from ev_grid_oracle.server.docs import describe
from ev_grid_oracle.server.episodes import drop_routes, keep_episodes
from ev_grid_oracle.server.faults import SocketError, add_fault_handlers
from ev_grid_oracle.server.guard import BodyLimit, FrameGuard, StrictJson
from ev_grid_oracle.server.ma import ma_routes
from ev_grid_oracle.server.pages import add_pages
from ev_grid_oracle.server.road import road_app
from ev_grid_oracle.server.settings import Settings, read_settings
from ev_grid_oracle.server.store import SessionStore
from ev_grid_oracle.version import __version__


class SocketEnvironment(EVGridEnvironment):
    """The environment behind a socket: counted while it plays, with codes in its error texts.

    Args:
        playing: environments that have an episode, shared by the app; weak, since a socket that is torn down
            may never get to `close`.
    """

    def __init__(self, city: str, playing: WeakSet[EVGridEnvironment]) -> None:
        super().__init__(city)
        self._playing = playing

    def reset(self, *args: Any, **options: Any) -> EVGridObservation:
        """As `EVGridEnvironment.reset`."""
        try:
            observation = super().reset(*args, **options)
        except EVGridError as error:
            raise SocketError(error) from error
        self._playing.add(self)
        return observation

    def step(
        self, action: EVGridAction, timeout_s: float | None = None, **kwargs: object
    ) -> EVGridObservation:
        """As `EVGridEnvironment.step`."""
        try:
            return super().step(action, timeout_s, **kwargs)
        except EVGridError as error:
            raise SocketError(error) from error

    async def reset_async(self, *args: Any, **options: Any) -> EVGridObservation:
        """In a thread: a first reset makes travel tables."""
        return await run_in_threadpool(self.reset, *args, **options)

    async def step_async(
        self, action: EVGridAction, timeout_s: float | None = None, **kwargs: object
    ) -> EVGridObservation:
        """On the loop: a step is done before a thread would get the interpreter's lock."""
        return self.step(action, timeout_s, **kwargs)

    def close(self) -> None:
        """The socket is gone."""
        self._playing.discard(self)


def create_app(settings: Settings | None = None) -> FastAPI:
    """The whole service; settings are read from the environment unless given."""
    chosen = settings or read_settings()
    playing: WeakSet[EVGridEnvironment] = WeakSet()
    app: FastAPI = create_openenv_app(
        partial(SocketEnvironment, chosen.city, playing),
        EVGridAction,
        EVGridObservation,
        env_name=NAME,
        max_concurrent_envs=chosen.max_concurrent_envs,
        state_cls=EVGridState,
    )
    store: SessionStore[EVGridEnvironment] = SessionStore(
        lambda: EVGridEnvironment(chosen.city), chosen.max_http_sessions, chosen.session_idle_s
    )
    if os.environ.get("OPENENV_MODE", "").lower() != "production":
        keep_episodes(app, store)
    drop_routes(app, {"/"})
    demo, demos = demo_routes(chosen)
    games, game_store = ma_routes(chosen)
    app.include_router(demo)
    app.include_router(games)
    road, trips = road_app(chosen)
    app.mount("/road", road)

    def count() -> dict[str, int]:
        return {
            "ws": len(playing), "ws_max": chosen.max_concurrent_envs, "http": len(store),
            "http_max": store.cap, "demo": len(demos), "demo_max": demos.cap, "ma": len(game_store),
            "ma_max": game_store.cap, "road": len(trips), "road_max": trips.cap,
        }  # fmt: skip

    app.state.sessions = store
    app.state.readiness = add_pages(app, chosen, count)
    add_fault_handlers(app)
    for layer in (FrameGuard, StrictJson, BodyLimit):
        app.add_middleware(layer)
    describe(app, "EV Grid Oracle", __version__, DESCRIPTION)
    return app


app = create_app()


def main(host: str = "0.0.0.0", port: int = 8000) -> None:
    """Run the server; the `server` script of the distribution."""
    import uvicorn

    uvicorn.run(app, host=host, port=int(os.environ.get("PORT", port)), workers=1)


if __name__ == "__main__":
    main()
