"""The grammar of an observation: everything in it is accepted by parser and verifier, and nothing legal is missing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("llguidance", reason="the train extra is not installed")

from llguidance import LLMatcher, LLTokenizer
from llm_tools import moments

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.episode.validate import validate_action
from ev_grid_oracle.policies.llm.grammar import SHIFT_MINUTES, answer_grammar, choices_of
from ev_grid_oracle.protocol import parse_action, render_actions
from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.enums import ActionKind, Rate

BYTES = LLTokenizer("byte")


def written(grammar: str, rng: np.random.Generator) -> str:
    """A text of the grammar, each byte drawn among those allowed."""
    matcher = LLMatcher(BYTES, grammar)
    assert not matcher.is_error(), matcher.get_error()
    said: list[int] = []
    while not matcher.is_stopped():
        forced = matcher.compute_ff_tokens()
        if forced:
            assert matcher.consume_tokens(forced)
            said += forced
            continue
        bits = np.unpackbits(np.frombuffer(matcher.compute_bitmask(), np.uint8), bitorder="little")
        allowed = np.flatnonzero(bits[: BYTES.vocab_size])
        token = int(rng.choice(allowed))
        if token in BYTES.eos_tokens:
            break
        assert matcher.consume_token(token)
        said.append(token)
    return BYTES.decode_bytes(said).decode("ascii")


def accepts(grammar: str, text: str) -> bool:
    matcher = LLMatcher(BYTES, grammar)
    return bool(matcher.consume_tokens(list(BYTES.tokenize_str(text)))) and bool(matcher.is_accepting())


@pytest.mark.parametrize("scenario", ["baseline", "station_outage", "transformer_derate", "MonsoonStorm"])
def test_every_text_of_the_grammar_is_played(city_blr: CityPack, scenario: str) -> None:
    rng = np.random.default_rng(5)
    session = Session(city_blr, record=False)
    obs = session.reset(seed=9, scenario=scenario, participation=0.4)
    kinds: set[int] = set()
    asked = 0
    while asked < 12:
        choices = choices_of(obs)
        if not choices.cars:
            obs = session.step()
            continue
        texts = [written(answer_grammar(choices), rng) for _ in range(3)]
        for text in texts:
            verdict = parse_action(text, obs)
            assert verdict.ok, (text, verdict.errors)
            assert len(verdict.actions) == len(choices.cars)
            kinds |= {int(a.kind) for a in verdict.actions}
        obs = session.step(texts[0])
        assert obs.info["errors"] == []  # neither refused whole nor for a car
        asked += 1
    assert kinds == {0, 1, 2}


def test_the_grammar_holds_every_legal_move_and_no_other(city_blr: CityPack) -> None:
    for obs in moments(city_blr, 3, scenario="station_outage", participation=0.4):
        choices = choices_of(obs)
        grammar = answer_grammar(replace(choices, cars=choices.cars[:1], named=True))
        car = choices.cars[0].ev_id
        for station in (*obs.station_ids, None):
            for rate in Rate:
                for kind, minutes in ((ActionKind.ROUTE, 0), (ActionKind.LOAD_SHIFT, SHIFT_MINUTES[0])):
                    if kind == ActionKind.ROUTE and station is None:
                        continue
                    action = Action(kind, station, rate, minutes, car)
                    legal, _why = validate_action(obs, action)
                    assert accepts(grammar, render_actions([action]) + "\n") == legal, action
        for minutes in range(5, 245, 5):
            action = Action(ActionKind.DEFER, None, Rate.FAST, minutes, car)
            assert accepts(grammar, render_actions([action]) + "\n") == validate_action(obs, action)[0], (
                minutes
            )


def test_a_single_first_car_needs_no_id_and_a_hopeless_one_is_left_out(city_toy: CityPack) -> None:
    obs = next(o for o in moments(city_toy, 12, participation=0.4) if len(o.pending_ids) > 1)
    choices = choices_of(obs)
    assert choices.named and [c.ev_id for c in choices.cars] == list(obs.pending_ids)
    only = replace(choices, cars=choices.cars[:1], named=False)
    text = written(answer_grammar(only), np.random.default_rng(1))
    assert text.startswith("ACTION: ") and parse_action(text, obs).actions[0].ev_id is None
    cars = tuple(replace(c, patience_left_min=3.0) if k == 0 else c for k, c in enumerate(obs.pending))
    table = obs.candidates(0)
    nowhere = replace(table, usable=np.zeros_like(table.usable))
    obs.__dict__.update(pending=cars, candidates_of=lambda k, assumed: table if k else nowhere)
    left = choices_of(obs)
    assert left.named and [c.ev_id for c in left.cars] == list(obs.pending_ids)[1:]
    with pytest.raises(ValueError, match="No car"):
        answer_grammar(replace(choices, cars=()))


def test_both_dialects_say_the_same(city_toy: CityPack) -> None:
    from llguidance.gbnf_to_lark import gbnf_to_lark

    rng = np.random.default_rng(2)
    for obs in moments(city_toy, 4):
        choices = choices_of(obs)
        theirs = gbnf_to_lark(answer_grammar(choices, "gbnf"))
        for _ in range(3):
            assert accepts(theirs, written(answer_grammar(choices), rng))
            assert accepts(answer_grammar(choices), written(theirs, rng))
