"""Reward functions for TRL's `GRPOTrainer`: texts judged by the one parser and by the simulator.

Each takes completions and the row's columns and returns one finite float a completion, by itself: a faulty
text neither raises nor moves its neighbours. The module's `format_reward`, `env_reward` and
`prediction_reward` are for Bengaluru with defaults; `TextRewards` makes them for another city.
"""

from __future__ import annotations

import math
import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.answers import MAX_ANSWERS, decision_rows
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.forecasts import AHEAD_TICKS
from ev_grid_oracle.episode.observe import LiveObservation
from ev_grid_oracle.episode.options import DEFAULTS
from ev_grid_oracle.episode.session import Session, decoder_of
from ev_grid_oracle.interfaces.trl_rows import Greedy, as_dataset, begin, build_rows, worth
from ev_grid_oracle.protocol import parse_action
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.axes import SETTLE_TICKS
from ev_grid_oracle.schema.errors import OptionError
from ev_grid_oracle.sim.world import World

__all__ = ["TextRewards", "as_dataset", "build_rows", "env_reward", "format_reward", "prediction_reward"]

MALFORMED = -1.0
"""Worth of a text that the parser refuses: below every legal answer."""


@dataclass
class Case:
    """The moment that a row names, and its sampled futures.

    Attributes:
        futures: (K) worlds that differ only in what comes; they end `ahead` ticks on, with the settle.
        greedy: mean total reward of `greedy_counting` over them.
    """

    obs: LiveObservation
    session: Session
    futures: World
    greedy: float


class TextRewards:
    """The reward functions of one city.

    Args:
        futures: sampled futures an answer is valued on; the same for every answer to a row.
        ahead: ticks until a sampled future takes no new cars; the settle then plays it out.
        kept: rows whose moments are kept.

    Attributes:
        uncomputed: values that could not be computed and count 0.
    """

    def __init__(
        self, city: CityPack | str = "bengaluru", *, futures: int = 4, ahead: int = 12, kept: int = 64
    ) -> None:
        if futures < 1 or ahead < 1 or kept < 1:
            raise OptionError(f"futures {futures}, ahead {ahead}, kept {kept}.", "Give at least 1 of each.")
        self._pack = load_city(city) if isinstance(city, str) else city
        self._n_futures, self._ahead, self._kept = futures, ahead, kept
        self._greedy = Greedy(packed(self._pack))
        self._batch = Batch(self._pack, futures, max_answers=MAX_ANSWERS)
        self._decoder = decoder_of(packed(self._pack))
        self._cases: OrderedDict[tuple[tuple[str, object], ...], Case] = OrderedDict()
        self.uncomputed = 0

    # -- the functions --------------------------------------------------------------------------------
    def format_reward(self, completions: Sequence[object], **columns: Any) -> list[float]:
        """1 for a text that the parser accepts at its row's moment, 0 for any other (no partial credit)."""
        return self._each(
            completions, columns, lambda case, text: 1.0 if parse_action(text, case.obs).ok else 0.0
        )

    def env_reward(self, completions: Sequence[object], **columns: Any) -> list[float]:
        """Worth of the answers in (-1, 1): 0 is as good as `greedy_counting`, -1 a malformed text.

        The answers are played on sampled futures, never on the true one; `greedy_counting` goes on from the
        next tick. See `trl_rows.worth` for the scale.
        """
        return self._each(completions, columns, self._value)

    def prediction_reward(self, completions: Sequence[object], **columns: Any) -> list[float]:
        """Mean score of the ``<SIMULATE>`` block in [-1, 1]; 0 without one, -1 for a malformed text."""
        return self._each(completions, columns, self._foresight)

    # -- one text -------------------------------------------------------------------------------------
    def _value(self, case: Case, text: str) -> float:
        verdict = parse_action(text, case.obs)
        if not verdict.ok:
            return MALFORMED
        total = self._played(case, verdict.actions)
        return worth(total, case.greedy, len(case.obs.pending_ids), self._pack.constants.n0_car_minutes)

    def _foresight(self, case: Case, text: str) -> float:
        verdict = parse_action(text, case.obs)
        if not verdict.ok:
            return MALFORMED
        if verdict.prediction is None:
            return 0.0
        twin = case.session.fork()
        obs = twin.step(text)
        for _ in range(AHEAD_TICKS - 1):  # the score is kept until its five ticks are over
            if not obs.done:
                obs = twin.step()
        told = twin.host_view()["predictions"]
        if not isinstance(told, list) or not told:
            return 0.0  # the episode ends before
        return float(told[-1]["scores"]["mean"])

    def _played(self, case: Case, actions: Sequence[Action] | None) -> float:
        """Mean total reward over the futures; None lets `greedy_counting` answer in the first tick too."""
        batch, world = self._batch, self._batch.world
        world.f[:], world.i[:], world.u[:] = case.futures.f, case.futures.i, case.futures.u
        total = np.zeros(self._n_futures)
        ticks = self._ahead
        if actions is not None:
            seqs = self._decoder.pending_seqs(case.obs.row)
            n = decision_rows(actions, seqs, self._decoder.station_index, batch.answers[0])
            batch.answers[1:, :n] = batch.answers[0, :n]
            batch.counts[:], batch.invalid[:] = n, 0
            total += batch.step()
            ticks -= 1
        if ticks:
            total += batch.play("greedy_counting", ticks).sum(0)
        return float(total.mean())

    # -- rows -----------------------------------------------------------------------------------------
    def _each(
        self, completions: Sequence[object], columns: Mapping[str, Any], of: Callable[[Case, str], float]
    ) -> list[float]:
        rows = _rows_of(columns, len(completions))
        out = []
        for completion, row in zip(completions, rows, strict=True):
            value = of(self._case(row), text_of(completion))
            if not math.isfinite(value):
                self.uncomputed += 1
                warnings.warn(f"A reward was {value}; it counts 0.", RuntimeWarning, stacklevel=3)
                value = 0.0
            out.append(float(value))
        return out

    def _case(self, row: Mapping[str, Any]) -> Case:
        key = tuple(sorted(row.items()))
        case = self._cases.get(key)
        if case is None:
            session = Session(self._pack, record=False)
            obs = begin(session, self._greedy, row, None)
            case = self._cases[key] = Case(obs, session, self._sampled(session, obs), 0.0)
            case.greedy = self._played(case, None)
            if len(self._cases) > self._kept:
                self._cases.popitem(last=False)
        self._cases.move_to_end(key)
        return case

    def _sampled(self, session: Session, obs: LiveObservation) -> World:
        planning, worlds = session.planning(), World(self._pack, self._n_futures)
        for k in range(self._n_futures):
            planning.fork_rows(k, self._ahead + SETTLE_TICKS + 1).copy(0, k, worlds)
        y: npt.NDArray[np.int32] = worlds.view("Y")  # type: ignore[assignment]  # an int row
        y[:, r.Y_TICKS] = np.minimum(y[:, r.Y_TICKS], obs.state.tick + self._ahead)
        y[:, r.Y_SETTLE] = 1
        return worlds


