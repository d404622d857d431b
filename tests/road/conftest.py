"""The five nodes of the one-way cases as a whole city."""

from __future__ import annotations

import pytest
from road_tools import ONE_WAY, city_with_roads

from ev_grid_oracle.city.model import CityPack


@pytest.fixture(scope="session")
def one_way(city_toy: CityPack) -> CityPack:
    """1 -> 2 -> 3 -> 4 -> 2 and 5 -> 1; node 0 stands apart, the stations are at 2."""
    return city_with_roads(city_toy, ONE_WAY, (1000.0,) * 5, (3,) * 5, 6, at=2)
