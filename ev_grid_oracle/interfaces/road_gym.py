"""`EVGridRoad-v0`: the road task as a Gymnasium environment.

    import gymnasium, ev_grid_oracle.interfaces.road_gym
    env = gymnasium.make("EVGridRoad-v0", city="bengaluru")

Action k drives to ``neighbours[k]`` of the observation (by node number); `info["action_mask"]` says which k
there are, and any other is a non-neighbour: it ends the trip with a flag. The observation is one float32
vector: `TRIP` columns, then `ROAD` columns for each of the city's most neighbours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.road import RoadSession
from ev_grid_oracle.episode.road_view import RoadObservation
from ev_grid_oracle.protocol.road import MAX_NODE
from ev_grid_oracle.schema.axes import MAX_SEED
from ev_grid_oracle.schema.errors import MissingExtraError, OptionError

try:
    import gymnasium
    from gymnasium import spaces
except ImportError as exc:
    raise MissingExtraError(
        "The Gymnasium environments need the extra 'gym'.", "pip install 'openenv-ev-grid-oracle[gym]'"
    ) from exc

F32 = npt.NDArray[np.float32]
I8 = npt.NDArray[np.int8]
ENV_ID = "EVGridRoad-v0"

TRIP = (
    ("target_km", 20.0, "kilometres to the target as the crow flies / 20"),
    ("target_east", 1.0, "sine of the target's heading"),
    ("target_north", 1.0, "cosine of it"),
    ("minute", 1440.0, "minute of the day / 1440"),
    ("driven", 240.0, "minutes so far / 240"),
    ("soc", 1.0, "state of charge"),
    ("range_km", 100.0, "range / 100 km"),
    ("moves_left", 1.0, "share of the moves left"),
)
ROAD = (
    ("present", 1.0, "a road stands in this place; all else is 0 where none does"),
    ("east", 1.0, "sine of its heading"),
    ("north", 1.0, "cosine of it"),
    ("minutes", 30.0, "minutes now / 30"),
    ("km", 10.0, "length / 10 km"),
    ("kwh", 2.0, "energy / 2 kWh"),
    ("target_km", 20.0, "kilometres from its end to the target / 20"),
    ("is_target", 1.0, "it ends at the target"),
)
LOW, HIGH = -1.0, 10.0


class RoadEnv(gymnasium.Env[F32, np.int64]):
    """One trip at a time.

    Args:
        city: a loaded city, or the name of one.
        render_mode: None or ``ansi`` (the prompt).
        **options: defaults of `reset(options=...)`, see `episode.road_options.DEFAULTS`.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012  # Gymnasium's own form

    def __init__(
        self, city: CityPack | str = "bengaluru", render_mode: str | None = None, **options: object
    ) -> None:
        if render_mode not in (None, "ansi"):
            raise OptionError(f"render_mode is {render_mode!r}.", "Choose None or 'ansi'.")
        self.render_mode = render_mode
        self.task = RoadSession(city)
        self._options = options
        roads = self.task.city.roads
        ends: list[set[int]] = [set() for _ in roads.node_lat]
        for a, b in zip(roads.link_from.tolist(), roads.link_to.tolist(), strict=True):
            ends[a].add(b)
        self.most = max(len(e) for e in ends)
        self.action_space = spaces.Discrete(self.most)
        size = len(TRIP) + len(ROAD) * self.most
        self.observation_space = spaces.Box(LOW, HIGH, (size,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[F32, dict[str, Any]]:
        """Start a trip; without a seed the next one is drawn from the environment's own generator."""
        super().reset(seed=seed)
        world_seed = int(self.np_random.integers(MAX_SEED + 1)) if seed is None else seed
        obs = self.task.reset(**{"seed": world_seed, **self._options, **(options or {})})
        return self._vector(obs), self._info(obs)

    def step(self, action: Any) -> tuple[F32, float, bool, bool, dict[str, Any]]:
        """Drive to neighbour number `action`."""
        choice = np.asarray(action)
        if choice.shape != () or choice.dtype.kind not in "iu" or not 0 <= int(choice) < self.most:
            raise OptionError(f"The action is {str(action)[:40]}.", f"Choose 0 to {self.most - 1}.")
        near = self.task.observation.neighbours
        obs = self.task.step(near[int(choice)].node if int(choice) < len(near) else MAX_NODE)
        assert obs.reward is not None
        return self._vector(obs), float(obs.reward), obs.terminated, obs.truncated, self._info(obs)

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """(A,) choices that are roads, as MaskablePPO asks for them."""
        return np.arange(self.most) < len(self.task.observation.neighbours)

    def render(self) -> str | None:
        """The prompt."""
        return self.task.observation.prompt if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Nothing is held open."""

    def _info(self, obs: RoadObservation) -> dict[str, Any]:
        mask: I8 = self.action_masks().astype(np.int8)
        return {
            "action_mask": mask,
            "flags": list(obs.flags),
            "arrived": obs.arrived,
            "minutes": obs.minutes,
            "breakdown": dict(obs.breakdown),
            **({"fastest_minutes": obs.info["fastest_minutes"]} if obs.done else {}),
        }

    def _vector(self, obs: RoadObservation) -> F32:
        east, north = _unit(obs.target_heading_deg)
        trip = (
            obs.target_km, east, north, obs.minute_of_day, obs.minutes, obs.soc_frac, obs.range_km,
            1.0 - obs.steps / obs.max_steps,
        )  # fmt: skip
        out = np.zeros(len(TRIP) + len(ROAD) * self.most)
        out[: len(TRIP)] = [value / scale for value, (_n, scale, _m) in zip(trip, TRIP, strict=True)]
        roads = out[len(TRIP) :].reshape(self.most, len(ROAD))
        for row, n in zip(roads, obs.neighbours, strict=False):
            row[:] = [
                value / scale
                for value, (_n, scale, _m) in zip(
                    (1.0, *_unit(n.heading_deg), n.minutes, n.metres / 1000.0, n.kwh, n.target_km,
                     float(n.node == obs.target_node)),
                    ROAD,
                    strict=True,
                )
            ]  # fmt: skip
        return np.clip(out, LOW, HIGH).astype(np.float32)


def _unit(degrees: float) -> tuple[float, float]:
    """(sine, cosine), rounded so that they are equal on any machine."""
    radians = np.deg2rad(degrees)
    return round(float(np.sin(radians)), 6), round(float(np.cos(radians)), 6)


def register() -> None:
    """Make `gymnasium.make("EVGridRoad-v0")` work; done when this module is imported."""
    if ENV_ID not in gymnasium.registry:
        gymnasium.register(ENV_ID, entry_point="ev_grid_oracle.interfaces.road_gym:RoadEnv")


register()
