"""The clairvoyant: never worse than its start, equal when played back, and not to be had without the true future."""

from __future__ import annotations

import numpy as np
import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.kpis import kpi_table
from ev_grid_oracle.episode.options import EpisodeOptions, resolve
from ev_grid_oracle.policies.base import PolicyContext
from ev_grid_oracle.policies.clairvoyant import Clairvoyant, Found, Searcher, greedy_plan
from ev_grid_oracle.policies.registry import make_policy
from ev_grid_oracle.schema.errors import OptionError


def composite(city: CityPack, options: EpisodeOptions, policy: Clairvoyant) -> float:
    batch = Batch(city, 1, max_answers=city.constants.max_pending)
    batch.reset([options.world])
    policy.begin(PolicyContext(batch.world.city))
    row = np.zeros(batch.world.layout.sizes["o"])
    for _ in range(options.world.ticks):
        batch.counts[0] = policy.answer(batch.world.observe(0, row), batch.answers[0])
        batch.step()
    return float(kpi_table(np.array(batch.world.view("EP")), city)["composite_car_minutes"][0])


@pytest.fixture(scope="module")
def options(city_toy: CityPack) -> EpisodeOptions:
    return resolve(city_toy, seed=12, scenario="baseline", ticks=24)


@pytest.fixture(scope="module")
def found(city_toy: CityPack, options: EpisodeOptions) -> Found:
    searcher = Searcher(city_toy, options, width=8)
    return searcher.search(greedy_plan(searcher), sweeps=2)


def test_the_search_never_gets_worse(found: Found) -> None:
    assert len(found.composite) >= 2
    assert all(b <= a for a, b in zip(found.composite, found.composite[1:], strict=False))
    assert found.composite[-1] < found.composite[0]


def test_the_plan_played_back_costs_what_was_found(city_toy: CityPack, options: EpisodeOptions, found: Found) -> None:
    assert composite(city_toy, options, Clairvoyant(found.plan)) == pytest.approx(found.composite[-1], rel=1e-12)


def test_two_starts_come_close(city_toy: CityPack, options: EpisodeOptions, found: Found) -> None:
    searcher = Searcher(city_toy, options, width=8)
    other = searcher.search(greedy_plan(searcher, "baseline"), sweeps=3)
    assert other.composite[-1] == pytest.approx(found.composite[-1], rel=0.03)


def test_without_a_plan_it_refuses_to_play(city_toy: CityPack) -> None:
    with pytest.raises(OptionError, match="true future"):
        make_policy("clairvoyant").begin(PolicyContext(packed(city_toy)))
