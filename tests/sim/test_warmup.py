"""An episode starts in a city that is already what it would have been: the warm-up is long enough.

Two-sample tests with fixed seeds: 24 ticks against five times as many, n = 200 each, other seeds. Equal
means that no test of the family is below p = 0.01.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.sim.world import WorldOptions

N = 200


def starts(city, warm, start_min, first_seed):
    """(N,) occupied slots and queued cars at tick 0 after a warm-up of `warm` ticks."""
    roomy = replace(
        city, constants=replace(city.constants, warmup_ticks=warm, max_cars=1500, max_pending=500)
    )
    batch = Batch(roomy, N)
    scenario = city.scenario("baseline")
    batch.reset([WorldOptions(first_seed + k, scenario, start_min) for k in range(N)])
    assert (batch.world.view("Y")[:, r.Y_TICK] == 0).all()
    assert (batch.world.view("Y")[:, r.Y_OVERFLOW] == 0).all()
    return batch.world.view("ST_OCC").sum(1), batch.world.view("ST_QN").sum(1)


@pytest.mark.parametrize("name", ["toy", "blr"])
@pytest.mark.parametrize("start", [17 * 60, 8 * 60])
def test_a_five_times_longer_warm_up_changes_nothing(request, name, start):
    city = request.getfixturevalue(f"city_{name}")
    warm = city.constants.warmup_ticks
    short = starts(city, warm, start, 10_000)
    long = starts(city, 5 * warm, start, 20_000)
    for what, a, b in zip(("occupied", "queued"), short, long, strict=True):
        p = stats.ttest_ind(a, b, equal_var=False).pvalue
        assert p > 0.01, (
            f"{what}: {a.mean():.2f} after {warm} ticks, {b.mean():.2f} after {5 * warm}, p = {p:.2g}"
        )
        p = stats.mannwhitneyu(a, b).pvalue
        assert p > 0.01, f"{what}: distributions differ, p = {p:.2g}"


def test_nothing_of_the_warm_up_is_booked(city_toy):
    batch = Batch(city_toy, 20)
    batch.reset([WorldOptions(k, city_toy.scenario("baseline"), 17 * 60) for k in range(20)])
    for name in ("EP", "TSUM", "SETT", "TK"):
        assert (batch.world.view(name) == 0.0).all(), name
    cars = batch.world.view("CAR")
    living = cars[..., r.C_STATE] > 0
    assert living.sum() > 100
    assert (cars[living][:, r.C_FLAGS] & r.B_WARM != 0).all()
    assert (cars[living][:, r.C_TREQ] <= 0).all()
    assert (cars[living][:, r.C_SEQ] < 0).all()


def test_the_warm_up_has_its_own_draws(city_toy):
    """The first tick's requests are not those of a warm-up tick, and two seeds start differently."""
    batch = Batch(city_toy, 40)
    batch.reset([WorldOptions(k, city_toy.scenario("baseline"), 17 * 60) for k in range(40)])
    occupied = batch.world.view("ST_OCC")
    assert len({tuple(row) for row in occupied.tolist()}) > 30


def test_the_warm_up_is_that_of_the_hour(city_toy):
    """At 4 h the town sleeps, at 19 h it does not."""
    night, evening = (starts(city_toy, 24, m, 30_000)[0].mean() for m in (4 * 60, 19 * 60))
    assert night < 0.8 * evening
    assert np.isfinite([night, evening]).all()