def text_of(completion: object) -> str:
    """The text of a completion: a string, or the last message of a conversation; "" for anything else."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Sequence) and completion and isinstance(completion[-1], Mapping):
        content = completion[-1].get("content")
        if isinstance(content, str):
            return content
        if isinstance(content, Sequence):
            return "".join(str(p.get("text") or "") for p in content if isinstance(p, Mapping))
    return ""


def _rows_of(columns: Mapping[str, Any], n: int) -> list[dict[str, Any]]:
    """The rows' moments from TRL's columns (a list each)."""
    if "seed" not in columns:
        raise OptionError("The rows have no column 'seed'.", "Make them with build_rows.")
    known = {k: v for k, v in columns.items() if k in DEFAULTS or k == "tick"}
    for name, values in known.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or len(values) != n:
            raise OptionError(f"Column {name!r} does not have one value for each of {n} completions.")
    return [{k: v[i] for k, v in known.items() if v[i] is not None} for i in range(n)]


@lru_cache(maxsize=1)
def _bengaluru() -> TextRewards:
    return TextRewards()


def format_reward(completions: Sequence[object], **columns: Any) -> list[float]:
    """See `TextRewards.format_reward`."""
    return _bengaluru().format_reward(completions, **columns)


def env_reward(completions: Sequence[object], **columns: Any) -> list[float]:
    """See `TextRewards.env_reward`."""
    return _bengaluru().env_reward(completions, **columns)


def prediction_reward(completions: Sequence[object], **columns: Any) -> list[float]:
    """See `TextRewards.prediction_reward`."""
    return _bengaluru().prediction_reward(completions, **columns)
