"""The reward: what it is made of, and whether it agrees with the KPIs that were computed apart from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ev_grid_oracle.evaluation.paired import TIE
from ev_grid_oracle.evaluation.stats_words import short
from ev_grid_oracle.evaluation.values import REWARD_PREFIX
from ev_grid_oracle.reward.terms import TERM_NAMES
from ev_grid_oracle.viz.figures_data import Absent, FigureData, number, unit
from ev_grid_oracle.viz.figures_style import GREY, SMALL_PT, new_figure, title_legend

REWARD, COMPOSITE = "total_reward", "composite_car_minutes"


def reward_breakdown(data: FigureData) -> Any:
    """Mean of every term with its interval; the large waiting term has a panel of its own."""
    terms = [t for t in TERM_NAMES if REWARD_PREFIX + t in data.run.value_names()]
    if not terms:
        raise Absent("the results hold no reward terms")
    figure = new_figure(
        0.85 + 0.2 * len(terms) * (1 + 0.45 * len(data.policies)),
        "Reward breakdown",
        data.caption(
            "Mean of each reward term over an episode, settle included, with its 95 % t interval. The terms add up "
            "to the total; the right panel leaves out `wait`, so that the others can be seen."
        ),
        data.names,
    )
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.25))
    _bars(left, data, [*terms, "total"])
    _bars(right, data, [t for t in terms if t != "wait"])
    left.set_title("all terms and their sum")
    right.set_title("without wait")
    handles, names = left.get_legend_handles_labels()
    title_legend(figure, handles, names)
    return figure


def _bars(ax: Any, data: FigureData, terms: list[str]) -> None:
    width = 0.8 / len(data.policies)
    hatches = ("", "///", "...", "xxx", "\\\\\\")
    for n, policy in enumerate(data.policies):
        for row, term in enumerate(terms):
            key = REWARD if term == "total" else REWARD_PREFIX + term
            found = data.entry("means", data.run.scenario, key, policy)
            mean, low, high = (number(found, k) for k in ("mean", "low", "high"))
            if mean is None:
                continue
            spread = None if low is None or high is None else [[mean - low], [high - mean]]
            y = row + (n - (len(data.policies) - 1) / 2) * width
            ax.barh(
                y, mean, height=width * 0.92, color=data.colour[policy], hatch=hatches[n % len(hatches)],
                edgecolor="white", linewidth=0.3, xerr=spread, error_kw={"elinewidth": 0.8, "capsize": 1.5},
                label=data.name(policy) if row == 0 else None,
            )  # fmt: skip
    ax.set_yticks(range(len(terms)), [t.replace("_", " ") for t in terms])
    ax.set_ylim(len(terms) - 0.5, -0.5)
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.set_xlabel(f"mean of an episode [{unit(REWARD)}]")
    ax.grid(visible=False, axis="y")


def reward_integrity(data: FigureData) -> Any:
    """Reward against the composite cost: level by level, and difference by difference."""
    from scipy import stats

    if not {REWARD, COMPOSITE} <= set(data.run.value_names()):
        raise Absent("the results hold no total_reward or no composite_car_minutes")
    figure = new_figure(
        3.35,
        "Does the reward agree with the KPIs?",
        data.caption(
            "Left: every episode of every policy and scenario. Right: differences to the reference on the same world; "
            "the shaded quarters are where reward and cost disagree (more reward at more cost, or less at less). "
            "The composite is computed from the KPIs, apart from the reward's code.",
            every_scenario=True,
        ),
        data.names,
    )
    left, right = figure.subplots(1, 2)
    every: list[tuple[float, float]] = []
    deltas: list[tuple[float, float]] = []
    for policy in data.policies:
        cost = np.concatenate([data.column(policy, COMPOSITE, run) for run in data.results.runs])
        reward = np.concatenate([data.column(policy, REWARD, run) for run in data.results.runs])
        left.plot(
            cost / 1000.0, reward, data.marker[policy], color=data.colour[policy], markersize=3, alpha=0.8,
            label=data.name(policy),
        )  # fmt: skip
        every += [(c, r) for c, r in zip(cost, reward, strict=True) if np.isfinite(c + r)]
        if policy == data.reference:
            base = (cost, reward)
            continue
        d_cost, d_reward = cost - base[0], reward - base[1]
        right.plot(
            d_cost / 1000.0, d_reward, data.marker[policy], color=data.colour[policy], markersize=3, alpha=0.8
        )
        deltas += [(c, r) for c, r in zip(d_cost, d_reward, strict=True) if np.isfinite(c + r)]
    left.set_title(f"levels: {_rank(stats, every)}")
    against = sum(c * r > 0.0 and abs(c) > TIE and abs(r) > TIE for c, r in deltas)
    ties = sum(abs(c) <= TIE and abs(r) <= TIE for c, r in deltas)
    right.set_title(f"differences: {_rank(stats, deltas)}")
    right.annotate(
        f"{against} of {len(deltas)} pairs disagree, {ties} are ties", (0.03, 0.04), xycoords="axes fraction",
        fontsize=SMALL_PT, bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
    )  # fmt: skip
    if ties == len(deltas):
        right.set_xlim(-1.0, 1.0)
        right.set_ylim(-1.0, 1.0)
    else:
        right.margins(0.12)
    (x0, x1), (y0, y1) = right.get_xlim(), right.get_ylim()
    x0, x1, y0, y1 = min(x0, 0.0), max(x1, 0.0), min(y0, 0.0), max(y1, 0.0)
    # a part of every quarter stays in sight, so that an empty one is seen to be empty
    x0, x1 = min(x0, -0.12 * x1), max(x1, -0.12 * x0)
    y0, y1 = min(y0, -0.15 * y1), max(y1, -0.15 * y0)
    right.fill_between([x0, 0.0], y0, 0.0, color="#EFEFEF", linewidth=0, zorder=0)
    right.fill_between([0.0, x1], 0.0, y1, color="#EFEFEF", linewidth=0, zorder=0)
    right.set_xlim(x0, x1)
    right.set_ylim(y0, y1)
    right.axhline(0.0, color=GREY, linewidth=0.8)
    right.axvline(0.0, color=GREY, linewidth=0.8)
    left.set_xlabel("composite cost [1,000 car-minutes], less is better")
    left.set_ylabel(f"total reward [{unit(REWARD)}]")
    right.set_xlabel("difference in composite cost [1,000 car-minutes]")
    right.set_ylabel(f"difference in reward [{unit(REWARD)}]")
    handles, names = left.get_legend_handles_labels()
    title_legend(figure, handles, names)
    return figure


def _rank(stats: Any, pairs: list[tuple[float, float]]) -> str:
    """Spearman's rank correlation of reward and minus the cost, in words; a constant has none."""
    cost, reward = (
        (np.array(side) for side in zip(*pairs, strict=True)) if pairs else (np.zeros(0), np.zeros(0))
    )
    if cost.size < 3 or np.ptp(cost) <= TIE or np.ptp(reward) <= TIE:
        return "no rank correlation (all equal)"
    return f"rank correlation {short(float(stats.spearmanr(-cost, reward).statistic))}"
