"""One block of six lines (seven with EV_ID): which key stands where, and what each value may be.

The order of judgement: first the keys of all lines (a broken order is one `E_KEY` and ends the parse,
because the rest could only be guessed), then every value on its own, then whether they go together.
Decisions that the format's one-line description leaves open:

- one or more ASCII blanks or tabs separate colon and value; ``KEY:value`` is `E_FORMAT`; a blank before
  the colon or the key, or a blank line inside a block, is `E_KEY`;
- CHARGE_RATE misspelt is `E_FORMAT` (`E_RATE` is the verifier's word for a rate a station lacks);
- DEFER_MINUTES: plain digits above 240 are `E_RANGE`, however many; sign, leading zero, unit, exponent,
  underscore or decimals are `E_FORMAT`;
- CONFIDENCE: a plain decimal above 1 is `E_RANGE` (also ``1.0000001``); everything else that does not
  match, more than four decimals included, is `E_FORMAT`;
- words of REASON are what Unicode white space separates, so no-break spaces do not stretch the limit;
- route with NONE is `E_SEMANTIC`, and an `E_STATION` at the same place says which line to mend.
"""

from __future__ import annotations

from collections.abc import Collection

from ev_grid_oracle.protocol import grammar as g
from ev_grid_oracle.protocol.cursor import Cursor, shown
from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.enums import ActionKind, Rate

RATE_OF = {name: Rate(i) for i, name in enumerate(g.RATES)}
KIND_OF = {name: ActionKind(i) for i, name in enumerate(g.ACTIONS)}
KNOWN_KEYS = frozenset((g.ID_KEY, *g.KEYS))


def known_key(line: str) -> str:
    """The protocol key that `line` seems to carry, in whatever case and spacing; "" if none."""
    match = g.KEYLIKE_RE.fullmatch(line)
    key = match[1].strip().upper().replace(" ", "_").replace("-", "_") if match else ""
    return key if key in KNOWN_KEYS else ""


def parse_block(
    cur: Cursor, stations: Collection[str], pending: Collection[str]
) -> tuple[bool, Action | None]:
    """Reads the block at the cursor.

    Returns:
        Whether the lines were all there (so that what follows can be judged), and the action if every
        value holds.
    """
    first, before = cur.at, len(cur.issues)
    keys = (g.ID_KEY, *g.KEYS) if (cur.line or "").startswith(g.ID_KEY) else g.KEYS
    values: list[str] = []
    for key in keys:
        line = cur.line
        if line is None or not line.startswith(key + ":"):
            cur.issue("E_KEY", _why_not(line, key, keys[: len(values)]), field=key)
            return False, None
        values.append(line[len(key) + 1 :])
        cur.at += 1

    for i, (key, rest) in enumerate(zip(keys, values, strict=True)):
        values[i] = value = rest.lstrip(" \t")
        if value and value == rest:
            cur.issue(
                "E_FORMAT", f"Write a blank after '{key}:'.", field=key, at=first + i, column=len(key) + 2
            )
            continue
        code, message = _judge(key, value, stations, pending)
        if code:
            column = len(key) + 2 + len(rest) - len(value)
            cur.issue(code, message, field=key, at=first + i, column=column)

    wrong = {issue.field for issue in cur.issues[before:]}
    six = values[-6:]
    row = first + len(keys) - 6
    if not wrong & {"ACTION", "STATION", "DEFER_MINUTES"}:
        _judge_together(cur, row, six[0], six[1], six[3])
    if len(cur.issues) > before:
        return True, None
    ev_id = values[0] if len(keys) == 7 else None
    return True, make_action(ev_id, six[0], six[1], six[2], six[3], six[4], six[5])


def make_action(
    ev_id: str | None, kind: str, station: str, rate: str, defer: str, reason: str, confidence: str
) -> Action:
    """The action of seven judged values."""
    return Action(
        KIND_OF[kind],
        None if station == g.NO_STATION else station,
        RATE_OF[rate],
        int(defer),
        ev_id,
        reason,
        float(confidence),
    )


