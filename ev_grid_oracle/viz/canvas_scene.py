"""One picture: map, panels and cards put together. The window and the film draw through here."""

from __future__ import annotations

from typing import Any

from ev_grid_oracle.viz import canvas as c
from ev_grid_oracle.viz import canvas_panels as p
from ev_grid_oracle.viz.canvas_map import CityMap
from ev_grid_oracle.viz.frames import LaneRun, Shot

COLOURS: dict[str, c.Colour] = {"baseline": c.BASELINE, "oracle": c.ORACLE}

EVENT_TICKS = 4
"""Ticks that an event of the scenario stays in the caption."""


def label_of(run: LaneRun, shot: Shot | None = None) -> p.Label:
    """What is said of a lane; the source is that of the tick which led to `shot`."""
    source = (shot.source if shot is not None else "") or run.source
    acts = run.asked if run.acts == run.asked else f"{run.asked} = {run.acts}"
    return p.Label(run.asked.upper(), f"{acts} · {source}", source, COLOURS.get(run.asked, (140, 214, 170)))


class Scene:
    """Draws the states of lanes of one city.

    Args:
        run: a lane; its city and scenario are those of all.
        seed: of the episode.
    """

    def __init__(self, run: LaneRun, seed: int) -> None:
        self.map = CityMap(run.city)
        self._city = run.city
        pack = run.city.pack
        self.about = f"{pack.name} · scenario {run.scenario.name} · seed {seed}"
        self._base: tuple[tuple[object, ...], Any] | None = None

    def base(self, run: LaneRun, tick: int, other: LaneRun | None) -> Any:
        """All beside the map: the state after `tick` ticks, and the other lane's at that tick."""
        key = (id(run), tick, id(other))
        if self._base is not None and self._base[0] == key:
            return self._base[1]
        shot = run.shots[tick]
        label = label_of(run, shot)
        out = c.blank()
        then = other.shots[min(tick, len(other.shots) - 1)] if other is not None else None
        p.feeders(out, self._city, shot)
        other_label = label_of(other) if other is not None else None
        whole = other.shots if other is not None else None
        p.queues(out, 306, run.ticks, run.shots[: tick + 1], label, whole, other_label)
        p.legend(out, 442)
        p.headline(out, "EV Grid Oracle", self.about, shot, label)
        p.strip(out, shot, then, other.asked if other is not None else "")
        self._base = (key, out)
        return out

    def draw(self, run: LaneRun, tick: int, minute: float, other: LaneRun | None, caption: str = "") -> Any:
        """The state after `tick` ticks with its cars at `minute` of the episode."""
        out = self.base(run, tick, other).copy()
        shot = run.shots[tick]
        # who drives in the tick to come, where that is played
        moving = run.shots[min(tick + 1, len(run.shots) - 1)]
        self.map.draw(out, shot, moving, minute)
        told = [e for s in run.shots[max(tick + 1 - EVENT_TICKS, 0) : tick + 1] for e in s.events]
        p.now_line(out, shot, caption, told)
        p.clock(out, shot, minute)
        return out
