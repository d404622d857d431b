"""A small search for holes in the reward; `benchmarks/integrity.py` runs the same with 2,000 evaluations."""

from __future__ import annotations

import numpy as np
import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation import bench_integrity as integrity


@pytest.mark.slow
def test_no_policy_gains_reward_while_cars_fare_worse(city_blr: CityPack) -> None:
    found = integrity.check(city_blr, 60, 10, scenarios=("baseline", "heatwave_peak", "SilkBoardJam"))
    assert found["holes"] == []
    for key in ("reward", "reward_no_flags"):
        assert found[key]["spearman"] >= integrity.RANK_BAR, found[key]  # type: ignore[index]
        assert found[key]["useless_above_baseline"] == []  # type: ignore[index]
    assert found["passed"] is True


def test_rank_correlation_is_spearmans() -> None:
    a = np.array([1.0, 2.0, 3.0, 4.0])
    assert integrity.spearman(a, a**3) == pytest.approx(1.0)
    assert integrity.spearman(a, -a) == pytest.approx(-1.0)
    assert integrity.spearman(a, np.array([2.0, 1.0, 4.0, 3.0])) == pytest.approx(0.6)


def test_the_tuned_point_is_greedy_counting_itself(city_blr: CityPack) -> None:
    arena = integrity.Arena(city_blr, 1, ("heatwave_peak",))
    point, named = arena.point(integrity.tuned()), arena.named("greedy_counting")
    for key in named:
        assert point[key] == pytest.approx(named[key], rel=1e-12)
