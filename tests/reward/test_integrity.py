"""A small search for holes in the reward; `benchmarks/integrity.py` runs the same with 2,000 evaluations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation import bench_integrity as integrity
from ev_grid_oracle.evaluation.bench_arena import Arena
from ev_grid_oracle.evaluation.bench_search import Ledger, search
from ev_grid_oracle.schema.errors import OptionError


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


def test_a_hole_is_more_reward_for_a_worse_composite() -> None:
    honest = {"reward": np.array([-80.0, -90.0]), "composite": np.array([70e3, 80e3])}
    better_and_worse = {"reward": np.array([-75.0, -90.0]), "composite": np.array([71e3, 80e3])}
    better_all_round = {"reward": np.array([-75.0, -90.0]), "composite": np.array([69e3, 80e3])}
    assert integrity.is_hole(better_and_worse, honest, "reward")
    assert not integrity.is_hole(better_all_round, honest, "reward")
    assert not integrity.is_hole(honest, honest, "reward")


def test_a_stopped_search_goes_on_to_the_same_policies(city_toy: CityPack, tmp_path: Path) -> None:
    path = tmp_path / "search.jsonl"
    arena = Arena(city_toy, 1)

    def walk(evaluations: int, work: Path | None) -> tuple[Ledger, list[tuple[bytes, float]]]:
        ledger = Ledger(arena, work, {"evenings": 1}, evaluations)
        found = search(ledger, np.random.default_rng(5), evaluations, 1e9)
        return ledger, [(x.tobytes(), float(f["reward"].mean())) for x, f in found]

    _, whole = walk(20, None)
    full, first = walk(20, path)
    kept = path.read_text().splitlines(keepends=True)
    path.write_text("".join(kept[:8]) + kept[8][:30])  # as if stopped in the middle of the eighth
    ledger, again = walk(20, path)
    assert whole == first == again
    assert ledger.read >= 7
    assert ledger.played == full.played - 7


def test_a_ledger_of_another_search_is_refused(city_toy: CityPack, tmp_path: Path) -> None:
    path = tmp_path / "search.jsonl"
    arena = Arena(city_toy, 1)
    Ledger(arena, path, {"evenings": 1}, 1).play(integrity.tuned())
    with pytest.raises(OptionError, match="another"):
        Ledger(arena, path, {"evenings": 2}, 1)
    path.write_text("seven\n")
    with pytest.raises(OptionError, match="no ledger"):
        Ledger(arena, path, {"evenings": 1}, 1)
