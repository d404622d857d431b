"""Reward functions: finite for every text, in place, and in the right order."""

from __future__ import annotations

import math
import random
from pathlib import Path

import numpy as np
import pytest
from trl_tools import COLUMNS, MALFORMED, columns, moment, text

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.interfaces import trl_rewards
from ev_grid_oracle.interfaces.openenv.tasks import is_frozen
from ev_grid_oracle.interfaces.trl_rewards import TextRewards, build_rows, text_of
from ev_grid_oracle.interfaces.trl_rows import worth
from ev_grid_oracle.protocol import parse_action, render_actions
from ev_grid_oracle.schema.action import SimulationPrediction, StationForecast
from ev_grid_oracle.schema.errors import OptionError

V0 = """ACTION: route
STATION: TOY-B
CHARGE_RATE: fast
DEFER_MINUTES: 0
REASON: shortest queue near the car
CONFIDENCE: 0.8"""


@pytest.fixture(scope="module")
def judge(city_toy: CityPack) -> TextRewards:
    return TextRewards(city_toy, futures=2, ahead=6)


def test_gold_beats_random_beats_malformed(city_blr: CityPack) -> None:
    rows = build_rows(24, city=city_blr, seed=3, scenarios=("baseline", "heatwave_peak"))
    judge, session = TextRewards(city_blr, futures=2), Session(city_blr, record=False)
    totals = []
    for k, row in enumerate(rows):
        obs = moment(session, row)
        texts = [text(obs, session, "greedy_counting"), text(obs, session, "random", k), MALFORMED]
        cols = columns(row, 3)
        env, form = judge.env_reward(texts, **cols), judge.format_reward(texts, **cols)
        assert form[0] == 1.0 and form[2] == 0.0 and env[0] == pytest.approx(0.0, abs=1e-9) and env[2] == -1.0
        assert env[1] > env[2]
        totals.append([a + b for a, b in zip(env, form, strict=True)])
    gold, wild, bad = np.array(totals).T
    for better, worse in ((gold, wild), (wild, bad)):
        d = better - worse
        assert d.mean() > 2.5 * d.std(ddof=1) / math.sqrt(len(d))


def test_one_faulty_text_moves_no_other(judge: TextRewards, city_toy: CityPack) -> None:  # TRN-01, TRN-02
    row = build_rows(1, city=city_toy)[0]
    texts = [V0, "I don't know.", "", V0.replace("TOY-B", "TOY-A"), "x" * 2_000_000, V0 + "\n\udcff", "\0"]
    order = list(range(len(texts)))
    random.Random(1).shuffle(order)
    for function in (judge.format_reward, judge.env_reward, judge.prediction_reward):
        got = function(texts, **columns(row, len(texts)))
        assert len(got) == len(texts) and all(type(v) is float and math.isfinite(v) for v in got)
        assert [function([t], **columns(row, 1))[0] for t in texts] == got
        assert function([texts[k] for k in order], **columns(row, len(order))) == [got[k] for k in order]
    assert judge.format_reward(texts, **columns(row, len(texts)))[1:3] == [0.0, 0.0]


def test_a_value_that_is_no_number_counts_zero_and_is_warned_of(
    judge: TextRewards, city_toy: CityPack, monkeypatch: pytest.MonkeyPatch
) -> None:  # TRN-01
    row = build_rows(1, city=city_toy)[0]
    before = judge.uncomputed
    monkeypatch.setattr(judge, "_value", lambda case, text: math.nan if text == "b" else 1.0)
    with pytest.warns(RuntimeWarning, match="nan"):
        assert judge.env_reward(["a", "b", "c"], **columns(row, 3)) == [1.0, 0.0, 1.0]
    assert judge.uncomputed == before + 1


