"""Doing nothing useful never pays, with or without the penalties (case TRN-05)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from collapse import RULES, totals
from inject import Rig, silent

from ev_grid_oracle.reward.terms import F_IDLE, FLAG_NAMES
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import CarState

SEEDS = {"toy": range(200, 230), "blr": range(200, 208)}
SCENARIOS = {"toy": ("baseline", "station_outage"), "blr": ("baseline", "SilkBoardJam", "transformer_derate")}


def roomy(city):
    """Collapse fills the city: rows for everyone, so that only the reward is judged."""
    return replace(city, constants=replace(city.constants, max_cars=1000, max_pending=300))


def play_all(city, name):
    """scenario -> rule -> what `totals` gives."""
    rules = ("baseline", "greedy_counting", *RULES)
    return {s: {rule: totals(roomy(city), s, rule, SEEDS[name]) for rule in rules} for s in SCENARIOS[name]}


@pytest.fixture(scope="module")
def toy_scores(city_toy):
    return play_all(city_toy, "toy")


@pytest.fixture(scope="module")
def blr_scores(city_blr):
    return play_all(city_blr, "blr")


@pytest.mark.parametrize("city", ["toy", "blr"])
@pytest.mark.parametrize("rule", RULES)
def test_no_collapse_policy_scores_above_the_baseline(request, city, rule):
    """On the mean of every scenario, beyond what the seeds could do by chance; with and without anti_hack."""
    for scenario, found in request.getfixturevalue(f"{city}_scores").items():
        for column, name in enumerate(("total", "total without anti_hack")):
            gain = found[rule][column] - found["baseline"][column]
            chance = 2.0 * gain.std() / len(gain) ** 0.5
            assert gain.mean() < min(chance, 0.01 * abs(found["baseline"][column].mean())), (scenario, name)


@pytest.mark.parametrize("city", ["toy", "blr"])
def test_greedy_counting_is_above_the_baseline(request, city):
    for scenario, found in request.getfixturevalue(f"{city}_scores").items():
        assert found["greedy_counting"][0].mean() > found["baseline"][0].mean(), scenario


def test_trn_05_greedy_then_random_then_doing_nothing(toy_scores):
    """30 seeds: greedy above random legal above always defer, always load_shift and never answering."""
    found = toy_scores["baseline"]
    greedy, random = found["greedy_counting"][0].mean(), found["random_legal"][0].mean()
    assert greedy > random
    for rule in ("always_defer_60", "always_load_shift", "silent"):
        assert random > found[rule][0].mean(), rule


@pytest.mark.parametrize("rule", ["always_defer_60", "always_load_shift", "silent"])
def test_trn_05_the_idle_flag_fires_in_idle_episodes(toy_scores, blr_scores, rule):
    assert FLAG_NAMES[F_IDLE] == "idle"
    for scores in (toy_scores, blr_scores):
        idle = scores["baseline"][rule][2]
        assert (idle > 0).mean() >= 0.9


def test_the_idle_flag_is_rare_where_somebody_works(toy_scores):
    assert (toy_scores["baseline"]["greedy_counting"][2]).mean() < 1.0


def test_trn_05_deferring_for_ever_has_a_growing_cost(city_toy):
    """One car put off k times and then routed: each deferral adds to the cost."""
    cost = []
    for k in range(14):
        rig = Rig(silent(city_toy), ticks=16, settle=True)
        seq = rig.car(vehicle=1, soc=0.6, target=0.7, node=20, patience=90)
        total = 0.0
        for tick in range(16):
            there = seq in rig.present() and rig.row(seq)[r.C_STATE] == CarState.PENDING
            answer = [(seq, 1, -1, 1, 5)] if tick < k else [(seq, 0, 0, 1)]
            total += rig.step(answer if there else [])
        cost.append(-total)
    growth = np.diff(cost)
    assert (growth > 0.0).all()
    assert growth[8:].mean() > growth[:4].mean() + 1e-6  # from the sixth on it is flagged as stalling as well