def reason_fault(reason: str) -> str:
    """Why `reason` is no REASON, or ""."""
    if len(reason) > g.MAX_REASON_CHARS:
        return f"REASON has {len(reason)} characters; at most {g.MAX_REASON_CHARS} are allowed."
    if g.CONTROL_RE.search(reason):
        return "REASON holds a control character or another line end."
    words = len(reason.split())
    if not 1 <= words <= g.MAX_REASON_WORDS:
        return f"REASON has {words} words; 1 to {g.MAX_REASON_WORDS} are allowed."
    return ""


def goes_together(kind: str, station: str, minutes: int) -> bool:
    """Whether the three fields that depend on each other do."""
    if kind == "route":
        return station != g.NO_STATION and minutes == 0
    if kind == "defer":
        return station == g.NO_STATION and minutes >= 1
    return True


def _judge(key: str, value: str, stations: Collection[str], pending: Collection[str]) -> tuple[str, str]:
    """Code and sentence for the fault of one value; two empty texts if it holds."""
    if key == "ACTION":
        if value not in KIND_OF:
            return "E_ACTION", f"ACTION is {shown(value)}; one of {', '.join(g.ACTIONS)} is needed."
    elif key == "STATION":
        if value != g.NO_STATION and value not in stations:
            return "E_STATION", f"STATION is {shown(value)}, which is no id of this city and not NONE."
    elif key == "CHARGE_RATE":
        if value not in RATE_OF:
            return "E_FORMAT", f"CHARGE_RATE is {shown(value)}; one of {', '.join(g.RATES)} is needed."
    elif key == "DEFER_MINUTES":
        # the length is bounded before int() sees the digits
        if g.DEFER_RE.fullmatch(value):
            if int(value) > g.MAX_DEFER_MINUTES:
                return "E_RANGE", f"DEFER_MINUTES is {value}; 0 to {g.MAX_DEFER_MINUTES} are allowed."
        elif g.PLAIN_INT_RE.fullmatch(value):
            return "E_RANGE", f"DEFER_MINUTES is {shown(value)}; 0 to {g.MAX_DEFER_MINUTES} are allowed."
        else:
            return "E_FORMAT", f"DEFER_MINUTES is {shown(value)}; plain digits, no leading zero, are needed."
    elif key == "REASON":
        if fault := reason_fault(value):
            return "E_REASON", fault
    elif key == "CONFIDENCE":
        if not g.UNIT_RE.fullmatch(value):
            plain = g.PLAIN_DECIMAL_RE.fullmatch(value)
            above = plain and (plain[1] not in "01" or (plain[1] == "1" and (plain[2] or "").strip("0")))
            what = f"CONFIDENCE is {shown(value)}; 0 to 1 with at most four decimals is needed."
            return ("E_RANGE" if above else "E_FORMAT"), what
    elif value not in pending and not g.EV_ID_RE.fullmatch(value):
        return "E_FORMAT", f"EV_ID is {shown(value)}, which cannot be the id of a car."
    return "", ""


def _judge_together(cur: Cursor, row: int, kind: str, station: str, minutes: str) -> None:
    if kind == "route":
        if station == g.NO_STATION:
            cur.issue("E_SEMANTIC", "route needs a station; NONE names none.", field="STATION", at=row + 1)
            cur.issue("E_STATION", "NONE is no station a car can drive to.", field="STATION", at=row + 1)
        if minutes != "0":
            cur.issue(
                "E_SEMANTIC",
                f"route needs DEFER_MINUTES 0, not {minutes}.",
                field="DEFER_MINUTES",
                at=row + 3,
            )
    elif kind == "defer":
        if station != g.NO_STATION:
            cur.issue("E_SEMANTIC", "defer needs STATION: NONE.", field="STATION", at=row + 1)
        if minutes == "0":
            cur.issue(
                "E_SEMANTIC", "defer needs DEFER_MINUTES of at least 1.", field="DEFER_MINUTES", at=row + 3
            )


def _why_not(line: str | None, key: str, seen: tuple[str, ...]) -> str:
    """Why `line` is not the line of `key`."""
    if not line:
        return f"{key} is missing."
    found = known_key(line)
    if found == key:
        return f"The line must start with '{key}:', upper case, no blanks around it."
    if found in seen:
        return f"{found} stands twice; {key} is expected here."
    if found:
        return f"{found} stands where {key} is expected: a line is missing or out of order."
    return f"{shown(line)} stands where {key} is expected."
