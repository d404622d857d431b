"""Curves of a GRPO run from its TensorBoard logs: loss and reward as pictures, every scalar as a table.

Read are all event files below a folder; where a run was resumed, a step that was logged twice counts with its last
value. Tags are found by their last part, so the logs of the big and of the small run are both read.
"""

from __future__ import annotations

import csv
import io
import math
import os
import tempfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from ev_grid_oracle.evaluation.writing import check_writable, write_atomic
from ev_grid_oracle.schema.errors import MissingExtraError
from ev_grid_oracle.training.big_model import TrainingError

Curve = dict[int, float]
"""Step -> value."""
LOSS_PNG, REWARD_PNG, TABLE_CSV = "grpo_loss.png", "grpo_reward.png", "grpo_curves.csv"


def read_scalars(logdir: Path) -> dict[str, Curve]:
    """Scalars below `logdir` by tag; a prefix ``train/`` is left out.

    Raises:
        TrainingError: there are no event files, or they hold no scalars.
        MissingExtraError: tensorboard is not installed.
    """
    try:
        library: Any = import_module("tensorboard.backend.event_processing.event_accumulator")
    except ImportError as missing:
        raise MissingExtraError(
            "Reading logs needs the `train` extra.", "Run: pip install 'openenv-ev-grid-oracle[train]'"
        ) from missing
    files = sorted(logdir.rglob("events.out.tfevents.*")) if logdir.is_dir() else []
    if not files:
        raise TrainingError(
            f"There are no TensorBoard logs below {str(logdir)!r}.", "Train first: evgrid train --profile ..."
        )
    found: dict[str, list[tuple[float, int, float]]] = {}
    for path in files:
        events = library.EventAccumulator(str(path), size_guidance={"scalars": 0})
        events.Reload()
        for tag in events.Tags()["scalars"]:
            name = str(tag).removeprefix("train/")
            found.setdefault(name, []).extend(
                (e.wall_time, int(e.step), float(e.value)) for e in events.Scalars(tag)
            )
    curves = {
        name: dict(sorted({step: value for _, step, value in sorted(rows)}.items()))
        for name, rows in found.items()
    }
    if not curves:
        raise TrainingError(
            f"The logs below {str(logdir)!r} hold no scalars.", "Did the run reach its first step?"
        )
    return dict(sorted(curves.items()))


def export_curves(logdir: Path, out: Path) -> list[Path]:
    """Write `LOSS_PNG`, `REWARD_PNG` and `TABLE_CSV` into `out`; returns their paths.

    Raises:
        TrainingError: no logs, or neither loss nor reward in them.
    """
    curves = read_scalars(logdir)
    loss, reward = _named(curves, "loss"), _named(curves, "reward")
    if not loss or not reward:
        missing = "loss" if not loss else "reward"
        raise TrainingError(f"The logs hold no {missing}.", f"They hold: {', '.join(list(curves)[:12])}.")
    paths = [out / name for name in (LOSS_PNG, REWARD_PNG, TABLE_CSV)]
    for path in paths:
        check_writable(path)
    _save(_loss_figure(loss, _named(curves, "kl"), logdir.name), paths[0])
    parts = {
        n.rsplit("/", 1)[1]: c for n, c in curves.items() if "/" in n and n.rsplit("/", 2)[-2] == "reward"
    }
    _save(_reward_figure(reward, _named(curves, "reward_std"), parts, logdir.name), paths[1])
    write_atomic(paths[2], table(curves))
    return paths


def table(curves: Mapping[str, Curve]) -> str:
    """CSV: a row a step, a column a scalar; empty where it was not logged."""
    steps = sorted({step for curve in curves.values() for step in curve})
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(["step", *curves])
    for step in steps:
        rows.writerow([step, *(f"{c[step]:.6g}" if step in c else "" for c in curves.values())])
    return text.getvalue()


def _named(curves: Mapping[str, Curve], name: str) -> Curve:
    """The curve of a tag, with finite values only: the tag itself before one that ends with it."""
    for tag in (name, *(t for t in curves if t.endswith(f"/{name}"))):
        if tag in curves:
            return {s: v for s, v in curves[tag].items() if math.isfinite(v)}
    return {}


def _axes(title: str) -> tuple[Any, Any]:
    try:
        matplotlib: Any = import_module("matplotlib")
    except ImportError as missing:
        raise MissingExtraError(
            "Figures need the `train` extra.", "Run: pip install 'openenv-ev-grid-oracle[train]'"
        ) from missing
    matplotlib.use("Agg")
    figure, ax = import_module("matplotlib.pyplot").subplots(figsize=(8, 4.5), dpi=120)
    ax.set_title(title)
    ax.set_xlabel("optimizer step")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.grid(alpha=0.3)
    return figure, ax


def _line(ax: Any, curve: Curve, label: str, **style: Any) -> None:
    marker = "o" if len(curve) < 60 else None
    ax.plot(list(curve), list(curve.values()), label=label, marker=marker, markersize=3, **style)


def _loss_figure(loss: Curve, kl: Curve, run: str) -> Any:
    figure, ax = _axes(f"GRPO loss, {run}")
    _line(ax, loss, "loss")
    ax.set_ylabel("loss (dr_grpo)")
    if kl:
        other = ax.twinx()
        _line(other, kl, "KL to the base", color="tab:orange", linestyle="--")
        other.set_ylabel("KL, nats a token")
        other.legend(loc="upper right")
    ax.legend(loc="upper left")
    return figure


def _reward_figure(reward: Curve, spread: Curve, parts: Mapping[str, Curve], run: str) -> Any:
    figure, ax = _axes(f"GRPO reward, {run}")
    _line(ax, reward, "reward, weighted sum", color="black")
    both = [s for s in reward if s in spread]
    if both:
        low, high = ([reward[s] + sign * spread[s] for s in both] for sign in (-1, 1))
        ax.fill_between(both, low, high, alpha=0.15, color="black", label="± standard deviation in the group")
    for name, curve in parts.items():
        _line(ax, {s: v for s, v in curve.items() if math.isfinite(v)}, name, linestyle="--")
    ax.set_ylabel("mean reward of a step's answers")
    ax.legend(fontsize=8)
    return figure


def _save(figure: Any, path: Path) -> None:
    """Write beside, then put in place; the picture carries no date, so equal logs give equal bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            figure.tight_layout()
            figure.savefig(file, format="png", metadata={"Software": None})
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    finally:
        import_module("matplotlib.pyplot").close(figure)
