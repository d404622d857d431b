"""The two-agent game under one name: `from ev_grid_oracle.multi_agent import TwoAgents`.

Names are loaded on first use, so that importing the module needs no compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ev_grid_oracle.episode.ma_auto import auto_answers, auto_directive
    from ev_grid_oracle.episode.ma_directive import Directive, read_directive
    from ev_grid_oracle.episode.ma_negotiation import Negotiation
    from ev_grid_oracle.episode.ma_resolve import Resolver, Violation
    from ev_grid_oracle.episode.ma_reward import RoleObservation
    from ev_grid_oracle.episode.ma_views import AGENTS, DISPATCHER, OPERATOR
    from ev_grid_oracle.episode.two_agents import TwoAgents, make_two_agents
    from ev_grid_oracle.protocol.statements import Claim, Promise, parse_message

__all__ = [
    "AGENTS",
    "DISPATCHER",
    "OPERATOR",
    "Claim",
    "Directive",
    "Negotiation",
    "Promise",
    "Resolver",
    "RoleObservation",
    "TwoAgents",
    "Violation",
    "auto_answers",
    "auto_directive",
    "make_two_agents",
    "parse_message",
    "read_directive",
]

_HOME = {
    "AGENTS": "episode.ma_views",
    "DISPATCHER": "episode.ma_views",
    "OPERATOR": "episode.ma_views",
    "Claim": "protocol.statements",
    "Directive": "episode.ma_directive",
    "Negotiation": "episode.ma_negotiation",
    "Promise": "protocol.statements",
    "Resolver": "episode.ma_resolve",
    "RoleObservation": "episode.ma_reward",
    "TwoAgents": "episode.two_agents",
    "Violation": "episode.ma_resolve",
    "auto_answers": "episode.ma_auto",
    "auto_directive": "episode.ma_auto",
    "make_two_agents": "episode.two_agents",
    "parse_message": "protocol.statements",
    "read_directive": "episode.ma_directive",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"ev_grid_oracle.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
