"""Curves of the small oracle's reinforcement learning: the run's own log as CSV and as a figure.

    python benchmarks/oracle_curves.py runs/oracle/grpo-0 runs/oracle/grpo-1 runs/oracle-e2e/grpo-0

Reads ``training.json`` of each run (TRL's log history and the validations) and writes artifacts/oracle_grpo.csv,
artifacts/oracle_grpo.json (where each run comes from) and artifacts/oracle_grpo.png, which carries the same. A run that
does not say its origin, and runs of different codes or cities, are refused.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ev_grid_oracle.evaluation.plan_evidence import EvidenceError, read_object
from ev_grid_oracle.evaluation.provenance import command_line
from ev_grid_oracle.evaluation.writing import to_json, write_atomic
from ev_grid_oracle.schema.errors import EVGridError
from ev_grid_oracle.viz.figures_style import colours, markers, new_figure, png, style, title_legend, write_png

SCHEMA = "evgrid.oracle_grpo/1"
COLUMNS = ("reward", "entropy", "frac_reward_zero_std", "actions/first_line", "actions/defer", "actions/cap",
           "invalid_rate", "loss", "grad_norm")  # fmt: skip
PANELS = (
    ("reward", "Reward of the answers drawn", "mean, 30 car-minutes"),
    ("entropy", "Entropy over the legal answers", "nats"),
    ("frac_reward_zero_std", "Groups whose answers agree", "share of groups"),
)
CHECKS = (
    ("kl", "Divergence from the warm start", "nats a held-out decision"),
    ("regret_min", "Regret on held-out decisions", "car-minutes an answer"),
    ("composite", "Composite on validation evenings", "car-minutes"),
)


def origin_of(folder: Path) -> dict[str, Any]:
    """`provenance` of one run: its own, or that of the report beside its folder where that one tells of the same run."""
    found: dict[str, Any] = read_object(folder / "training.json")
    beside = folder.parent / "report.json"
    if "provenance" not in found and beside.exists():
        report: dict[str, Any] = read_object(beside)
        if report.get("grpo", {}).get("history") == found["history"]:
            found = report
    if "provenance" not in found:
        raise EvidenceError(
            f"{str(folder)!r} does not say which code it was trained with.", "Train it again."
        )
    return dict(found["provenance"])


def common(origins: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """One `provenance` for the figure of all runs; `EvidenceError` where they are of different codes or cities."""
    kinds = {json.dumps([o.get("code_sha256"), o.get("city")], sort_keys=True) for o in origins.values()}
    if len(kinds) > 1:
        raise EvidenceError("The runs are of different codes or cities.", "Draw those of one code together.")
    first = next(iter(origins.values()))
    commits = {o.get("commit") for o in origins.values()}
    return {
        "command": command_line(),
        "commit": commits.pop() if len(commits) == 1 else None,
        "city": first.get("city"),
        "code_sha256": first.get("code_sha256"),
    }


def rows_of(folder: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Log rows and validations of one run."""
    found = json.loads((folder / "training.json").read_text(encoding="utf-8"))
    return found["history"], found["checks"]


def names_of(folders: list[Path]) -> list[str]:
    """A name for each run: its folder's, with the one above where two are alike."""
    short = [f.name for f in folders]
    return [n if short.count(n) == 1 else f"{f.parent.name}/{n}" for f, n in zip(folders, short, strict=True)]


def table(name: str, history: list[dict[str, Any]], checks: list[dict[str, Any]]) -> list[str]:
    """Lines of the CSV of one run: its log, then its validations."""
    lines = []
    for row in history:
        cells = [str(row.get(c, "")) for c in COLUMNS]
        lines.append(",".join((name, str(row["step"]), *cells, "", "", "")))
    for c in checks:
        cells = [f"{c['regret_min']:.5f}", f"{c['composite']:.2f}", str(c.get("kl", ""))]
        lines.append(",".join((name, str(c["step"]), *[""] * len(COLUMNS), *cells)))
    return lines


def curves(runs: Mapping[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]]) -> Any:
    """The figure: three panels of the log, three of the validations, one colour and marker a run."""
    caption = (
        f"n = {len(runs)} runs by folder; the number behind grpo- is the run's seed. Left: TRL's log, each point the mean of the "
        "steps since the one before. Right: validations, on decisions and evenings that no run is trained on."
    )
    names = list(runs)
    colour, marker = colours(names), markers(names)
    with style():
        figure = new_figure(6.6, "GRPO of the small oracle", caption, names)
        axes = figure.subplots(3, 2)
        lines: dict[str, Any] = {}
        for name, (history, checks) in runs.items():
            look = {"color": colour[name], "marker": marker[name]}
            for k, (left, right) in enumerate(zip(PANELS, CHECKS, strict=True)):
                for axis, (key, _, _), rows, size in (
                    (axes[k, 0], left, history, 2.0),
                    (axes[k, 1], right, checks, 4.5),
                ):
                    points = [(row["step"], row[key]) for row in rows if row.get(key) is not None]
                    (lines[name],) = axis.plot(
                        *zip(*points, strict=True) if points else ([], []), markersize=size, **look
                    )
        for column, panels in enumerate((PANELS, CHECKS)):
            for k, (_, title, unit) in enumerate(panels):
                axes[k, column].set(title=title, ylabel=unit, xlabel="optimiser step")
        title_legend(figure, list(lines.values()), names)
    return figure


def draw(runs: list[Path], out: Path) -> None:
    """Curves, table and origin of the runs into the folder `out`."""
    folders = dict(zip(names_of(runs), runs, strict=True))
    origins = {name: origin_of(folder) for name, folder in folders.items()}
    about = common(origins)
    found = {name: rows_of(folder) for name, folder in folders.items()}
    lines = [
        ",".join(("run", "step", *COLUMNS, "validation_regret_min", "validation_composite", "validation_kl"))
    ]
    for name, (history, checks) in found.items():
        lines += table(name, history, checks)
    write_atomic(out / "oracle_grpo.csv", "\n".join(lines) + "\n")
    told = {"schema": SCHEMA, "runs": {n: {"provenance": o} for n, o in origins.items()}, "provenance": about}
    write_atomic(out / "oracle_grpo.json", to_json(told))
    write_png(out / "oracle_grpo.png", png(curves(found), about))
    print(out / "oracle_grpo.png")


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=Path("artifacts"))
    args = parser.parse_args()
    try:
        draw(args.runs, args.out)
    except EVGridError as error:
        sys.stderr.write(f"{error.code}: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
