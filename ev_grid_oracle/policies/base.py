"""What a policy is: something that reads one observation row and writes decision rows.

The row is the kernels' form of `Observation` (same facts, no more); `PolicyContext` carries what else a
policy may use. Only planning policies get a `PlanningHandle`; an LLM never does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from ev_grid_oracle.city.packed import PackedCity

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]


class PlanningHandle(Protocol):
    """Forks of the present, for planners: redrawn futures only, never the true one."""

    def fork_rows(self, future: int, horizon: int) -> object:
        """A fork with every exogenous stream after now redrawn as number `future`."""


@dataclass
class PolicyContext:
    """What a policy is told about the episode it plays.

    Attributes:
        city: the packed city with its travel tables.
        seed: the policy's own seed for its own draws; unrelated to the world's.
        planning: forks on redrawn futures, for planning policies only.
    """

    city: PackedCity
    seed: int = 0
    planning: PlanningHandle | None = None


class Policy(Protocol):
    """One dispatcher.

    Attributes:
        name: as in tables and on the command line.
        source: what acted: policy, planner, llm, fallback, timeout or skipped.
    """

    name: str
    source: str

    def begin(self, context: PolicyContext) -> None:
        """A new episode starts."""

    def answer(self, o: F64, out: I32) -> int:
        """Write decisions for observation row `o` into `out` (MD, 8); returns how many."""
