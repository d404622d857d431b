"""A block of episodes as a piece of work that any process can do, and the episodes that come of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.freeze import frozen
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.evaluation.players import play_block
from ev_grid_oracle.evaluation.seeds import episode_seed
from ev_grid_oracle.evaluation.values import Values, binary_of, row_values
from ev_grid_oracle.evaluation.writing import clean

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]

EVEN_BP = 5000
"""A CONFIDENCE of one half says nothing: it is what a rule writes that has none."""


@dataclass(frozen=True)
class Spec:
    """What all episodes of an evaluation share; small, and can be sent to another process.

    Attributes:
        options: further options of `reset`.
        series: episodes of each scenario, from index 0, whose state is kept tick by tick.
    """

    seed: int
    ticks: int
    options: Mapping[str, object] = field(default_factory=dict)
    series: int = 0

    def asked(self, scenario: str, index: int) -> dict[str, object]:
        """Options of `reset` of one episode."""
        seed = episode_seed(self.seed, index)
        return {**self.options, "seed": seed, "scenario": scenario, "ticks": self.ticks}


@dataclass(frozen=True)
class Task:
    """Episodes that one policy plays side by side in one scenario."""

    scenario: str
    policy: str
    block: int
    indices: tuple[int, ...]


@dataclass(frozen=True)
class Receipt:
    """What an episode can be played again from, and compared with tick by tick.

    Attributes:
        answers: (A, 8) int32 decision rows (`schema.rows` D_*), tick after tick; counts (T,) int32 in each.
        refused: (T,) int32 texts refused by the parser.
        rewards: (T,) float64. digests: (T, 16) uint8, the world after each tick.
    """

    answers: I32
    counts: I32
    refused: I32
    rewards: F64
    digests: npt.NDArray[np.uint8]

    def sha256(self) -> str:
        """Digest over all of it."""
        h = hashlib.sha256()
        columns = ((self.answers, "<i4"), (self.counts, "<i4"), (self.refused, "<i4"), (self.rewards, "<f8"),
                   (self.digests, "|u1"))  # fmt: skip
        for values, kind in columns:
            h.update(f"{values.shape}".encode())
            h.update(np.ascontiguousarray(values, kind).tobytes())
        return h.hexdigest()


@dataclass
class Episode:
    """One policy's episode: what it was, what it gave, and its receipt.

    Attributes:
        policy: as it was asked for; `acted` the policy that acted under this name.
        options: of `reset`, complete.
        start, end: digest of the world at tick 0 and after the last tick.
        sources: decisions by what made them.
        receipt_sha256: of the receipt, which itself may have been left out (None).
        series: name -> one number a tick, None where it was not kept.
        stated: (tick, car, confidence, plugged in in time or None) of each answer that states a confidence.
        told_sha256: of the row, as a file says; None for an episode that was just played.
    """

    scenario: str
    policy: str
    acted: str
    model_hash: str | None
    index: int
    seed: int
    ticks: int
    options: Mapping[str, object]
    start: str
    end: str
    values: Values
    binary: dict[str, bool]
    sources: dict[str, int]
    receipt_sha256: str
    receipt: Receipt | None = None
    series: dict[str, list[float]] | None = None
    stated: list[tuple[int, int, float, bool | None]] = field(default_factory=list)
    told_sha256: str | None = None

    @property
    def id(self) -> str:
        """``scenario/world seed/policy``; no two rows of a result share one."""
        return episode_id(self.scenario, self.seed, self.policy)

    def row_sha256(self) -> str:
        """Digest over all that tables and tests read of this episode, its receipt included."""
        return row_sha256(
            self.id, self.acted, self.model_hash, self.start, self.end, self.values, self.binary, self.sources,
            self.receipt_sha256,
        )  # fmt: skip


def episode_id(scenario: str, seed: int, policy: str) -> str:
    """``scenario/world seed/policy``."""
    return f"{scenario}/{seed}/{policy}"


def row_sha256(*parts: object) -> str:
    """Digest over the parts as JSON with sorted keys; floats in their shortest exact form."""
    text = json.dumps(clean(list(parts)), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def play_task(
    city: CityPack, spec: Spec, task: Task, advance: Callable[[int], None] | None = None
) -> list[Episode]:
    """Play the episodes of `task`, in the order of its indices."""
    options = [resolve(city, **spec.asked(task.scenario, k)) for k in task.indices]
    kept = [n for n, index in enumerate(task.indices) if index < spec.series]
    played = play_block(task.policy, city, [o.world for o in options], advance, series=kept, outcomes=True)
    out = []
    for n, (index, option, record) in enumerate(zip(task.indices, options, played.records, strict=True)):
        receipt = Receipt(record.answers, record.counts, record.refused, record.rewards, record.digests)
        series = None
        if record.series is not None:
            series = {name: [float(v) for v in row] for name, row in record.series.items()}
        stated = [(s.tick, s.seq, s.confidence_bp / 10000.0, s.in_time) for s in record.stated]
        out.append(
            Episode(
                task.scenario, task.policy, played.acted, played.model_hash, index, option.world.seed, spec.ticks,
                option.asked, played.starts[n], record.end,
                row_values(played.accounts[n], played.terms[n], city, task.scenario, record.fallback_ticks),
                binary_of(played.accounts[n], city), dict(sorted(record.sources.items())), receipt.sha256(), receipt,
                series, stated if any(s.confidence_bp != EVEN_BP for s in record.stated) else [],
            )
        )  # fmt: skip
    return out


def received(city: CityPack) -> CityPack:
    """A city that came from another process: its arrays are read-only again, as everywhere."""
    for part in fields(city):
        value = getattr(city, part.name)
        if is_dataclass(value) and not isinstance(value, type):
            frozen(value)
    return city


def blocks(scenario: str, policy: str, episodes: int, size: int) -> Sequence[Task]:
    """Tasks of one scenario and policy; block k holds the same indices however many episodes there are."""
    return [
        Task(scenario, policy, n // size, tuple(range(n, min(n + size, episodes))))
        for n in range(0, episodes, size)
    ]
