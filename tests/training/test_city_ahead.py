"""Whole-city look-ahead: what it costs a line is what the same world, played by hand, says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.policies.base import PolicyContext
from ev_grid_oracle.policies.llm.small_look import Eyes
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import ActionKind
from ev_grid_oracle.sim.world import WorldOptions
from ev_grid_oracle.training.small_city_ahead import CityAhead
from ev_grid_oracle.training.small_data import Collector, collect
from ev_grid_oracle.training.small_teacher import Teacher, routed


@pytest.fixture(scope="module")
def asked(city_toy):
    """A world in the middle of an evening, the planner's answers of the tick and one car's question."""
    batch = Batch(city_toy, 2, max_answers=city_toy.constants.max_pending)
    batch.reset([WorldOptions(k, city_toy.scenario("baseline"), 18 * 60) for k in (5, 6)])
    eyes, teacher = Eyes(packed(city_toy)), Teacher(8)
    plan = np.zeros_like(batch.answers[0])
    for _ in range(40):
        batch.play("baseline", 1)
        o = batch.world.observe(1)
        teacher.begin(PolicyContext(packed(city_toy), 1))
        count = teacher.answer(o, plan)
        place = {int(q): k for k, q in enumerate(eyes.pending(o)[:, r.P_SEQ])}
        for j in range(count):
            if plan[j, r.D_KIND] != ActionKind.LOAD_SHIFT:
                question = eyes.car(o, place[int(plan[j, r.D_SEQ])], routed(plan, j))
                if len(question.stations) > 1:
                    return batch, plan.copy(), count, j, question
    raise AssertionError("no car had a choice in 40 ticks")


@pytest.mark.parametrize("ticks", [1, 4])
def test_equal_futures_and_the_world_stays(city_toy, asked, ticks):
    batch, plan, count, j, question = asked
    before = batch.world.digest(1)
    first = CityAhead(city_toy, ticks).costs(batch.world, 1, plan, count, j, question)
    again = CityAhead(city_toy, ticks).costs(batch.world, 1, plan, count, j, question)
    assert batch.world.digest(1) == before
    assert first.shape == (len(question.stations),)
    assert (first == again).all() and (first > 0.0).all()


def test_a_line_costs_what_the_world_played_by_hand_costs(city_toy, asked):
    batch, plan, count, j, question = asked
    costs = CityAhead(city_toy, 3).costs(batch.world, 1, plan, count, j, question)
    alone = Batch(city_toy, 1, max_answers=batch.max_answers)
    for k in range(len(question.stations)):
        batch.world.copy(1, 0, alone.world)
        alone.world.redraw(0, 2, 3)
        alone.answers[0, :count] = plan[:count]
        alone.answers[0, j, r.D_KIND] = ActionKind.ROUTE
        alone.answers[0, j, r.D_STATION] = question.stations[k]
        alone.answers[0, j, r.D_RATE] = question.rates[k]
        alone.counts[0] = count
        total = float(alone.step()[0]) + float(alone.play("greedy_counting", 2).sum())
        assert costs[k] == pytest.approx(-total * city_toy.constants.n0_car_minutes)


def test_a_collector_with_it_has_the_same_questions_and_other_costs(city_toy, tmp_path: Path):
    local, whole = (
        collect(Collector(city_toy, 3, 0.75, 8, 12, city_ticks=h), 24) for h in (0, 2)
    )  # fmt: skip
    assert (local.car_ids == whole.car_ids).all()
    known = np.isfinite(local.car_cost[:, :8])
    assert (known == np.isfinite(whole.car_cost[:, :8])).all()
    assert not np.allclose(local.car_cost[:, :8][known], whole.car_cost[:, :8][known])
