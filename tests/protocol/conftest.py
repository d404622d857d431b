"""The hand-made control room as a fixture; its numbers are in `control_room.py`."""

from __future__ import annotations

import pytest
from control_room import make_observation

from ev_grid_oracle.schema.observation import Observation


@pytest.fixture
def obs() -> Observation:
    """Four cars of four kinds, 25 stations, 8 feeders, two announcements."""
    return make_observation()
