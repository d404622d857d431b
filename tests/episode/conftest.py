"""Sessions of the toy city, where an episode takes milliseconds."""

from __future__ import annotations

import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.session import Session


@pytest.fixture
def session(city_toy: CityPack) -> Session:
    """A session of Toytown, not yet started."""
    return Session(city_toy)
