"""Whole files or none, JSON without NaN, and seeds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ev_grid_oracle.evaluation.seeds import episode_seed, episode_seeds
from ev_grid_oracle.evaluation.writing import OutputError, check_writable, to_json, write_atomic
from ev_grid_oracle.schema.errors import OptionError


def test_json_has_no_nan_and_plain_types() -> None:
    value = {
        "nan": float("nan"),
        "inf": np.float64("inf"),
        "n": np.int32(3),
        "flag": np.bool_(True),
        "row": np.arange(3),
        "pair": (1, 2.5),
        7: None,
    }
    text = to_json(value)
    assert json.loads(text) == {
        "nan": None, "inf": None, "n": 3, "flag": True, "row": [0, 1, 2], "pair": [1, 2.5], "7": None,
    }  # fmt: skip
    assert "NaN" not in text and "Infinity" not in text


def test_write_is_atomic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "new" / "report.json"
    write_atomic(target, "first")
    assert target.read_text() == "first"

    def fail(self: Path, other: Path) -> Path:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_atomic(target, "second")
    assert target.read_text() == "first"
    assert [p.name for p in target.parent.iterdir()] == ["report.json"]


def test_a_place_that_cannot_be_written_is_named_before_the_work(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    for bad in (tmp_path, file / "below.json"):
        with pytest.raises(OutputError) as caught:
            check_writable(bad)
        assert caught.value.exit_code == 3
    check_writable(tmp_path / "new" / "deep.json")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_seeds_are_those_of_seed_sequence() -> None:
    expected = [int(np.random.SeedSequence(7, spawn_key=(n,)).generate_state(1)[0]) for n in range(3)]
    assert list(episode_seeds(7, 3)) == expected
    assert episode_seeds(7, 100)[:3] == episode_seeds(7, 3)
    assert episode_seed(7, 0) != episode_seed(8, 0)


@pytest.mark.parametrize(("seed", "episodes"), [(-1, 1), (2**32, 1), (1, 0), (1, 10**6)])
def test_seeds_out_of_range(seed: int, episodes: int) -> None:
    with pytest.raises(OptionError):
        episode_seeds(seed, episodes)
