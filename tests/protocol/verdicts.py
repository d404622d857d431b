"""Shortcuts for tests of the parser: change one line of a valid answer, expect one verdict."""

from __future__ import annotations

from control_room import ASKED, V0

from ev_grid_oracle.protocol import parse_action
from ev_grid_oracle.schema.action import Action, ParseResult
from ev_grid_oracle.schema.codes import CODES
from ev_grid_oracle.schema.enums import ActionKind, Rate

V0_ACTION = Action(ActionKind.ROUTE, "BLR-07", Rate.FAST, 0, None, "shortest queue near the car", 0.8)
DEFER = V0.replace("route", "defer").replace("BLR-07", "NONE").replace("MINUTES: 0", "MINUTES: 15")
SIM = """<SIMULATE>
T+5_GRID_LOAD_PCT: 0.85
T+5_RENEWABLE_PCT: 0.31
T+5_TOP_STATIONS: BLR-01:0.82:3 | BLR-11:0.77:2 | BLR-04:0.70:1
</SIMULATE>
"""


def with_(field: str, value: str, text: str = V0) -> str:
    """`text` with the value of one line replaced."""
    return "".join(
        f"{field}: {value}\n" if line.startswith(field + ":") else line
        for line in text.splitlines(keepends=True)
    )


def codes(result: ParseResult) -> list[str]:
    return [issue.code for issue in result.errors]


def refused(text: object, code: str, *, field: str | None = None, obs: object = ASKED) -> ParseResult:
    result = parse_action(text, obs)  # type: ignore[arg-type]
    assert not result.ok and result.actions == () and result.prediction is None
    assert codes(result)[0] == code, result.errors
    if field is not None:
        assert result.errors[0].field == field
    for issue in result.errors:
        assert CODES[issue.code].stage == "parser"
        assert issue.line >= 1 and issue.column >= 1 and issue.message.endswith(".")
    return result


def accepted(text: object, obs: object = ASKED) -> ParseResult:
    result = parse_action(text, obs)  # type: ignore[arg-type]
    assert result.ok and result.errors == (), result.errors
    return result
