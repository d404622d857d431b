"""The frozen rules R2 and R3, empty answers, the forecast block, and what a trainer leans on."""

from __future__ import annotations

import random

import pytest
from control_room import ASKED, NOBODY, V0
from verdicts import SIM, V0_ACTION, accepted, codes, refused, with_

from ev_grid_oracle.protocol import parse_action
from ev_grid_oracle.protocol.grammar import MAX_BYTES, MAX_ISSUES
from ev_grid_oracle.schema import errors
from ev_grid_oracle.schema.codes import CODES

# R2, R3: length, encoding, keys, nothing pending


def test_r2_length_is_judged_in_bytes_before_anything_else():
    assert accepted(V0 + "\n" * (MAX_BYTES - len(V0))).actions == (V0_ACTION,)
    refused(V0 + "\n" * (MAX_BYTES - len(V0) + 1), "E_TOO_LONG")
    refused("ಬ" * (MAX_BYTES // 3 + 1), "E_TOO_LONG")
    refused(b"x" * (MAX_BYTES + 1), "E_TOO_LONG")


@pytest.mark.parametrize("value", [None, 5, 1.5, [V0], {"text": V0}, object(), True])
def test_r2_other_types_are_refused(value):
    refused(value, "E_FORMAT")


def test_r2_bytes_and_surrogates():
    refused(b"\xff\xfe", "E_ENCODING")
    refused(V0.replace("shortest", "\ud800"), "E_ENCODING")
    refused("\ufeff" + V0, "E_LEADING")
    assert accepted(bytearray(V0.encode())).actions == (V0_ACTION,)


@pytest.mark.parametrize("i", range(6))
def test_r3_each_key_once_in_order(i):
    lines = V0.splitlines(keepends=True)
    swapped = lines.copy()
    j = (i + 1) % 6
    swapped[i], swapped[j] = lines[j], lines[i]
    key = lines[i].split(":")[0]
    refused("".join(lines[:i] + lines[i + 1 :]), "E_KEY")
    refused("".join([*lines[: i + 1], lines[i], *lines[i + 1 :]]), "E_KEY")
    refused("".join(swapped), "E_KEY")
    refused(V0.replace(key, key.lower()), "E_KEY")
    refused(V0.replace(key, f" {key}"), "E_KEY")
    refused(V0.replace(f"{key}:", f"{key} :"), "E_KEY")
    refused("".join([*lines[:i], "\n", *lines[i:]]) if i else "action: route\n", "E_KEY")
    refused("".join([*lines[:i], "NOTE: x\n", *lines[i:]]), "E_KEY" if i else "E_LEADING")
    result = refused(V0.replace(f"{key}: ", f"{key}:"), "E_FORMAT", field=key)
    assert (result.errors[0].line, result.errors[0].column) == (i + 1, len(key) + 2)


@pytest.mark.parametrize(("field", "code"), [("ACTION", "E_ACTION"), ("CHARGE_RATE", "E_FORMAT")])
@pytest.mark.parametrize("value", ["Route", "FAST", "fast|slow", "", "charge"])
def test_r3_closed_words(field, code, value):
    refused(with_(field, value), code, field=field)


def test_r3_all_faults_are_listed_by_line():
    text = "ACTION: go\nSTATION: X\nCHARGE_RATE: 9\nDEFER_MINUTES: 05\nREASON: \nCONFIDENCE: 2\n"
    result = refused(text, "E_ACTION")
    assert codes(result) == ["E_ACTION", "E_STATION", "E_FORMAT", "E_FORMAT", "E_REASON", "E_RANGE"]
    assert [i.line for i in result.errors] == [1, 2, 3, 4, 5, 6]
    many = "".join(f"EV_ID: EV-{n}\n{text}" for n in range(40))
    assert len(parse_action(many, ASKED).errors) == MAX_ISSUES


def test_empty_is_legal_only_when_nobody_waits():
    for text in ("", "  \n\t\r\n", "```\n```\n", "<think>nobody</think>", b""):
        refused(text, "E_EMPTY")
        assert accepted(text, NOBODY).actions == ()
    assert accepted(SIM, NOBODY).prediction is not None
    refused(SIM, "E_EMPTY")
    refused("I don't know.", "E_FORMAT", obs=NOBODY)


# SIMULATE


def test_simulate_before_the_blocks():
    prediction = accepted(SIM + "\n" + V0).prediction
    assert prediction is not None
    assert (prediction.grid_load_frac, prediction.renewable_frac) == (0.85, 0.31)
    top = [(e.station_id, e.occupancy_frac, e.queue) for e in prediction.top_stations]
    assert top == [("BLR-01", 0.82, 3), ("BLR-11", 0.77, 2), ("BLR-04", 0.7, 1)]
    assert accepted(f"<think>x</think>\n~~~\n{SIM}{V0}~~~").prediction == prediction


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0.85", "85%"),
        ("0.85", "9.991"),
        ("0.85", "10.0"),
        ("0.85", "nan"),
        ("0.31", "1.01"),
        ("0.82:3", "1.2:3"),
        ("0.82:3", "0.82"),
        ("0.82:3", "0.82:03"),
        ("0.82:3", "0.82:1000"),
        ("BLR-01:", "BLR-99:"),
        ("BLR-01:", "BLR-11:"),
        ("| BLR-04:0.70:1", "| BLR-04:0.70:1 | BLR-05:0.70:1"),
        ("| BLR-04:0.70:1", "|"),
        ("T+5_RENEWABLE_PCT", "T+5_renewable_PCT"),
        ("</SIMULATE>", ""),
        ("<SIMULATE>", "<simulate>"),
        ("T+5_TOP_STATIONS: BLR-01:0.82:3 | BLR-11:0.77:2 | BLR-04:0.70:1\n", ""),
        ("\nT+5_R", "\n\nT+5_R"),
    ],
)
def test_malformed_simulate_refuses_the_answer(old, new):
    assert old in SIM
    refused(SIM.replace(old, new, 1) + V0, "E_SIMULATE")


def test_simulate_after_a_block_or_twice():
    refused(V0 + SIM, "E_SIMULATE")
    refused(SIM + SIM + V0, "E_SIMULATE")


# TRN-01, TRN-02: what a trainer's reward function leans on


def test_trn_01_every_text_has_a_finite_verdict():
    for text in (V0, "", None, with_("CONFIDENCE", "nan")):
        result = parse_action(text, ASKED)
        assert result.ok == bool(result.actions)
        assert all(0.0 <= a.confidence <= 1.0 for a in result.actions)


def test_trn_02_one_by_one_and_shuffled_are_the_same():
    texts = [V0, "I don't know.", "", V0.replace("BLR-07", "BLR-08"), "x" * 2_000_000]
    batch = [parse_action(t, ASKED) for t in texts]
    assert [r.ok for r in batch] == [True, False, False, True, False]
    assert [codes(r)[:1] for r in batch] == [[], ["E_FORMAT"], ["E_EMPTY"], [], ["E_TOO_LONG"]]
    order = list(range(5))
    random.Random(3).shuffle(order)
    assert [parse_action(texts[i], ASKED) for i in order] == [batch[i] for i in order]


def test_every_code_has_one_row_with_an_example():
    assert all(row.code == code and row.sentence and row.cure and row.example for code, row in CODES.items())
    raised = {
        e.code for e in vars(errors).values() if isinstance(e, type) and issubclass(e, errors.EVGridError)
    }
    assert raised <= set(CODES)
