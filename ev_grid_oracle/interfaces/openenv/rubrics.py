"""The reward as a tree of rubrics: one child a term, their sum at the root.

The simulator has scored the step already; a rubric reads that score from the observation and computes
nothing. So `env.rubric.named_rubrics()` and `last_score` show what each component gave, and the root is
bit-equal to the session's reward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from openenv.core.rubrics.base import Rubric

from ev_grid_oracle.reward.terms import TERM_NAMES


class Scored(Protocol):
    """An observation that says what its step was worth."""

    breakdown: Mapping[str, float]


class TermRubric(Rubric):
    """One component of the reward, by name."""

    def __init__(self, term: str) -> None:
        super().__init__()
        self.term = term

    def forward(self, action: object, observation: Scored) -> float:
        """What the term gave in the step just played; 0 where none was played."""
        return float(observation.breakdown.get(self.term, 0.0))


class SumRubric(Rubric):
    """The plain sum of the terms called `names`, which the observation's `total` holds."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        for name in names:
            setattr(self, name, TermRubric(name))

    def forward(self, action: object, observation: Scored) -> float:
        """The step's reward; children keep their parts in `last_score`."""
        for _name, child in self.named_children():
            child(action, observation)
        return float(observation.breakdown.get("total", 0.0))


class EVGridRubric(SumRubric):
    """The tree that mirrors `reward.TERMS`."""

    def __init__(self) -> None:
        super().__init__(TERM_NAMES)
