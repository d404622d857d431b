"""`oracle`: the small language model that is shipped, as a policy.

For every feeder near its limit it is asked which cap to set, then for every car, critical ones first, where to send it;
earlier answers of the tick count as on the way. Each answer is one token of those that are legal here (lines of the
question, ``defer``, ``none``); what the protocol forces around it is not generated, so no answer can be invalid or
refused. Environments of a block are asked together, one car of each at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.policies.base import F64, I32, PolicyContext
from ev_grid_oracle.policies.llm import small_words as w
from ev_grid_oracle.policies.llm.small_look import (
    CAP_MINUTES,
    DEFER_MINUTES,
    MOST_CAPS,
    CarQuestion,
    Eyes,
    ReliefQuestion,
)
from ev_grid_oracle.policies.llm.small_net import F32, FOLDER, Net, load_net, threads_asked
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import ActionKind, Rate

MOST_ROWS = 16
"""Questions of one call of the network: more do not fit a core's cache and are slower, answers are equal."""
LATE_CHANCE, SOON_CHANCE = 0.3, 0.9
"""Chance that a car plugs in before its patience ends where the expected wait outlasts it, and where it does not."""

Choose = Callable[[F32], int]


@dataclass
class Note:
    """What was asked and answered for one decision row: for REASON, tests and training."""

    env: int
    row: int
    question: CarQuestion | ReliefQuestion
    token: int


@dataclass
class _Turn:
    """One environment within a tick."""

    env: int
    o: F64
    out: I32
    eyes: Eyes
    n: int = 0
    taken: frozenset[int] = frozenset()
    feeders: list[int] = field(default_factory=list)
    capped: frozenset[int] = frozenset()
    caps: int = 0
    carries: int = -1
    cars: list[int] = field(default_factory=list)


