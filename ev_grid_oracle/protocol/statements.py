"""What two agents may say to each other so that it can be checked: CLAIM and PROMISE, a line each.

    CLAIM queue BLR-07 <= 2
    PROMISE avoid BLR-07 FOR 6
    PROMISE cap F03 0.95 FOR 12
    PROMISE serve EV-0012 FOR 4

A message is at most 400 characters of text. Its lines that begin with CLAIM or PROMISE are statements, at most
four; all other lines are talk, which is passed on and never scored. A statement that is not well written is
passed on too, listed with its code, and never scored: only what can be checked can earn or cost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ev_grid_oracle.protocol import grammar as g
from ev_grid_oracle.protocol.cursor import shown
from ev_grid_oracle.schema.action import ParseIssue

MAX_MESSAGE_CHARS: Final = 400
MAX_STATEMENTS: Final = 4
MAX_PROMISE_TICKS: Final = 48
CLAIM: Final = "CLAIM"
PROMISE: Final = "PROMISE"

STATION_QUANTITIES: Final = ("queue", "free_slots", "inbound", "wait")
FEEDER_QUANTITIES: Final = ("load", "voltage")
QUANTITIES: Final = STATION_QUANTITIES + FEEDER_QUANTITIES
OPERATORS: Final = ("<", "<=", "=", ">=", ">")
VERBS: Final = ("avoid", "cap", "serve")
CAP_LO: Final = 0.3
CAP_HI: Final = 1.2

_NUMBER = r"(?:0|[1-9][0-9]{0,4})(?:\.[0-9]{1,4})?"
_ID = rf"[A-Za-z0-9][A-Za-z0-9._:/-]{{0,{g.MAX_ID_CHARS - 1}}}"
_GAP = r"[ \t]+"
CLAIM_RE: Final = re.compile(
    rf"CLAIM{_GAP}({'|'.join(QUANTITIES)}){_GAP}({_ID}){_GAP}(<=|>=|<|>|=){_GAP}({_NUMBER})", re.ASCII
)
PROMISE_RE: Final = re.compile(
    rf"PROMISE{_GAP}({'|'.join(VERBS)}){_GAP}({_ID})(?:{_GAP}({_NUMBER}))?{_GAP}FOR{_GAP}([1-9][0-9]{{0,2}})",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement about now.

    Attributes:
        quantity: queue (cars), free_slots, inbound (known cars on the way), wait (minutes until a slot frees)
            of a station; load (fraction of the nominal rating), voltage (lowest, pu) of a feeder.
        decimals: of the number as written: ``=`` means equal when rounded to as many.
    """

    line: int
    text: str
    quantity: str
    subject: str
    op: str
    number: float
    decimals: int

    def holds(self, value: float) -> bool:
        """Whether the claim is true of `value` (inf: there is none in sight)."""
        if self.op == "=":
            return abs(value - self.number) <= 0.5 * 10.0**-self.decimals + 1e-12
        if self.op == "<":
            return value < self.number
        if self.op == "<=":
            return value <= self.number
        return value > self.number if self.op == ">" else value >= self.number


@dataclass(frozen=True, slots=True)
class Promise:
    """A statement about the next `ticks` ticks, the one it is said in included.

    Attributes:
        verb: avoid (route no car to a station), cap (keep a feeder's load at or below `number`, a fraction of
            its nominal rating), serve (have a car plugged in).
    """

    line: int
    text: str
    verb: str
    subject: str
    number: float | None
    ticks: int


@dataclass(frozen=True, slots=True)
class Message:
    """One message as it is judged. `text` is "" where the message was refused (`refused`)."""

    text: str = ""
    claims: tuple[Claim, ...] = ()
    promises: tuple[Promise, ...] = ()
    errors: tuple[ParseIssue, ...] = ()
    refused: bool = False


