"""Policies by name: what the command line, the evaluation and the servers ask for.

`planner`, `clairvoyant` and everything with a language model behind it are imported when asked for. `oracle` is
what stands for a trained dispatcher (`policies.llm.resolve`); with ``ORACLE_SKIP_LLM=1`` it is the baseline with
source ``skipped``, which makes every paired difference exactly zero (the harness's own check).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import cast

from ev_grid_oracle.policies.base import Policy
from ev_grid_oracle.policies.llm.resolve import model_policy, names_a_model, oracle_policy
from ev_grid_oracle.schema.errors import UnknownPolicyError

MODEL_NAMES = ("llm:<path or Hub id>", "openai:<base_url>#<model>")
"""Kinds of names that stand for a model of the caller's choice."""


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


_MAKERS: Mapping[str, Callable[[], Policy]] = {
    "baseline": _rule("Baseline"),
    "greedy_counting": _rule("GreedyCounting"),
    "planner": _made_by("planner"),
    "clairvoyant": _made_by("clairvoyant"),
    "oracle": oracle_policy,
    "nearest": _collapse("Nearest"),
    "same_station": _collapse("SameStation"),
    "random": _collapse("Random"),
    "always_defer": _collapse("AlwaysDefer"),
    "always_load_shift": _collapse("AlwaysLoadShift"),
}


def policy_names() -> tuple[str, ...]:
    """Every name `make_policy` takes, `MODEL_NAMES` apart."""
    return tuple(_MAKERS)


def make_policy(name: str, *, allow: Sequence[str] | None = None) -> Policy:
    """A new policy; `UnknownPolicyError` lists the names there are.

    Args:
        allow: patterns of the models that may be named (`llm.resolve.allowed_models`, for servers); None: any.
    """
    if isinstance(name, str) and names_a_model(name):
        return model_policy(name, allow)
    maker = _MAKERS.get(name) if isinstance(name, str) else None
    if maker is None:
        raise UnknownPolicyError(
            f"There is no policy {str(name)[:60]!r}.", f"Known: {', '.join((*_MAKERS, *MODEL_NAMES))}."
        )
    return maker()
