"""What a policy is: something that reads one observation row and writes decision rows.

The row is the kernels' form of `Observation` (same facts, no more); `PolicyContext` carries what else a
policy may use. Only planning policies get a `PlanningHandle`; an LLM never does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

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


@runtime_checkable
class BatchPolicy(Protocol):
    """A policy that answers a block of episodes at once: optional, for models that batch.

    One instance plays the whole block. `evaluation.players` asks it through these two methods where they are
    there, and through `Policy` with one instance an episode where they are not. Answers must not depend on
    which episodes share the block.
    """

    name: str
    source: str

    def begin_batch(self, contexts: Sequence[PolicyContext]) -> None:
        """A block of new episodes starts; episode k gets contexts[k]."""

    def answer_batch(self, rows: Sequence[F64], outs: Sequence[I32], envs: Sequence[int]) -> Sequence[int]:
        """Decisions for several episodes of the block.

        Args:
            rows: observation rows, one an episode that still runs.
            outs: arrays (MD, 8) of zeros, where the decisions of each go.
            envs: rows[k] and outs[k] belong to episode envs[k] of the block.

        Returns:
            How many decisions were written, for each of `rows`.
        """


def tallies_of(policy: object, counts: Sequence[int], batched: bool) -> list[Mapping[str, int]]:
    """Decisions of the last answer by what made them, one mapping an episode.

    A policy whose decisions all have one source says so in `source`, which may change from call to call. One
    that mixes sources inside an answer (a model that fell back for one car of four) says so in an optional
    attribute: ``tally``, source -> decisions, after `answer`; ``tallies``, a list of such, after
    `answer_batch`.
    """
    said = getattr(policy, "tallies" if batched else "tally", None)
    if said is None:
        source = str(getattr(policy, "source", "policy"))
        return [{source: int(n)} for n in counts]
    return list(said) if batched else [said]


def refusals_of(policy: object, n: int, batched: bool) -> list[int]:
    """Texts of the last answer that the parser refused, one number an episode (0 without texts).

    Optional attributes: ``refused`` after `answer`, ``refusals`` after `answer_batch`. Each refused text
    costs what it costs in a session (`format`).
    """
    if batched:
        return [int(v) for v in getattr(policy, "refusals", None) or [0] * n]
    return [int(getattr(policy, "refused", 0))]
