"""Policies by name: what the command line, the evaluation and the servers ask for.

`planner` and `clairvoyant` are imported when asked for. `oracle` is what stands for a trained dispatcher: the
planner, or, with ``ORACLE_SKIP_LLM=1``, the baseline with source ``skipped``, which makes every paired
difference exactly zero (the harness's own check).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import cast

from ev_grid_oracle.policies.base import Policy
from ev_grid_oracle.schema.errors import UnknownPolicyError

SKIP_VARIABLE = "ORACLE_SKIP_LLM"


def _rule(name: str) -> Callable[[], Policy]:
    def make() -> Policy:
        return cast(Policy, getattr(import_module("ev_grid_oracle.policies.rules"), name)())

    return make


def _collapse(name: str) -> Callable[[], Policy]:
    def make() -> Policy:
        return cast(Policy, getattr(import_module("ev_grid_oracle.policies.collapse"), name)())

    return make


def _made_by(module: str) -> Callable[[], Policy]:
    def make() -> Policy:
        return cast(Policy, import_module(f"ev_grid_oracle.policies.{module}").make())

    return make


def _oracle() -> Policy:
    if os.environ.get(SKIP_VARIABLE) == "1":
        from ev_grid_oracle.policies.rules import Baseline

        return Baseline(source="skipped")
    return _made_by("planner")()


_MAKERS: Mapping[str, Callable[[], Policy]] = {
    "baseline": _rule("Baseline"),
    "greedy_counting": _rule("GreedyCounting"),
    "planner": _made_by("planner"),
    "clairvoyant": _made_by("clairvoyant"),
    "oracle": _oracle,
    "nearest": _collapse("Nearest"),
    "same_station": _collapse("SameStation"),
    "random": _collapse("Random"),
    "always_defer": _collapse("AlwaysDefer"),
    "always_load_shift": _collapse("AlwaysLoadShift"),
}


def policy_names() -> tuple[str, ...]:
    """Every name `make_policy` takes."""
    return tuple(_MAKERS)


def make_policy(name: str) -> Policy:
    """A new policy; `UnknownPolicyError` lists the names there are."""
    maker = _MAKERS.get(name) if isinstance(name, str) else None
    if maker is None:
        raise UnknownPolicyError(f"There is no policy {str(name)[:60]!r}.", f"Known: {', '.join(_MAKERS)}.")
    return maker()
