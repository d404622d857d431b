"""What the city map's window shows, and what its keys do; no window in here."""

from __future__ import annotations

from typing import Any

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.schema.axes import STEP_MINUTES
from ev_grid_oracle.viz.canvas_scene import Scene
from ev_grid_oracle.viz.frames import LaneRun

POLICIES = ("baseline", "oracle")
TICK_SECONDS = 1.2
"""Seconds in which the cars drive through a tick."""
KEYS = "SPACE tick · P play · A policy · S scenario · Q quit"


class MapState:
    """Two lanes at the same tick on the same world; one of them is shown.

    Args:
        city, seed, ticks: of both.
        scenario: the first; `S` goes on through the city's list.
    """

    def __init__(self, city: str, seed: int, scenario: str, ticks: int) -> None:
        self._pack = load_city(city)
        self._seed, self._ticks = seed, ticks
        self.scenario = self._pack.scenario(scenario).name
        self.policy = POLICIES[0]
        self.playing = self.over = False
        self._start()

    def _start(self) -> None:
        options = {"seed": self._seed, "scenario": self.scenario, "ticks": self._ticks}
        self.lanes = {name: LaneRun(self._pack, name, options) for name in POLICIES}
        self.scene = Scene(self.lanes[POLICIES[0]], self._seed)
        self.minute = 0.0

    @property
    def tick(self) -> int:
        """Ticks played."""
        return len(self.lanes[POLICIES[0]].shots) - 1

    @property
    def done(self) -> bool:
        return self.lanes[POLICIES[0]].done

    def press(self, key: str) -> None:
        """A key by its name; others do nothing."""
        if key == "space":
            self._advance()
        elif key == "p":
            self.playing = not self.playing and not self.done
        elif key == "a":
            self.policy = POLICIES[1 - POLICIES.index(self.policy)]
        elif key == "s":
            names = [s.name for s in self._pack.scenarios]
            self.scenario = names[(names.index(self.scenario) + 1) % len(names)]
            self.playing = False
            self._start()
        elif key in ("q", "escape"):
            self.over = True

    def _advance(self) -> None:
        """One tick in both lanes; the cars then drive through it."""
        self.minute = float(STEP_MINUTES * self.tick)
        if not self.done:
            for lane in self.lanes.values():
                lane.step()
        if self.done:
            self.playing = False

    def pass_time(self, seconds: float) -> bool:
        """Let the cars drive on; returns whether the picture has changed."""
        end = float(STEP_MINUTES * self.tick)
        if self.minute < end:
            self.minute = min(self.minute + seconds / TICK_SECONDS * STEP_MINUTES, end)
            return True
        if self.playing:
            self._advance()
            return True
        return False

    def picture(self) -> Any:
        """The present picture, in the layout's size."""
        lane = self.lanes[self.policy]
        other = self.lanes[POLICIES[0]] if self.policy != POLICIES[0] else None
        tick = min(int(self.minute // STEP_MINUTES), self.tick)
        return self.scene.draw(lane, tick, self.minute, other, KEYS)
