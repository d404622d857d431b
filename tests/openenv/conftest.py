"""OpenEnv tests need the `server` extra; one environment of each city is shared where its state does not matter."""

from __future__ import annotations

import pytest

pytest.importorskip("openenv", reason="the OpenEnv interface needs the server extra")

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.interfaces.openenv.environment import EVGridEnvironment


@pytest.fixture
def env_toy(city_toy: CityPack) -> EVGridEnvironment:
    """A fresh environment of Toytown."""
    return EVGridEnvironment(city_toy)


@pytest.fixture
def env_blr(city_blr: CityPack) -> EVGridEnvironment:
    """A fresh environment of Bengaluru."""
    return EVGridEnvironment(city_blr)
