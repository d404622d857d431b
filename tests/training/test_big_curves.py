"""Curves from real logs: what was logged is what is drawn and tabled."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("tensorboard", reason="the train extra is not installed")
pytest.importorskip("torch", reason="the train extra is not installed")
pytest.importorskip("matplotlib", reason="the train extra is not installed")

from torch.utils.tensorboard import SummaryWriter

from ev_grid_oracle.training.big_curves import export_curves, read_scalars
from ev_grid_oracle.training.big_model import TrainingError

pytestmark = pytest.mark.filterwarnings("ignore")
TOOL = Path(__file__).parents[2] / "tools" / "export_grpo_tensorboard_plots.py"


def logged(folder: Path, rows: dict[int, dict[str, float]]) -> None:
    writer = SummaryWriter(str(folder))
    for step, values in rows.items():
        for tag, value in values.items():
            writer.add_scalar(tag, value, step)
    writer.close()


def test_a_resumed_runs_logs_are_one_curve(tmp_path: Path) -> None:
    logged(tmp_path / "a", {k: {"train/loss": 1.0 / k, "train/reward": 0.1 * k} for k in (1, 2, 3)})
    logged(tmp_path / "b", {k: {"train/loss": 2.0 / k, "train/reward": 0.2 * k} for k in (3, 4)})
    curves = read_scalars(tmp_path)
    assert list(curves["loss"]) == [1, 2, 3, 4] and curves["loss"][3] == pytest.approx(2.0 / 3)
    assert curves["reward"][2] == pytest.approx(0.2) and curves["reward"][4] == pytest.approx(0.8)


def test_the_same_logs_give_the_same_files(tmp_path: Path) -> None:
    rows = {
        k: {"train/loss": 0.5 - 0.1 * k, "train/reward": 0.3, "train/reward/env": 0.2, "train/kl": 0.01}
        for k in (1, 2)
    }
    logged(tmp_path / "run", rows | {3: {"train/reward": float("nan"), "train/loss": 0.1}})
    first = [p.read_bytes() for p in export_curves(tmp_path / "run", tmp_path / "one")]
    again = [p.read_bytes() for p in export_curves(tmp_path / "run", tmp_path / "two")]
    assert first == again and all(b[:8] == b"\x89PNG\r\n\x1a\n" for b in first[:2])
    table = list(csv.DictReader((tmp_path / "one" / "grpo_curves.csv").read_text().splitlines()))
    assert [row["step"] for row in table] == ["1", "2", "3"] and float(table[1]["loss"]) == pytest.approx(0.3)
    assert table[2]["kl"] == "" and not [p for p in (tmp_path / "one").iterdir() if p.name.startswith(".")]


def test_logs_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="no TensorBoard logs"):
        export_curves(tmp_path / "nowhere", tmp_path)
    logged(tmp_path / "half", {1: {"train/loss": 1.0}})
    with pytest.raises(TrainingError, match="hold no reward"):
        export_curves(tmp_path / "half", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    done = subprocess.run(
        [sys.executable, str(TOOL), "--logdir", str(tmp_path / "nowhere")], capture_output=True, text=True
    )
    assert done.returncode == 3 and "Traceback" not in done.stderr and "Train first" in done.stderr
