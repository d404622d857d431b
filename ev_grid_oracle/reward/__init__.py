"""Was it legal, and what was it worth: verifier, flags and the terms of the reward.

Names are loaded on first use; tables and `score` need no compiler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ev_grid_oracle.reward.facts import Facts, Verdict, compute_reward, score
    from ev_grid_oracle.reward.terms import FLAG_NAMES, FLAGS, TERM_NAMES, TERMS

__all__ = ["FLAGS", "FLAG_NAMES", "TERMS", "TERM_NAMES", "Facts", "Verdict", "compute_reward", "score"]

_HOME = {
    "FLAGS": "terms",
    "FLAG_NAMES": "terms",
    "TERMS": "terms",
    "TERM_NAMES": "terms",
    "Facts": "facts",
    "Verdict": "facts",
    "compute_reward": "facts",
    "score": "facts",
}


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
