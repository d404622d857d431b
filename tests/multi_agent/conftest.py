"""A game in Bengaluru, two ticks into the reference evening: cars are pending, stations differ."""

from __future__ import annotations

import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.two_agents import TwoAgents


@pytest.fixture
def game(city_blr: CityPack) -> TwoAgents:
    """Seed 7, started."""
    made = TwoAgents(city_blr)
    made.reset(seed=7)
    return made
