"""`EVGridEnvironment`: the OpenEnv environment, a thin converter over one `Session`.

    env = EVGridEnvironment()
    obs = env.reset(seed=7, scenario="heatwave_peak")
    obs = env.step(EVGridAction(text="ACTION: route\\n..."))

A bad answer is data (`obs.errors`, a penalty), never an exception. `reset` takes every option of
`Session.reset`, or `split` and `index` of a task, and refuses what it does not know. A step before the first
reset raises `NoEpisodeError`. After the end a step repeats the last observation with reward 0 and is not
counted: a trainer that steps once too often must not lose its socket.
"""

from __future__ import annotations

import uuid
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from secrets import randbelow

from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import EnvironmentMetadata

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.observe import LiveObservation
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.interfaces.openenv import tasks
from ev_grid_oracle.interfaces.openenv.recipe import Recipe, Sent
from ev_grid_oracle.interfaces.openenv.rubrics import EVGridRubric
from ev_grid_oracle.interfaces.openenv.view import wire_observation
from ev_grid_oracle.models import EVGridAction, EVGridObservation, EVGridState
from ev_grid_oracle.schema.axes import MAX_SEED
from ev_grid_oracle.schema.errors import NoEpisodeError, OptionError
from ev_grid_oracle.version import __version__

NAME = "ev_grid_oracle"
DESCRIPTION = (
    "A dispatcher of electric cars in Bengaluru: sends cars that ask to one of 25 charging stations, lets "
    "them wait, or caps a station's power, in a simulated city with queues, walk-ins, traffic and twelve "
    "11 kV feeders whose power flow is solved every five minutes."
)


class EVGridEnvironment(Environment[EVGridAction, EVGridObservation, EVGridState]):
    """One episode at a time of one city.

    Args:
        city: name of a city, or a loaded one.
        record: keep a trace of each episode.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, city: CityPack | str = "bengaluru", *, record: bool = False) -> None:
        super().__init__(rubric=EVGridRubric())
        self._city = city
        self._record = record
        self._session: Session | None = None
        self._last: EVGridObservation | None = None
        self._recipe: Recipe | None = None
        self._episode_id: str | None = None
        self._steps = 0
        self._total = 0.0

    # -- the contract -----------------------------------------------------------------------------------
    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        *,
        split: str | None = None,
        index: int | None = None,
        include_prompt: bool = False,
        **options: object,
    ) -> EVGridObservation:
        """Start an episode.

        Args:
            seed: 0 to 2^32 - 1; None draws one, which the host finds in `recipe`.
            episode_id: echoed; None makes one.
            split, index: play that task instead of naming seed and scenario.
            include_prompt: add the text prompt.
            options: of `Session.reset`: scenario, fleet_mode, start, day_type, season, ticks,
                participation, demand, settle.

        Raises:
            OptionError: an option is unknown or out of range; the running episode goes on.
        """
        name = episode_name(episode_id)
        if not isinstance(include_prompt, bool):
            raise OptionError(f"include_prompt is {str(include_prompt)[:40]!r}.", "Give true or false.")
        asked = self._task_options(seed, split, index, options)
        if self._session is None:
            self._session = Session(self._city, record=self._record)
        observation = self._session.reset(**asked)  # type: ignore[arg-type]  # resolve() checks every one
        city = self._session.city
        self._recipe = Recipe(city.id, city.sha256, dict(self._host("options")))
        self._episode_id, self._steps, self._total = name, 0, 0.0
        self._reset_rubric()
        return self._show(observation, include_prompt)

    def step(
        self, action: EVGridAction, timeout_s: float | None = None, **kwargs: object
    ) -> EVGridObservation:
        """Play one tick with the answers of `action`; `timeout_s` is not needed, a tick takes a moment."""
        session, last = self._alive()
        if last.done:
            again: EVGridObservation = last.model_copy(update={"reward": 0.0})
            return again
        sent = sent_by(action)
        if self._recipe is not None:
            self._recipe.add(sent, session.observation)
        observation = session.step(sent)
        self._steps += 1
        shown = self._show(observation, action.include_prompt)
        shown.reward = self._apply_rubric(action, shown)
        self._total += float(shown.reward)
        self._last = shown
        return shown

    @property
    def state(self) -> EVGridState:
        """Where the episode stands; an empty state before the first reset."""
        if self._last is None:
            return EVGridState()
        o = self._last
        return EVGridState(
            episode_id=self._episode_id, step_count=self._steps, city=o.city, tick=o.tick, ticks=o.ticks,
            minute_of_day=o.minute_of_day, day_type=o.day_type, season=o.season,
            pending_count=o.pending_count, done=o.done, terminated=o.terminated, truncated=o.truncated,
            total_reward=self._total,
        )  # fmt: skip

    def get_metadata(self) -> EnvironmentMetadata:
        """Name, description, version, README."""
        return EnvironmentMetadata(
            name=NAME,
            description=DESCRIPTION,
            readme_content=_readme(),
            version=__version__,
            author="EV Grid Oracle contributors",
            documentation_url="/docs",
        )

    def close(self) -> None:
        """Nothing is held that would need closing; the object stays usable."""

    # -- task API ---------------------------------------------------------------------------------------
    def list_splits(self) -> list[dict[str, str]]:
        return [{"name": name, "type": name} for name in tasks.SPLITS]

    def num_tasks(self, split: str) -> int:
        return tasks.num_tasks(_split(split), self._city_name)

    def list_tasks(self, split: str) -> list[dict[str, object]]:
        return [t.to_dict() for t in tasks.get_tasks(_split(split), city=self._city_name)]

    def get_task(self, split: str, index: int) -> dict[str, object]:
        return tasks.get_task(_split(split), index, self._city_name).to_dict()

    def get_task_range(
        self, split: str, start: int | None = None, stop: int | None = None
    ) -> list[dict[str, object]]:
        return [t.to_dict() for t in tasks.get_tasks(_split(split), start, stop, self._city_name)]

    # -- for the host -----------------------------------------------------------------------------------
    @property
    def started(self) -> bool:
        """An episode has been started."""
        return self._last is not None

    @property
    def over(self) -> bool:
        """The episode has ended."""
        return self._last is not None and self._last.done

    @property
    def session(self) -> Session:
        """The session behind, for the host: it knows the future."""
        return self._alive()[0]

    @property
    def recipe(self) -> Recipe:
        """What was asked for and sent since the last reset, for the host."""
        self._alive()
        if self._recipe is None:
            raise NoEpisodeError("No episode has been started.", "Call reset first.")
        return self._recipe

    def snapshot(self) -> bytes:
        """The session as checked bytes."""
        return self.session.snapshot()

    # -- parts ------------------------------------------------------------------------------------------
    @property
    def _city_name(self) -> str:
        return self._city if isinstance(self._city, str) else self._city.id

    def _alive(self) -> tuple[Session, EVGridObservation]:
        if self._session is None or self._last is None:
            raise NoEpisodeError("No episode has been started.", "Call reset first.")
        return self._session, self._last

    def _host(self, key: str) -> dict[str, object]:
        kept = None if self._session is None else self._session.host_view()[key]
        return dict(kept) if isinstance(kept, dict) else {}

    def _show(self, observation: LiveObservation, prompt: bool) -> EVGridObservation:
        view = wire_observation(observation, episode_id=self._episode_id, step=self._steps, prompt=prompt)
        shown: EVGridObservation = self._apply_transform(view)
        self._last = shown
        return shown

    def _task_options(
        self, seed: int | None, split: str | None, index: int | None, options: dict[str, object]
    ) -> dict[str, object]:
        """Options of the session; a task's seed and scenario where one is named."""
        if split is None and index is None:
            return {**options, "seed": randbelow(MAX_SEED + 1) if seed is None else seed}
        if seed is not None or "scenario" in options:
            raise OptionError("A task names its seed and scenario itself.", "Give split and index alone.")
        if split is None or index is None:
            raise OptionError("A task needs split and index.", "Give both.")
        try:
            task = tasks.get_task(split, index, self._city_name)
        except IndexError as exc:
            raise OptionError(str(exc), "See num_tasks.") from exc
        return {**options, "seed": task.seed, "scenario": task.scenario}


