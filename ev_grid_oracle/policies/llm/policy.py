"""`LLMPolicy`: from observation rows to prompts, from a model's texts to decision rows, with what made them.

A model's text is judged by the one parser. Where there is none (too late, a server that fails) or the parser
refuses it, the baseline answers that tick, the source says `timeout` or `fallback`, and the reason is counted:
a fallback is never the model's work. A text that the parser accepts is the model's answer, also where the
verifier will refuse a car of it.

A row does not hold announcements (no policy is told of them), so the prompt has none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ev_grid_oracle.episode.answers import decision_rows
from ev_grid_oracle.episode.observe import LiveObservation
from ev_grid_oracle.episode.session import decoder_of
from ev_grid_oracle.policies.base import F64, I32, PolicyContext
from ev_grid_oracle.policies.llm.grammar import Choices, choices_of
from ev_grid_oracle.policies.llm.guard import Guard, LateError
from ev_grid_oracle.policies.rules import Baseline
from ev_grid_oracle.protocol import build_prompt, parse_action
from ev_grid_oracle.protocol.tokens import estimate_tokens
from ev_grid_oracle.schema.errors import EVGridError

MODEL, FALLBACK, TIMEOUT = "llm", "fallback", "timeout"
TOKENS_A_CAR = 96
"""An answer's block is 50 to 80 tokens in the vocabularies at hand."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One question: the prompt, and the answers that are legal."""

    prompt: str
    choices: Choices


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back: the text, or why there is none."""

    text: str
    fault: str = ""


class Engine(Protocol):
    """Something that turns questions into texts.

    Attributes:
        name: as on the command line.
        model_hash: of the weights; None where they are elsewhere.
        batch: questions of one call.
        context: tokens that prompt and answer may have together.
    """

    name: str
    model_hash: str | None
    batch: int
    context: int

    def count(self, text: str) -> int:
        """Tokens of a text."""

    def replies(self, asks: Sequence[Ask], deadline: float) -> list[Reply]:
        """A reply for each question, in order; `LateError` where `deadline` (monotonic s) passes."""


class LLMPolicy:
    """A language model as a dispatcher.

    Args:
        engine: what answers; shared by the policies of many environments.
        timeout_s: seconds for one call of the engine.

    Attributes:
        source: what made the answers of the last tick.
        tallies, refusals: of the last `answer_batch`, see `policies.base.tallies_of` and `refusals_of`.
        note: why the last tick was not the model's; "".
        reasons: decisions that were not the model's, by reason.
        invalid: texts of the model that the parser refused, by code; each costs its `format` penalty in an
            evaluation, beside the baseline's answers.
    """

    def __init__(self, engine: Engine, timeout_s: float) -> None:
        self.name = engine.name
        self.source = MODEL
        self.tallies: list[dict[str, int]] = []
        self.refusals: list[int] = []
        self.refused = 0
        self.note = ""
        self.model_hash = engine.model_hash
        self.reasons: Counter[str] = Counter()
        self.invalid: Counter[str] = Counter()
        self._engine = engine
        self._guard = Guard(timeout_s, engine.name)
        self._spare = Baseline(source=FALLBACK)

    def begin(self, context: PolicyContext) -> None:
        """A new episode; the model keeps nothing from the one before."""
        self._decoder = decoder_of(context.city)
        self._spare.begin(context)
        self.source, self.note, self.refused = MODEL, "", 0

    def begin_batch(self, contexts: Sequence[PolicyContext]) -> None:
        """A block of new episodes of one city."""
        self.begin(contexts[0])

    def answer(self, o: F64, out: I32) -> int:
        """Decisions for observation row `o` into `out` (MD, 8); returns how many."""
        n = self.answer_batch([o], [out], [0])[0]
        self.source = next(iter(self.tallies[0]), MODEL)
        self.refused = self.refusals[0]
        return n

    def answer_batch(self, rows: Sequence[F64], outs: Sequence[I32], envs: Sequence[int]) -> list[int]:
        """The same for several environments at once (see `policies.base.BatchPolicy`)."""
        seen = [LiveObservation(self._decoder, row.copy(), (), None, {}, (), 0, {}) for row in rows]
        asks = [self._ask(obs) for obs in seen]
        waiting = [k for k, ask in enumerate(asks) if ask is not None]
        replies: dict[int, tuple[Reply, str]] = {}
        for start in range(0, len(waiting), self._engine.batch):
            part = waiting[start : start + self._engine.batch]
            found = self._replies([ask for k in part if (ask := asks[k]) is not None])
            replies.update(zip(part, found, strict=True))
        self.note, self.tallies, self.refusals = "", [], [0] * len(seen)
        counts = []
        for k, obs in enumerate(seen):
            n, made = self._decide(k, obs, outs[k], *replies[k]) if k in replies else (0, MODEL)
            counts.append(n)
            self.tallies.append({made: n})
        return counts

    def _ask(self, obs: LiveObservation) -> Ask | None:
        """The question of a tick; None where nobody can be answered."""
        choices = choices_of(obs)
        if not choices.cars:
            return None
        budget = max(self._engine.context - TOKENS_A_CAR * len(choices.cars), 1)
        return Ask(build_prompt(obs, budget=budget, count=self._engine.count), choices)

    def _replies(self, asks: Sequence[Ask]) -> list[tuple[Reply, str]]:
        """A reply for each question, and what it counts as where it holds no text."""
        try:
            found = self._guard.call(lambda deadline: self._engine.replies(asks, deadline))
        except LateError as late:
            return [(Reply("", late.message), TIMEOUT)] * len(asks)
        except EVGridError as error:
            return [(Reply("", error.message), FALLBACK)] * len(asks)
        except Exception as error:  # a fault of a model or its library is data of the run, not its end
            text = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            return [(Reply("", text), FALLBACK)] * len(asks)
        return [(reply, FALLBACK if reply.fault else MODEL) for reply in found]

    def _decide(self, k: int, obs: LiveObservation, out: I32, reply: Reply, source: str) -> tuple[int, str]:
        """Write the decisions of environment `k` of the block; returns how many, and their source."""
        fault = reply.fault
        if not fault:
            verdict = parse_action(reply.text, obs)
            if verdict.ok:
                pending = self._decoder.pending_seqs(obs.row)
                actions = verdict.actions[: len(out)]
                return decision_rows(actions, pending, self._decoder.station_index, out), MODEL
            issue = verdict.errors[0]
            self.invalid[issue.code] += 1
            self.refusals[k] = 1
            fault, source = f"invalid answer: {issue.code}", FALLBACK
        n = self._spare.answer(obs.row, out)
        self.reasons[fault] += n
        self.note = fault
        return n, source


def rough_count(text: str) -> int:
    """Tokens of a text for a vocabulary that is not at hand."""
    return math.ceil(estimate_tokens(text))
