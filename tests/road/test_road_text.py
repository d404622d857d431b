"""The four lines: what is read, what is refused and why, and the prompt."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.road import RoadSession
from ev_grid_oracle.protocol.road import ROAD_CODES, RoadMove, parse_road, read_move, render_road
from ev_grid_oracle.schema.codes import CODES

GOOD = "CURRENT_NODE: 3\nNEXT_NODE: 4\nREASON: the fastest way\nCONFIDENCE: 0.8\n"


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.encode(),
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", " \t\n"),
        f"\n\n{GOOD}\n",
        f"```\n{GOOD}```",
        f"~~~~text\n{GOOD}~~~~\n",
        f"<think>NEXT_NODE: 9 or 4?</think>\n{GOOD}",
        f"<think>\n</think>{GOOD}",
        f"<think>x</think>\n```\n{GOOD}```\n",
    ],
)
def test_accepted(text: str | bytes) -> None:
    read = parse_road(text)
    assert read.ok and read.move == RoadMove(3, 4, "the fastest way", 0.8) and read.errors == ()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "E_EMPTY"),
        (" \n", "E_EMPTY"),
        ("I do not know.", "E_FORMAT"),
        (None, "E_FORMAT"),
        (b"\xff\xfe", "E_ENCODING"),
        ("\ud800", "E_ENCODING"),
        ("x" * 70_000, "E_TOO_LONG"),
        (GOOD.replace("NEXT_NODE", "Next_Node"), "E_KEY"),
        (GOOD.replace("NEXT_NODE: 4\n", ""), "E_KEY"),
        (GOOD.replace("NEXT_NODE: 4", "NEXT_NODE:4"), "E_FORMAT"),
        (GOOD.replace("NEXT_NODE: 4", "NEXT_NODE: 4\nNEXT_NODE: 4"), "E_MULTI"),
        (GOOD + GOOD, "E_MULTI"),
        (GOOD.replace(": 4", ": 04"), "E_FORMAT"),
        (GOOD.replace(": 4", ": -4"), "E_FORMAT"),
        (GOOD.replace(": 4", ": \uff14"), "E_FORMAT"),
        (GOOD.replace(": 4", ": " + "9" * 5000), "E_RANGE"),
        (GOOD.replace("0.8", "1.2"), "E_RANGE"),
        (GOOD.replace("0.8", "nan"), "E_FORMAT"),
        (GOOD.replace("0.8", "9" * 5000), "E_RANGE"),
        (GOOD.replace("the fastest way", "a " * 21), "E_REASON"),
        ("Sure!\n" + GOOD, "E_LEADING"),
        (GOOD + "Good luck!", "E_TRAILING"),
        ("```\n" + GOOD, "E_FENCE"),
        ("<think>no end\n" + GOOD, "E_THINK"),
    ],
)
def test_refused(text: object, code: str) -> None:
    read = parse_road(text)
    assert not read.ok and read.move is None
    assert read.errors[0].code == code, read.errors
    assert all(e.code in CODES for e in read.errors)


LINES = [*GOOD.splitlines(), "```", "<think>", "</think>", ""]


@given(st.one_of(st.text(max_size=300), st.lists(st.sampled_from(LINES), max_size=9).map("\n".join)))
@settings(max_examples=400, deadline=None)
def test_never_raises(text: str) -> None:
    read = parse_road(text)
    assert read.ok == (read.move is not None) == (not read.errors)


@given(st.integers(0, 9_999_999), st.integers(0, 9_999_999), st.floats(0.0, 1.0))
@settings(deadline=None)
def test_rendered_moves_are_read_back(here: int, there: int, confidence: float) -> None:
    move = RoadMove(here, there, "why not", round(confidence, 4))
    read = parse_road(render_road(move))
    assert read.move == move
    assert read_move({"current_node": here, "next_node": there}).ok


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({}, "E_FORMAT"),
        ({"current_node": 1}, "E_FORMAT"),
        ({"current_node": True, "next_node": 2}, "E_FORMAT"),
        ({"current_node": 1, "next_node": 2.0}, "E_FORMAT"),
        ({"current_node": 1, "next_node": -2}, "E_RANGE"),
        ({"current_node": 1, "next_node": 2, "speed": 3}, "E_KEY"),
        ({"current_node": 1, "next_node": 2, "confidence": float("nan")}, "E_RANGE"),
        ({"current_node": 1, "next_node": 2, "reason": ""}, "E_REASON"),
    ],
)
def test_structured_moves_are_held_to_the_same_rules(values: dict[str, object], code: str) -> None:
    assert read_move(values).errors[0].code == code


def test_the_prompt_lists_neighbours_with_heading_minutes_and_road(city_blr: CityPack) -> None:
    task = RoadSession(city_blr)
    obs = task.reset(seed=1)
    lines = obs.prompt.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("NEIGHBOURS"))
    for line, n in zip(lines[start + 1 :], obs.neighbours, strict=False):
        assert line.startswith(f"{n.node} {n.heading} ") and " min " in line and n.road in line
    assert len(obs.neighbours) >= 1 and obs.prompt == task.observation.prompt
    assert lines[-4].startswith("CURRENT_NODE:") and lines[-1].startswith("CONFIDENCE:")
    assert len(obs.prompt) < 2000


def test_codes_of_the_task_have_a_cure() -> None:
    assert all(row.sentence and row.cure and row.code == code for code, row in ROAD_CODES.items())