def test_every_shape_of_a_completion() -> None:
    assert text_of("a") == "a"
    assert text_of([{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]) == "a"
    assert (
        text_of([{"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "image"}]}]) == "a"
    )
    assert [text_of(x) for x in (None, 3, [], [{}], [{"content": None}], [["a"]], {"content": "a"})] == [
        ""
    ] * 7


def test_the_verdict_is_the_parsers(judge: TextRewards, city_toy: CityPack) -> None:  # R1
    row = build_rows(1, city=city_toy)[0]
    obs = moment(Session(city_toy, record=False), row)
    texts = [V0, V0 + "\n", f"```\n{V0}\n```", V0.lower(), V0 + "\nand more", f"<think>hm</think>\n{V0}"]
    chats = [[{"role": "assistant", "content": t}] for t in texts]
    expected = [float(parse_action(t, obs).ok) for t in texts]
    assert 0.0 in expected and 1.0 in expected
    assert judge.format_reward(chats, **columns(row, len(texts))) == expected


def test_a_refused_answer_costs_as_much_as_silence_and_the_penalty(
    judge: TextRewards, city_toy: CityPack
) -> None:
    row = build_rows(1, city=city_toy)[0]
    unknown = V0.replace("ACTION", "EV_ID: EV-99999\nACTION", 1)
    defer = V0.replace("route", "defer").replace("TOY-B", "NONE").replace("MINUTES: 0", "MINUTES: 5")
    nobody, wait = judge.env_reward([unknown, defer], **columns(row, 2))
    assert -1.0 < nobody < 1.0 and -1.0 < wait < 1.0


def test_prediction_is_scored_against_the_simulator(city_toy: CityPack) -> None:
    judge = TextRewards(city_toy, futures=1)
    row = build_rows(1, city=city_toy, predict=True)[0]
    assert "<SIMULATE>" in row["prompt"][0]["content"]
    session = Session(city_toy, record=False)
    obs = moment(session, row)
    blocks = text(obs, session, "greedy_counting")
    twin = session.fork()
    later = twin.step(blocks)
    for _ in range(4):
        later = twin.step(text(later, twin, "greedy_counting") if later.pending else None)
    st = later.state.stations
    load = (st.occupied + st.queued) / np.maximum(np.array(city_toy.stations.slots), 1)
    top = int(np.argmax(load))
    right = SimulationPrediction(
        later.state.grid_load_frac,
        later.state.renewable_frac,
        (
            StationForecast(
                obs.station_ids[top],
                float(st.occupied[top] / city_toy.stations.slots[top]),
                int(st.queued[top]),
            ),
        ),
    )
    wrong = SimulationPrediction(5.0, 0.0, (StationForecast(obs.station_ids[0], 0.0, 99),))
    texts = [f"{render_actions([], p)}\n\n{blocks}" for p in (right, wrong)] + [blocks, MALFORMED]
    got = judge.prediction_reward(texts, **columns(row, 4))
    assert got[0] > 0.9 and got[1] < -0.5 and got[2:] == [0.0, -1.0]


def test_worth_orders_and_never_saturates() -> None:
    values = [worth(t, -50.0, 4, 1300.0) for t in (-1e6, -60.0, -51.0, -50.0, -49.0)]
    assert values == sorted(values) and len(set(values)) == 5 and values[3] == 0.0
    assert values[0] > -1.0 and values[4] < 1.0 and math.isfinite(worth(0.0, 0.0, 0, 1.0))


def test_rows(city_blr: CityPack) -> None:
    rows = build_rows(6, city=city_blr, seed=2, scenarios=("baseline", "CricketFinal"), budget=900)
    assert rows == build_rows(6, city=city_blr, seed=2, scenarios=("baseline", "CricketFinal"), budget=900)
    assert rows[:3] == build_rows(
        3, city=city_blr, seed=2, scenarios=("baseline", "CricketFinal"), budget=900
    )
    session = Session(city_blr, record=False)
    for row in rows:
        obs = moment(session, row)
        prompt = row["prompt"][0]["content"]
        assert obs.pending and obs.state.tick == row["tick"] and not is_frozen(row["seed"])
        assert str(row["seed"]) not in prompt and "CricketFinal" not in prompt
    tools = build_rows(1, city=city_blr, seed=2, kind="tools", horizon=2)[0]
    assert set(tools) == {"prompt", "seed", "scenario", "tick", "horizon"}
    for wrong in ({"n": 0}, {"n": 1, "scenarios": ()}, {"n": 1, "kind": "road"}):
        with pytest.raises(OptionError):
            build_rows(**{"city": city_blr, **wrong})


def test_bad_rows_are_errors_of_the_data_set(judge: TextRewards, city_toy: CityPack) -> None:
    row = build_rows(1, city=city_toy)[0]
    good = columns(row, 1)
    for wrong in (
        {},
        {**good, "tick": [10_000]},
        {**good, "tick": [-1]},
        {**good, "seed": [1, 2]},
        {**good, "seed": "7"},
    ):
        with pytest.raises(OptionError):
            judge.env_reward(["x"], **wrong)
    with pytest.raises(OptionError):
        TextRewards(city_toy, futures=0)
    extra = {"prompts": ["p"], "completion_ids": [[1]], "trainer_state": None, "note": ["n"]}
    assert judge.format_reward(["x"], **good, **extra) == [0.0]


def test_the_defaults_are_for_bengaluru(city_blr: CityPack) -> None:
    row = build_rows(1, city=city_blr)[0]
    names = ("format_reward", "env_reward", "prediction_reward")
    got = [getattr(trl_rewards, name)([MALFORMED], **columns(row, 1)) for name in names]
    assert got == [[0.0], [-1.0], [-1.0]]
    assert [getattr(trl_rewards, name).__name__ for name in names] == list(names)


def test_the_document_names_what_there_is() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "trl.md").read_text()
    for word in (
        *trl_rewards.__all__,
        "route_ev",
        "defer_ev",
        "shift_load",
        "advance",
        "get_reward",
        *COLUMNS[:3],
    ):
        assert word in page, word


def test_training_rows_and_an_evaluation_of_one_seed_play_other_worlds():
    from ev_grid_oracle.evaluation.seeds import episode_seeds

    for seed in (0, 1, 7):
        rows = build_rows(24, city="toy", seed=seed)
        assert len({row["seed"] for row in rows}) == 24
        assert {row["seed"] for row in rows}.isdisjoint(episode_seeds(seed, 1000))
