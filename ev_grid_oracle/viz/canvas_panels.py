"""What stands around the map: headline with clock and badge, KPI strip, feeders, queue chart, legend, cards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.episode.kpis import KPIS
from ev_grid_oracle.viz import canvas as c
from ev_grid_oracle.viz import canvas_map as m
from ev_grid_oracle.viz.frames import Shot, Verdict

SIDE_X, SIDE_W = 904, 360
STRIP_Y = 624
UNSOUND = ("fallback", "timeout", "skipped")
"""Sources that are not the policy's own work: their badge is red."""
TILES: tuple[tuple[str, str, str], ...] = (
    ("lost", "Requests lost", "cars"), ("walkin_lost", "Walk-ins lost", "cars"),
    ("fleet.minutes_to_charged", "Fleets, to charged", "min"),
    ("driver.minutes_to_charged", "Drivers, to charged", "min"),
    ("overload_kva_min", "Overload", "kVA min"), ("overload_minutes", "Time overloaded", "min"),
)  # fmt: skip
"""KPI of a shot, words of its tile, unit."""
MOST_EVENTS = 4
TITLES = {
    "minutes_to_charged": "Minutes to charged, requests", "walkin_minutes_to_charged": "Minutes to charged, walk-ins",
    "lost": "Requests lost", "walkin_lost": "Walk-ins lost", "overload_kva_min": "Overload",
    "overload_minutes": "Time overloaded", "composite_car_minutes": "Composite cost",
}  # fmt: skip


@dataclass(frozen=True)
class Label:
    """What is said of a lane: its name, its badge, its colour, and what acts."""

    lane: str
    badge: str
    source: str
    colour: c.Colour


def number(value: float | None, unit: str) -> str:
    """A value as tiles and cards show it."""
    if value is None:
        return "–"
    if unit in ("cars", "kVA min", "car-minutes") or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:,.1f}"


def headline(surface: Any, title: str, about: str, shot: Shot, label: Label) -> None:
    """Title and what is played at the left, room for the clock in the middle, badge at the right."""
    c.box(surface, 0, 0, c.WIDTH, m.TOP, c.PANEL, 0)
    c.box(surface, 0, m.TOP - 2, c.WIDTH, 2, label.colour, 0)
    c.write(surface, title, 16, 7, 18, bold=True)
    c.write(surface, c.fit(about, 12, 500), 16, 32, 12, c.MUTED)
    c.write(surface, f"tick {shot.tick}", 686, 24, 12, c.MUTED)
    text = c.fit(label.badge, 12, 290)
    tone = c.RED if label.source in UNSOUND else c.MUTED
    right = c.WIDTH - 16
    width = c.font(18, True).size(label.lane)[0] + 24
    c.box(surface, right - width, 6, width, 25, label.colour, 6)
    c.write(surface, label.lane, right - width / 2, 8, 18, c.GROUND, bold=True, align="middle")
    c.write(surface, f"source: {text}", right, 35, 12, tone, align="right")


def clock(surface: Any, shot: Shot, minute: float) -> None:
    """The time of day at `minute` of the episode, `shot` being the state of its tick."""
    now = int(shot.minute_of_day + minute - shot.minute) % 1440
    c.write(surface, f"{now // 60:02d}:{now % 60:02d}", 630, 8, 30, bold=True, align="middle")


def strip(surface: Any, shot: Shot, other: Shot | None, other_name: str) -> None:
    """The KPI tiles; below each the other lane's number at the same tick, where there is one."""
    c.box(surface, 0, STRIP_Y, c.WIDTH, c.HEIGHT - STRIP_Y, c.PANEL, 0)
    width = (c.WIDTH - 16) / len(TILES)
    for k, (name, words, unit) in enumerate(TILES):
        x = 16 + k * width
        value = shot.numbers[name]
        c.write(surface, words, x, STRIP_Y + 8, 12, c.MUTED)
        wide = c.write(surface, number(value, unit), x, STRIP_Y + 24, 26, bold=True)
        c.write(surface, unit, x + wide + 6, STRIP_Y + 38, 12, c.MUTED)
        if other is not None:
            then = other.numbers[name]
            tone = c.MUTED
            mark = ""
            if value is not None and then is not None:
                mark = "  = tie" if abs(value - then) <= 1e-9 else ("  ▼" if value < then else "  ▲")
                tone = c.MUTED if mark == "  = tie" else ((104, 214, 150) if value < then else c.AMBER)
            c.write(surface, f"{other_name} {number(then, unit)}{mark}", x, STRIP_Y + 58, 12, tone)
    what = "after the settle: cars still on their way are played to their end" if shot.done else "so far"
    c.write(surface, f"KPIs {what} · lower is better in all six", 16, c.HEIGHT - 17, 10, c.MUTED)


