"""Aggregate KPIs with intervals, and the forest of paired changes that goes with the fair statistics."""

from __future__ import annotations

from typing import Any

from ev_grid_oracle.evaluation.stats_words import NO_DIFFERENCE, short
from ev_grid_oracle.viz.figures_data import (
    HEADLINE,
    Absent,
    FigureData,
    label,
    number,
    side_words,
    unit,
)
from ev_grid_oracle.viz.figures_style import GREY, SMALL_PT, new_figure, title_legend


def aggregate_kpis(data: FigureData) -> Any:
    """Means with 95 % t intervals: a panel per value, a row per scenario, a marker per policy."""
    keys = data.keys(HEADLINE)
    if not keys:
        raise Absent("the results hold none of the headline values")
    several = len(data.scenarios) > 1
    rows = data.scenarios if several else data.policies
    down = (len(keys) + 1) // 2
    high = 0.62 + len(rows) * (0.1 * len(data.policies) + 0.06 if several else 0.24)
    figure = new_figure(
        0.35 + down * high,
        "Aggregate KPIs",
        data.caption(
            "Mean over episodes with its 95 % interval (Student's t, not paired: overlap is no test; the paired "
            "differences are in eval_paired_deltas.png).",
            every_scenario=True,
        ),
        data.names if several else (),
    )
    axes = figure.subplots(down, 2, squeeze=False)
    for place, key in enumerate(keys):
        ax = axes[place // 2][place % 2]
        for n, policy in enumerate(data.policies):
            for row, scenario in enumerate(data.scenarios):
                found = data.entry("means", scenario, key, policy)
                mean, low, high_end = (number(found, k) for k in ("mean", "low", "high"))
                if mean is None:
                    continue
                y = row + (n - (len(data.policies) - 1) / 2) * 0.8 / len(data.policies) if several else n
                spread = (
                    [[0.0], [0.0]] if low is None or high_end is None else [[mean - low], [high_end - mean]]
                )
                ax.errorbar(
                    mean, y, xerr=spread, fmt=data.marker[policy], color=data.colour[policy], capsize=2.5,
                    label=data.name(policy) if row == 0 else None,
                )  # fmt: skip
                if not several:
                    ax.annotate(
                        short(mean), (mean, y), xytext=(0, 5), textcoords="offset points", ha="center",
                        fontsize=SMALL_PT,
                    )  # fmt: skip
        better = side_words(key)
        ax.set_title(label(key, with_unit=False))
        ax.set_xlabel(f"{unit(key)}, {better}" if better else unit(key))
        ax.set_yticks(range(len(rows)), [data.name(r) if not several else r for r in rows])
        ax.set_ylim(len(rows) - 0.4, -0.75)
        ax.margins(x=0.12)
        ax.locator_params(axis="x", nbins=6)
        if place % 2:
            ax.set_yticklabels([])
    for place in range(len(keys), 2 * down):
        axes[place // 2][place % 2].set_axis_off()
    if several:
        handles, names = axes[0][0].get_legend_handles_labels()
        title_legend(figure, handles, names)
    return figure


def change_forest(data: FigureData) -> Any:
    """Paired change in per cent of the reference's mean with its BCa interval; filled where shown after Holm."""
    keys = [k for k in data.keys(HEADLINE) if _changes(data, k)]
    if not keys:
        raise Absent("no headline value has a change in per cent")
    several = len(data.scenarios) > 1
    caption = data.caption(
        f"Mean paired difference to {data.reference} in per cent of its mean, with the 95 % BCa bootstrap interval. "
        "Filled: shown (sign-flip test, p < 0.05 after Holm over the scenarios). Hollow: no difference shown. An interval may pass "
        "-100 %: the reference's mean is a sample too.",
        every_scenario=True,
    )
    n_rows = len(data.scenarios) * len(data.others)
    told = [f"{data.name(p)} against {data.reference}" for p in data.others]
    told = told if several or len(told) > 1 else []
    if several:
        down = (len(keys) + 1) // 2
        figure = new_figure(0.3 + down * (0.75 + 0.15 * n_rows), "Paired change", caption, told)
        axes = figure.subplots(down, 2, squeeze=False)
        for place, key in enumerate(keys):
            ax = axes[place // 2][place % 2]
            forest_panel(ax, data, [(s, key) for s in data.scenarios])
            ax.set_title(label(key, with_unit=False))
            ax.set_xlabel(f"change [% of {data.reference}'s mean], {side_words(key)}")
            ax.set_yticks(range(len(data.scenarios)), data.scenarios if place % 2 == 0 else [])
        for place in range(len(keys), 2 * down):
            axes[place // 2][place % 2].set_axis_off()
        handles, names = axes[0][0].get_legend_handles_labels()
    else:
        figure = new_figure(
            0.9 + len(keys) * (0.16 + 0.17 * len(data.others)), "Paired change", caption, told
        )
        ax = figure.subplots()
        forest_panel(ax, data, [(data.scenarios[0], key) for key in keys], told=True)
        ax.set_yticks(range(len(keys)), [f"{label(k, with_unit=False)}\n({side_words(k)})" for k in keys])
        handles, names = ax.get_legend_handles_labels()
    if told:
        title_legend(figure, handles, names)
    return figure


def _changes(data: FigureData, key: str) -> bool:
    return any(
        data.number("paired_continuous", s, key, p, "change_pct") is not None
        for s in data.scenarios
        for p in data.others
    )


def forest_panel(ax: Any, data: FigureData, rows: list[tuple[str, str]], told: bool = False) -> None:
    """One row per (scenario, value), one marker per policy; `told` writes the number beside the interval."""
    for row, (scenario, key) in enumerate(rows):
        for n, policy in enumerate(data.others):
            found = data.entry("paired_continuous", scenario, key, policy)
            change, mean = number(found, "change_pct"), number(found, "mean")
            low, high = number(found, "low"), number(found, "high")
            y = row + (n - (len(data.others) - 1) / 2) * 0.7 / len(data.others)
            if change is None or mean is None:
                if n == 0:
                    ax.annotate(
                        f"{data.reference}'s mean is 0", (0.0, row), xytext=(-5, 0), textcoords="offset points",
                        ha="right", va="center", fontsize=SMALL_PT, color=GREY,
                    ).set_in_layout(False)  # fmt: skip
                continue
            scale = 100.0 / abs(number(found, "reference_mean") or 1.0)
            spread = (
                None if low is None or high is None else [[(mean - low) * scale], [(high - mean) * scale]]
            )
            shown = found.get("verdict") != NO_DIFFERENCE
            ax.errorbar(
                change, y, xerr=spread, fmt=data.marker[policy], color=data.colour[policy], capsize=2.5,
                markerfacecolor=data.colour[policy] if shown else "white",
                label=f"{data.name(policy)} against {data.reference}" if row == 0 else None,
            )  # fmt: skip
            if told:
                ax.annotate(
                    f"{change:+.1f} %, {found.get('verdict')}", (1.01, y), xycoords=("axes fraction", "data"),
                    va="center", fontsize=SMALL_PT, color="#333333", annotation_clip=False,
                )  # fmt: skip
    ax.axvline(0.0, color="black", linewidth=0.9)
    ax.set_ylim(len(rows) - 0.45, -0.55)
    ax.set_xlabel(f"change [% of {data.reference}'s mean]")
