"""What happened by the clock, from the recorded episodes: stress, feeder loads, energy and its greenness."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ev_grid_oracle.viz.figures_data import F64, Absent, FigureData
from ev_grid_oracle.viz.figures_style import GREEN, RED, new_figure, title_legend

NEEDS = "the results hold no per-tick series (evgrid eval keeps those of the first episodes)"


def _episodes(data: FigureData) -> list[Mapping[str, Mapping[str, object]]]:
    """Per recorded episode: policy -> series."""
    out: list[Mapping[str, Mapping[str, object]]] = []
    listed = data.raw_run().get("series")
    for entry in listed if isinstance(listed, list) else []:
        policies = entry.get("policies") if isinstance(entry, Mapping) else None
        if isinstance(policies, Mapping) and all(isinstance(policies.get(p), Mapping) for p in data.policies):
            out.append(policies)
    if not out:
        raise Absent(NEEDS)
    return out


def _stack(episodes: list[Mapping[str, Mapping[str, object]]], policy: str, name: str) -> F64:
    """(episodes, ticks) of one series."""
    rows = [e[policy].get(name) for e in episodes]
    if any(not isinstance(r, list) for r in rows):
        raise Absent(f"the series hold no {name}")
    try:
        return np.array(rows, np.float64)
    except (TypeError, ValueError) as error:
        raise Absent(f"the series {name} is not of one length") from error


def _hours(episodes: list[Mapping[str, Mapping[str, object]]], policy: str) -> F64:
    """(ticks,) hours since the midnight before the first tick."""
    minute = _stack(episodes, policy, "minute_of_day")[0]
    days = np.concatenate([[0.0], np.cumsum(np.diff(minute) < 0.0)])
    hours: F64 = (minute + 1440.0 * days) / 60.0
    return hours


def _clock(ax: Any, hours: F64, most: float = 10.0) -> None:
    from matplotlib.ticker import FuncFormatter, MultipleLocator

    span = float(hours[-1] - hours[0])
    step = next((s for s in (0.5, 1.0, 2.0, 3.0, 6.0, 12.0, 24.0) if span / s <= most), 48.0)
    ax.xaxis.set_major_locator(MultipleLocator(step))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda h, _: f"{int(h) % 24:02d}:{round(h % 1 * 60):02d}"))
    ax.set_xlim(float(hours[0]), float(hours[-1]))


def _caption(data: FigureData, n: int, told: str) -> str:
    return data.caption(f"{told} The {n} recorded of the episodes below; India Standard Time.")


def _lines(ax: Any, data: FigureData, episodes: Any, hours: F64, name: str, scale: float = 1.0) -> None:
    """Mean over the episodes of every policy, with the range from the least to the largest."""
    for policy in data.policies:
        y = _stack(episodes, policy, name) * scale
        ax.fill_between(hours, y.min(0), y.max(0), color=data.colour[policy], alpha=0.14, linewidth=0)
        ax.plot(
            hours, y.mean(0), color=data.colour[policy], marker=data.marker[policy], markevery=max(1, len(hours) // 12),
            markersize=3.5, label=data.name(policy),
        )  # fmt: skip


def stress_timeline(data: FigureData) -> Any:
    """Waiting cars, occupancy, stressed stations and feeders by the clock."""
    episodes = _episodes(data)
    hours = _hours(episodes, data.reference)
    panels = (
        ("waiting_cars", 1.0, "waiting: pending, deferred or queued", "cars"),
        ("occupancy_frac", 100.0, "occupied slots", "% of slots"),
        ("stressed_stations", 1.0, "stations above 85 %", "stations"),
        ("peak_feeders", 1.0, "feeders that charging lifts above 80 %", "feeders"),
    )
    figure = new_figure(
        4.1,
        "Stress by the clock",
        _caption(
            data, len(episodes), "Line: mean over episodes; band: from the least to the largest episode."
        ),
        data.names,
    )
    axes = figure.subplots(2, 2, sharex=True)
    for ax, (name, scale, title, unit) in zip(axes.flat, panels, strict=True):
        _lines(ax, data, episodes, hours, name, scale)
        ax.set_title(title)
        ax.set_ylabel(unit)
        ax.set_ylim(bottom=0.0)
        _clock(ax, hours)
    for ax in axes[1]:
        ax.set_xlabel("time of day")
    handles, names = axes[0][0].get_legend_handles_labels()
    title_legend(figure, handles, names)
    return figure


def feeder_fan(data: FigureData) -> Any:
    """Load of all feeders as a fan of quantiles, a panel per policy."""
    episodes = _episodes(data)
    hours = _hours(episodes, data.reference)
    across = min(2, len(data.policies)) if len(data.policies) != 3 else 3
    down = (len(data.policies) + across - 1) // across
    figure = new_figure(
        0.3 + 2.4 * down,
        "Feeder loads",
        _caption(
            data, len(episodes),
            "Apparent power over present rating of every 11 kV feeder in every recorded episode: median, middle half, "
            "5 to 95 %, largest. Dashed: base load alone, 95 % quantile.",
        ),
        ("5 to 95 %", "middle half", "median", "largest", "base alone, 95 %"),
    )  # fmt: skip
    axes = figure.subplots(down, across, squeeze=False, sharey=True, sharex=True)
    for place, ax in enumerate(axes.flat):
        if place >= len(data.policies):
            ax.set_axis_off()
            continue
        policy = data.policies[place]
        load, feeders = _feeders(episodes, policy, "feeder_load_frac")
        base, _ = _feeders(episodes, policy, "feeder_base_frac")
        low, lower, middle, upper, high = np.quantile(load, (0.05, 0.25, 0.5, 0.75, 0.95), axis=0) * 100.0
        colour = data.colour[policy]
        ax.fill_between(hours, low, high, color=colour, alpha=0.2, linewidth=0, label="5 to 95 %")
        ax.fill_between(hours, lower, upper, color=colour, alpha=0.4, linewidth=0, label="middle half")
        ax.plot(hours, middle, color=colour, linewidth=1.8, label="median")
        ax.plot(hours, load.max(0) * 100.0, color="black", linewidth=0.8, linestyle=":", label="largest")
        ax.plot(hours, np.quantile(base, 0.95, axis=0) * 100.0, color="black", linewidth=0.8, linestyle="--", label="base alone, 95 %")  # fmt: skip
        ax.axhline(100.0, color=RED, linewidth=1.0)
        ax.set_title(f"{data.name(policy)} ({feeders} feeders)")
        ax.set_ylim(bottom=0.0)
        _clock(ax, hours, 8.0 if across < 3 else 5.0)
        if place % across == 0:
            ax.set_ylabel("load [% of rating]")
        if place // across == down - 1:
            ax.set_xlabel("time of day")
    handles, names = axes[0][0].get_legend_handles_labels()
    for handle, name in zip(handles, names, strict=True):
        if name == "middle half" or name.startswith("5 to"):
            handle.set_edgecolor("none")
    title_legend(figure, handles, names)
    return figure


def _feeders(episodes: list[Mapping[str, Mapping[str, object]]], policy: str, name: str) -> tuple[F64, int]:
    """(episodes x feeders, ticks) loads, and the number of feeders."""
    rows: list[object] = []
    feeders = 0
    for episode in episodes:
        loads = episode[policy].get(name)
        if not isinstance(loads, Mapping) or not loads:
            raise Absent(f"the series hold no {name}")
        feeders = len(loads)
        rows += list(loads.values())
    return np.array(rows, np.float64), feeders


def energy_renewable(data: FigureData) -> Any:
    """Energy charged by the clock, above it the share of renewables it meets."""
    episodes = _episodes(data)
    hours = _hours(episodes, data.reference)
    labels = []
    for policy in data.policies:
        green = _stack(episodes, policy, "renewable_kwh").sum()
        drawn = _stack(episodes, policy, "energy_kwh").sum()
        share = f"{100.0 * green / drawn:.2f} % renewable" if drawn > 0.0 else "nothing charged"
        labels.append(f"{data.name(policy)}: {share}")
    figure = new_figure(
        3.9,
        "Energy against renewable share",
        _caption(
            data, len(episodes),
            "Mean over episodes; bands: least to largest. The renewable share of the grid does not depend on the policy. "
            "Legend: renewable kWh over kWh charged in these ticks.",
        ),
        labels,
    )  # fmt: skip
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(1.0, 1.9))
    grid = _stack(episodes, data.reference, "renewable_frac") * 100.0
    top.fill_between(hours, grid.min(0), grid.max(0), color=GREEN, alpha=0.18, linewidth=0)
    top.plot(hours, grid.mean(0), color=GREEN)
    top.set_ylabel("share [%]")
    top.set_title("renewable share of the grid")
    _lines(bottom, data, episodes, hours, "energy_kwh")
    bottom.set_title("what was charged")
    bottom.set_ylabel("energy of a tick [kWh]")
    bottom.set_ylim(bottom=0.0)
    bottom.set_xlabel("time of day")
    _clock(bottom, hours)
    handles, _ = bottom.get_legend_handles_labels()
    title_legend(figure, handles, labels)
    return figure