def feeders(surface: Any, city: PackedCity, shot: Shot) -> None:
    """A bar per feeder: load over its present limit."""
    grid = city.pack.grid
    top = m.TOP + 10
    c.write(surface, "11 kV feeders: load / limit", SIDE_X, top, 13, bold=True)
    for f, name in enumerate(grid.feeder_ids[:12]):
        y = top + 22 + 17 * f
        load = float(shot.feeder_load[f] / max(shot.feeder_limit[f], 1e-9))
        colour = c.load_colour(load)
        c.write(surface, c.fit(f"{name} {grid.feeder_names[f]}", 11, 136), SIDE_X, y, 11, c.MUTED)
        c.box(surface, SIDE_X + 142, y + 2, 160, 10, c.PANEL, 3)
        c.box(surface, SIDE_X + 142, y + 2, max(160 * min(load / 1.25, 1.0), 2), 10, colour, 3)
        c.box(surface, SIDE_X + 142 + 128, y, 1, 14, c.INK, 0)
        tone = c.RED if load > 1.0 else c.INK
        mark = "!" if load > 1.0 else ""
        c.write(
            surface, f"{100 * load:.0f} %{mark}", SIDE_X + 346, y, 11, tone, bold=load > 1.0, align="right"
        )


def queues(
    surface: Any, top: int, ticks: int, now: Sequence[Shot], label: Label, other: Sequence[Shot] | None,
    other_label: Label | None,
) -> None:  # fmt: skip
    """Cars queued in the whole city by tick, this lane's so far and the other lane's evening."""
    pg = c.pygame()
    c.write(surface, "Cars queued at stations", SIDE_X, top, 13, bold=True)
    c.box(surface, SIDE_X, top + 20, SIDE_W, 92, c.PANEL, 4)
    lines = [(label, [int(s.queued.sum()) for s in now])]
    if other is not None and other_label is not None:
        lines.insert(0, (other_label, [int(s.queued.sum()) for s in other]))
    high = max(20, *(v for _, values in lines for v in values))
    for tone, values in lines:
        points = [
            (SIDE_X + 6 + (SIDE_W - 12) * t / max(ticks, 1), top + 106 - 76 * v / high)
            for t, v in enumerate(values)
        ]
        if len(points) > 1:
            pg.draw.lines(surface, tone.colour, False, points, 2)
        if tone is label:
            c.put_dot(surface, *points[-1], 3.0, tone.colour, c.GROUND)
    text = f"{lines[-1][1][-1]} now"
    if other is not None and other_label is not None:
        then = lines[0][1][min(len(now) - 1, len(lines[0][1]) - 1)]
        text += f", {then} then under {other_label.lane.lower()}"
    c.write(surface, text, SIDE_X + SIDE_W, top + 1, 11, c.MUTED, align="right")


