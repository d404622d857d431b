"""`parse_action`: the one judge of an agent's text. It never guesses, never repairs and never raises.

A text is, in this order: one closed ``<think>`` part, one markdown fence around all that follows, one
``<SIMULATE>`` block, one or more blocks; each but the blocks may be absent. Blank lines may stand
between these parts, before and after. What the rules leave open is decided here, once:

=====================================  ===========================================================
text                                   verdict
=====================================  ===========================================================
neither text nor bytes                 `E_FORMAT`
bytes that are not UTF-8, surrogates   `E_ENCODING`
a byte order mark                      `E_LEADING`: it is text before the answer
nothing, or blanks only                `E_EMPTY`; legal when no car is pending, also with a thought,
                                       an empty fence or a forecast alone
no ACTION line anywhere                `E_FORMAT`
prose, then a fence or a block         `E_LEADING`, whether or not the fence is closed
a fence left open, or closed by the    `E_FENCE`
other sign or by fewer signs
a fence closed but never opened        `E_TRAILING`
``<think>`` left open, ``</think>``    `E_THINK`. The answer may follow ``</think>`` on its line. Any
alone, either of them twice            second tag refuses, so that no reader can split elsewhere
``<think>`` in the fence, or later     `E_THINK`
``<SIMULATE>`` after a block           `E_SIMULATE`
a second block, not all with EV_ID     `E_MULTI`, at the line where it begins; also after the fence
the same EV_ID twice                   `E_MULTI`
one of the six keys after a block      `E_KEY`
other text after a block               `E_TRAILING`
an EV_ID that is not pending           accepted: the verifier refuses that car alone
=====================================  ===========================================================

Without EV_ID an action's `ev_id` stays None, "the first pending car". All faults of a text are listed,
by line, at most 20; the first one is the one to show.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ev_grid_oracle.protocol import grammar as g
from ev_grid_oracle.protocol.cursor import AnswerContext, Cursor, shown
from ev_grid_oracle.protocol.parse_block import (
    goes_together,
    known_key,
    make_action,
    parse_block,
    reason_fault,
)
from ev_grid_oracle.protocol.parse_simulate import parse_simulate
from ev_grid_oracle.schema.action import Action, ParseIssue, ParseResult, SimulationPrediction

_STARTS = ("ACTION:", "EV_ID:")
_NO_ACTIONS: tuple[Action, ...] = ()


def parse_action(text: object, obs: AnswerContext) -> ParseResult:
    """Judges one answer.

    Args:
        text: the agent's answer; anything, so that no caller needs a guard of its own.
        obs: needs only `station_ids` and the ordered `pending_ids`.

    Returns:
        The actions in the order of the text, or the reasons why there are none.
    """
    if isinstance(text, str):
        if len(text) > g.MAX_BYTES:
            return _refuse("E_TOO_LONG", f"The text has {len(text)} characters; at most 64 KiB are read.")
        if not text.isascii():
            try:
                size = len(text.encode("utf-8"))
            except UnicodeEncodeError:
                return _refuse("E_ENCODING", "The text holds a lone surrogate, which UTF-8 cannot carry.")
            if size > g.MAX_BYTES:
                return _refuse("E_TOO_LONG", f"The text has {size} bytes as UTF-8; at most 64 KiB are read.")
    elif isinstance(text, bytes | bytearray):
        if len(text) > g.MAX_BYTES:
            return _refuse("E_TOO_LONG", f"The text has {len(text)} bytes; at most 64 KiB are read.")
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as exc:
            return _refuse("E_ENCODING", f"Byte {exc.start} is not UTF-8.")
    else:
        return _refuse("E_FORMAT", f"An answer is text, not {type(text).__name__[:40]}.")
    stations = _station_set(tuple(obs.station_ids))
    match = g.SINGLE_BLOCK_RE.fullmatch(text)
    if match is not None:
        ev_id, kind, station, rate, defer, reason, confidence = match.groups()
        reason = reason.rstrip(" \t")
        if (
            (station in stations or station == g.NO_STATION)
            and int(defer) <= g.MAX_DEFER_MINUTES
            and goes_together(kind, station, int(defer))
            and not reason_fault(reason)
        ):
            return ParseResult(True, (make_action(ev_id, kind, station, rate, defer, reason, confidence),))
    return explain(text, stations, obs.pending_ids)


def explain(text: str, stations: frozenset[str], pending_ids: Sequence[str]) -> ParseResult:
    """The whole grammar, line by line, with reasons; agrees with the quick way on what is valid."""
    cur = Cursor(text)
    line = cur.skip_blank()
    if line is not None and line.startswith(g.THINK_OPEN):
        if text.count(g.THINK_OPEN) != 1 or text.count(g.THINK_CLOSE) != 1:
            cur.issue("E_THINK", "One <think> and one </think> may stand in a text, neither of them again.")
            return ParseResult(False, errors=tuple(cur.issues))
        cur = Cursor(text, text.index(g.THINK_CLOSE) + len(g.THINK_CLOSE))
        line = cur.skip_blank()

    fence = ""
    if line is not None and line.startswith(("```", "~~~")):
        opening = g.FENCE_RE.fullmatch(line)
        if opening is None:
            cur.issue(
                "E_FENCE", f"{shown(line)} is no fence line: a fence and an optional label stand alone."
            )
            return ParseResult(False, errors=tuple(cur.issues))
        fence = opening[1]
        cur.at += 1
        line = cur.skip_blank()

    prediction: SimulationPrediction | None = None
    if line == g.SIMULATE_OPEN:
        prediction = parse_simulate(cur, stations)
        if prediction is None:
            return ParseResult(False, errors=tuple(cur.issues))

    actions = _blocks(cur, stations, frozenset(pending_ids), fence)
    if not cur.issues and not actions and pending_ids:
        cur.issue("E_EMPTY", "The text holds no answer although a car is pending.", at=0)
    if cur.issues:
        return ParseResult(False, errors=tuple(sorted(cur.issues, key=lambda i: i.line)[: g.MAX_ISSUES]))
    return ParseResult(True, tuple(actions), prediction=prediction)


def _blocks(cur: Cursor, stations: frozenset[str], pending: frozenset[str], fence: str) -> list[Action]:
    """All blocks up to the end of the text or of the fence, and what stands after them."""
    actions: list[Action] = []
    ids: set[str] = set()
    count = 0
    all_named = True
    while not cur.full:
        line = cur.skip_blank()
        if line is None:
            if fence:
                cur.issue("E_FENCE", f"The fence '{fence[:3]}' is not closed.", at=len(cur.lines) - 1)
            break
        if fence and _closes(line, fence):
            cur.at += 1
            line = cur.skip_blank()
            if line is not None:
                again = line.startswith(_STARTS)
                cur.issue("E_MULTI" if again else "E_TRAILING", f"{shown(line)} stands after the fence.")
            break
        if not line.startswith(_STARTS):
            cur.issue(*_stray(cur, line, count > 0, fence), field=known_key(line))
            break
        named = line.startswith(g.ID_KEY)
        if count and not (named and all_named):
            cur.issue("E_MULTI", "Several blocks need an EV_ID line before each.", field=g.ID_KEY)
            break
        start = cur.at
        complete, action = parse_block(cur, stations, pending)
        if not complete:
            break
        count += 1
        all_named = named
        if named:
            ev_id = cur.lines[start][len(g.ID_KEY) + 1 :].lstrip(" \t")
            if ev_id in ids:
                cur.issue("E_MULTI", f"EV_ID {shown(ev_id)} stands twice.", field=g.ID_KEY, at=start)
            ids.add(ev_id)
        if action is not None:
            actions.append(action)
    return actions


def _stray(cur: Cursor, line: str, after: bool, fence: str) -> tuple[str, str]:
    """Code and sentence for a line that begins no block, before the first or after the last one."""
    if line.startswith((g.THINK_OPEN, g.THINK_CLOSE)):
        return "E_THINK", "A <think> part may only stand first, outside a fence."
    if line.upper() in (g.SIMULATE_OPEN, g.SIMULATE_CLOSE):
        return "E_SIMULATE", "A <SIMULATE> block, in upper case, may only stand before the first block."
    key = known_key(line)
    if after:
        if fence and line.startswith(fence[:3]) | line.startswith(("```", "~~~")):
            return "E_FENCE", f"{shown(line)} does not close the fence."
        if key:
            return "E_KEY", f"{key} stands again after a whole block."
        return "E_TRAILING", f"{shown(line)} stands after the answer."
    if key:
        if key in ("ACTION", g.ID_KEY):
            return "E_KEY", f"The line must start with '{key}:', upper case, no blanks around it."
        return "E_KEY", f"{key} stands where ACTION is expected."
    if fence and line.startswith(("```", "~~~")):
        return "E_FENCE", "A fence stands inside a fence."
    rest = "\n".join(cur.lines[cur.at :])
    if g.THINK_CLOSE in rest and g.THINK_OPEN not in rest:
        return "E_THINK", "</think> closes a thought that was never opened."
    if "ACTION:" in rest:
        return "E_LEADING", f"{shown(line)} stands before the answer."
    return "E_FORMAT", f"No answer was found; {shown(line)} is not its first line."


def _closes(line: str, fence: str) -> bool:
    """At least as many of the same sign, alone on the line."""
    return len(line) >= len(fence) and not line.strip(fence[0])


@lru_cache(maxsize=32)
def _station_set(ids: tuple[str, ...]) -> frozenset[str]:
    return frozenset(ids)


def _refuse(code: str, message: str) -> ParseResult:
    return ParseResult(False, _NO_ACTIONS, (ParseIssue(code, 1, 1, "", message),))
