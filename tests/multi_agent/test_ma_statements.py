"""The grammar of statements: what can be checked, and what is only talk."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ev_grid_oracle.protocol.statements import Claim, parse_message
from ev_grid_oracle.schema.codes import CODES

S, F = ("BLR-01", "BLR-02"), ("F01", "F02")


def test_claims_and_promises_are_read() -> None:
    read = parse_message(
        "hello\nCLAIM queue BLR-01 <= 2\n\tCLAIM load F02 = 0.85 \r\nPROMISE avoid BLR-02 FOR 6\nPROMISE cap F01 0.9 FOR 48",
        S,
        F,
    )
    assert not read.refused and read.errors == ()
    assert [(c.quantity, c.subject, c.op, c.number, c.decimals) for c in read.claims] == [
        ("queue", "BLR-01", "<=", 2.0, 0),
        ("load", "F02", "=", 0.85, 2),
    ]
    assert [(p.verb, p.subject, p.number, p.ticks) for p in read.promises] == [
        ("avoid", "BLR-02", None, 6),
        ("cap", "F01", 0.9, 48),
    ]
    assert parse_message("PROMISE serve EV-0012 FOR 4", S, F).promises[0].subject == "EV-0012"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("CLAIM queue BLR-01 2", "E_FORMAT"),
        ("CLAIM queue BLR-01 == 2", "E_FORMAT"),
        ("CLAIM length BLR-01 < 2", "E_FORMAT"),
        ("CLAIM queue BLR-01 < -2", "E_FORMAT"),
        ("CLAIM queue BLR-01 < 02", "E_FORMAT"),
        ("CLAIM queue BLR-01 < nan", "E_FORMAT"),
        ("CLAIM queue BLR-01 < 1e3", "E_FORMAT"),
        ("CLAIM queue BLR-01 < 2 and more", "E_FORMAT"),
        ("CLAIM", "E_FORMAT"),
        ("CLAIM queue F01 < 2", "E_STATION"),
        ("CLAIM load BLR-01 < 2", "E_STATION"),
        ("CLAIM queue BLR-99 < 2", "E_STATION"),
        ("PROMISE avoid BLR-01", "E_FORMAT"),
        ("PROMISE avoid BLR-01 FOR 0", "E_FORMAT"),
        ("PROMISE avoid BLR-01 FOR 49", "E_RANGE"),
        ("PROMISE avoid BLR-01 0.5 FOR 3", "E_SEMANTIC"),
        ("PROMISE cap F01 FOR 3", "E_SEMANTIC"),
        ("PROMISE cap F01 0.29 FOR 3", "E_RANGE"),
        ("PROMISE cap F01 1.21 FOR 3", "E_RANGE"),
        ("PROMISE cap BLR-01 0.9 FOR 3", "E_STATION"),
        ("PROMISE love BLR-01 FOR 3", "E_FORMAT"),
    ],
)
def test_what_is_not_well_written_is_listed_and_left_out(line: str, code: str) -> None:
    read = parse_message(line, S, F)
    assert not read.refused and read.text == line and read.claims == () and read.promises == ()
    assert [e.code for e in read.errors] == [code]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x" * 401, "E_TOO_LONG"),
        (5, "E_FORMAT"),
        (b"CLAIM", "E_FORMAT"),
        ("a\x00b", "E_FORMAT"),
        ("a\u2028CLAIM queue BLR-01 < 2", "E_FORMAT"),
        ("\ud800", "E_ENCODING"),
        ("\n".join(["CLAIM queue BLR-01 < 2"] * 5), "E_FORMAT"),
    ],
)
def test_a_message_refused_whole(text: object, code: str) -> None:
    read = parse_message(text, S, F)
    assert read.refused and read.text == "" and [e.code for e in read.errors] == [code]


def test_talk_that_only_looks_like_a_statement_is_talk() -> None:
    for text in ("I CLAIM queue BLR-01 < 2", "claim queue BLR-01 < 2", "CLAIMS", "PROMISED land", ""):
        read = parse_message(text, S, F)
        assert read.errors == () and read.claims == () and read.text == text


@pytest.mark.parametrize(
    ("op", "number", "decimals", "value", "holds"),
    [
        ("<", 2.0, 0, 1.0, True), ("<", 2.0, 0, 2.0, False), ("<=", 2.0, 0, 2.0, True), (">", 2.0, 0, 2.0, False),
        (">=", 2.0, 0, 2.0, True), ("=", 0.85, 2, 0.8512, True), ("=", 0.85, 2, 0.856, False),
        ("=", 2.0, 0, 3.0, False), (">", 9.0, 0, float("inf"), True), ("=", 9.0, 0, float("inf"), False),
    ],
)  # fmt: skip
def test_operators(op: str, number: float, decimals: int, value: float, holds: bool) -> None:
    assert Claim(1, "", "load", "F01", op, number, decimals).holds(value) is holds


@given(st.text(max_size=500))
@settings(max_examples=300, deadline=None)
def test_never_raises(text: str) -> None:
    read = parse_message(text, S, F)
    assert read.refused == (bool(read.errors) and read.text == "")
    assert all(e.code in CODES for e in read.errors)
