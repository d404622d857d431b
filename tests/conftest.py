"""Cities and batches that many tests share; loaded once a session."""

from __future__ import annotations

import pytest

from ev_grid_oracle.city import load_city
from ev_grid_oracle.city.model import CityPack


@pytest.fixture(scope="session")
def city_toy() -> CityPack:
    """Toytown: 4 stations, 2 feeders with laterals, 40 nodes."""
    return load_city("toy")


@pytest.fixture(scope="session")
def city_blr() -> CityPack:
    """Bengaluru: 25 stations, 8 feeders, eleven scenarios."""
    return load_city("bengaluru")
