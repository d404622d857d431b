"""The rewards of the big run: those of `interfaces.trl_rewards`, with what a person wants to see beside them.

Logged with every step: ``reward/env``, ``reward/format``, ``reward/prediction``; ``answers/invalid`` (share of
texts that the parser refuses), ``answers/refused`` (share of texts with a car that the verifier refuses),
``answers/flags`` (flags of the tick played with the answer), ``answers/route``, ``defer``, ``load_shift`` (shares
of the blocks); and the first answer of a step, with its reward, in `samples`.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.options import DEFAULTS
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.interfaces.trl_rewards import TextRewards, text_of
from ev_grid_oracle.interfaces.trl_rows import Greedy, begin
from ev_grid_oracle.protocol import parse_action
from ev_grid_oracle.protocol.grammar import ACTIONS

Log = Callable[[str, float], None]
KEPT = 64


@dataclass(frozen=True)
class Sample:
    """An answer as it was given: for people to read."""

    text: str
    reward: float


class BigRewards:
    """Reward functions of one city, for `GRPOTrainer(reward_funcs=rewards.functions())`."""

    def __init__(self, city: CityPack, futures: int = 4, ahead: int = 12) -> None:
        self._judge = TextRewards(city, futures=futures, ahead=ahead)
        self._city = city
        self._greedy = Greedy(packed(city))
        self._moments: OrderedDict[tuple[object, ...], Session] = OrderedDict()
        self.samples: deque[Sample] = deque(maxlen=KEPT)

    def functions(self) -> list[Callable[..., list[float]]]:
        """In the order of `BigProfile.weights`."""
        return [self.env, self.format, self.prediction]

    def env(self, completions: Sequence[object], **columns: Any) -> list[float]:
        """What the answers are worth beside `greedy_counting`'s, -1 to 1."""
        values = self._judge.env_reward(completions, **columns)
        _tell(columns.get("log_metric"), "reward/env", values)
        self._describe(completions, columns)
        if completions:
            self.samples.append(Sample(text_of(completions[0]), values[0]))
        return values

    def format(self, completions: Sequence[object], **columns: Any) -> list[float]:
        """1 for a text that the parser accepts, else 0."""
        values = self._judge.format_reward(completions, **columns)
        _tell(columns.get("log_metric"), "reward/format", values)
        return values

    def prediction(self, completions: Sequence[object], **columns: Any) -> list[float]:
        """Score of the forecast block, -1 to 1; 0 without one."""
        values = self._judge.prediction_reward(completions, **columns)
        _tell(columns.get("log_metric"), "reward/prediction", values)
        return values

    def _describe(self, completions: Sequence[object], columns: Mapping[str, Any]) -> None:
        """Log how the answers look."""
        log = columns.get("log_metric")
        if log is None or not completions:
            return
        invalid, refused, flags, blocks = 0, 0, 0, [0] * len(ACTIONS)
        known = {k: v for k, v in columns.items() if k in DEFAULTS or k == "tick"}
        for i, completion in enumerate(completions):
            moment = self._moment({k: v[i] for k, v in known.items() if v[i] is not None})
            text = text_of(completion)
            verdict = parse_action(text, moment.observation)
            after = moment.fork().step(text)
            invalid += not verdict.ok
            errors = after.info["errors"]
            refused += verdict.ok and isinstance(errors, Sequence) and len(errors) > 0
            flags += len(after.flags)
            for action in verdict.actions:
                blocks[action.kind] += 1
        n = len(completions)
        log("answers/invalid", invalid / n)
        log("answers/refused", refused / n)
        log("answers/flags", flags / n)
        for name, count in zip(ACTIONS, blocks, strict=True):
            log(f"answers/{name}", count / max(sum(blocks), 1))

    def _moment(self, row: Mapping[str, Any]) -> Session:
        """The session that a row names, kept: a group asks for it once for each of its answers."""
        key = tuple(sorted(row.items()))
        session = self._moments.get(key)
        if session is None:
            session = self._moments[key] = Session(self._city, record=False)
            begin(session, self._greedy, row, None)
            if len(self._moments) > KEPT:
                self._moments.popitem(last=False)
        self._moments.move_to_end(key)
        return session


def _tell(log: Log | None, name: str, values: Sequence[float]) -> None:
    if log is not None and values:
        log(name, sum(values) / len(values))