def sent_by(action: EVGridAction) -> Sent:
    """An action as `Session.step` takes it; answers without a word about them are "nobody is answered"."""
    if action.text is not None:
        return {"text": action.text}
    if not action.actions:
        return None
    return {"actions": [a.model_dump(exclude_none=True) for a in action.actions]}


def default_environment(city: str = "bengaluru") -> EVGridEnvironment:
    """An environment of a city that is loaded once a process."""
    return EVGridEnvironment(load_city(city))


def episode_name(episode_id: object) -> str:
    """The id of an episode, checked; None makes one."""
    if episode_id is None:
        return uuid.uuid4().hex
    if not isinstance(episode_id, str) or not 0 < len(episode_id) <= 255:
        raise OptionError("episode_id is no text of 1 to 255 characters.", "Give one, or none.")
    try:
        episode_id.encode()
    except UnicodeEncodeError:
        raise OptionError("episode_id is not valid Unicode.", "Drop lone surrogates.") from None
    return episode_id


def _split(split: str) -> str:
    """The split, or `IndexError`, which the task routes answer with 400."""
    if split not in tasks.SPLITS:
        raise IndexError(f"There is no split {str(split)[:40]!r}; there are {', '.join(tasks.SPLITS)}.")
    return split


def _readme() -> str | None:
    """README of the checkout, else the one in the installed distribution."""
    path = Path(__file__).resolve().parents[3] / "README.md"
    if path.is_file():
        return path.read_text(encoding="utf-8")
    try:
        return str(metadata("openenv-ev-grid-oracle").get_payload()) or None  # type: ignore[attr-defined]
    except PackageNotFoundError:
        return None
