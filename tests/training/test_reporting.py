"""`--report-to`: what reaches TRL's config, and what is said where a package is missing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from ev_grid_oracle.schema.errors import MissingExtraError, OptionError
from ev_grid_oracle.training import reporting
from ev_grid_oracle.training.big_profile import T4_QWEN3B, grpo_arguments

pytestmark = pytest.mark.filterwarnings("ignore")  # of the trainer's libraries


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As if every reporter's package were there."""
    monkeypatch.setattr(reporting, "find_spec", lambda name: ModuleSpec(name, None))
    monkeypatch.delenv("WANDB_PROJECT", raising=False)
    yield
    os.environ.pop("WANDB_PROJECT", None)


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("none", []),
        ("tensorboard", ["tensorboard"]),
        ("wandb", ["tensorboard", "wandb"]),
        ("trackio", ["tensorboard", "trackio"]),
    ],
)
def test_the_trainers_get_what_was_asked(
    installed: None, tmp_path: Path, asked: str, names: list[str]
) -> None:
    found = reporting.reporters(asked)
    assert found == names
    assert (os.environ.get("WANDB_PROJECT") == "ev-grid-oracle") is (asked == "wandb")
    large = grpo_arguments(T4_QWEN3B, tmp_path, 1, False, "bf16", found)
    assert large["report_to"] == (names[1:] or "none")  # its TensorBoard writer is its own
    pytest.importorskip("trl", reason="needs the extra `train`")
    from ev_grid_oracle.training.small_grpo import config

    assert config(tmp_path, 4, 1, groups=1, report_to=found).report_to == names


def test_a_missing_package_is_named_with_the_line_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reporting, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="pip install trackio"):
        reporting.reporters("trackio")
    assert reporting.reporters("none") == []


def test_an_unknown_reporter_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="tensorboard, wandb, trackio, none"):
        reporting.reporters("paper")


def test_no_log_where_none_is_asked_for(tmp_path: Path) -> None:
    for name in ("torch", "trl", "onnx", "onnxruntime", "tokenizers", "datasets"):
        pytest.importorskip(name, reason="needs the extra `train`")
    from ev_grid_oracle.training import small_run

    small_run.run("tiny-test", out=tmp_path, seed=1, report_to="none", tell=lambda text: None)
    assert list(tmp_path.glob("model-*")) and not list(tmp_path.rglob("events.out.*"))
