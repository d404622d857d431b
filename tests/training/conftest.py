"""Worlds and a small untrained model for the tests of training."""

from __future__ import annotations

from pathlib import Path

import pytest

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.model import CityPack


@pytest.fixture(scope="session")
def toy() -> CityPack:
    return load_city("toy")


@pytest.fixture(scope="session")
def city() -> CityPack:
    return load_city("bengaluru")


@pytest.fixture(scope="session")
def untrained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a random model: its answers must be as legal as a trained one's."""
    for name in ("torch", "transformers", "onnx", "onnxruntime", "tokenizers"):
        pytest.importorskip(name, reason="needs the extra `train`")
    from ev_grid_oracle.training.small_export import export
    from ev_grid_oracle.training.small_model import new_model

    folder = tmp_path_factory.mktemp("untrained")
    export(new_model(3, width=32, layers=2, inner=64, heads=2), folder)
    return folder
