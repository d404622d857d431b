"""`EVGrid-v0`: one episode of a city as a Gymnasium environment.

Importing this module registers the environment. A choice becomes a decision row and goes through the same
Session, verifier and reward as a text; an illegal choice (see the mask) is refused and charged like a text's.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.observe import LiveObservation
from ev_grid_oracle.episode.options import DEFAULTS
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.interfaces.masks import Looker
from ev_grid_oracle.interfaces.spaces import SLOTS, GymLayout
from ev_grid_oracle.schema.axes import MAX_SEED
from ev_grid_oracle.schema.errors import MissingExtraError, NoEpisodeError, OptionError

try:
    import gymnasium
    from gymnasium import spaces
    from gymnasium.envs.registration import register, registry
except ImportError as missing:
    raise MissingExtraError(
        "The Gymnasium environments need the `gym` extra.", "Run: pip install 'openenv-ev-grid-oracle[gym]'"
    ) from missing

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]

ENV_ID = "EVGrid-v0"


def observation_space(layout: GymLayout) -> spaces.Space[F32]:
    """Finite bounds of every number."""
    low, high = layout.bounds[1:].astype(np.float32)
    return spaces.Box(low, high, dtype=np.float32)


def action_space(layout: GymLayout) -> spaces.Space[I64]:
    """One choice for each slot."""
    return spaces.MultiDiscrete([layout.choices] * SLOTS)


def checked_options(given: Mapping[str, object]) -> dict[str, object]:
    """Options of `reset` that an environment may be made with: all but the seed.

    `scenario` may be a sequence of names, of which each episode draws one.
    """
    unknown = sorted(set(given) - (set(DEFAULTS) - {"seed"}))
    if unknown:
        known = ", ".join(k for k in DEFAULTS if k != "seed")
        raise OptionError(f"There is no option {unknown[0]!r}.", f"Options: {known}.")
    return dict(given)


def episode_options(
    defaults: Mapping[str, object], given: Mapping[str, object], seed: int | None, rng: np.random.Generator
) -> dict[str, Any]:
    """Options of the next episode; what is left open is drawn from `rng`, the seed first."""
    chosen: dict[str, Any] = {**defaults, **given}
    chosen["seed"] = int(rng.integers(MAX_SEED + 1)) if seed is None else seed
    names = chosen.get("scenario")
    if isinstance(names, Sequence) and not isinstance(names, str):
        if not names:
            raise OptionError("scenario is an empty sequence.", "Name at least one scenario.")
        chosen["scenario"] = names[int(rng.integers(len(names)))]
    return chosen


def checked_seed(seed: object) -> int | None:
    """A seed as a plain whole number in range, None as it is."""
    if seed is None:
        return None
    try:
        number = operator.index(seed)  # type: ignore[arg-type]  # anything else is what the except is for
    except TypeError:
        number = -1
    if isinstance(seed, bool) or not 0 <= number <= MAX_SEED:
        raise OptionError(
            f"The seed is {str(seed)[:40]}.", f"Give a whole number from 0 to {MAX_SEED}, or None."
        )
    return number


class EVGridEnv(gymnasium.Env[F32, I64]):
    """One city, one episode at a time. See docs/reference/gymnasium.md for layout and choices.

    Args:
        city: a loaded city, or the name of one.
        render_mode: None, or "ansi": `render` gives the prompt of the present observation.
        options: options of `Session.reset` for every episode; `scenario` may be a sequence to draw from.

    `reset(seed=s)` plays the world of seed s; without a seed each episode draws its own from `np_random`.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012  # Gymnasium's own form

    def __init__(
        self, city: CityPack | str = "bengaluru", *, render_mode: str | None = None, **options: object
    ) -> None:
        if render_mode not in (None, "ansi"):
            raise OptionError(f"render_mode is {render_mode!r}.", "It is None or 'ansi'.")
        self.render_mode = render_mode
        pack = load_city(city) if isinstance(city, str) else city
        self._defaults = checked_options(options)
        self._session = Session(pack, record=False)
        self._looker = Looker(packed(pack))
        self.layout = self._looker.layout
        self.observation_space = observation_space(self.layout)
        self.action_space = action_space(self.layout)
        self._seqs = np.zeros((1, SLOTS), np.int32)
        self._shift = np.zeros(1, np.int32)
        self._mask: npt.NDArray[np.int8] | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[F32, dict[str, Any]]:
        """Start an episode.

        Raises:
            OptionError: seed or options are out of range; the running episode goes on.
        """
        seed = checked_seed(seed)
        given = checked_options(options or {})
        super().reset(seed=seed)
        obs = self._session.reset(**episode_options(self._defaults, given, seed, self.np_random))
        return self._seen(obs), self._info(obs)

    def step(self, action: I64) -> tuple[F32, float, bool, bool, dict[str, Any]]:
        """Play one tick with a choice for each slot.

        Raises:
            NoEpisodeError, EpisodeOverError: there is no running episode; nothing changes.
            OptionError: `action` is none of the action space.
        """
        if self._mask is None:
            raise NoEpisodeError("No episode has been started.", "Call reset first.")
        choice = self.layout.checked(action, (SLOTS,))
        rows, counts = self.layout.decisions(choice[None], self._seqs, self._shift)
        obs = self._session.step(rows[0, : counts[0]])
        seen, info = self._seen(obs), self._info(obs)
        return seen, float(obs.reward or 0.0), obs.terminated, obs.truncated, info

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """(SLOTS x choices,) the choices that the verifier would accept now, slot after slot."""
        if self._mask is None:
            raise NoEpisodeError("No episode has been started.", "Call reset first.")
        return self._mask.reshape(-1).astype(np.bool_)

    def render(self) -> str | None:
        """The prompt of the present observation in mode "ansi"."""
        return self._session.observation.prompt if self.render_mode == "ansi" else None

    def _seen(self, obs: LiveObservation) -> F32:
        out = np.zeros(self.layout.size, np.float32)
        self._mask = np.zeros((SLOTS, self.layout.choices), np.int8)
        self._shift[0] = self._looker.one(obs.row, obs.announcements, out, self._mask, self._seqs[0])
        return out

    def _info(self, obs: LiveObservation) -> dict[str, Any]:
        """`action_mask` (SLOTS, choices) int8, breakdown, flags, refused answers; KPIs at the end."""
        mask = None if self._mask is None else self._mask.copy()
        info: dict[str, Any] = {"action_mask": mask, "errors": obs.info["errors"], "flags": list(obs.flags)}
        if obs.breakdown:
            info["breakdown"] = dict(obs.breakdown)
        for key in ("kpis", "settle"):
            if key in obs.info:
                info[key] = obs.info[key]
        return info


def register_envs() -> None:
    """Make `EVGrid-v0` known to Gymnasium; importing this module has already done it."""
    if ENV_ID not in registry:
        register(
            id=ENV_ID,
            entry_point="ev_grid_oracle.interfaces.gymnasium_env:EVGridEnv",
            vector_entry_point="ev_grid_oracle.interfaces.vector_env:EVGridVectorEnv",
        )


register_envs()
