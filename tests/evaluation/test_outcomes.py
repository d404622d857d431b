"""What became of each CONFIDENCE: the pairs add up to the Brier sums that the world itself books."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.evaluation.outcomes import Outcomes
from ev_grid_oracle.evaluation.report import report
from ev_grid_oracle.evaluation.runner import Plan, evaluate
from ev_grid_oracle.evaluation.seeds import episode_seeds
from ev_grid_oracle.schema import rows as r


@pytest.mark.parametrize(
    ("policy", "scenario"), [("greedy_counting", "baseline"), ("baseline", "station_outage")]
)
def test_the_sums_are_those_of_the_accounts(city_toy: CityPack, policy: str, scenario: str) -> None:
    n, ticks = 12, 30
    batch = Batch(city_toy, n, max_answers=256)
    batch.reset(
        [resolve(city_toy, seed=s, scenario=scenario, ticks=ticks).world for s in episode_seeds(3, n)]
    )
    follow = Outcomes(batch)
    answers, counts = np.zeros((1, n, 256, r.N_DCOL), np.int32), np.zeros((1, n), np.int32)
    for t in range(ticks):
        counts[:] = 0
        batch.play(policy, 1, (answers, counts))
        follow.after(t, answers[0], counts[0], last=bool(batch.done.any()))
    follow.settle(np.ones(n, np.bool_))
    accounts = batch.world.view("EP")
    for e in range(n):
        assert follow.booked[e][1] == accounts[e, r.A_NBRIER]
        assert follow.booked[e][0] == pytest.approx(accounts[e, r.A_BRIER], abs=1e-9)
    said = [s for row in follow.stated for s in row]
    assert len(said) > 20
    again = {(e, s.seq) for e, row in enumerate(follow.stated) for s in row if s.in_time is None}
    assert len(again) < len(said) / 10  # answered again; everybody else's fate is known
    assert {s.in_time for s in said} >= {True, False}


def test_a_cut_episode_leaves_some_open(plan_of: Callable[..., Plan]) -> None:
    cut = evaluate(plan_of(policies=("greedy_counting",), options={"settle": False}, ticks=12))
    said = [s for e in cut.runs[0].episodes["greedy_counting"] for s in e.stated]
    assert any(s[3] is None for s in said)
    assert any(s[3] is not None for s in said)


def test_a_confidence_of_one_half_is_no_statement(plan_of: Callable[..., Plan]) -> None:
    run = report(evaluate(plan_of(ticks=12)))["runs"][0]  # type: ignore[index]
    assert set(run["confidence"]) == {"greedy_counting"}
    about = run["confidence"]["greedy_counting"]
    assert about["stated"] == len(about["confidence"]) == len(about["plugged_in_time"])
    known = [
        (c, y) for c, y in zip(about["confidence"], about["plugged_in_time"], strict=True) if y is not None
    ]
    assert about["brier"] == pytest.approx(np.mean([(c - y) ** 2 for c, y in known]))
