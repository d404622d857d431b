"""One rule says which worlds nobody trains on: validation, test and the leaderboard; all who train ask it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest

from ev_grid_oracle.evaluation.leaderboard_split import SPLIT
from ev_grid_oracle.evaluation.seeds import episode_seeds
from ev_grid_oracle.interfaces import trl_rows
from ev_grid_oracle.interfaces.openenv import tasks
from ev_grid_oracle.schema.errors import OptionError
from ev_grid_oracle.training.small_data import training_seeds


@pytest.fixture
def fresh_rule() -> Iterator[None]:
    """The kept set of frozen seeds is made anew for this test, and again after it."""
    tasks.frozen_seeds.cache_clear()
    yield
    tasks.frozen_seeds.cache_clear()


def test_validation_test_and_leaderboard_are_frozen_and_nothing_else() -> None:
    frozen = {*tasks.split_seeds("validation"), *tasks.split_seeds("test"), *SPLIT.seeds}
    assert frozen == tasks.frozen_seeds() and len(frozen) == 60
    assert all(map(tasks.is_frozen, frozen))
    assert not any(map(tasks.is_frozen, (*tasks.split_seeds("train"), *episode_seeds(7, 100), 0)))


def test_the_leaderboard_is_in_no_split_of_the_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    for split in tasks.SPLITS:
        assert not set(SPLIT.seeds) & set(tasks.split_seeds(split)), split
        assert not set(SPLIT.seeds) & {t.seed for t in tasks.get_tasks(split)}, split
    taken = tasks.split_seeds("train")[17]
    monkeypatch.setattr(tasks, "LEADERBOARD_SEEDS", (taken,))
    with pytest.raises(OptionError, match="train draws a seed of the leaderboard"):
        tasks.split_seeds("train")


def test_rows_for_trl_skip_what_is_frozen(monkeypatch: pytest.MonkeyPatch, fresh_rule: None) -> None:
    usual = [world for world, _ in islice(trl_rows._seeds(SPLIT.seed), 30)]
    assert not set(usual) & {*SPLIT.seeds, *episode_seeds(SPLIT.seed, 1000)}
    monkeypatch.setattr(tasks, "LEADERBOARD_SEEDS", (usual[2], usual[20]))
    tasks.frozen_seeds.cache_clear()
    left = [s for s in usual if s not in (usual[2], usual[20])]
    assert [world for world, _ in islice(trl_rows._seeds(SPLIT.seed), 28)] == left


def test_training_evenings_skip_what_the_rule_names(
    monkeypatch: pytest.MonkeyPatch, fresh_rule: None
) -> None:
    usual = training_seeds(11, 40)
    assert not any(map(tasks.is_frozen, usual))
    monkeypatch.setattr(tasks, "LEADERBOARD_SEEDS", (usual[3], usual[30]))
    tasks.frozen_seeds.cache_clear()
    assert training_seeds(11, 38) == [s for s in usual if s not in (usual[3], usual[30])]
