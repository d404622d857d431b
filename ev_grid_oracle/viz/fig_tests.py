"""Head-to-head counts, Wilson rates and intervals, McNemar p-values."""

from __future__ import annotations

from typing import Any

from ev_grid_oracle.evaluation.stats import ALPHA
from ev_grid_oracle.evaluation.stats_words import NO_DIFFERENCE
from ev_grid_oracle.viz.figures_data import HEAD_TO_HEAD, Absent, FigureData, label, number
from ev_grid_oracle.viz.figures_style import LOSS, SMALL_PT, TIE_COLOUR, WIN, new_figure, title_legend

P_FLOOR = 1e-6
"""Smaller p-values are drawn here."""


def head_to_head(data: FigureData) -> Any:
    """Pairs won, tied and lost, per value and policy."""
    keys = data.keys(HEAD_TO_HEAD)
    if not keys:
        raise Absent("the results hold none of the compared values")
    figure = new_figure(
        0.75 + 0.185 * len(keys) * ((len(data.others) + 2) // 3),
        f"Head to head against {data.reference}",
        data.caption(
            "Pairs of episodes on the same world in which the policy is better (blue), equal (grey) or worse (red, "
            "hatched). Equal is a tie, whatever the policies did."
        ),
        ("better", "tie", "worse"),
    )
    across = min(3, len(data.others))
    down = (len(data.others) + across - 1) // across
    axes = figure.subplots(down, across, squeeze=False, sharex=True)
    for place in range(down * across):
        ax = axes[place // across][place % across]
        if place >= len(data.others):
            ax.set_axis_off()
            continue
        head_panel(ax, data, data.others[place], keys, names=place % across == 0)
        ax.set_title(data.name(data.others[place]))
    handles, names = axes[0][0].get_legend_handles_labels()
    title_legend(figure, handles, names)
    return figure


def head_panel(ax: Any, data: FigureData, policy: str, keys: list[str], names: bool = True) -> None:
    """Stacked bars, a row per value."""
    parts = (("wins", "better", WIN, ""), ("ties", "tie", TIE_COLOUR, ""), ("losses", "worse", LOSS, "////"))
    for row, key in enumerate(keys):
        found = data.entry("paired_continuous", data.run.scenario, key, policy)
        start = 0.0
        for part, told, colour, hatch in parts:
            count = number(found, part) or 0.0
            ax.barh(
                row, count, left=start, height=0.78, color=colour, hatch=hatch, edgecolor="white", linewidth=0.3,
                label=told if row == 0 else None,
            )  # fmt: skip
            total = number(found, "n") or 1.0
            if count >= 0.07 * total:
                ax.annotate(
                    f"{count:.0f}", (start + count / 2, row), ha="center", va="center", fontsize=SMALL_PT - 0.5,
                    color="black" if part == "ties" else "white",
                    bbox={"facecolor": colour, "edgecolor": "none", "pad": 0.8},
                )  # fmt: skip
            start += count
    ax.set_yticks(range(len(keys)), [label(k, with_unit=False) for k in keys] if names else [])
    ax.set_ylim(len(keys) - 0.4, -0.6)
    ax.set_xlabel("pairs")
    ax.grid(visible=False)
    ax.margins(x=0.0)


def _facts(data: FigureData) -> list[str]:
    names = list(data.run.fact_names())
    if not names:
        raise Absent("the results hold no yes-or-no facts")
    return names


def wilson_rates(data: FigureData) -> Any:
    """Rates of the facts in one scenario as bars with Wilson intervals and counts."""
    facts = _facts(data)
    figure = new_figure(
        2.75,
        "How often it happened",
        data.caption(
            "Share of episodes in which each fact holds, with its 95 % Wilson interval and the count. Less is better."
        ),
        data.names,
    )
    ax = figure.subplots()
    rates_panel(ax, data, facts)
    title_legend(figure, *ax.get_legend_handles_labels())
    return figure


def rates_panel(ax: Any, data: FigureData, facts: list[str]) -> None:
    """Grouped bars."""
    width = 0.82 / len(data.policies)
    hatches = ("", "///", "...", "xxx", "\\\\\\")
    small = SMALL_PT - (0.5 if len(data.policies) <= 3 else 1.5)
    for n, policy in enumerate(data.policies):
        for place, fact in enumerate(facts):
            found = data.entry("wilson", data.run.scenario, fact, policy)
            rate, low, high = (number(found, k) for k in ("rate", "low", "high"))
            x = place + (n - (len(data.policies) - 1) / 2) * width
            if rate is None or low is None or high is None:
                ax.annotate("no data", (x, 0.0), ha="center", va="bottom", rotation=90, fontsize=small)
                continue
            ax.bar(
                x, 100.0 * rate, width=width * 0.92, color=data.colour[policy], hatch=hatches[n % len(hatches)],
                edgecolor="white", linewidth=0.3, label=data.name(policy) if place == 0 else None,
                yerr=[[100.0 * (rate - low)], [100.0 * (high - rate)]],
                error_kw={"elinewidth": 0.9, "capsize": 2.0},
            )  # fmt: skip
            ax.annotate(
                f"{found.get('k')}/{found.get('n')}", (x, 100.0 * high), xytext=(0, 2), textcoords="offset points",
                ha="center", va="bottom", fontsize=small,
            )  # fmt: skip
    ax.set_xticks(range(len(facts)), [f.replace("_", " ") for f in facts])
    ax.set_ylim(0.0, 116.0)
    ax.set_yticks(range(0, 101, 20))
    ax.set_ylabel("episodes [%]")
    ax.grid(visible=False, axis="x")


def wilson_intervals(data: FigureData) -> Any:
    """Rates as points with Wilson intervals: a panel per fact, a row per scenario and policy."""
    facts = _facts(data)
    several = len(data.scenarios) > 1
    rows = data.scenarios if several else data.policies
    across = 3
    down = (len(facts) + across - 1) // across
    each = 0.09 * len(data.policies) + 0.05 if several else 0.22
    figure = new_figure(
        0.3 + down * (0.7 + each * len(rows)),
        "Wilson intervals",
        data.caption(
            "Share of episodes in which each fact holds, with its 95 % Wilson interval. Less is better.",
            every_scenario=True,
        ),
        data.names if several else (),
    )
    axes = figure.subplots(down, across, squeeze=False, sharex=True)
    for place in range(down * across):
        ax = axes[place // across][place % across]
        if place >= len(facts):
            ax.set_axis_off()
            continue
        for row, scenario in enumerate(data.scenarios):
            for n, policy in enumerate(data.policies):
                found = data.entry("wilson", scenario, facts[place], policy)
                rate, low, high = (number(found, k) for k in ("rate", "low", "high"))
                if rate is None or low is None or high is None:
                    continue
                y = row + (n - (len(data.policies) - 1) / 2) * 0.8 / len(data.policies) if several else n
                ax.errorbar(
                    100.0 * rate, y, xerr=[[100.0 * (rate - low)], [100.0 * (high - rate)]],
                    fmt=data.marker[policy], color=data.colour[policy], capsize=2.5, markersize=4,
                    label=data.name(policy) if row == 0 else None,
                )  # fmt: skip
        ax.set_title(facts[place].replace("_", " "))
        told = [data.name(r) if not several else r for r in rows]
        ax.set_yticks(range(len(rows)), told if place % across == 0 else [])
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.set_xlim(-4.0, 104.0)
        ax.tick_params(labelbottom=True)
        ax.set_xlabel("episodes [%]")
    if several:
        handles, names = axes[0][0].get_legend_handles_labels()
        title_legend(figure, handles, names)
    return figure


def mcnemar_p(data: FigureData) -> Any:
    """p-values of the exact McNemar test, as they are and after Holm, with the pairs that differ."""
    facts = _facts(data)
    several = len(data.scenarios) > 1
    caption = data.caption(
        f"Exact two-sided McNemar test against {data.reference}. Tick: p; mark: p after Holm over the scenarios, "
        "filled where below 0.05, hollow: no difference shown. Numbers: pairs in which it happened to the policy only : "
        "to the reference only. No pair differs: p = 1, a tie.",
        every_scenario=True,
    )
    legend = [data.name(p) for p in data.others] if len(data.others) > 1 else ()
    title = "McNemar: do the rates differ?"
    if several:
        down = (len(facts) + 1) // 2
        figure = new_figure(
            0.2 + down * (0.8 + len(data.scenarios) * (0.12 * len(data.others) + 0.04)),
            title,
            caption,
            legend,
        )
        axes = figure.subplots(down, 2, squeeze=False)
        for place in range(2 * down):
            ax = axes[place // 2][place % 2]
            if place >= len(facts):
                ax.set_axis_off()
                continue
            _mcnemar_panel(ax, data, [(s, facts[place]) for s in data.scenarios], told=False)
            ax.set_title(facts[place].replace("_", " "))
            ax.set_yticks(range(len(data.scenarios)), data.scenarios if place % 2 == 0 else [])
        ax = axes[0][0]
    else:
        figure = new_figure(0.6 + len(facts) * (0.13 * len(data.others) + 0.1), title, caption, legend)
        ax = figure.subplots()
        _mcnemar_panel(ax, data, [(data.scenarios[0], f) for f in facts], told=True)
        ax.set_yticks(range(len(facts)), [f.replace("_", " ") for f in facts])
        ax.annotate(
            "0.05",
            (ALPHA, 1.0),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="bottom",
            fontsize=SMALL_PT,
        )
    if legend:
        title_legend(figure, *ax.get_legend_handles_labels())
    return figure


def _mcnemar_panel(ax: Any, data: FigureData, rows: list[tuple[str, str]], told: bool) -> None:
    """One row per (scenario, fact), one mark per policy; `told` writes the verdict beside the counts."""
    for row, (scenario, fact) in enumerate(rows):
        for n, policy in enumerate(data.others):
            found = data.entry("paired_mcnemar", scenario, fact, policy)
            p, corrected = number(found, "p"), number(found, "p_holm")
            if p is None or corrected is None:
                continue
            y = row + (n - (len(data.others) - 1) / 2) * 0.7 / len(data.others)
            shown = found.get("verdict") != NO_DIFFERENCE
            ax.plot([max(p, P_FLOOR)], [y], "|", color="black", markersize=7, zorder=4)
            ax.plot(
                [max(corrected, P_FLOOR)], [y], data.marker[policy], color=data.colour[policy], markersize=5.5,
                markerfacecolor=data.colour[policy] if shown else "none", label=data.name(policy) if row == 0 else None,
            )  # fmt: skip
            counts = f"{found.get('only_policy')} : {found.get('only_reference')}"
            ax.annotate(
                f"{counts}, {found.get('verdict')}" if told else counts, (1.01, y),
                xycoords=("axes fraction", "data"), va="center", fontsize=SMALL_PT - 0.5, color="#333333",
                annotation_clip=False,
            )  # fmt: skip
    ax.axvline(ALPHA, color="black", linewidth=0.9, linestyle="--")
    ax.set_xscale("log")
    ax.set_xlim(P_FLOOR * 0.6, 1.9)
    ticks = [10.0**e for e in range(-6, 1)] if told else [1e-6, 1e-4, 1e-2, 1.0]
    ax.set_xticks(ticks, ["1e-6 or less", *(f"{t:g}" for t in ticks[1:])])
    ax.minorticks_off()
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlabel("p-value")
