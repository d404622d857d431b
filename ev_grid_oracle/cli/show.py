"""Tables for people: comparisons and KPIs of an evaluation."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table
    from rich.text import Text

    from ev_grid_oracle.evaluation.paired import Difference
    from ev_grid_oracle.evaluation.runner import Run

HEADLINE = (
    "minutes_to_charged", "walkin_minutes_to_charged", "minutes_to_plug", "lost", "stranded", "walkin_lost",
    "flexible_missed", "flexible_late_minutes", "overload_minutes", "overload_kva_min",
    "voltage_violation_minutes", "composite_car_minutes", "avoidable_car_minutes",
    "energy_kwh", "cost_inr", "co2_kg", "total_reward",
)  # fmt: skip
"""KPIs of a table for people; the JSON holds all of them."""


def console() -> Console:
    """Standard output; a pipe gets 100 columns. NO_COLOR is respected by rich."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else 100, highlight=False)


def number(value: float | None) -> str:
    """Three to four digits that matter, thousands with a blank; `-` where there is nothing."""
    if value is None:
        return "-"
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}".replace(",", " ")
    text = f"{value:.1f}" if size >= 100 else f"{value:.2f}"
    return "0.00" if text == "-0.00" else text


def interval(d: Difference) -> str:
    """Mean difference and half its 95 % interval: `-27.3 ± 2.29`."""
    if d.mean is None or d.high is None:
        return number(d.mean)
    return f"{number(d.mean)} ± {number(d.high - d.mean)}"


def verdict(d: Difference, better: str) -> str:
    """Better, worse or nothing, by the interval and the side that is better."""
    if not d.clear or d.mean is None or better not in ("lower", "higher"):
        return ""
    return "better" if (d.mean < 0.0) == (better == "lower") else "worse"


SAYS_ITS_UNIT = ("minutes", "_min", "_kwh", "_kg", "_inr")


def _label(key: str) -> Text:
    """The name, with its unit where the name does not say it."""
    from rich.text import Text

    from ev_grid_oracle.evaluation.values import UNITS

    unit = "" if any(part in key for part in SAYS_ITS_UNIT) else f" {UNITS.get(key, '')}"
    return Text.assemble(key, (unit, "dim"))


def _table() -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    return Table(box=SIMPLE_HEAD, padding=(0, 1), collapse_padding=True, show_edge=False)


def comparison(run: Run, policy: str, reference: str) -> RenderableType:
    """One policy against the reference: means, paired difference with its 95 % interval, wins/ties/losses."""
    from rich.console import Group
    from rich.text import Text

    from ev_grid_oracle.evaluation.values import better_side

    table = _table()
    table.add_column("KPI", no_wrap=True)
    for name in (reference, policy, "difference, 95 %", "w/t/l"):
        table.add_column(name, justify="right", no_wrap=name not in (reference, policy), overflow="fold")
    table.add_column("", no_wrap=True)
    ours, theirs = run.means(policy), run.means(reference)
    differences = run.differences(policy, reference)
    for key in HEADLINE:
        if key not in differences:
            continue
        d, better = differences[key], better_side(key)
        mark = verdict(d, better)
        style = {"better": "green", "worse": "red"}.get(mark, "")
        counts = "" if better == "neither" else f"{d.wins}/{d.ties}/{d.losses}"
        cells = (number(theirs[key]), number(ours[key]), interval(d), counts, mark)
        table.add_row(_label(key), *(Text(c, style) for c in cells))
    title = f"{policy} against {reference}: scenario {run.scenario}, {len(run.seeds)} paired episodes"
    return Group(Text(title, "bold"), table, "")


def values_table(title: str, values: dict[str, float | None]) -> RenderableType:
    """KPIs of one episode, or means over several."""
    from rich.console import Group
    from rich.text import Text

    table = _table()
    table.add_column("KPI")
    table.add_column("value", justify="right")
    for key in HEADLINE:
        if key in values:
            table.add_row(_label(key), number(values[key]))
    return Group(Text(title, "bold"), table, "")
