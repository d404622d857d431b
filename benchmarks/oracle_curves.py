"""Curves of the small oracle's reinforcement learning: the run's own log as CSV and as a figure.

    python benchmarks/oracle_curves.py runs/oracle/grpo-0 runs/oracle/grpo-1 runs/oracle-e2e/grpo-0

Reads ``training.json`` of each run (TRL's log history and the validations) and writes artifacts/oracle_grpo.csv and
artifacts/oracle_grpo.png.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from ev_grid_oracle.evaluation.writing import write_atomic

COLUMNS = ("reward", "entropy", "frac_reward_zero_std", "actions/first_line", "actions/defer", "actions/cap",
           "invalid_rate", "loss", "grad_norm")  # fmt: skip
PANELS = (
    ("reward", "mean reward of the answers drawn (30 car-minutes)"),
    ("entropy", "entropy over the legal answers (nats)"),
    ("frac_reward_zero_std", "share of groups whose answers agree"),
)


def rows_of(folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Log rows and validations of one run."""
    found = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    return found["history"], found["checks"]


def names_of(folders: list[Path]) -> list[str]:
    """A name for each run: its folder's, with the one above where two are alike."""
    short = [f.name for f in folders]
    return [n if short.count(n) == 1 else f"{f.parent.name}/{n}" for f, n in zip(folders, short, strict=True)]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=Path("artifacts"))
    args = parser.parse_args()
    lines = [
        ",".join(("run", "step", *COLUMNS, "validation_regret_min", "validation_composite", "validation_kl"))
    ]
    figure, axes = plt.subplots(2, 3, figsize=(15, 7), constrained_layout=True)
    flat = list(axes.flat)
    for name, folder in zip(names_of(args.runs), args.runs, strict=True):
        history, checks = rows_of(folder)
        for row in history:
            cells = [str(row.get(c, "")) for c in COLUMNS]
            lines.append(",".join((name, str(row["step"]), *cells, "", "", "")))
        for c in checks:
            blank = [""] * len(COLUMNS)
            lines.append(
                ",".join(
                    (
                        name,
                        str(c["step"]),
                        *blank,
                        f"{c['regret_min']:.5f}",
                        f"{c['composite']:.2f}",
                        str(c.get("kl", "")),
                    )
                )
            )
        for axis, (key, title) in zip(flat, PANELS, strict=False):
            points = [(row["step"], row[key]) for row in history if key in row]
            axis.plot(*zip(*points, strict=True) if points else ([], []), label=name)
            axis.set_title(title)
        far = [c for c in checks if c.get("kl") is not None]
        flat[3].plot([c["step"] for c in far], [c["kl"] for c in far], "o-", label=name)
        flat[4].plot([c["step"] for c in checks], [c["regret_min"] for c in checks], "o-", label=name)
        flat[5].plot([c["step"] for c in checks], [c["composite"] for c in checks], "o-", label=name)
    flat[3].set_title("divergence from the warm start on held-out decisions (nats)")
    flat[4].set_title("regret on held-out decisions (car-minutes an answer)")
    flat[5].set_title("composite on validation evenings (car-minutes)")
    for axis in flat:
        axis.set_xlabel("optimiser step")
        axis.legend()
        axis.grid(alpha=0.3)
    args.out.mkdir(parents=True, exist_ok=True)
    write_atomic(args.out / "oracle_grpo.csv", "\n".join(lines) + "\n")
    figure.savefig(args.out / "oracle_grpo.png", dpi=110)
    print(args.out / "oracle_grpo.png")


if __name__ == "__main__":
    main()
