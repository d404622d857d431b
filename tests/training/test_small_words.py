"""Questions of the small oracle: from rows and from the Observation the same words, every number one token."""

from __future__ import annotations

import numpy as np
import pytest

from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.observe import LiveObservation
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.episode.session import decoder_of
from ev_grid_oracle.policies.llm import small_words as w
from ev_grid_oracle.policies.llm.small_look import Eyes
from ev_grid_oracle.protocol import build_prompt
from ev_grid_oracle.schema import rows as r


def rows_of(city, scenario, ticks=16):
    """Observation rows of an evening under greedy_counting, every fourth tick."""
    batch = Batch(city, 1, max_answers=packed(city).layout.dims["MP"])
    batch.reset([resolve(city, seed=5, scenario=scenario).world])
    for _ in range(ticks):
        yield batch.world.observe(0)
        batch.play("greedy_counting", 4 if _ < ticks - 1 else 1)
        if batch.done[0]:
            return


@pytest.mark.parametrize("scenario", ["baseline", "transformer_derate"])
def test_rows_and_observation_say_the_same_words(city, scenario):
    eyes, decoder = Eyes(packed(city)), decoder_of(packed(city))
    none = np.zeros((0, r.N_DCOL), np.int32)
    seen = 0
    for o in rows_of(city, scenario, 10):
        obs = LiveObservation(decoder, o.copy(), (), None, {}, (), 0, {})
        for k in range(len(obs.pending)):
            text = build_prompt(obs, car=k, style="compact", rows=w.MOST_LINES)
            question = eyes.car(o, k, none)
            assert w.spell(question.ids) == " ".join([*text.split(), w.ASK])
            table = obs.candidates(k)
            assert all(table.usable[s] for s in question.stations)
            seen += 1
    assert seen > 20


def test_every_number_of_every_column_is_one_token():
    for question in (w.CAR, w.RELIEF_QUESTION, w.WORLD_QUESTION):
        for column in (*question.header, *question.line):
            ids = [w.VOCABULARY[column.word(v / column.per_unit)] for v in range(column.low, column.high + 1)]
            assert ids == list(range(w.FIRST[column.letter], w.FIRST[column.letter] + column.count))
    assert len({c.letter for c in w.COLUMNS}) == len(w.COLUMNS)


def test_array_coding_is_the_columns_own():
    rng = np.random.default_rng(0)
    head = rng.normal(30.0, 60.0, len(w.CAR.header))
    lines = rng.normal(10.0, 60.0, (8, len(w.CAR.line)))
    lines[0, 3], lines[1, 3], lines[2, 1] = -np.inf, np.nan, np.inf
    words = [w.CAR.word, *(c.word(v) for c, v in zip(w.CAR.header, head, strict=True))]
    words += [c.word(v) for row in lines for c, v in zip(w.CAR.line, row, strict=True)]
    assert w.spell(w.CAR.ids(head, lines)) == " ".join([*words, w.ASK])


def test_caps_are_of_the_asked_feeder_and_below_the_stations_class(city):
    eyes = Eyes(packed(city))
    found = 0
    for o in rows_of(city, "transformer_derate"):
        for feeder in eyes.near_feeders(o):
            question = eyes.relief(o, int(feeder))
            for s, rate in zip(question.stations, question.rates, strict=True):
                assert eyes._feeder[s] == feeder and 0 <= rate < eyes._rate[s]
                found += 1
            assert len(question.ids) == w.RELIEF_QUESTION.length(len(question.stations))
    assert found > 0


def test_tokenizer_reads_what_the_prompt_writes():
    tokenizers = pytest.importorskip("tokenizers", reason="needs the extra `oracle`")
    pytest.importorskip("torch", reason="the tokenizer's writer lives beside the model's")
    from ev_grid_oracle.training.small_export import tokenizer_json

    made = tokenizers.Tokenizer.from_str(tokenizer_json())
    text = "car m71 p34 k0 n22 r20 y60 b61 e24\nc1 t12 x0 f-3 g5 w12 h20 u8 i2 l10 d-12 z0 ?"
    assert made.encode(text).ids == [w.VOCABULARY[word] for word in text.split()]
