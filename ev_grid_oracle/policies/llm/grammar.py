"""What a model may write now: the legal answers of one observation, as a grammar.

The choices are those that the verifier would accept (see `policies.legal`): every station a car may be routed
to, at every rate; deferrals of whole ticks within its patience; a demand response at a station that is up, at
its own class or a lower one. A text of the grammar is one block for each car, in the observation's order, so
neither the parser nor the verifier can refuse any of it. A car that may neither drive nor wait has no block: it
is left alone.

The same rules are written in two dialects: Lark for llguidance, GBNF for servers that take a grammar with the
request (llama.cpp, vLLM).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ev_grid_oracle.protocol import grammar as g
from ev_grid_oracle.schema.axes import STEP_MINUTES
from ev_grid_oracle.schema.enums import Rate
from ev_grid_oracle.schema.observation import Observation

Dialect = Literal["lark", "gbnf"]

SHIFT_MINUTES = (5, 10, 15, 20, 30, 60)
"""How long a demand response may last; a longer one is a longer promise than a tick's forecast carries."""
WORDS, WORD_CHARS = 12, 15
"""Of REASON: 12 words of 15 characters stay below the protocol's 20 words and 200 characters."""


@dataclass(frozen=True, slots=True)
class CarChoices:
    """One pending car: ids of the stations it may be routed to, and minutes it may be deferred."""

    ev_id: str
    stations: tuple[str, ...]
    defer_min: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Choices:
    """All that may be answered now.

    Attributes:
        cars: those that have a choice, in the protocol's order.
        shift: for each rate the stations whose slots may be capped at it; ``NONE`` is always allowed.
        named: blocks carry their EV_ID line.
    """

    cars: tuple[CarChoices, ...]
    shift: tuple[tuple[str, ...], ...]
    named: bool


def choices_of(obs: Observation) -> Choices:
    """The legal answers to `obs`."""
    cars = []
    for k, car in enumerate(obs.pending):
        usable = np.flatnonzero(obs.candidates(k).usable)
        longest = min(int(car.patience_left_min), g.MAX_DEFER_MINUTES)
        defer = tuple(range(STEP_MINUTES, longest + 1, STEP_MINUTES))
        if len(usable) or defer:
            cars.append(CarChoices(car.ev_id, tuple(obs.station_ids[int(s)] for s in usable), defer))
    state = obs.state.stations
    up = np.flatnonzero((state.slots_up > 0) & state.supplied)
    shift = tuple(tuple(obs.station_ids[int(s)] for s in up if int(state.rate[s]) >= rate) for rate in Rate)
    first = obs.pending[0].ev_id if obs.pending else ""
    return Choices(tuple(cars), shift, len(cars) != 1 or cars[0].ev_id != first)


def answer_grammar(choices: Choices, dialect: Dialect = "lark") -> str:
    """The texts that answer every car of `choices`, as a grammar.

    Raises:
        ValueError: no car has a choice; the answer is then the empty text, and nobody need be asked.
    """
    if not choices.cars:
        raise ValueError("No car has a choice: the empty text is the answer.")
    head, arrow = ("start", ":") if dialect == "lark" else ("root", "::=")
    blocks = ' "\\n" '.join(f"car{k}" for k in range(len(choices.cars)))
    rules = [(head, blocks)]
    for k, car in enumerate(choices.cars):
        name = f"{_quoted(f'{g.ID_KEY}: {car.ev_id}' + chr(10))} " if choices.named else ""
        kinds = []
        if car.stations:
            kinds.append(
                f'"ACTION: route\\nSTATION: " {_either(car.stations)} "\\nCHARGE_RATE: " rate "\\nDEFER_MINUTES: 0\\n"'
            )
        if car.defer_min:
            kinds.append(
                f'"ACTION: defer\\nSTATION: {g.NO_STATION}\\nCHARGE_RATE: " rate "\\nDEFER_MINUTES: " '
                f'{_either([str(m) for m in car.defer_min])} "\\n"'
            )
        rules.append((f"car{k}", f"{name}({' | '.join([*kinds, 'shift'])}) tail"))
    caps = [
        f'{_either([*stations, g.NO_STATION])} "\\nCHARGE_RATE: {g.RATES[rate]}\\n"'
        for rate, stations in enumerate(choices.shift)
    ]
    minutes = _either([str(m) for m in SHIFT_MINUTES])
    rules += [
        ("shift", f'"ACTION: load_shift\\nSTATION: " ({" | ".join(caps)}) "DEFER_MINUTES: " {minutes} "\\n"'),
        ("rate", _either(g.RATES)),
    ]
    lines = [f"{left} {arrow} {right}" for left, right in rules]
    return "\n".join([*lines, *_TAIL[dialect]]) + "\n"


_TAIL = {
    "lark": (
        'tail: "REASON: " REASON "\\nCONFIDENCE: " CONFIDENCE "\\n"',
        rf"REASON: /[!-~]{{1,{WORD_CHARS}}}( [!-~]{{1,{WORD_CHARS}}}){{0,{WORDS - 1}}}/",
        r"CONFIDENCE: /0\.[0-9]{1,2}|1\.0/",
    ),
    "gbnf": (
        f'tail ::= "REASON: " word (" " word){{0,{WORDS - 1}}} "\\nCONFIDENCE: " confidence "\\n"',
        f"word ::= [!-~]{{1,{WORD_CHARS}}}",
        'confidence ::= "0." [0-9]{1,2} | "1.0"',
    ),
}


def _quoted(text: str) -> str:
    """A literal; ids are ASCII without quotes, for which JSON's escapes are also Lark's and GBNF's."""
    return json.dumps(text)


def _either(words: Sequence[str]) -> str:
    return f"({' | '.join(_quoted(w) for w in words)})"
