"""The page's map and numbers as SVG and HTML: heat by load, queue dots, cars, KPIs. Drawn from a `Shot`, nothing else."""

from __future__ import annotations

from functools import lru_cache
from html import escape

import numpy as np

from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.viz.canvas import BASELINE as BASELINE_TONE
from ev_grid_oracle.viz.canvas import ORACLE, SCALE, Colour, load_colour
from ev_grid_oracle.viz.canvas_map import MOST_DOTS, NONE, STATES, apart, state_of
from ev_grid_oracle.viz.canvas_panels import TILES, TITLES, UNSOUND, difference, number
from ev_grid_oracle.viz.frames import SHOWN_AT_END, LaneRun, Shot, verdicts
from ev_grid_oracle.viz.geometry import Projection, fitted

WIDTH, HEIGHT = 760, 560
TONES = {"baseline": BASELINE_TONE, "oracle": ORACLE}


def css(colour: Colour) -> str:
    """A colour as CSS writes it."""
    return "#{:02x}{:02x}{:02x}".format(*colour)


@lru_cache(maxsize=4)
def _ground(city: PackedCity) -> tuple[Projection, str]:
    """The projection of a city, and its roads as SVG."""
    at = fitted(city, 0, 0, WIDTH, HEIGHT - 30, 34)
    roads = city.pack.roads
    x, y = at(roads.node_lon, roads.node_lat)
    out = []
    for kind in sorted(set(roads.link_class.tolist()), reverse=True):
        pairs = {
            (min(a, b), max(a, b))
            for a, b in zip(
                roads.link_from[roads.link_class == kind].tolist(),
                roads.link_to[roads.link_class == kind].tolist(),
                strict=True,
            )
        }
        path = "".join(f"M{x[a]:.0f} {y[a]:.0f}L{x[b]:.0f} {y[b]:.0f}" for a, b in sorted(pairs))
        out.append(f'<path d="{path}" class="road" stroke-width="{max(2.4 - 0.5 * kind, 0.7):.1f}"/>')
    return at, "".join(out)


def map_svg(run: LaneRun, shot: Shot) -> str:
    """The city in one state. Heat: (occupied + queued) / usable slots; amber dots: queued cars; small dots: cars."""
    city = run.city
    at, roads = _ground(city)
    st = city.pack.stations
    x, y = apart(np.stack(at(st.lon, st.lat), axis=1), 25.0).T
    heat, marks = [], []
    for k in range(len(st.ids)):
        occupied, queued, up = int(shot.occupied[k]), int(shot.queued[k]), int(shot.slots_up[k])
        state = state_of(occupied, queued, up, int(st.slots[k]))
        load = (occupied + queued) / max(up, 1)
        tone = "#6e768a" if state == NONE else css(load_colour(load))
        radius = 16 + 16 * min(load, 2.0)
        heat.append(f'<circle cx="{x[k]:.1f}" cy="{y[k]:.1f}" r="{radius:.1f}" fill="{tone}" class="heat"/>')
        words = (
            f"{st.ids[k]} {st.names[k]}: {occupied} of {up} slots in use, {queued} queued, {STATES[state]}"
        )
        marks.append(
            f'<g><title>{escape(words)}</title><circle cx="{x[k]:.1f}" cy="{y[k]:.1f}" r="12" fill="{tone}"/>'
            f'<text x="{x[k]:.1f}" y="{y[k] + 3:.1f}" class="slots">{occupied}/{up}</text></g>'
        )
        for n in range(min(queued, MOST_DOTS)):
            marks.append(
                f'<circle cx="{x[k] + 17 + 6 * (n % 4):.1f}" cy="{y[k] - 3 + 6 * (n // 4):.1f}" r="2.4" class="queue"/>'
            )
        if queued > MOST_DOTS:
            marks.append(f'<text x="{x[k] + 48:.1f}" y="{y[k] + 4:.1f}" class="more">{queued}</text>')
    cars = []
    for car in shot.moving:
        if car.way.minutes[0] <= shot.minute < car.way.minutes[-1]:
            px, py = at(*car.way.at(float(shot.minute)))
            cars.append(
                f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2.2" class="{"walkin" if car.walkin else "sent"}"/>'
            )
    words = f"Map of {city.pack.name} at {shot.clock}: {int(shot.queued.sum())} cars queued."
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" class="evmap" role="img" aria-label="{escape(words)}">'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#0d121e"/>{roads}{"".join(heat)}{"".join(cars)}'
        f"{''.join(marks)}{_legend()}</svg>"
    )


def _legend() -> str:
    """The scale of the heat, from the colours that draw it."""
    steps = "".join(
        f'<rect x="{14 + 2 * k}" y="{HEIGHT - 24}" width="2" height="8" fill="{css(load_colour(k / 60 * 1.1))}"/>'
        for k in range(60)
    )
    text = f'<text x="142" y="{HEIGHT - 16}" class="note">load 0 … 110 %, slots in use / usable</text>'
    dots = "".join(
        f'<circle cx="{at}" cy="{HEIGHT - 20}" r="3" class="{name}"/>'
        f'<text x="{at + 8}" y="{HEIGHT - 16}" class="note">{words}</text>'
        for at, name, words in (
            (412, "queue", "queued"),
            (484, "sent", "sent by dispatcher"),
            (630, "walkin", "walk-in"),
        )
    )
    return steps + text + dots


