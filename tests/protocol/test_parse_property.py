"""Properties of the parser over many texts: it inverts the renderer, never raises, and its two ways agree."""

from __future__ import annotations

import random
import re

import pytest
from control_room import ASKED, CARS, STATIONS, V0, load_benchmark
from hypothesis import given
from hypothesis import strategies as st

from ev_grid_oracle.protocol import parse_action, render_action, render_actions
from ev_grid_oracle.protocol.grammar import CONTROL_RE, SINGLE_BLOCK_RE, grammar_ebnf
from ev_grid_oracle.protocol.parse import explain
from ev_grid_oracle.schema.action import Action, SimulationPrediction, StationForecast
from ev_grid_oracle.schema.enums import ActionKind, Rate
from ev_grid_oracle.schema.errors import OptionError

_UNIT = st.integers(0, 10_000).map(lambda n: n / 10_000)
_CHARS = st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"))
_REASON = (
    st.lists(st.text(_CHARS, min_size=1, max_size=9), min_size=1, max_size=20)
    .map(lambda words: " ".join("".join(w.split()) or "x" for w in words))
    .filter(lambda r: 1 <= len(r) <= 200 and not CONTROL_RE.search(r))
)
_FIELDS = st.one_of(
    st.tuples(st.just(ActionKind.ROUTE), st.sampled_from(STATIONS), st.just(0)),
    st.tuples(st.just(ActionKind.DEFER), st.none(), st.integers(1, 240)),
    st.tuples(st.just(ActionKind.LOAD_SHIFT), st.none() | st.sampled_from(STATIONS), st.integers(0, 240)),
)


def _action(fields, rate, reason, confidence, ev_id=None) -> Action:
    kind, station, minutes = fields
    return Action(kind, station, rate, minutes, ev_id, reason, confidence)


ACTION = st.builds(_action, _FIELDS, st.sampled_from(Rate), _REASON, _UNIT, st.none() | st.sampled_from(CARS))
FORECAST = st.builds(
    SimulationPrediction,
    st.integers(0, 99_900).map(lambda n: n / 10_000),
    _UNIT,
    st.lists(
        st.builds(StationForecast, st.sampled_from(STATIONS), _UNIT, st.integers(0, 999)),
        min_size=1,
        max_size=3,
        unique_by=lambda e: e.station_id,
    ).map(tuple),
)


@given(ACTION)
def test_one_rendered_action_parses_to_itself(action):
    text = render_action(action)
    for variant in (text, text + "\n", f"```\n{text}\n```", text.replace("\n", " \r\n")):
        assert parse_action(variant, ASKED).actions == (action,)


@given(st.lists(ACTION, min_size=1, max_size=4), FORECAST)
def test_a_rendered_answer_parses_to_itself(actions, forecast):
    named = [
        Action(a.kind, a.station_id, a.rate, a.defer_minutes, CARS[i], a.reason, a.confidence)
        for i, a in enumerate(actions)
    ]
    result = parse_action(render_actions(named, forecast), ASKED)
    assert result.ok and result.actions == tuple(named) and result.prediction == forecast


@given(ACTION)
def test_the_quick_way_and_the_explaining_way_agree(action):
    text = render_action(action)
    assert SINGLE_BLOCK_RE.fullmatch(text)
    assert explain(text, frozenset(STATIONS), CARS) == parse_action(text, ASKED)


@given(st.text() | st.binary() | st.none() | st.integers())
def test_anything_is_judged(value):
    result = parse_action(value, ASKED)
    assert result.ok or result.errors


def test_twenty_thousand_mutated_texts_are_judged():
    bench = load_benchmark("parser")
    verdicts = bench.fuzz(20_000, seed=7)
    assert sum(verdicts.values()) == 20_000 and verdicts["ok"] > 100 and len(verdicts) > 10


def test_the_two_ways_agree_on_mutated_texts():
    bench = load_benchmark("parser")
    rng = random.Random(11)
    for _ in range(3_000):
        text = bench.mutate(V0, rng)
        if text.isascii():
            assert explain(text, frozenset(bench.CITY.station_ids), bench.CITY.pending_ids) == parse_action(
                text, bench.CITY
            )


@pytest.mark.parametrize(
    "action",
    [
        Action(ActionKind.NONE),
        Action(ActionKind.ROUTE),
        Action(ActionKind.ROUTE, "BLR-01", defer_minutes=5),
        Action(ActionKind.DEFER, defer_minutes=241),
        Action(ActionKind.DEFER, defer_minutes=0),
        Action(ActionKind.ROUTE, "BLR-01", reason=""),
        Action(ActionKind.ROUTE, "BLR-01", reason="two\nlines"),
        Action(ActionKind.ROUTE, "BLR-01", reason=" padded"),
        Action(ActionKind.ROUTE, "BLR-01", confidence=float("nan")),
        Action(ActionKind.ROUTE, "BLR-01", confidence=1.2),
    ],
)
def test_what_cannot_be_written_raises(action):
    with pytest.raises(OptionError):
        render_action(action)


def test_several_actions_need_distinct_ids():
    one = Action(ActionKind.ROUTE, "BLR-01")
    with pytest.raises(OptionError):
        render_actions([one, one])
    assert render_actions([]) == ""


def test_the_grammar_names_the_city_and_defines_what_it_uses():
    for several in (True, False):
        for predict in (True, False):
            text = grammar_ebnf(STATIONS, several=several, predict=predict)
            assert all(f'"{s}"' in text for s in STATIONS)
            defined = {line.split(" ::= ")[0] for line in text.splitlines()}
            bare = re.sub(r'"(?:\\.|[^"\\])*"|\[[^\]]*\]|\{[^}]*\}', " ", text.replace("::=", " "))
            assert set(re.findall(r"[a-z][a-z-]*", bare)) == defined