def legend(surface: Any, top: int) -> None:
    """Shapes, the scale of colours, dots."""
    c.write(surface, "Legend", SIDE_X, top, 13, bold=True)
    c.write(
        surface,
        "number in a station: slots in use / usable",
        SIDE_X + SIDE_W,
        top + 1,
        11,
        c.MUTED,
        align="right",
    )
    for k, (state, words) in enumerate(m.STATES.items()):
        x, y = SIDE_X + (14, 150, 246)[k % 3], top + 36 + 32 * (k // 3)
        load = {m.FREE: 0.4, m.FULL: 1.0, m.QUEUE: 1.05, m.LESS: 0.6}.get(state, 0.0)
        m.put_station(surface, x, y, state, load)
        c.write(surface, words, x + 20, y - 7, 11, c.MUTED)
    y = top + 92
    for k in range(120):
        c.box(surface, SIDE_X + k, y, 1, 10, c.load_colour(k / 120 * 1.1), 0)
    c.write(surface, "load 0 … 110 %", SIDE_X + 128, y - 2, 11, c.MUTED)
    c.write(surface, "roads: orange = slow", SIDE_X + SIDE_W, y - 2, 11, c.MUTED, align="right")
    y = top + 114
    x = SIDE_X + 5
    for words, colour, ring in (
        ("sent by dispatcher", c.SKY, c.GROUND), ("walk-in", c.WALKIN, c.GROUND), ("asks", c.GROUND, c.INK),
        ("queued", c.AMBER, c.GROUND),
    ):  # fmt: skip
        c.put_dot(surface, x, y + 7, 3.2, colour, ring)
        x += 10 + c.write(surface, words, x + 8, y, 11, c.MUTED) + 14


def now_line(surface: Any, shot: Shot, caption: str, events: Sequence[str]) -> None:
    """The caption at the foot of the map and what the scenario does; at its head how the city is now."""
    y = m.BOTTOM - 36
    lines = [(caption, 14, c.INK)] if caption else []
    for said, size, tone in (*lines, *((e, 12, c.AMBER) for e in list(events)[-MOST_EVENTS:][::-1])):
        said = c.fit(said, size, 480, bold=True)
        c.box(surface, m.LEFT + 12, y, c.font(size, True).size(said)[0] + 24, 24, c.PANEL, 6)
        c.write(surface, said, m.LEFT + 24, y + 12 - size * 0.62, size, tone, bold=True)
        y -= 27
    text = f"grid load {100 * shot.grid_load_frac:.0f} %  ·  renewable {100 * shot.renewable_frac:.0f} %"
    text += f"  ·  {len(shot.waiting)} cars ask"
    c.box(surface, m.LEFT + 12, m.TOP + 10, c.font(12).size(text)[0] + 20, 22, c.PANEL, 6)
    c.write(surface, text, m.LEFT + 22, m.TOP + 14, 12, c.MUTED)


def card(surface: Any, title: str, lines: Sequence[str], colour: c.Colour) -> None:
    """A title card over a dimmed picture."""
    _dim(surface)
    height = 120 + 30 * len(lines)
    top = (c.HEIGHT - height) / 2
    c.box(surface, 190, top, 900, height, c.PANEL, 12)
    c.box(surface, 190, top, 8, height, colour, 4)
    c.write(surface, title, 232, top + 32, 36, bold=True)
    for k, line in enumerate(lines):
        c.write(surface, c.fit(line, 18, 840), 232, top + 92 + 30 * k, 18, c.MUTED)


def end_card(
    surface: Any, verdicts: Sequence[Verdict], labels: tuple[Label, Label], foot: Sequence[str]
) -> None:
    """The KPIs of both evenings, their difference, and who is ahead; a tie says tie."""
    _dim(surface)
    c.box(surface, 110, 60, 1060, 600, c.PANEL, 12)
    c.write(surface, "What differed", 150, 84, 32, bold=True)
    c.write(surface, "the same evening, the same cars, two dispatchers", 1130, 98, 15, c.MUTED, align="right")
    columns = (640, 800, 980)
    for x, label in zip(columns, labels, strict=False):
        c.write(surface, label.lane, x, 142, 17, label.colour, bold=True, align="right")
        c.write(surface, c.fit(label.badge, 11, 150), x, 164, 11, c.MUTED, align="right")
    c.write(surface, "difference", columns[2], 142, 17, bold=True, align="right")
    units = {k.name: k.unit for k in KPIS}
    for k, v in enumerate(verdicts):
        y = 194 + 46 * k
        c.box(surface, 150, y - 5, 980, 1, c.LINE, 0)
        c.write(surface, TITLES.get(v.name, v.name), 150, y + 6, 18)
        c.write(surface, f"{units[v.name]}, lower is better", 150, y + 27, 10, c.MUTED)
        c.write(surface, number(v.baseline, v.unit), columns[0], y + 6, 18, align="right")
        c.write(surface, number(v.oracle, v.unit), columns[1], y + 6, 18, bold=True, align="right")
        c.write(surface, difference(v), columns[2], y + 6, 18, align="right")
        tone = {"oracle": labels[1].colour, "baseline": labels[0].colour}.get(v.ahead, c.MUTED)
        c.write(surface, {"oracle": labels[1].lane, "baseline": labels[0].lane}.get(v.ahead, v.ahead or "–"), 1130, y + 8,
                15, tone, bold=True, align="right")  # fmt: skip
    for k, line in enumerate(foot):
        c.write(surface, c.fit(line, 13, 980), 150, 530 + 24 * k, 13, c.MUTED)


def difference(v: Verdict) -> str:
    """Oracle minus baseline, with per cent of the baseline where there is one."""
    if v.baseline is None or v.oracle is None:
        return "–"
    if v.ahead == "tie":
        return "tie"
    delta = v.oracle - v.baseline
    sign = "+" if delta > 0 else "−"
    told = number(abs(delta), v.unit)
    if float(told.replace(",", "")) == 0.0:  # small, but no tie
        told = f"{abs(delta):.2g}"
    if not v.baseline:
        return f"{sign}{told}"
    percent = 100 * abs(delta / v.baseline)
    return f"{sign}{told} ({sign}{percent:.0f} %)" if percent >= 0.95 else f"{sign}{told} (under 1 %)"


def _dim(surface: Any) -> None:
    pg = c.pygame()
    veil = pg.Surface((c.WIDTH, c.HEIGHT), pg.SRCALPHA)
    veil.fill((*c.GROUND, 190))
    surface.blit(veil, (0, 0))
