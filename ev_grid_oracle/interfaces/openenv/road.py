"""The road task as an OpenEnv environment: a thin converter over one `RoadSession`.

A wrong current node or a node that no open road leads to ends the trip with a flag; a text that cannot be
read makes the car wait a minute. After the end a step repeats the last observation with reward 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from secrets import randbelow
from typing import cast

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import EnvironmentMetadata

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.road import TERMS, RoadAnswer, RoadSession
from ev_grid_oracle.episode.road_view import RoadObservation
from ev_grid_oracle.interfaces.openenv.environment import episode_name
from ev_grid_oracle.interfaces.openenv.rubrics import SumRubric
from ev_grid_oracle.models import RoadAction, RoadState, RoadView
from ev_grid_oracle.schema.axes import MAX_SEED
from ev_grid_oracle.schema.errors import NoEpisodeError, OptionError
from ev_grid_oracle.version import __version__


class EVGridRoadEnvironment(Environment[RoadAction, RoadView, RoadState]):
    """One trip at a time.

    Args:
        city: name of a city, or a loaded one.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, city: CityPack | str = "bengaluru") -> None:
        super().__init__(rubric=SumRubric(TERMS))
        self._city = city
        self._session: RoadSession | None = None
        self._last: RoadView | None = None
        self._episode_id: str | None = None
        self._steps = 0
        self._total = 0.0

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        include_prompt: bool = False,
        **options: object,
    ) -> RoadView:
        """Start a trip; options are those of `RoadSession.reset`, an unknown one is refused."""
        name = episode_name(episode_id)
        if not isinstance(include_prompt, bool):
            raise OptionError(f"include_prompt is {str(include_prompt)[:40]!r}.", "Give true or false.")
        if self._session is None:
            self._session = RoadSession(self._city)
        drawn = randbelow(MAX_SEED + 1) if seed is None else seed
        observation = self._session.reset(drawn, **options)
        self._episode_id, self._steps, self._total = name, 0, 0.0
        self._reset_rubric()
        return self._show(observation, include_prompt)

    def step(self, action: RoadAction, timeout_s: float | None = None, **kwargs: object) -> RoadView:
        """Drive one road."""
        session, last = self._alive()
        if last.done:
            again: RoadView = last.model_copy(update={"reward": 0.0})
            return again
        observation = session.step(_move(action))
        self._steps += 1
        shown = self._show(observation, action.include_prompt)
        shown.reward = self._apply_rubric(action, shown)
        self._total += float(shown.reward)
        return shown

    @property
    def state(self) -> RoadState:
        """Where the trip stands; empty before the first reset."""
        if self._last is None:
            return RoadState()
        o = self._last
        return RoadState(
            episode_id=self._episode_id, step_count=self._steps, node=o.node, target_id=o.target_id,
            minutes=o.minutes, arrived=o.arrived, done=o.done, terminated=o.terminated,
            truncated=o.truncated, total_reward=self._total,
        )  # fmt: skip

    def get_metadata(self) -> EnvironmentMetadata:
        return EnvironmentMetadata(
            name="ev_grid_oracle_road",
            description="Drive an electric car to a charging station, road by road, through today's traffic.",
            version=__version__,
            author="EV Grid Oracle contributors",
        )

    def close(self) -> None:
        """Nothing is held that would need closing."""

    @property
    def started(self) -> bool:
        """A trip has been started."""
        return self._last is not None

    @property
    def over(self) -> bool:
        """The trip has ended."""
        return self._last is not None and self._last.done

    @property
    def recipe(self) -> dict[str, object]:
        """City, options and moves, for the host."""
        return self._alive()[0].recipe()

    def _alive(self) -> tuple[RoadSession, RoadView]:
        if self._session is None or self._last is None:
            raise NoEpisodeError("No trip has been started.", "Call reset first.")
        return self._session, self._last

    def _show(self, observation: RoadObservation, prompt: bool) -> RoadView:
        shown: RoadView = self._apply_transform(road_view(observation, self._episode_id, prompt))
        self._last = shown
        return shown


def road_view(obs: RoadObservation, episode_id: str | None = None, prompt: bool = False) -> RoadView:
    """The observation as it travels."""
    values = obs.to_dict()
    info = cast("Mapping[str, object]", values.pop("info"))
    errors = cast("Sequence[Mapping[str, object]]", info.get("errors", ()))
    values["errors"] = [
        {k: e.get(k) for k in ("code", "line", "field", "message", "hint") if e.get(k) is not None}
        for e in errors
    ]
    values["fastest_minutes"] = info.get("fastest_minutes")
    return RoadView(episode_id=episode_id, prompt=obs.prompt if prompt else None, **values)


def _move(action: RoadAction) -> RoadAnswer:
    if action.text is not None:
        return {"text": action.text}
    if action.next_node is None:
        return None
    if action.current_node is None:
        return int(action.next_node)
    return {"current_node": action.current_node, "next_node": action.next_node}
