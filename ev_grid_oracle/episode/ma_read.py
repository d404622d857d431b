"""What each agent sent, judged: directive or answers, message, errors, and the form a recipe keeps it in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from ev_grid_oracle.episode.ma_directive import Directive, read_directive
from ev_grid_oracle.episode.ma_resolve import Violation, actions_of
from ev_grid_oracle.episode.ma_views import AGENTS
from ev_grid_oracle.episode.observe import LiveObservation
from ev_grid_oracle.episode.report import parse_errors
from ev_grid_oracle.episode.session import Answer, Session
from ev_grid_oracle.protocol import grammar as g
from ev_grid_oracle.protocol.cursor import shown
from ev_grid_oracle.protocol.statements import Message, parse_message
from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.codes import CODES
from ev_grid_oracle.schema.enums import ActionKind

Errors = list[dict[str, object]]


@dataclass(frozen=True)
class Said:
    """One agent's part of a tick.

    Attributes:
        directive: of the operator; None: the one in force stays.
        answer: of the dispatcher, as `Session.step` takes it; `actions` the same, read.
        refused: the answer's text was refused.
        kept: JSON-safe; given again, it has the same effect.
    """

    message: Message = field(default_factory=Message)
    directive: Directive | None = None
    answer: Answer = None
    actions: tuple[Action, ...] = ()
    refused: bool = False
    errors: Errors = field(default_factory=list)
    kept: dict[str, object] | None = None


def read_operator(value: object, obs: LiveObservation) -> Said:
    """The operator's part: a directive, a message, both or neither."""
    if value is None:
        return Said()
    text: object = None
    if isinstance(value, Mapping) and "message" in value:
        text = value["message"]
        value = {k: v for k, v in value.items() if k != "message"} or None
    message = parse_message(text, obs.station_ids, obs.feeder_ids)
    directive, issues = read_directive(value, obs.station_ids, obs.feeder_ids)
    kept: dict[str, object] = {} if directive is None else directive.to_dict()
    if message.text:
        kept["message"] = message.text
    return Said(message, directive, errors=parse_errors([*issues, *message.errors]), kept=kept or None)


def read_dispatcher(value: object, obs: LiveObservation, session: Session) -> Said:
    """The dispatcher's part: answers, a message, both or neither."""
    if value is None:
        return Said()
    text: object = None
    if isinstance(value, Mapping) and "message" in value:
        text = value["message"]
        value = {k: v for k, v in value.items() if k != "message"} or None
    message = parse_message(text, obs.station_ids, obs.feeder_ids)
    kept: dict[str, object] = {"message": message.text} if message.text else {}
    errors = parse_errors(message.errors)
    if value is None:
        return Said(message, errors=errors, kept=kept or None)
    if isinstance(value, np.ndarray):
        session._take_rows(value)  # raises where a row is out of range
        value = [a for a in actions_of(value, obs.station_ids) if a.kind != ActionKind.NONE]
    answer = cast(Answer, value)
    read, written = session._read(answer, obs)
    if not read.ok:  # errors of the text are told by the session; to play it again any refused one will do
        kept["refused"] = True
    elif written is not None:
        kept["text"] = written
    else:
        kept["actions"] = [structured(a) for a in read.actions]
    return Said(message, None, answer, read.actions, not read.ok, errors, kept)


def structured(a: Action) -> dict[str, object]:
    """An action in the structured form of programs."""
    return {
        "ev_id": a.ev_id,
        "action_type": g.ACTIONS[a.kind],
        "station_id": a.station_id or g.NO_STATION,
        "charge_rate": g.RATES[a.rate],
        "defer_minutes": a.defer_minutes,
        "confidence": a.confidence,
        "reason": a.reason,
    }


def unknown_names(actions: object) -> Errors:
    """Errors for what is no dictionary of agents, and for names that nobody carries."""
    if actions is None:
        return []
    if not isinstance(actions, Mapping):
        return [_error("E_FORMAT", f"Actions are a dictionary by agent, not {type(actions).__name__[:40]}.")]
    return [
        _error("E_KEY", f"There is no agent {shown(str(name))}; agents are {' and '.join(AGENTS)}.")
        for name in actions
        if name not in AGENTS
    ][:20]


def _error(code: str, message: str) -> dict[str, object]:
    return {"code": code, "line": 1, "column": 1, "field": "", "message": message, "hint": CODES[code].cure}


def listed(violations: Sequence[Violation]) -> list[dict[str, object]]:
    """Violations, JSON-safe."""
    return [v.to_dict() for v in violations]
