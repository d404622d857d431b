"""What a forecast is worth: 0 is the clock, 1 is the truth, ties cost nothing, NaN never comes out."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ev_grid_oracle.protocol.predict import Reference, Truth, brier, score_prediction
from ev_grid_oracle.schema.action import SimulationPrediction, StationForecast

IDS = ("A", "B", "C", "D")
TRUTH = Truth(IDS, 0.80, 0.30, np.array([8, 5, 9, 2]), np.array([2, 0, 3, 0]), np.array([8, 10, 12, 10]))
# loads: A 1.25, C 1.0, B 0.5, D 0.2
REFERENCE = Reference(0.70, 0.35, np.array([6, 8, 10, 2]), np.array([0, 0, 0, 0]))
# then: C 0.833, B 0.8, A 0.75, D 0.2


def forecast(load: float, renewable: float, *entries: tuple[str, float, int]) -> SimulationPrediction:
    return SimulationPrediction(load, renewable, tuple(StationForecast(*e) for e in entries))


PERFECT = forecast(0.80, 0.30, ("A", 1.0, 2), ("C", 0.75, 3), ("B", 0.5, 0))
CLOCK = forecast(0.70, 0.35, ("C", 10 / 12, 0), ("B", 0.8, 0), ("A", 0.75, 0))


def test_the_truth_scores_one_and_the_clock_zero():
    assert score_prediction(PERFECT, TRUTH, REFERENCE) == {
        "grid_load": 1.0,
        "renewable": 1.0,
        "stations": 1.0,
        "mean": 1.0,
        "uncomputed": 0.0,
    }
    assert score_prediction(CLOCK, TRUTH, REFERENCE) == pytest.approx(
        {"grid_load": 0.0, "renewable": 0.0, "stations": 0.0, "mean": 0.0, "uncomputed": 0.0}
    )


def test_an_entry_by_hand():
    # D as the fullest: |0.3 - 0.2| + |1 - 0| / 10 + (1.25 - 0.2) = 1.25
    # reference C as the fullest: |10/12 - 9/12| + 3/12 + (1.25 - 1.0) = 0.58333
    score = score_prediction(forecast(0.8, 0.3, ("C", 0.75, 2)), TRUTH, REFERENCE)["stations"]
    assert score == pytest.approx(1 - (1 / 12 + 0.25) / (1 / 12 + 0.25 + 0.25))
    assert score_prediction(forecast(0.8, 0.3, ("D", 0.3, 1)), TRUTH, REFERENCE)["stations"] == -1.0


def test_half_the_error_is_half_the_score_and_the_cut_is_minus_one():
    assert score_prediction(forecast(0.75, 0.30, ("A", 1.0, 2)), TRUTH, REFERENCE)[
        "grid_load"
    ] == pytest.approx(0.5)
    assert score_prediction(forecast(9.99, 1.0, ("A", 1.0, 2)), TRUTH, REFERENCE)["grid_load"] == -1.0


def test_a_perfect_reference_leaves_one_per_cent():
    sharp = dataclasses.replace(REFERENCE, grid_load_frac=0.80)
    assert score_prediction(forecast(0.805, 0.3, ("A", 1.0, 2)), TRUTH, sharp)["grid_load"] == pytest.approx(
        0.5
    )


def test_ties_cost_nothing_in_either_order():
    truth = dataclasses.replace(
        TRUTH, occupied=np.array([8, 10, 3, 2]), queued=np.zeros(4), slots=np.array([8, 10, 12, 10])
    )
    for first, second in (("A", "B"), ("B", "A")):
        told = forecast(0.8, 0.3, (first, 1.0, 0), (second, 1.0, 0))
        assert score_prediction(told, truth, REFERENCE)["stations"] == 1.0


@pytest.mark.parametrize("broken", [math.nan, math.inf, -math.inf])
def test_what_cannot_be_computed_is_zero_and_counted(broken):
    truth = dataclasses.replace(TRUTH, grid_load_frac=broken)
    score = score_prediction(PERFECT, truth, REFERENCE)
    assert score["grid_load"] == 0.0 and score["uncomputed"] == 1.0
    truth = dataclasses.replace(TRUTH, occupied=np.array([8.0, broken, 9.0, 2.0]))
    score = score_prediction(forecast(0.8, 0.3, ("A", 1.0, 2)), truth, REFERENCE)
    assert score["stations"] == 0.0 and score["mean"] == pytest.approx(2 / 3)
    assert score_prediction(forecast(broken, 0.3, ("A", 1.0, 2)), TRUTH, REFERENCE)["grid_load"] == 0.0


def test_a_station_without_slots_and_an_empty_or_foreign_list_are_finite():
    truth = dataclasses.replace(TRUTH, slots=np.array([8, 10, 12, 0]))
    assert math.isfinite(score_prediction(PERFECT, truth, REFERENCE)["mean"])
    for entries in ((), (("Z", 1.0, 0),)):
        assert score_prediction(forecast(0.8, 0.3, *entries), TRUTH, REFERENCE)["stations"] == 0.0


_COUNTS = st.lists(st.integers(0, 20), min_size=4, max_size=4).map(np.array)
_UNIT = st.floats(0, 1)


@given(_UNIT, _UNIT, _UNIT, st.integers(0, 99), _COUNTS, _COUNTS, _COUNTS, _COUNTS, _COUNTS, st.floats(0, 3))
def test_scores_stay_within_minus_one_and_one(load, green, occ, queue, o, q, slots, o2, q2, was):
    truth = Truth(IDS, load, green, o, q, slots)
    score = score_prediction(forecast(was, occ, ("B", occ, queue)), truth, Reference(was, green, o2, q2))
    assert all(-1.0 <= score[k] <= 1.0 for k in ("grid_load", "renewable", "stations", "mean"))


def test_brier():
    assert brier(0.8, True) == pytest.approx(0.04)
    assert brier(0.8, False) == pytest.approx(0.64)
    assert brier(math.nan, True) == 1.0