def head_html(run: LaneRun, shot: Shot, seed: int) -> str:
    """Clock, scenario, and the badge of the lane that is shown."""
    source = shot.source or run.source
    unsound = " unsound" if source in UNSOUND else ""
    acts = run.asked if run.acts == run.asked else f"{run.asked} = {run.acts}"
    events = "".join(f'<span class="event">{escape(e)}</span>' for e in shot.events)
    return (
        f'<div class="evhead"><b class="clock">{shot.clock}</b> <span>tick {shot.tick} of {run.ticks} · '
        f"{escape(run.scenario.name)} · seed {seed}</span>"
        f'<span class="badge{unsound}" style="background:{css(TONES[run.asked])}">{escape(acts)} · {escape(source)}</span>'
        f"<span>grid load {100 * shot.grid_load_frac:.0f} % · renewable {100 * shot.renewable_frac:.0f} % · "
        f"{int(shot.queued.sum())} queued · {len(shot.waiting)} ask</span>{events}</div>"
    )


def kpi_html(baseline: Shot, oracle: Shot) -> str:
    """Both lanes' KPIs so far, and who is ahead; after the end those of the whole evening. A tie says tie."""
    names = SHOWN_AT_END if baseline.done and oracle.done else tuple(name for name, _, _ in TILES)
    said = {**TITLES, **{name: words for name, words, _ in TILES}}
    units = {name: unit for name, _, unit in TILES}
    rows = []
    for v in verdicts(baseline, oracle, names):
        unit = units.get(v.name, v.unit)
        rows.append(
            f"<tr><th>{escape(TITLES.get(v.name, said[v.name]))} <small>{escape(unit)}</small></th>"
            f"<td>{number(v.baseline, unit)}</td><td>{number(v.oracle, unit)}</td>"
            f'<td>{escape(difference(v))}</td><td class="{v.ahead}">{v.ahead or "–"}</td></tr>'
        )
    when = "whole evening" if baseline.done else "so far"
    note = "Lower is better in all. " + (
        "After the settle: cars still in the system are played out or count as lost." if baseline.done else ""
    )
    return (
        f'<p class="evnote">{note}</p><table class="evkpi"><thead><tr><th>'
        f"{when}</th><th>baseline</th><th>oracle</th><th>difference</th><th>ahead</th></tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table>"
    )


def feeders_html(run: LaneRun, shot: Shot) -> str:
    """A bar per feeder: load over its present limit."""
    load = shot.feeder_load / np.maximum(shot.feeder_limit, 1e-9)
    rows = "".join(
        f'<div class="evbar"><span>{escape(name)} {escape(words)}</span><i><b style="width:{min(load[k] / 1.25, 1) * 100:.0f}%;'
        f'background:{css(load_colour(float(load[k])))}"></b></i><em>{100 * load[k]:.0f} %{"!" if load[k] > 1 else ""}</em></div>'
        for k, (name, words) in enumerate(
            zip(run.city.pack.grid.feeder_ids, run.city.pack.grid.feeder_names, strict=True)
        )
    )
    return f'<div class="evbars"><p>11 kV feeders: load / limit (the mark is 100 %)</p>{rows}</div>'


STYLE = f"""
.evmap {{ width: 100%; height: auto; border-radius: 10px; display: block; }}
.evmap .road {{ fill: none; stroke: #46536f; }}
.evmap .heat {{ opacity: 0.28; }}
.evmap text {{ font-family: system-ui, sans-serif; }}
.evmap .slots {{ font-size: 9px; font-weight: 700; text-anchor: middle; fill: #0d121e; }}
.evmap .more {{ font-size: 10px; font-weight: 700; fill: #ffbe3c; }}
.evmap .note {{ font-size: 10px; fill: #b4bed2; }}
.evmap .queue {{ fill: #ffbe3c; }} .evmap .sent {{ fill: #56c4ff; }} .evmap .walkin {{ fill: #c4aaff; }}
.evhead {{ display: flex; flex-wrap: wrap; gap: 4px 14px; align-items: center; }}
.evhead .clock {{ font-size: 26px; }}
.evhead .badge {{ padding: 2px 10px; border-radius: 8px; color: #0d121e; font-weight: 700; }}
.evhead .unsound {{ outline: 3px solid {css(SCALE[-1][1])}; }}
.evhead .event {{ padding: 2px 8px; border-radius: 8px; background: #5b3a10; color: #ffe2b0; }}
.evkpi {{ width: 100%; border-collapse: collapse; }}
.evkpi td, .evkpi th {{ padding: 4px 8px; text-align: right; white-space: nowrap; }}
.evkpi th:first-child {{ white-space: normal; }}
.evkpi small {{ font-weight: 400; }}
.evkpi th:first-child {{ text-align: left; }}
.evkpi td, .evkpi th {{ font-size: 13px; }}
.evkpi td.oracle {{ color: #1f7fd0; font-weight: 700; }} .evkpi td.baseline {{ color: #b36b00; font-weight: 700; }}
.evbar {{ display: grid; grid-template-columns: 160px 1fr 60px; gap: 8px; align-items: center; font-size: 13px; }}
.evbar i {{ position: relative; height: 10px; background: #8a93a833; border-radius: 3px; }}
.evbar i::after {{ content: ""; position: absolute; left: 80%; top: -2px; width: 1px; height: 14px; background: currentColor; }}
.evbar i b {{ display: block; height: 10px; border-radius: 3px; }}
.evbar em {{ text-align: right; font-style: normal; }}
"""
"""Style of what is drawn here, in system fonts."""
