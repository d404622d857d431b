"""One page: the headline table, the change forest, head to head, reward, distribution and rates."""

from __future__ import annotations

from typing import Any

from ev_grid_oracle.evaluation.stats_words import NO_DIFFERENCE, p_text, short
from ev_grid_oracle.viz.fig_episodes import delta_panel, distribution_panel
from ev_grid_oracle.viz.fig_kpis import forest_panel
from ev_grid_oracle.viz.fig_tests import head_panel, rates_panel
from ev_grid_oracle.viz.figures_data import HEADLINE, Absent, FigureData, label, number
from ev_grid_oracle.viz.figures_style import SMALL_PT, new_figure, title_legend

PRIMARY = "composite_car_minutes"


def dashboard(data: FigureData) -> Any:
    """Everything about one scenario on one page; the last policy of the file is the one in question."""
    keys = data.keys(HEADLINE)
    facts = list(data.run.fact_names())
    if not keys or not facts:
        raise Absent("the results hold no headline values or no facts")
    policy = data.others[-1]
    others = (
        ""
        if len(data.others) == 1
        else f" Of {len(data.others)} compared policies {policy} is shown in detail."
    )
    figure = new_figure(
        9.6,
        f"{policy} against {data.reference}, scenario {data.run.scenario}",
        data.caption(
            "Means of paired episodes; differences with 95 % BCa intervals; p from sign-flip tests after Holm over the "
            f"scenarios of the file; rates with 95 % Wilson intervals.{others}"
        ),
        data.names,
    )
    # nested grids, not subfigures: each row keeps margins of its own, and the caption its room
    rows = figure.add_gridspec(4, 1, height_ratios=(1.2, 1.3, 1.15, 1.15))
    _table(figure.add_subplot(rows[0].subgridspec(1, 1)[0]), data, keys, policy)
    second, third = rows[1].subgridspec(1, 2), rows[2].subgridspec(1, 2, width_ratios=(1.0, 1.2))
    head, forest = figure.add_subplot(second[0]), figure.add_subplot(second[1])
    head_panel(head, data, policy, keys)
    head.set_title("pairs better, equal, worse")
    changed = [k for k in keys if number(_entry(data, k, policy), "change_pct") is not None]
    forest_panel(forest, data, [(data.run.scenario, k) for k in changed])
    forest.set_yticks(range(len(changed)), [label(k, with_unit=False) for k in changed])
    forest.set_title("change (filled: shown, hollow: not)")
    primary = PRIMARY if PRIMARY in keys else keys[0]
    deltas, spread = figure.add_subplot(third[0]), figure.add_subplot(third[1])
    delta_panel(deltas, data, policy, primary)
    distribution_panel(spread, data, primary)
    rates = figure.add_subplot(rows[3])
    rates_panel(rates, data, facts)
    title_legend(figure, *rates.get_legend_handles_labels())
    return figure


def _entry(data: FigureData, key: str, policy: str) -> Any:
    return data.entry("paired_continuous", data.run.scenario, key, policy)


def _table(ax: Any, data: FigureData, keys: list[str], policy: str) -> None:
    """Headline values: means, difference with interval, p and verdict."""
    ax.set_axis_off()
    head = ("value", data.reference, policy, "difference, 95 % interval", "change", "p (Holm)", "verdict")
    rows = []
    for key in keys:
        found = _entry(data, key, policy)
        mean, low, high = (number(found, k) for k in ("mean", "low", "high"))
        span = "" if low is None or high is None else f"  [{short(low)}, {short(high)}]"
        change = number(found, "change_pct")
        rows.append(
            (
                label(key),
                *(short(x) if (x := number(found, f"{side}_mean")) is not None else "-" for side in ("reference", "policy")),
                "no data" if mean is None else f"{short(mean)}{span}",
                "-" if change is None else f"{change:+.1f} %",
                p_text(number(found, "p_holm")).removeprefix("p ").removeprefix("= "),
                str(found.get("verdict")),
            )
        )  # fmt: skip
    widths = (0.28, 0.09, 0.09, 0.22, 0.085, 0.085, 0.15)
    table = ax.table(
        cellText=rows, colLabels=head, colWidths=widths, cellLoc="right", bbox=(0.0, 0.0, 1.0, 1.0),
        edges="horizontal",
    )  # fmt: skip
    table.set_in_layout(False)  # it fills its axes; the layout would make room for it once more
    table.auto_set_font_size(False)
    table.set_fontsize(SMALL_PT)
    for (row, column), cell in table.get_celld().items():
        cell.set_edgecolor("#CCCCCC")
        if column in (0, 6):
            cell.set_text_props(ha="left")
        if row == 0 or (column == 6 and rows[row - 1][6] != NO_DIFFERENCE):
            cell.set_text_props(fontweight="bold")
