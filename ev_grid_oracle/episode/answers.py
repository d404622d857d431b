"""From answers in any form to decision rows: actions, and the structured form of programs.

Text has one parser (`protocol.parse_action`). Programs send `Action` objects or dictionaries; they are held
to the same ranges by the same codes, so that no door is softer than another. `line` of an issue is then the
number of the action, from 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.episode.ids import NOBODY, car_seq
from ev_grid_oracle.protocol import grammar as g
from ev_grid_oracle.protocol.cursor import shown
from ev_grid_oracle.protocol.parse_block import KIND_OF, RATE_OF, goes_together, reason_fault
from ev_grid_oracle.schema.action import Action, ParseIssue, ParseResult
from ev_grid_oracle.schema.enums import ActionKind, Rate

I32 = npt.NDArray[np.int32]

MAX_ANSWERS = 640  # more than a text of 64 KiB can hold
FIELDS = ("ev_id", "action_type", "station_id", "charge_rate", "defer_minutes", "confidence", "reason")


def decision_rows(
    actions: Sequence[Action], pending: Sequence[int], stations: Mapping[str, int], out: I32
) -> int:
    """Write `actions` into `out` (n, 8); returns how many rows.

    pending: numbers of the pending cars, first first. An id that names nobody becomes `NOBODY`, which the
    verifier refuses; `ActionKind.NONE` is no row.
    """
    n = 0
    for action in actions:
        if action.kind == ActionKind.NONE:
            continue
        if action.ev_id is None:
            seq = pending[0] if pending else NOBODY
        else:
            seq = car_seq(action.ev_id)
        station = -1 if action.station_id is None else stations[action.station_id]
        confidence = math.floor(action.confidence * 10000.0 + 0.5)
        out[n] = (seq, action.kind, station, action.rate, action.defer_minutes, confidence, 0, 0)
        n += 1
    return n


def read_actions(actions: Sequence[object], station_ids: Sequence[str]) -> ParseResult:
    """Judge answers of a program: `Action` objects or dictionaries of the structured form."""
    if len(actions) > MAX_ANSWERS:
        issue = ParseIssue("E_TOO_LONG", 1, 1, "", f"{len(actions)} answers; at most {MAX_ANSWERS} are read.")
        return ParseResult(False, errors=(issue,))
    issues: list[ParseIssue] = []
    read: list[Action] = []
    for k, item in enumerate(actions, start=1):
        found: list[tuple[str, str, str]] = []
        action = item if isinstance(item, Action) else _from_mapping(item, found)
        if action is not None and action.kind != ActionKind.NONE:
            _judge(action, station_ids, found)
            read.append(action)
        issues += [ParseIssue(code, k, 1, field, message) for code, field, message in found]
    if not issues and len(read) > 1:
        ids = [a.ev_id for a in read]
        if None in ids or len(set(ids)) != len(ids):
            issues.append(ParseIssue("E_MULTI", 1, 1, "EV_ID", "Several answers need different ev_id each."))
    if issues:
        return ParseResult(False, errors=tuple(issues[: g.MAX_ISSUES]))
    return ParseResult(True, tuple(read))


def _judge(a: Action, station_ids: Sequence[str], found: list[tuple[str, str, str]]) -> None:
    """The parser's rules on values that are already typed."""
    before = len(found)
    if a.kind not in (0, 1, 2):
        found.append(
            ("E_ACTION", "ACTION", f"action_type is {shown(str(a.kind))}; one of {', '.join(g.ACTIONS)}.")
        )
    if a.station_id is not None and (not isinstance(a.station_id, str) or a.station_id not in station_ids):
        found.append(
            ("E_STATION", "STATION", f"station_id is {shown(str(a.station_id))}, no id of this city.")
        )
    if a.rate not in (0, 1, 2):
        found.append(
            ("E_FORMAT", "CHARGE_RATE", f"charge_rate is {shown(str(a.rate))}; one of {', '.join(g.RATES)}.")
        )
    if isinstance(a.defer_minutes, bool) or not isinstance(a.defer_minutes, int):
        found.append(("E_FORMAT", "DEFER_MINUTES", "defer_minutes is no whole number."))
    elif not 0 <= a.defer_minutes <= g.MAX_DEFER_MINUTES:
        found.append(("E_RANGE", "DEFER_MINUTES", f"defer_minutes is outside 0 to {g.MAX_DEFER_MINUTES}."))
    if isinstance(a.confidence, bool) or not isinstance(a.confidence, int | float):
        found.append(("E_FORMAT", "CONFIDENCE", "confidence is no number."))
    elif not math.isfinite(a.confidence):
        found.append(("E_FORMAT", "CONFIDENCE", "confidence is not finite."))
    elif not 0.0 <= a.confidence <= 1.0:
        found.append(("E_RANGE", "CONFIDENCE", "confidence is outside 0 to 1."))
    fault = reason_fault(a.reason) if isinstance(a.reason, str) else "REASON is no text."
    if fault:
        found.append(("E_REASON", "REASON", fault))
    if a.ev_id is not None and (not isinstance(a.ev_id, str) or not g.EV_ID_RE.fullmatch(a.ev_id)):
        found.append(
            ("E_FORMAT", "EV_ID", f"ev_id is {shown(str(a.ev_id))}, which cannot be the id of a car.")
        )
    if len(found) == before and not goes_together(
        g.ACTIONS[a.kind], a.station_id or g.NO_STATION, a.defer_minutes
    ):
        found.append(
            (
                "E_SEMANTIC",
                "ACTION",
                "The fields do not go together: route takes a station and 0 minutes, defer none.",
            )
        )


def _from_mapping(item: object, found: list[tuple[str, str, str]]) -> Action | None:
    """An action from the structured form; notes what cannot be read."""
    if not isinstance(item, Mapping):
        found.append(
            ("E_FORMAT", "", f"An answer is a dictionary or an Action, not {type(item).__name__[:40]}.")
        )
        return None
    for key in item:
        if key not in FIELDS:
            found.append(("E_KEY", shown(str(key)), f"There is no field {shown(str(key))}."))
    kind, rate = item.get("action_type"), item.get("charge_rate", g.RATES[Rate.FAST])
    if not isinstance(kind, str) or kind not in KIND_OF:
        found.append(
            ("E_ACTION", "ACTION", f"action_type is {shown(str(kind))}; one of {', '.join(g.ACTIONS)}.")
        )
    if not isinstance(rate, str) or rate not in RATE_OF:
        found.append(
            ("E_FORMAT", "CHARGE_RATE", f"charge_rate is {shown(str(rate))}; one of {', '.join(g.RATES)}.")
        )
    if found:
        return None
    station = item.get("station_id")
    default = Action(ActionKind.NONE)
    return Action(
        KIND_OF[str(kind)],
        None if station == g.NO_STATION else station,
        RATE_OF[str(rate)],
        item.get("defer_minutes", default.defer_minutes),
        item.get("ev_id"),
        item.get("reason", default.reason),
        item.get("confidence", default.confidence),
    )
