"""`evgrid replay`: play a saved trace in the terminal. Frames are shown, nothing is computed again."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ev_grid_oracle.cli.options import Json
from ev_grid_oracle.cli.waiting import Waiting

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ev_grid_oracle.episode.trace import Frame, Trace

EXAMPLE = "Example: evgrid replay run.evt --speed 8"
BAR = 10


def replay(
    path: Annotated[Path, typer.Argument(help="A saved trace.", metavar="TRACE")],
    speed: Annotated[float, typer.Option("--speed", min=0.0, help="Ticks a second; 0 is no pause.")] = 4.0,
    no_tty: Annotated[bool, typer.Option("--no-tty", help="One plain line a tick, no pause.")] = False,
    json: Json = False,
) -> None:
    """Play a trace tick by tick: clock, queues, power, answers, reward, flags."""
    with Waiting("Reading the trace"):
        from ev_grid_oracle.episode.trace import Trace

        trace = Trace.load(path)
    if json:
        from ev_grid_oracle.evaluation.writing import to_json

        typer.echo(
            to_json({"header": trace.header, "frames": [frame.to_dict() for frame in trace]}), nl=False
        )
    elif no_tty or not sys.stdout.isatty():
        for line in lines(trace):
            typer.echo(line)
    else:
        _animate(trace, speed)


def clock(frame: Frame) -> str:
    return f"{frame.minute_of_day // 60:02d}:{frame.minute_of_day % 60:02d}"


def title(trace: Trace) -> str:
    """Which episode this is."""
    head = trace.header
    parts = [f"{name} {head[name]}" for name in ("scenario", "seed", "policy") if head.get(name) is not None]
    return ", ".join(parts)


def totals(frame: Frame) -> dict[str, float]:
    """Sums over the city after the tick."""
    kva, _base, rating, heat = frame.feeders
    return {
        "occupied": int(frame.occupied.sum()),
        "queued": int(frame.queued.sum()),
        "ev_kw": float(frame.station_kw.sum()),
        "grid_pct": 100.0 * float(kva.sum()) / float(rating.sum()),
        "hottest_pct": 100.0 * float(max(heat)) ** 0.5,
    }


def lines(trace: Trace) -> Iterator[str]:
    """The plain form: a heading, a line for each tick, a closing line."""
    yield title(trace)
    yield "tick  clock  occupied  queued  charging kW  grid %  hottest feeder %  answers   reward  flags"
    for frame in trace:
        t = totals(frame)
        yield (
            f"{frame.tick:>4}  {clock(frame)}  {t['occupied']:>8}  {t['queued']:>6}  {t['ev_kw']:>11.0f}  "
            f"{t['grid_pct']:>6.1f}  {t['hottest_pct']:>16.1f}  {len(frame.answers):>7}  "
            f"{frame.reward:>7.3f}  {', '.join(frame.flags) or '-'}"
        )
    yield f"{len(trace)} ticks, total reward {float(trace.rewards.sum()):.3f}"


def screen(trace: Trace, frame: Frame) -> RenderableType:
    """One tick for a terminal: a heading, every station with its bar, the tick's totals."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    stations = list(trace.header["stations"])  # type: ignore[call-overload]
    half = -(-len(stations) // 2)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1))
    for _ in range(2):  # two stations a row, so that a city of 25 fits a terminal
        for name, side in (
            ("station", "left"),
            ("in use", "right"),
            ("", "left"),
            ("queue", "right"),
            ("kW", "right"),
        ):
            table.add_column(name, justify=side, no_wrap=True)  # type: ignore[arg-type]
    most = max(int(frame.occupied.max()), 1)

    def cells(s: int) -> tuple[str | Text, ...]:
        if s >= len(stations):
            return ("",) * 5
        occupied, queued = int(frame.occupied[s]), int(frame.queued[s])
        style = "red" if queued > 2 else "yellow" if queued else "green"
        bar = Text("#" * round(BAR * occupied / most), style)
        return stations[s], str(occupied), bar, str(queued or ""), f"{frame.station_kw[s]:.0f}"

    for s in range(half):
        table.add_row(*cells(s), *cells(s + half))
    t = totals(frame)
    head = f"{title(trace)}   tick {frame.tick + 1}/{len(trace)}   {clock(frame)}"
    foot = (
        f"in use {t['occupied']}, queued {t['queued']}, {t['ev_kw']:.0f} kW, grid {t['grid_pct']:.1f} %, "
        f"{len(frame.answers)} answers, reward {frame.reward:.3f}"
    )
    flags = f"flags: {', '.join(frame.flags)}" if frame.flags else ""
    return Group(Text(head, "bold"), table, Text(foot), Text(flags, "red"))


def _animate(trace: Trace, speed: float) -> None:
    from rich.console import Console
    from rich.live import Live

    if not len(trace):
        typer.echo("The trace holds no tick.")
        return
    with Live(console=Console(), auto_refresh=False) as live:
        for frame in trace:
            live.update(screen(trace, frame), refresh=True)
            if speed > 0.0:
                time.sleep(1.0 / speed)
    typer.echo(f"{len(trace)} ticks, total reward {float(trace.rewards.sum()):.3f}")
