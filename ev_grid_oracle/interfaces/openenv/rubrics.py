"""The reward as a tree of rubrics: one child a term of `reward.TERMS`, their sum at the root.

The simulator has scored the tick already; a rubric reads that score from the observation and computes
nothing. So `env.rubric.named_rubrics()` and `last_score` show what each component gave, and the root is
bit-equal to the session's reward.
"""

from __future__ import annotations

from openenv.core.rubrics.base import Rubric

from ev_grid_oracle.models import EVGridAction, EVGridObservation
from ev_grid_oracle.reward.terms import TERMS, Term


class TermRubric(Rubric):
    """One component of the reward."""

    def __init__(self, term: Term) -> None:
        super().__init__()
        self.term = term

    def forward(self, action: EVGridAction, observation: EVGridObservation) -> float:
        """What the term gave in the tick just played; 0 where none was played."""
        return float(observation.breakdown.get(self.term.name, 0.0))


class EVGridRubric(Rubric):
    """The plain sum of all terms."""

    def __init__(self) -> None:
        super().__init__()
        for term in TERMS:
            setattr(self, term.name, TermRubric(term))

    def forward(self, action: EVGridAction, observation: EVGridObservation) -> float:
        """The tick's reward; children keep their parts in `last_score`."""
        for _name, child in self.named_children():
            child(action, observation)
        return float(observation.breakdown.get("total", 0.0))
