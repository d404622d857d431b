"""Episode by episode: trajectories, paired deltas, distributions, paired scatter."""

from __future__ import annotations

from typing import Any

import numpy as np

from ev_grid_oracle.evaluation.paired import TIE
from ev_grid_oracle.evaluation.stats_words import p_text
from ev_grid_oracle.evaluation.values import better_side
from ev_grid_oracle.viz.figures_data import HEADLINE, Absent, FigureData, label, number, side_words, unit
from ev_grid_oracle.viz.figures_style import (
    LOSS,
    SMALL_PT,
    TIE_COLOUR,
    WIN,
    new_figure,
    title_legend,
)

GOLDEN = 0.6180339887498949
"""Steps of the golden ratio spread points evenly without draws."""


def _some(data: FigureData, wanted: tuple[str, ...] = HEADLINE, most: int = 6) -> list[str]:
    """Headline values with at least one number that differs between episodes or policies."""
    out = []
    for key in data.keys(wanted):
        columns = np.concatenate([data.column(p, key) for p in data.policies])
        if np.isfinite(columns).any():
            out.append(key)
    if not out:
        raise Absent("the results hold none of the headline values")
    return [k for k in out if k != "peak_violations"][:most] if len(out) > most else out


def trajectories(data: FigureData) -> Any:
    """Values of every episode in the order played."""
    keys = _some(data, ("composite_car_minutes", "minutes_to_charged", "lost", "total_reward"), 4)
    figure = new_figure(
        0.3 + 1.55 * len(keys),
        "Episode by episode",
        data.caption("Every episode of every policy; a vertical slice is one world. Nothing is smoothed."),
        data.names,
    )
    axes = figure.subplots(len(keys), 1, sharex=True, squeeze=False)[:, 0]
    index = np.arange(data.run.n)
    for ax, key in zip(axes, keys, strict=True):
        for policy in data.policies:
            ax.plot(
                index, data.column(policy, key), marker=data.marker[policy], color=data.colour[policy],
                linewidth=0.8, markersize=3.0 if data.run.n <= 60 else 2.0, label=data.name(policy),
            )  # fmt: skip
        ax.set_title(f"{label(key, with_unit=False)}, {side_words(key)}")
        ax.set_ylabel(unit(key))
        ax.margins(x=0.01)
    axes[-1].set_xlabel("episode [number in the order of the evaluation]")
    handles, names = axes[0].get_legend_handles_labels()
    title_legend(figure, handles, names)
    return figure


