"""The native batch as a Stable-Baselines3 `VecEnv`, with the action masks that sb3-contrib asks for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium.vector import AutoresetMode

from ev_grid_oracle.interfaces.spaces import SLOTS
from ev_grid_oracle.interfaces.vector_env import EVGridVectorEnv
from ev_grid_oracle.schema.errors import MissingExtraError, OptionError

try:
    from stable_baselines3.common.vec_env import VecEnv
except ImportError as missing:
    raise MissingExtraError(
        "Training with Stable-Baselines3 needs the `gym` and `train` extras.",
        "Run: pip install 'openenv-ev-grid-oracle[gym,train]'",
    ) from missing


class SB3VecEnv(VecEnv):
    """`EVGridVectorEnv` (SAME_STEP) behind the interface of Stable-Baselines3.

    An ended episode puts `terminal_observation`, `TimeLimit.truncated`, `episode` (r total reward, l ticks)
    and `kpis` into its row's info.

    Args:
        kwargs: of `EVGridVectorEnv`, the autoreset mode excepted.
    """

    def __init__(self, num_envs: int, **kwargs: Any) -> None:
        self.native = EVGridVectorEnv(num_envs, autoreset_mode=AutoresetMode.SAME_STEP, **kwargs)
        super().__init__(num_envs, self.native.single_observation_space, self.native.single_action_space)
        self._actions = np.zeros((num_envs, SLOTS), np.int64)
        self._totals, self._ticks = np.zeros(num_envs), np.zeros(num_envs, np.int64)

    def reset(self) -> npt.NDArray[np.float32]:
        """Start an episode in every row, with the seeds given by `seed`."""
        seeds = self._seeds if any(s is not None for s in self._seeds) else None
        obs, _infos = self.native.reset(seed=seeds)
        self._totals[:], self._ticks[:] = 0.0, 0
        self._reset_seeds()
        return obs

    def seed(self, seed: int | None = None) -> Sequence[int | None]:
        """Seeds of the rows at the next `reset`, derived from `seed` as `EVGridVectorEnv.reset` does."""
        self._seeds = self.native._row_seeds(seed)
        return self._seeds

    def step_async(self, actions: npt.NDArray[np.int64]) -> None:
        """Take the actions of the next `step_wait`."""
        self._actions = actions

    def step_wait(
        self,
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float64], npt.NDArray[np.bool_], list[dict[str, Any]]]:
        """Play a tick in every row."""
        obs, rewards, terminated, truncated, facts = self.native.step(self._actions)
        self._totals += rewards
        self._ticks += 1
        done = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for e in np.flatnonzero(done).tolist():
            kpis = {k: float(v[e]) for k, v in facts["final_info"]["kpis"].items() if np.isfinite(v[e])}
            infos[e] = {
                "terminal_observation": facts["final_obs"][e],
                "TimeLimit.truncated": bool(truncated[e]),
                "episode": {"r": float(self._totals[e]), "l": int(self._ticks[e])},
                "kpis": kpis,
            }
        self._totals[done], self._ticks[done] = 0.0, 0
        return obs, rewards, done, infos

    def action_masks(self) -> npt.NDArray[np.bool_]:
        """(num_envs, SLOTS x choices) legal choices."""
        return self.native.action_masks()

    def close(self) -> None:
        """Let the threads go."""
        self.native.close()

    def get_attr(self, attr_name: str, indices: int | Iterable[int] | None = None) -> list[Any]:
        """The attribute once for each row asked about."""
        return [getattr(self if attr_name == "action_masks" else self.native, attr_name)] * self._count(
            indices
        )

    def set_attr(self, attr_name: str, value: Any, indices: int | Iterable[int] | None = None) -> None:
        """Refused: the rows share one batch."""
        raise OptionError(
            f"{attr_name!r} cannot be set on single rows of a batch.", "Make another environment."
        )

    def env_method(
        self, method_name: str, *args: Any, indices: int | Iterable[int] | None = None, **kwargs: Any
    ) -> list[Any]:
        """`action_masks` by row; other methods belong to no single row."""
        if method_name != "action_masks" or args or kwargs:
            raise OptionError(f"A row of a batch has no method {method_name!r}.", "Use `native`.")
        masks = self.action_masks()
        return [masks[e] for e in self._get_indices(indices)]

    def env_is_wrapped(self, wrapper_class: type, indices: int | Iterable[int] | None = None) -> list[bool]:
        """No row is wrapped."""
        return [False] * self._count(indices)

    def _count(self, indices: int | Iterable[int] | None) -> int:
        return len(list(self._get_indices(indices)))
