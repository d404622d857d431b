"""The road task's text: four lines, one move; its parser and its codes (prompt: `road_prompt`).

    CURRENT_NODE: <int>
    NEXT_NODE: <int>
    REASON: at most 20 words
    CONFIDENCE: 0.0-1.0

The rules of the dispatch text hold: the keys in this order, upper case, a blank after the colon, plain
digits, LF or CRLF; one closed ``<think>`` part before the answer and one fence around it are tolerated. A key
that stands twice is `E_MULTI`: a text gives one move. The parser judges words, not roads; whether the move
can be driven is judged by the task (`ROAD_CODES`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from ev_grid_oracle.protocol import grammar as g
from ev_grid_oracle.protocol.cursor import Cursor, shown
from ev_grid_oracle.protocol.parse_block import reason_fault
from ev_grid_oracle.schema.action import ParseIssue
from ev_grid_oracle.schema.codes import CODES, Code

ROAD_KEYS: Final = ("CURRENT_NODE", "NEXT_NODE", "REASON", "CONFIDENCE")
MAX_NODE: Final = 9_999_999
NODE_RE: Final = re.compile(r"0|[1-9][0-9]{0,6}", re.ASCII)
_DIGITS_RE: Final = re.compile(r"[1-9][0-9]*", re.ASCII)
_KEY_RE: Final = re.compile(rf"({'|'.join(ROAD_KEYS)}):.*", re.ASCII)

ROAD_CODES: Mapping[str, Code] = MappingProxyType({c: row for c, row in CODES.items() if row.stage == "road"})
"""Codes that only the road task gives."""


@dataclass(frozen=True, slots=True)
class RoadMove:
    """One answer: drive from `current_node` over one road to `next_node`."""

    current_node: int
    next_node: int
    reason: str = "no reason given"
    confidence: float = 0.5


@dataclass(frozen=True, slots=True)
class RoadParse:
    """Verdict of the parser. `move` is None unless `ok`."""

    ok: bool
    move: RoadMove | None = None
    errors: tuple[ParseIssue, ...] = ()


def parse_road(text: object) -> RoadParse:
    """Judge one answer; never raises.

    Returns:
        The move, or every fault found (at most 20), first first.
    """
    if isinstance(text, bytes | bytearray):
        if len(text) > g.MAX_BYTES:
            return _refuse("E_TOO_LONG", f"The text has {len(text)} bytes; at most 64 KiB are read.")
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as exc:
            return _refuse("E_ENCODING", f"Byte {exc.start} is not UTF-8.")
    if not isinstance(text, str):
        return _refuse("E_FORMAT", f"An answer is text, not {type(text).__name__[:40]}.")
    if len(text) > g.MAX_BYTES:
        return _refuse("E_TOO_LONG", f"The text has {len(text)} characters; at most 64 KiB are read.")
    try:
        if len(text.encode("utf-8")) > g.MAX_BYTES:
            return _refuse("E_TOO_LONG", "The text is longer than 64 KiB as UTF-8.")
    except UnicodeEncodeError:
        return _refuse("E_ENCODING", "The text holds a lone surrogate, which UTF-8 cannot carry.")
    cur = Cursor(text)
    move = _answer(cur, text)
    return RoadParse(True, move) if move is not None else RoadParse(False, None, tuple(cur.issues))


def read_move(values: Mapping[str, object]) -> RoadParse:
    """Judge the structured form ``{"current_node", "next_node", "reason", "confidence"}``."""
    given = {"reason": "no reason given", "confidence": 0.5, **values}
    issues: list[ParseIssue] = []
    for key in given:
        if key not in ("current_node", "next_node", "reason", "confidence"):
            issues.append(ParseIssue("E_KEY", 1, 1, str(key)[:40], f"There is no field {shown(str(key))}."))
    for key in ("current_node", "next_node"):
        value = given.get(key)
        if isinstance(value, bool) or not isinstance(value, int):
            issues.append(ParseIssue("E_FORMAT", 1, 1, key.upper(), f"{key} is no whole number."))
        elif not 0 <= value <= MAX_NODE:
            issues.append(ParseIssue("E_RANGE", 1, 1, key.upper(), f"{key} is outside 0 to {MAX_NODE}."))
    reason, confidence = given["reason"], given["confidence"]
    fault = reason_fault(reason) if isinstance(reason, str) else "REASON is no text."
    if fault:
        issues.append(ParseIssue("E_REASON", 1, 1, "REASON", fault))
    if isinstance(confidence, bool) or not isinstance(confidence, int | float):
        issues.append(ParseIssue("E_FORMAT", 1, 1, "CONFIDENCE", "confidence is no number."))
    elif not 0.0 <= confidence <= 1.0:
        issues.append(ParseIssue("E_RANGE", 1, 1, "CONFIDENCE", "confidence is outside 0 to 1."))
    if issues:
        return RoadParse(False, None, tuple(issues[: g.MAX_ISSUES]))
    here, there = given["current_node"], given["next_node"]
    assert isinstance(here, int) and isinstance(there, int) and isinstance(confidence, int | float)
    return RoadParse(True, RoadMove(here, there, str(reason), float(confidence)))


def render_road(move: RoadMove) -> str:
    """The move as text, in the canonical spelling; `parse_road` gives an equal move back."""
    decimal = f"{move.confidence:.4f}".rstrip("0")
    decimal = f"{decimal}0" if decimal.endswith(".") else decimal
    return (
        f"CURRENT_NODE: {move.current_node}\nNEXT_NODE: {move.next_node}\n"
        f"REASON: {move.reason}\nCONFIDENCE: {decimal}\n"
    )


def _refuse(code: str, message: str) -> RoadParse:
    return RoadParse(False, None, (ParseIssue(code, 1, 1, "", message),))


def _answer(cur: Cursor, text: str) -> RoadMove | None:
    line = cur.skip_blank()
    if line is None:
        cur.issue("E_EMPTY", "The text holds no answer.")
        return None
    if line.startswith(g.THINK_OPEN):
        if text.count(g.THINK_OPEN) != 1 or text.count(g.THINK_CLOSE) != 1:
            cur.issue("E_THINK", "One <think> and one </think> may stand in a text, neither of them again.")
            return None
        later = Cursor(text, text.index(g.THINK_CLOSE) + len(g.THINK_CLOSE))
        later.issues = cur.issues
        return _fenced(later)
    return _fenced(cur)


def _fenced(cur: Cursor) -> RoadMove | None:
    line = cur.skip_blank()
    fence = ""
    if line is not None and line.startswith(("```", "~~~")):
        opening = g.FENCE_RE.fullmatch(line)
        if opening is None:
            cur.issue("E_FENCE", f"{shown(line)} is no fence line.")
            return None
        fence = opening[1]
        cur.at += 1
        line = cur.skip_blank()
    if line is None:
        cur.issue("E_EMPTY", "The text holds no answer.")
        return None
    keys = [m[1] for m in map(_KEY_RE.fullmatch, cur.lines[cur.at :]) if m]
    if len(set(keys)) < len(keys):
        twice = next(k for n, k in enumerate(keys) if k in keys[:n])
        cur.issue("E_MULTI", f"{twice} stands twice; a text gives one move.", field=twice)
        return None
    move = _block(cur)
    if cur.issues:
        return None
    rest = cur.skip_blank()
    if fence:
        if rest is None or not rest.startswith(fence) or rest.strip(fence[0]):
            cur.issue("E_FENCE", "The fence is not closed.")
            return None
        cur.at += 1
        rest = cur.skip_blank()
    if rest is not None:
        cur.issue("E_TRAILING", f"{shown(rest)} stands after the answer.")
        return None
    return move


def _block(cur: Cursor) -> RoadMove | None:
    values: list[str] = []
    for key in ROAD_KEYS:
        line = cur.line
        if line is None or not line.startswith(key + ":"):
            cur.issue(*_why_not(cur, line, key, not values), field=key)
            return None
        rest = line[len(key) + 1 :]
        value = rest.lstrip(" \t")
        code, message = _judge(key, value)
        if value and value == rest:
            code, message = "E_FORMAT", f"Write a blank after '{key}:'."
        if code:
            cur.issue(code, message, field=key, column=len(key) + 2)
        values.append(value)
        cur.at += 1
    if cur.issues:
        return None
    return RoadMove(int(values[0]), int(values[1]), values[2], float(values[3]))


def _why_not(cur: Cursor, line: str | None, key: str, first: bool) -> tuple[str, str]:
    """Code and sentence for a line that is not the line of `key`."""
    if first and line is not None:
        if any(later.startswith(ROAD_KEYS[0] + ":") for later in cur.lines[cur.at :]):
            return "E_LEADING", f"{shown(line)} stands before the answer."
        if not line.upper().startswith(ROAD_KEYS):
            return "E_FORMAT", f"No answer was found; {shown(line)} is not its first line."
    return "E_KEY", f"{key} is expected here."


def _judge(key: str, value: str) -> tuple[str, str]:
    if key == "REASON":
        fault = reason_fault(value)
        return ("E_REASON", fault) if fault else ("", "")
    if key == "CONFIDENCE":
        if g.UNIT_RE.fullmatch(value):
            return "", ""
        return "E_FORMAT" if not g.PLAIN_DECIMAL_RE.fullmatch(value) or float(value) <= 1.0 else "E_RANGE", (
            f"CONFIDENCE is {shown(value)}; 0 to 1 with at most four decimals is needed."
        )
    if NODE_RE.fullmatch(value):
        return "", ""
    if _DIGITS_RE.fullmatch(value):
        return "E_RANGE", f"{key} is {shown(value)}; 0 to {MAX_NODE} are allowed."
    return "E_FORMAT", f"{key} is {shown(value)}; plain digits, no leading zero, are needed."
