"""EV Grid Oracle: a city's electric cars, charging stations and feeders as one fast, deterministic world.

Names are loaded on first use, so that importing the package takes no time and no compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ev_grid_oracle.version import __version__

if TYPE_CHECKING:
    from ev_grid_oracle.city.load import load_city
    from ev_grid_oracle.episode.session import Session, make_session
    from ev_grid_oracle.episode.validate import validate_action
    from ev_grid_oracle.policies.registry import make_policy
    from ev_grid_oracle.protocol.parse import parse_action
    from ev_grid_oracle.protocol.prompt import build_prompt
    from ev_grid_oracle.schema.action import Action
    from ev_grid_oracle.schema.errors import EVGridError
    from ev_grid_oracle.schema.observation import Observation
    from ev_grid_oracle.sim.world import World

__all__ = [
    "Action",
    "EVGridError",
    "Observation",
    "Session",
    "World",
    "__version__",
    "build_prompt",
    "load_city",
    "make_policy",
    "make_session",
    "parse_action",
    "validate_action",
]

_HOME = {
    "Action": "schema.action",
    "EVGridError": "schema.errors",
    "Observation": "schema.observation",
    "Session": "episode.session",
    "World": "sim.world",
    "build_prompt": "protocol.prompt",
    "load_city": "city.load",
    "make_policy": "policies.registry",
    "make_session": "episode.session",
    "parse_action": "protocol.parse",
    "validate_action": "episode.validate",
    # names users know from the project's first version; not in __all__
    "EVGridCore": "episode.session",
    "EVRequest": "schema.observation",
    "GridState": "schema.observation",
    "SimulationPrediction": "schema.action",
    "StationState": "schema.observation",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
