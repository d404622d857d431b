"""A copy of the toy pack to break."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from editable import Editable

from ev_grid_oracle.city.load import DATA


@pytest.fixture
def toy(tmp_path: Path) -> Editable:
    """A fresh copy of the toy pack."""
    shutil.copytree(DATA / "toy", tmp_path / "toy")
    return Editable(tmp_path / "toy")
