"""Checkers for authors of packs, policies and traces: they raise with every reason and never print.

Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ev_grid_oracle.testing.city import check_city
    from ev_grid_oracle.testing.policy import check_policy
    from ev_grid_oracle.testing.trace import check_trace

__all__ = ["check_city", "check_policy", "check_trace"]

_HOME = {"check_city": "city", "check_policy": "policy", "check_trace": "trace"}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
