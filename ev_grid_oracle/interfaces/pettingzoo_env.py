"""The two-agent game as a PettingZoo `ParallelEnv`.

    env = EVGridParallelEnv("bengaluru")
    observations, infos = env.reset(seed=7)
    while env.agents:
        actions = {agent: env.action_space(agent).sample() for agent in env.agents}
        observations, rewards, terminations, truncations, infos = env.step(actions)

Actions are numbers of the agent's space, or what `TwoAgents.step` takes: text, actions, a directive, each with a
message (statements have no place in the spaces). An agent left out, or None, does nothing; a name that nobody
carries is refused and listed in both agents' ``infos[..]["errors"]``. Observations are float32 vectors of the
agent's own part (`OPERATOR_COLUMNS`, `DISPATCHER_COLUMNS`, and the directive in force); `infos` carry the view as
a dictionary, the other agent's message, and the dispatcher's ``action_mask``.

- `grid_operator`: MultiDiscrete: `GRID_CAPS`, `PRICES`, one of `FEEDER_CAPS` for every feeder (0: no limit), and
  five places for a blacklisted station (0: none).
- `fleet_dispatcher`: MultiDiscrete over the 8 first pending cars, the choices of `EVGrid-v0` in its order; since
  the dispatcher sees no feeders, load_shift caps the station that draws most.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.ma_directive import MAX_BLACKLIST, Directive
from ev_grid_oracle.episode.ma_reward import RoleObservation
from ev_grid_oracle.episode.ma_views import AGENTS, DISPATCHER, OPERATOR
from ev_grid_oracle.episode.options import DEFAULTS
from ev_grid_oracle.episode.two_agents import TwoAgents
from ev_grid_oracle.interfaces.ma_vectors import (
    HIGH,
    LOW,
    dispatcher_size,
    dispatcher_vector,
    operator_size,
    operator_vector,
)
from ev_grid_oracle.interfaces.spaces import SLOTS, layout_of
from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.axes import MAX_SEED
from ev_grid_oracle.schema.errors import EpisodeOverError, MissingExtraError, OptionError

try:
    from gymnasium import spaces
    from pettingzoo import ParallelEnv
except ImportError as exc:
    raise MissingExtraError(
        "The PettingZoo environment needs the extra 'gym'.", "pip install 'openenv-ev-grid-oracle[gym]'"
    ) from exc

F32 = npt.NDArray[np.float32]

GRID_CAPS = (None, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1)
PRICES = (1.0, 0.5, 0.75, 1.25, 1.5, 1.75, 2.0)
FEEDER_CAPS = (None, 0.7, 0.8, 0.9, 1.0, 1.1)


class EVGridParallelEnv(ParallelEnv[str, F32, Any]):
    """Both agents act at once, once a tick.

    Args:
        city: a loaded city, or the name of one.
        render_mode: None or ``ansi`` (one line a tick).
        **options: defaults of `reset(options=...)`: those of `Session.reset`.
    """

    metadata = {"name": "ev_grid_two_agents_v0", "render_modes": ["ansi"], "is_parallelizable": True}  # noqa: RUF012

    def __init__(
        self, city: CityPack | str = "bengaluru", render_mode: str | None = None, **options: object
    ) -> None:
        if render_mode not in (None, "ansi"):
            raise OptionError(f"render_mode is {render_mode!r}.", "Choose None or 'ansi'.")
        self.render_mode = render_mode
        self.game = TwoAgents(city)
        self._options = options
        self._rng = np.random.default_rng()
        pack = self.game.session.city
        n_s, n_f = len(pack.stations.ids), len(pack.grid.feeder_ids)
        self._layout = layout_of(packed(pack))
        self.possible_agents = list(AGENTS)
        self.agents: list[str] = []
        self.observation_spaces = {
            OPERATOR: spaces.Box(LOW, HIGH, (operator_size(pack),), np.float32),
            DISPATCHER: spaces.Box(LOW, HIGH, (dispatcher_size(pack),), np.float32),
        }
        order = [len(GRID_CAPS), len(PRICES), *[len(FEEDER_CAPS)] * n_f, *[n_s + 1] * MAX_BLACKLIST]
        self.action_spaces = {
            OPERATOR: spaces.MultiDiscrete(order),
            DISPATCHER: spaces.MultiDiscrete([self._layout.choices] * SLOTS),
        }

    def observation_space(self, agent: str) -> spaces.Box:
        """The same object at every call."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.MultiDiscrete:
        """The same object at every call."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, F32], dict[str, dict[str, Any]]]:
        """Start an episode; without a seed the next one is drawn from the environment's own generator.

        Keys of `options` that are no option of an episode are left out and listed in both infos.
        """
        if seed is not None:
            self._rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1,)))
        world_seed = int(self._rng.integers(MAX_SEED + 1)) if seed is None else seed
        asked = {**self._options, **(options or {})}
        ignored = sorted(str(k) for k in asked if k not in DEFAULTS)
        known = {k: v for k, v in asked.items() if k in DEFAULTS}
        seen = self.game.reset(**{"seed": world_seed, **known})
        self.agents = list(AGENTS)
        infos = self._infos(seen)
        if ignored:
            for info in infos.values():
                info["ignored_options"] = ignored
        return self._vectors(seen), infos

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[dict[str, F32], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Play one tick; after the last one nobody is left in `agents`."""
        if self.agents == [] and self.game._seen is not None and self.game.done:
            raise EpisodeOverError("The episode is over.", "Call reset to start another.")
        given = dict(actions) if isinstance(actions, Mapping) else actions
        if isinstance(given, dict):
            given.update({agent: self._decode(agent, given[agent]) for agent in AGENTS if agent in given})
        seen = self.game.step(given)
        done = self.game.done
        self.agents = [] if done else list(AGENTS)
        return (
            self._vectors(seen),
            {agent: float(seen[agent].reward or 0.0) for agent in AGENTS},
            {agent: seen[agent].terminated for agent in AGENTS},
            {agent: seen[agent].truncated for agent in AGENTS},
            self._infos(seen),
        )

    def render(self) -> str | None:
        """The last tick in one line."""
        if self.render_mode != "ansi" or self.game._seen is None:
            return None
        obs, totals = self.game.session.observation, self.game.totals
        sums = ", ".join(f"{agent} {totals[agent]:.3f}" for agent in AGENTS)
        return f"tick {obs.state.tick}/{obs.state.ticks}, {len(obs.pending_ids)} pending, {sums}"

    def state(self) -> F32:
        """Both vectors, one after the other: what a centralised critic may see."""
        vectors = self._vectors(self.game.observations)
        return np.concatenate([vectors[agent] for agent in AGENTS])

    def close(self) -> None:
        """Nothing is held open."""

    # -- converters -----------------------------------------------------------------------------------
    def _decode(self, agent: str, action: Any) -> object:
        """Numbers of the space as what the game takes; anything else as it is."""
        if not isinstance(action, np.ndarray | list | tuple) or not _whole(action):
            return action
        choice = np.asarray(action)
        if agent == OPERATOR:
            return self._directive(choice)
        return self._answers(self._layout.checked(choice, (SLOTS,)))

    def _directive(self, choice: npt.NDArray[Any]) -> Directive:
        space = self.action_spaces[OPERATOR]
        if choice.shape != space.shape or (choice < 0).any() or (choice >= space.nvec).any():
            raise OptionError(f"The operator's action has shape {choice.shape}.", f"Give numbers of {space}.")
        pack = self.game.session.city
        values = choice.tolist()
        n_f = len(pack.grid.feeder_ids)
        caps = {
            name: cap
            for name, k in zip(pack.grid.feeder_ids, values[2 : 2 + n_f], strict=True)
            if (cap := FEEDER_CAPS[k]) is not None
        }
        names = dict.fromkeys(pack.stations.ids[k - 1] for k in values[2 + n_f :] if k > 0)
        return Directive(GRID_CAPS[values[0]], tuple(names), PRICES[values[1]], caps)

    def _answers(self, choice: npt.NDArray[np.int64]) -> list[Action]:
        """Choices of empty slots are left out, and load_shifts where no station draws power."""
        obs = self.game.session.observation
        drawn = obs.state.stations.load_kw
        largest = obs.station_ids[int(drawn.argmax())] if float(drawn.max()) > 0.0 else None
        out = []
        for k, ev_id in zip(choice.tolist(), obs.pending_ids, strict=False):
            if k >= self._layout.first_shift and largest is None:
                continue
            action = self._layout.action_of(k, ev_id, largest)
            if action is not None:
                out.append(action)
        return out

    def _vectors(self, seen: Mapping[str, RoleObservation]) -> dict[str, F32]:
        obs, pack = self.game.session.observation, self.game.session.city
        directive = self.game.directive
        return {
            OPERATOR: operator_vector(obs, pack, directive),
            DISPATCHER: dispatcher_vector(obs, pack, directive),
        }

    def _infos(self, seen: Mapping[str, RoleObservation]) -> dict[str, dict[str, Any]]:
        out: dict[str, dict[str, Any]] = {}
        for agent in AGENTS:
            told = seen[agent]
            out[agent] = {
                "view": told.view,
                "directive": told.directive,
                "inbox": told.inbox,
                "statements": list(told.statements),
                "breakdown": dict(told.breakdown),
                **told.info,
            }
        out[DISPATCHER]["action_mask"] = self._mask()
        return out

    def _mask(self) -> tuple[npt.NDArray[np.int8], ...]:
        """For each slot, which choices the verifier would accept; an empty slot can only be left."""
        obs, layout = self.game.session.observation, self._layout
        masks = []
        n_s = len(layout.stations)
        pending = () if obs.done else obs.pending[:SLOTS]
        for k, car in enumerate(pending):
            mask = np.zeros(layout.choices, np.int8)
            mask[0] = 1
            usable = obs.candidates(k).usable
            mask[1 : 1 + 3 * n_s] = np.repeat(usable, 3)
            defers = layout.moves[layout.first_defer : layout.first_shift, 3]
            mask[layout.first_defer : layout.first_shift] = defers <= car.patience_left_min
            station = int(obs.state.stations.load_kw.argmax())
            fits = np.arange(3) <= obs.state.stations.rate[station]
            up = obs.state.stations.slots_up[station] > 0 and bool(obs.state.stations.supplied[station])
            mask[layout.first_shift :] = fits & up & (obs.state.stations.load_kw[station] > 0.0)
            masks.append(mask)
        empty = np.zeros(layout.choices, np.int8)
        empty[0] = 1
        masks += [empty.copy() for _ in range(SLOTS - len(masks))]
        return tuple(masks)


def _whole(action: Any) -> bool:
    """Whether it is a flat row of whole numbers (a list of actions or of decision rows is not)."""
    values = np.asarray(action) if isinstance(action, np.ndarray) else None
    if values is not None:
        return values.ndim == 1 and values.dtype.kind in "iu"
    return len(action) > 0 and all(
        isinstance(v, int | np.integer) and not isinstance(v, bool) for v in action
    )


def parallel_env(city: CityPack | str = "bengaluru", **options: object) -> EVGridParallelEnv:
    """The environment, by PettingZoo's usual name."""
    return EVGridParallelEnv(city, **options)  # type: ignore[arg-type]  # render_mode may be among them
