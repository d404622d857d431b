"""The comparison of two codes: it repeats itself, sees a difference, and needs an older code to compare with."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "same_results.py"


@pytest.fixture(scope="module")
def same() -> ModuleType:
    spec = spec_from_file_location("same_results", FILE)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_episodes_repeat_and_depend_on_the_seed(same: ModuleType) -> None:
    one, again, other = (list(same.random_episodes(seed, 8, 0)) for seed in (3, 3, 4))
    assert len(one) == 8 and len({row["episode"].split()[0] for row in one}) == 2  # both cities
    assert one == again
    assert same.compare(one, again) == []
    assert {row["sha256"] for row in one}.isdisjoint(row["sha256"] for row in other)


def test_a_difference_and_a_missing_episode_are_named(same: ModuleType) -> None:
    rows = [{"episode": f"toy {k}", "ticks": 5, "sha256": f"{k}"} for k in range(4)]
    moved = [*rows[:2], {**rows[2], "sha256": "x"}]
    assert same.compare(rows, moved) == ["toy 2", "toy 3"]


def test_evenings_are_all_scenarios_of_every_policy(same: ModuleType) -> None:
    first = [row["episode"] for _, row in zip(range(2), same.evenings(1, 1), strict=False)]
    assert [name.split()[0] for name in first] == ["baseline", "baseline"] and first[0] != first[1]


@pytest.mark.parametrize("given", [[], ["--old", "no-such-commit"]])
def test_without_an_older_code_it_says_what_it_needs(given: list[str]) -> None:
    done = subprocess.run([sys.executable, str(FILE), *given], capture_output=True, text=True)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert ("--old COMMIT" if not given else "no-such-commit") in done.stderr