class SmallOracle:
    """The policy.

    Args:
        folder: of the model.
        pick: index of the chosen answer from (n,) log-odds of the legal ones; None: the likeliest.
    """

    name = "oracle"
    source = "llm"

    def __init__(self, folder: Path = FOLDER, net: Net | None = None, pick: Choose | None = None) -> None:
        self._net = net or load_net(folder, threads_asked())
        self._pick = pick or (lambda odds: int(odds.argmax()))
        self._eyes: list[Eyes] = []
        self._made: dict[int, tuple[PackedCity, Eyes]] = {}
        self.notes: list[Note] = []

    @property
    def model_hash(self) -> str:
        """Of the network's file."""
        return self._net.model_hash

    @property
    def net(self) -> Net:
        """The network."""
        return self._net

    def begin(self, context: PolicyContext) -> None:
        """A new episode starts."""
        self.begin_batch([context])

    def begin_batch(self, contexts: Sequence[PolicyContext]) -> None:
        """A block of new episodes starts; cities may differ."""
        self._eyes = [self._eyes_of(context.city) for context in contexts]

    def eyes(self, env: int = 0) -> Eyes:
        """What reads the rows of episode `env`."""
        if not self._eyes:
            raise RuntimeError("oracle was asked before begin(): no episode is known.")
        return self._eyes[env]

    def _eyes_of(self, city: PackedCity) -> Eyes:
        found = self._made.get(id(city))
        if found is None:
            found = self._made[id(city)] = (city, Eyes(city))
        return found[1]

    def answer(self, o: F64, out: I32) -> int:
        """Decisions for observation row `o` into `out` (MD, 8); returns how many."""
        return self.answer_batch([o], [out], [0])[0]

    def answer_batch(self, rows: Sequence[F64], outs: Sequence[I32], envs: Sequence[int]) -> list[int]:
        """Decisions for several episodes; see `policies.base.BatchPolicy`."""
        turns = [_Turn(e, o, out, self.eyes(e)) for e, o, out in zip(envs, rows, outs, strict=True)]
        self.notes = []
        self._relieve(turns)
        for turn in turns:
            turn.cars = self._order(turn)
        while True:
            asked = [t for t in turns if t.cars and t.n < len(t.out)]
            if not asked:
                break
            self._cars(asked)
        return [t.n for t in turns]

    # -- feeders -----------------------------------------------------------------------------------
    def _relieve(self, turns: Sequence[_Turn]) -> None:
        for turn in turns:
            turn.feeders = [int(f) for f in turn.eyes.near_feeders(turn.o)]
        while True:
            asked: list[tuple[_Turn, ReliefQuestion]] = []
            for turn in turns:
                question = self._next_feeder(turn)
                if question is not None:
                    asked.append((turn, question))
            if not asked:
                return
            odds = self._ask([q.ids for _, q in asked])
            for (turn, question), row in zip(asked, odds, strict=True):
                self._cap(turn, question, row)

    def _next_feeder(self, turn: _Turn) -> ReliefQuestion | None:
        while turn.feeders and turn.caps < MOST_CAPS and turn.n < len(turn.out):
            turn.carries = turn.eyes.carrier(turn.o, turn.taken)
            if turn.carries < 0:
                return None
            flexible = bool(turn.eyes.pending(turn.o)[turn.carries, r.P_FLEX] > 0.0)
            question = turn.eyes.relief(turn.o, turn.feeders[0], turn.capped, flexible)
            if len(question.stations):
                return question
            turn.feeders.pop(0)
        return None

    def _cap(self, turn: _Turn, question: ReliefQuestion, row: F32) -> None:
        tokens = [*range(w.POINTER, w.POINTER + len(question.stations)), w.NONE_ID]
        k = self._pick(row[tokens])
        if k == len(question.stations):
            turn.feeders.pop(0)
            turn.capped = frozenset()
            return
        seq = int(turn.eyes.pending(turn.o)[turn.carries, r.P_SEQ])
        station, rate = int(question.stations[k]), int(question.rates[k])
        self._write(turn, question, tokens[k], seq, ActionKind.LOAD_SHIFT, station, rate, CAP_MINUTES, 0.5)
        turn.taken |= {seq}
        turn.capped |= {station}
        turn.caps += 1

    # -- cars --------------------------------------------------------------------------------------
    @staticmethod
    def _order(turn: _Turn) -> list[int]:
        """Places of the cars to answer: critical ones first, those that carry a cap left out."""
        cars = turn.eyes.pending(turn.o)
        free = [k for k in turn.eyes.order(turn.o) if int(cars[k, r.P_SEQ]) not in turn.taken]
        return sorted(free, key=lambda k: bool(cars[k, r.P_CRIT] == 0.0))

    def _cars(self, turns: Sequence[_Turn]) -> None:
        """The next car of each."""
        asked: list[tuple[_Turn, CarQuestion]] = []
        for turn in turns:
            given = turn.out[: turn.n]
            question = turn.eyes.car(turn.o, turn.cars.pop(0), given[given[:, r.D_KIND] == ActionKind.ROUTE])
            if len(question.stations) or question.may_defer:
                asked.append((turn, question))
        if not asked:
            return
        odds = self._ask([q.ids for _, q in asked])
        for (turn, question), row in zip(asked, odds, strict=True):
            self._send(turn, question, row)

    def _send(self, turn: _Turn, question: CarQuestion, row: F32) -> None:
        n = len(question.stations)
        tokens = [*range(w.POINTER, w.POINTER + n), *([w.DEFER_ID] if question.may_defer else [])]
        odds = row[tokens]
        k = self._pick(odds)
        chance = self._chance(turn, question, odds)
        if k == n:
            self._write(
                turn,
                question,
                w.DEFER_ID,
                question.seq,
                ActionKind.DEFER,
                -1,
                Rate.FAST,
                DEFER_MINUTES,
                chance,
            )
            return
        station, rate = int(question.stations[k]), int(question.rates[k])
        self._write(turn, question, tokens[k], question.seq, ActionKind.ROUTE, station, rate, 0, chance)

    @staticmethod
    def _chance(turn: _Turn, question: CarQuestion, odds: F32) -> float:
        """Chance to plug in before the patience ends, over what the model holds possible."""
        weight = np.exp(odds.astype(np.float64) - float(odds.max()))
        weight /= weight.sum()
        patience = float(turn.eyes.pending(turn.o)[question.place, r.P_PAT])
        soon = question.wait_min + DEFER_MINUTES < patience
        share = float((weight[: len(soon)] * soon).sum()) + float(weight[len(soon) :].sum())
        return LATE_CHANCE + (SOON_CHANCE - LATE_CHANCE) * share

    # -- both --------------------------------------------------------------------------------------
    def _ask(self, rows: Sequence[I32]) -> F32:
        """(B, V) after each question, at most `MOST_ROWS` a call."""
        parts = [self._net.last(rows[k : k + MOST_ROWS]) for k in range(0, len(rows), MOST_ROWS)]
        return np.concatenate(parts)

    def _write(self, turn: _Turn, question: CarQuestion | ReliefQuestion, token: int, seq: int, kind: ActionKind,
               station: int, rate: int, minutes: int, chance: float) -> None:  # fmt: skip
        turn.out[turn.n] = (seq, kind, station, rate, minutes, int(chance * 10000.0 + 0.5), 0, 0)
        self.notes.append(Note(turn.env, turn.n, question, token))
        turn.n += 1


def make() -> SmallOracle:
    """The policy with the shipped model; `MissingExtraError` without onnxruntime."""
    return SmallOracle()
