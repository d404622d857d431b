"""Does a stated CONFIDENCE mean what it says? Stated probability against the share plugged in in time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ev_grid_oracle.evaluation.stats_binary import wilson
from ev_grid_oracle.viz.figures_data import F64, Absent, FigureData, number
from ev_grid_oracle.viz.figures_style import SMALL_PT, new_figure

TENTHS = 10


def _decisions(said: Mapping[str, object]) -> tuple[F64, F64]:
    """Stated probabilities and outcomes (0 or 1) of decisions whose outcome is known."""
    stated, outcome = said.get("confidence"), said.get("plugged_in_time")
    if not isinstance(stated, list) or not isinstance(outcome, list) or len(stated) != len(outcome):
        return np.zeros(0), np.zeros(0)
    known = [(c, float(y)) for c, y in zip(stated, outcome, strict=True) if c is not None and y is not None]
    return np.array([c for c, _ in known], np.float64), np.array([y for _, y in known], np.float64)


def confidence_calibration(data: FigureData) -> Any:
    """Reliability diagram with Wilson intervals, and how often each confidence was stated."""
    said = data.raw_run().get("confidence")
    found: dict[str, tuple[F64, F64, float | None]] = {}
    for policy in data.policies:
        entry = said.get(policy) if isinstance(said, Mapping) else None
        if isinstance(entry, Mapping):
            stated, outcome = _decisions(entry)
            if stated.size:
                found[policy] = (stated, outcome, number(entry, "brier"))
    if not found:
        raise Absent("no policy stated a CONFIDENCE whose outcome is known")
    silent = [data.name(p) for p in data.policies if p not in found]
    told = "Share of routed requests that plugged in in time, by stated CONFIDENCE (to the nearest tenth), with 95 % Wilson intervals."
    told += " Decisions of one episode depend on each other, so the true intervals are wider."
    told += f" States none: {', '.join(silent)}." if silent else ""
    figure = new_figure(4.2, "Calibration of CONFIDENCE", data.caption(told))
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(2.4, 1.0))
    top.plot([0.0, 1.0], [0.0, 1.0], color="black", linewidth=0.9)
    top.annotate("stated = observed", (0.62, 0.6), fontsize=SMALL_PT, ha="left", va="top")
    width = 0.8 / TENTHS / len(found)
    for n, (policy, (stated, outcome, brier)) in enumerate(found.items()):
        place = np.rint(stated * TENTHS).astype(np.int64)
        for b in range(TENTHS + 1):
            inside = place == b
            rate = wilson(int(outcome[inside].sum()), int(inside.sum()))
            if rate.rate is None or rate.low is None or rate.high is None:
                continue
            x = float(stated[inside].mean())
            top.errorbar(
                x, rate.rate, yerr=[[rate.rate - rate.low], [rate.high - rate.rate]], fmt=data.marker[policy],
                color=data.colour[policy], capsize=2.5,
            )  # fmt: skip
            at = b / TENTHS + (n - (len(found) - 1) / 2) * width
            bottom.bar(at, rate.n, width=width * 0.95, color=data.colour[policy])
            bottom.annotate(f"{rate.n:,}", (at, rate.n), xytext=(0, 1.5), textcoords="offset points", ha="center",
                            va="bottom", fontsize=SMALL_PT - 0.5)  # fmt: skip
        score = "" if brier is None else f", Brier {brier:.3f}"
        top.plot([], [], data.marker[policy], color=data.colour[policy],
                 label=f"{data.name(policy)}: {stated.size:,} decisions{score}")  # fmt: skip
    top.set_xlim(-0.05, 1.05)
    top.set_ylim(0.0, 1.05)
    top.set_ylabel("plugged in in time [share]")
    top.legend(loc="upper left")
    bottom.set_ylabel("decisions")
    bottom.set_xlabel("stated CONFIDENCE")
    bottom.margins(y=0.25)
    bottom.grid(visible=False, axis="x")
    return figure
