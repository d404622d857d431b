"""Tasks: frozen episodes by split and index, for whoever trains and compares; and the rule of what training leaves out.

A task is a scenario and a seed. Seeds of the splits are disjoint by construction: the last two bits of a
seed name its split (0 train, 1 validation, 2 test). Consecutive indices run through the scenarios of the
city before the next seed, so that any run of tasks is mixed and every scenario meets the same seeds.

`is_frozen` is the one rule that training asks: validation, test and the leaderboard's seeds are left out. No split
may hold a seed of the leaderboard.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.schema.errors import OptionError

GENERATOR_SEED = 20_260
DATASET_VERSION = "1"
SPLITS = {"train": 100, "validation": 20, "test": 20}
"""Seeds of each split; tasks are these times the scenarios."""

_BITS = {"train": 0, "validation": 1, "test": 2}

LEADERBOARD_SEEDS = (
    1_022_883_020, 1_765_092_280, 1_834_972_873, 365_001_975, 237_024_784,
    3_525_574_969, 4_131_882_911, 92_359_341, 4_250_325_521, 2_098_991_112,
    2_892_005_220, 2_688_253_183, 837_333_461, 3_602_456_034, 1_712_384_481,
    426_002_360, 839_088_981, 3_208_064_671, 3_097_932_804, 1_506_326_254,
)  # fmt: skip
"""World seeds of the public leaderboard (`evaluation.leaderboard_split`), written out: they never change."""


@dataclass(frozen=True)
class Task:
    """One episode to be played.

    Attributes:
        id: stable name, ``test-017``.
        scenario, seed: what `reset` is given. They name the future: for trainers, never for an agent.
    """

    id: str
    split: str
    index: int
    scenario: str
    seed: int

    def to_dict(self) -> dict[str, object]:
        return dict(self.__dict__)


def split_seeds(split: str) -> tuple[int, ...]:
    """Seeds of a split, in order; `OptionError` for a split that does not exist."""
    if split not in SPLITS:
        raise OptionError(f"There is no split {str(split)[:40]!r}.", f"Choose one of {', '.join(SPLITS)}.")
    words = np.random.SeedSequence(GENERATOR_SEED, spawn_key=(_BITS[split],)).generate_state(SPLITS[split])
    seeds = tuple(int(w) & ~3 | _BITS[split] for w in words)
    if len(set(seeds)) != len(seeds):
        raise OptionError(f"Split {split} draws a seed twice.", "Choose another GENERATOR_SEED.")
    if not set(seeds).isdisjoint(LEADERBOARD_SEEDS):
        raise OptionError(f"Split {split} draws a seed of the leaderboard.", "Choose another GENERATOR_SEED.")
    return seeds


def scenario_names(city: str) -> tuple[str, ...]:
    """Scenarios of a city in the pack's order."""
    return tuple(s.name for s in load_city(city).scenarios)


def num_tasks(split: str, city: str = "bengaluru") -> int:
    """How many tasks a split has."""
    return len(split_seeds(split)) * len(scenario_names(city))


def get_task(split: str, index: int, city: str = "bengaluru") -> Task:
    """Task `index` of a split; `IndexError` where there is none (the task routes answer 400)."""
    names, seeds = scenario_names(city), split_seeds(split)
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(seeds) * len(names):
        last = len(seeds) * len(names) - 1
        raise IndexError(f"Split {split} has tasks 0 to {last}, not {str(index)[:20]}.")
    return Task(f"{split}-{index:04d}", split, index, names[index % len(names)], seeds[index // len(names)])


def get_tasks(
    split: str, start: int | None = None, stop: int | None = None, city: str = "bengaluru"
) -> list[Task]:
    """Tasks ``[start:stop]`` of a split, as Python slices."""
    everything = range(num_tasks(split, city))
    return [get_task(split, k, city) for k in everything[start:stop]]


@cache
def frozen_seeds() -> frozenset[int]:
    """Seeds of validation, test and the leaderboard."""
    return frozenset((*split_seeds("validation"), *split_seeds("test"), *LEADERBOARD_SEEDS))


def is_frozen(seed: int) -> bool:
    """The seed belongs to validation, test or the leaderboard: training leaves it out."""
    return seed in frozen_seeds()