def parse_message(text: object, station_ids: Sequence[str], feeder_ids: Sequence[str]) -> Message:
    """Read a message; never raises.

    Refused whole (`E_TOO_LONG`, `E_FORMAT`, `E_ENCODING`): no text, too long, control characters, more than
    four statements. Otherwise statements that are not well written are listed in `errors` and left out.
    """
    if text is None or text == "":
        return Message()
    if not isinstance(text, str):
        return _refuse("E_FORMAT", f"A message is text, not {type(text).__name__[:40]}.")
    if len(text) > MAX_MESSAGE_CHARS:
        return _refuse("E_TOO_LONG", f"The message has {len(text)} characters; at most {MAX_MESSAGE_CHARS}.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return _refuse("E_ENCODING", "The message holds a lone surrogate, which UTF-8 cannot carry.")
    lines = [line.strip(" \t\r") for line in text.split("\n")]
    if any(g.CONTROL_RE.search(line) for line in lines):
        return _refuse("E_FORMAT", "The message holds a control character or another line end.")
    listed = [(n, line) for n, line in enumerate(lines, start=1) if _is_statement(line)]
    if len(listed) > MAX_STATEMENTS:
        return _refuse("E_FORMAT", f"The message has {len(listed)} statements; at most {MAX_STATEMENTS}.")
    claims: list[Claim] = []
    promises: list[Promise] = []
    errors: list[ParseIssue] = []
    for n, line in listed:
        found = _claim(n, line) if line.startswith(CLAIM) else _promise(n, line)
        issue = found if isinstance(found, ParseIssue) else _subject_fault(found, station_ids, feeder_ids)
        if issue is not None:
            errors.append(issue)
        elif isinstance(found, Claim):
            claims.append(found)
        elif isinstance(found, Promise):
            promises.append(found)
    return Message(text, tuple(claims), tuple(promises), tuple(errors))


def _is_statement(line: str) -> bool:
    return line.split(maxsplit=1)[:1] in ([CLAIM], [PROMISE])


def _claim(n: int, line: str) -> Claim | ParseIssue:
    match = CLAIM_RE.fullmatch(line)
    if match is None:
        return ParseIssue(
            "E_FORMAT",
            n,
            1,
            CLAIM,
            f"{shown(line)} is not 'CLAIM quantity id op number' ({', '.join(QUANTITIES)}).",
        )
    quantity, subject, op, number = match.groups()
    return Claim(n, line, quantity, subject, op, float(number), len(number.partition(".")[2]))


def _promise(n: int, line: str) -> Promise | ParseIssue:
    match = PROMISE_RE.fullmatch(line)
    if match is None:
        return ParseIssue(
            "E_FORMAT",
            n,
            1,
            PROMISE,
            f"{shown(line)} is not 'PROMISE verb id [number] FOR ticks' ({', '.join(VERBS)}).",
        )
    verb, subject, number, ticks = match.groups()
    if (verb == "cap") != (number is not None):
        return ParseIssue("E_SEMANTIC", n, 1, PROMISE, "cap needs a number; avoid and serve have none.")
    if number is not None and not CAP_LO <= float(number) <= CAP_HI:
        return ParseIssue("E_RANGE", n, 1, PROMISE, f"cap is {number}; {CAP_LO} to {CAP_HI} are allowed.")
    if int(ticks) > MAX_PROMISE_TICKS:
        return ParseIssue("E_RANGE", n, 1, PROMISE, f"FOR is {ticks}; 1 to {MAX_PROMISE_TICKS} are allowed.")
    return Promise(n, line, verb, subject, None if number is None else float(number), int(ticks))


def _subject_fault(
    said: Claim | Promise, station_ids: Sequence[str], feeder_ids: Sequence[str]
) -> ParseIssue | None:
    """What is wrong with the id, if anything. Whether a car exists is judged by the game."""
    if isinstance(said, Claim):
        known, kind = (
            (station_ids, "station") if said.quantity in STATION_QUANTITIES else (feeder_ids, "feeder")
        )
        key = CLAIM
    else:
        known, kind = (feeder_ids, "feeder") if said.verb == "cap" else (station_ids, "station")
        key = PROMISE
        if said.verb == "serve":
            return None
    if said.subject in known:
        return None
    return ParseIssue("E_STATION", said.line, 1, key, f"{shown(said.subject)} is no {kind} of this city.")


def _refuse(code: str, message: str) -> Message:
    return Message(errors=(ParseIssue(code, 1, 1, "", message),), refused=True)
