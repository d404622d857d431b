"""Other people's APIs over the one Session and Batch: converters, no physics, reward or KPI of their own.

Names are loaded on first use; each needs the extra of its own ecosystem and no other. The environments of
Gymnasium are registered by importing `ev_grid_oracle.interfaces.gymnasium_env`, or by name:
``gymnasium.make("ev_grid_oracle.interfaces.gymnasium_env:EVGrid-v0")``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ev_grid_oracle.interfaces.gymnasium_env import EVGridEnv
    from ev_grid_oracle.interfaces.trl_env import EVGridToolEnv
    from ev_grid_oracle.interfaces.trl_rewards import (
        build_rows,
        env_reward,
        format_reward,
        prediction_reward,
    )
    from ev_grid_oracle.interfaces.vector_env import EVGridVectorEnv

__all__ = [
    "EVGridEnv",
    "EVGridToolEnv",
    "EVGridVectorEnv",
    "build_rows",
    "env_reward",
    "format_reward",
    "prediction_reward",
]

_HOME = {
    "EVGridEnv": "gymnasium_env",
    "EVGridToolEnv": "trl_env",
    "EVGridVectorEnv": "vector_env",
    "build_rows": "trl_rewards",
    "env_reward": "trl_rewards",
    "format_reward": "trl_rewards",
    "prediction_reward": "trl_rewards",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
