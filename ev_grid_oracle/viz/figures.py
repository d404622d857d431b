"""The suite: every figure by file name, drawn in order; what cannot be drawn says why in one line.

from ev_grid_oracle.viz.figures import draw_all
from ev_grid_oracle.viz.figures_data import figure_data
for outcome in draw_all(figure_data("results.json", "fair.json"), Path("artifacts")):
    print(outcome)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ev_grid_oracle.viz.fig_calibration import confidence_calibration
from ev_grid_oracle.viz.fig_dashboard import dashboard
from ev_grid_oracle.viz.fig_episodes import distributions, paired_deltas, paired_scatter, trajectories
from ev_grid_oracle.viz.fig_kpis import aggregate_kpis, change_forest
from ev_grid_oracle.viz.fig_reward import reward_breakdown, reward_integrity
from ev_grid_oracle.viz.fig_series import energy_renewable, feeder_fan, stress_timeline
from ev_grid_oracle.viz.fig_tests import head_to_head, mcnemar_p, wilson_intervals, wilson_rates
from ev_grid_oracle.viz.figures_data import Absent, FigureData
from ev_grid_oracle.viz.figures_style import png, style, write_png

Draw = Callable[[FigureData], Any]

FIGURES: dict[str, Draw] = {
    "eval_aggregate_kpis.png": aggregate_kpis,
    "eval_dashboard.png": dashboard,
    "eval_trajectories.png": trajectories,
    "eval_paired_deltas.png": paired_deltas,
    "eval_reward_breakdown.png": reward_breakdown,
    "eval_distributions.png": distributions,
    "eval_head_to_head.png": head_to_head,
    "eval_paired_scatter.png": paired_scatter,
    "eval_stress_timeline.png": stress_timeline,
    "eval_wilson_rates.png": wilson_rates,
    "eval_wilson_intervals.png": wilson_intervals,
    "eval_mcnemar_p.png": mcnemar_p,
    "eval_feeder_fan.png": feeder_fan,
    "eval_energy_renewable.png": energy_renewable,
    "eval_confidence_calibration.png": confidence_calibration,
    "eval_reward_integrity.png": reward_integrity,
}
"""File name -> figure. `change_forest` is the chart of the fair statistics and not one of these."""


@dataclass(frozen=True)
class Drawn:
    """What became of one figure; `reason` is "" where it was drawn."""

    path: Path
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.path}: not drawn, {self.reason}." if self.reason else str(self.path)


def draw(figure: Draw, data: FigureData) -> bytes:
    """One figure as PNG bytes; `Absent` where its data is missing."""
    with style():
        return png(figure(data), data.results.provenance)


def draw_all(data: FigureData, folder: Path, only: Collection[str] = ()) -> Iterator[Drawn]:
    """Draw the suite, or what `only` names of it, into `folder`, one file after the other.

    A figure that cannot be drawn leaves no file of an earlier run behind: that one would show other results.
    """
    for name, figure in FIGURES.items():
        if only and name not in only:
            continue
        path = folder / name
        try:
            data_of_it = draw(figure, data)
        except Absent as absent:
            path.unlink(missing_ok=True)
            yield Drawn(path, str(absent))
            continue
        write_png(path, data_of_it)
        yield Drawn(path)


def draw_chart(data: FigureData, path: Path) -> Drawn:
    """The chart of the fair statistics."""
    try:
        write_png(path, draw(change_forest, data))
    except Absent as absent:
        path.unlink(missing_ok=True)
        return Drawn(path, str(absent))
    return Drawn(path)