def paired_deltas(data: FigureData) -> Any:
    """Differences of every pair, sorted: a row of panels per policy that is compared."""
    keys = _some(data, HEADLINE, 6)
    down = (len(keys) + 2) // 3
    one = len(data.others) == 1
    figure = new_figure(
        (0.1 + (1.75 if one else 1.9) * down) * len(data.others),
        f"Paired deltas: {data.name(data.others[0])} minus {data.reference}" if one else "Paired deltas",
        data.caption(
            f"Policy minus {data.reference} on the same world, sorted. Blue: better, red: worse, grey ticks at zero: "
            "ties. Line and band: mean with its 95 % BCa interval; p from the sign-flip test after Holm."
        ),
    )
    axes = figure.subplots(down * len(data.others), 3, squeeze=False)
    for group, policy in enumerate(data.others):
        for place in range(3 * down):
            ax = axes[group * down + place // 3][place % 3]
            if place < len(keys):
                delta_panel(ax, data, policy, keys[place], named=not one)
            else:
                ax.set_axis_off()
    return figure


def delta_panel(ax: Any, data: FigureData, policy: str, key: str, named: bool = False) -> None:
    """Sorted differences of one value with their mean and interval; `named` says whose they are."""
    delta = data.column(policy, key) - data.column(data.reference, key)
    delta = np.sort(delta[np.isfinite(delta)])
    delta[np.abs(delta) <= TIE] = 0.0
    side = {"lower": -1.0, "higher": 1.0}.get(better_side(key), 0.0)
    good = delta * side
    fill = np.where(good > 0.0, WIN, np.where(good < 0.0, LOSS, TIE_COLOUR))
    x = np.arange(delta.size)
    ax.bar(x, delta, color=list(fill), width=1.0, edgecolor="white", linewidth=0.2)
    ties = x[delta == 0.0]
    if ties.size:  # an empty line outside its axes has no box, and the layout gives up
        ax.plot(ties, np.zeros(ties.size), "|", color="#7F7F7F", markersize=7, clip_on=False, zorder=4)
    found = data.entry("paired_continuous", data.run.scenario, key, policy)
    mean, low, high = (number(found, k) for k in ("mean", "low", "high"))
    if low is not None and high is not None:
        ax.axhspan(low, high, color="black", alpha=0.15, linewidth=0)
    if mean is not None:
        ax.axhline(mean, color="black", linewidth=1.0, linestyle="--")
    ax.axhline(0.0, color="black", linewidth=0.8)
    if not delta.any():
        ax.set_ylim(-1.0, 1.0)
    wins, ties_n, losses = (found.get(k, 0) for k in ("wins", "ties", "losses"))
    head = f"{policy}\n{label(key, with_unit=False)}" if named else label(key, with_unit=False)
    told = f"{wins} better, {ties_n} ties, {losses} worse\n{p_text(number(found, 'p_holm'))}: {found.get('verdict')}"
    ax.set_title(f"{head}\n{told}", fontsize=SMALL_PT, fontweight="normal")
    ax.set_ylabel(unit(key))
    ax.set_xlabel(f"pairs, sorted (n = {delta.size})")
    ax.set_xticks([])
    ax.grid(visible=False, axis="x")


def distributions(data: FigureData) -> Any:
    """Box and points of every policy: quartiles, whiskers to 1.5 quartile ranges, mean as a line."""
    keys = _some(data, HEADLINE, 6)
    down = (len(keys) + 1) // 2
    figure = new_figure(
        0.2 + down * (0.92 + 0.34 * len(data.policies)),
        "Distributions",
        data.caption(
            "Every episode as a point; box: quartiles and median, whiskers: 1.5 quartile ranges, black diamond: mean."
        ),
    )
    axes = figure.subplots(down, 2, squeeze=False)
    for place in range(2 * down):
        ax = axes[place // 2][place % 2]
        if place >= len(keys):
            ax.set_axis_off()
            continue
        distribution_panel(ax, data, keys[place], names=place % 2 == 0)
    return figure


def distribution_panel(ax: Any, data: FigureData, key: str, names: bool = True) -> None:
    """One row per policy."""
    for row, policy in enumerate(data.policies):
        x = data.column(policy, key)
        x = x[np.isfinite(x)]
        if not x.size:
            continue
        offset = (np.arange(x.size) * GOLDEN % 1.0 - 0.5) * 0.5
        ax.plot(
            x,
            row + offset,
            data.marker[policy],
            color=data.colour[policy],
            markersize=2.4,
            alpha=0.75,
            zorder=1,
        )
        ax.boxplot(
            x, positions=[row], orientation="horizontal", widths=0.6, showfliers=False, manage_ticks=False,
            medianprops={"color": "black", "linewidth": 1.3}, zorder=2,
        )  # fmt: skip
        ax.plot([x.mean()], [row], "D", color="black", markersize=4, zorder=3)
    ax.set_yticks(range(len(data.policies)), [data.name(p) for p in data.policies] if names else [])
    ax.set_ylim(len(data.policies) - 0.45, -0.55)
    ax.locator_params(axis="x", nbins=6)
    ax.set_title(label(key, with_unit=False))
    ax.set_xlabel(f"{unit(key)}, {side_words(key)}" if side_words(key) else unit(key))


def paired_scatter(data: FigureData) -> Any:
    """Policy against reference, a point per world; on the line they are equal."""
    keys = _some(data, HEADLINE, 6)
    down = (len(keys) + 2) // 3
    figure = new_figure(
        0.1 + 2.7 * down,
        "Paired scatter",
        data.caption("A point per world. On the diagonal both are equal (a tie); the shaded side is better."),
        [data.name(p) for p in data.others],
    )
    axes = figure.subplots(down, 3, squeeze=False)
    for place in range(3 * down):
        ax = axes[place // 3][place % 3]
        if place >= len(keys):
            ax.set_axis_off()
            continue
        key = keys[place]
        x = data.column(data.reference, key)
        both = np.concatenate([data.column(p, key) for p in data.policies])
        both = both[np.isfinite(both)]
        low, high = float(both.min()), float(both.max())
        pad = 0.05 * (high - low) if high > low else max(1.0, abs(high) * 0.05)
        ends = np.array([low - pad, high + pad])
        side = better_side(key)
        if side != "neither":
            ax.fill_between(ends, ends, ends[0] if side == "lower" else ends[1], color="#EAF3FA", linewidth=0)
        ax.plot(ends, ends, color="black", linewidth=0.9)
        for policy in data.others:
            ax.plot(
                x, data.column(policy, key), data.marker[policy], color=data.colour[policy], markersize=3.2,
                alpha=0.85, label=data.name(policy),
            )  # fmt: skip
        ax.set_xlim(*ends)
        ax.set_ylim(*ends)
        ax.set_box_aspect(1.0)
        ax.locator_params(nbins=4)
        ax.set_title(label(key, with_unit=False))
        ax.set_xlabel(f"{data.reference} [{unit(key)}]")
        ax.set_ylabel(f"{data.others[0] if len(data.others) == 1 else 'policy'} [{unit(key)}]")
    handles, names = axes[0][0].get_legend_handles_labels()
    title_legend(figure, handles, names)
    return figure
