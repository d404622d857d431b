"""The map: roads by congestion, water, places, feeders, stations, waiting cars, and cars where the simulator has them."""

from __future__ import annotations

import csv
import math
from functools import lru_cache
from typing import Any

import numpy as np

from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.viz import canvas as c
from ev_grid_oracle.viz.frames import Shot
from ev_grid_oracle.viz.geometry import Projection, congestion, fitted

LEFT, TOP, RIGHT, BOTTOM = 0, 56, 888, 624
"""The rectangle of the map in the layout."""
MARGIN = 34
RADIUS = 14.5
MOST_DOTS = 8
"""Cars of a queue that are drawn as dots; a number beside them says how many there are."""
FREE, FULL, QUEUE, LESS, NONE = "free", "full", "queue", "less", "none"
STATES: dict[str, str] = {
    FREE: "free slots", FULL: "full", QUEUE: "cars queue", LESS: "some slots down", NONE: "no usable slot",
}  # fmt: skip
"""State of a station -> words of the legend; each has a shape of its own."""


def state_of(occupied: int, queued: int, up: int, slots: int) -> str:
    """The state that a station's shape shows."""
    if up <= 0:
        return NONE
    if queued > 0:
        return QUEUE
    if occupied >= up:
        return FULL
    return LESS if up < slots else FREE


class CityMap:
    """Draws one city."""

    def __init__(self, city: PackedCity) -> None:
        self.city = city
        self.at: Projection = fitted(city, LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP, MARGIN)
        pack = city.pack
        x, y = self.at(pack.roads.node_lon, pack.roads.node_lat)
        self.node_xy = np.stack([x, y], axis=1)
        x, y = self.at(pack.stations.lon, pack.stations.lat)
        self.station_xy = apart(np.stack([x, y], axis=1), 2 * RADIUS + 2)
        self._true_xy = np.stack([x, y], axis=1)
        self._kept: tuple[tuple[int, float], Any] | None = None
        self._hubs = self._feeder_hubs()
        self._places = _places(city)

    # -- ground ------------------------------------------------------------------------------------------
    def ground(self, shot: Shot) -> Any:
        """The surface below everything that changes within a tick; made anew where the traffic has changed."""
        key = (shot.traffic.key, shot.traffic.factor)
        if self._kept is None or self._kept[0] != key:
            self._kept = (key, self._ground(shot))
        return self._kept[1]

    def _ground(self, shot: Shot) -> Any:
        pg, k = c.pygame(), 2  # drawn at twice the size, so that lines come out smooth
        big = pg.Surface((c.WIDTH * k, c.HEIGHT * k), 0, 32)
        big.fill(c.GROUND)
        for x, y, rank, kind, _ in self._places:
            if kind == "water":
                pg.draw.ellipse(
                    big, c.WATER, pg.Rect((x - 11 + rank) * k, (y - 7) * k, (22 - rank) * k, 14 * k)
                )
        roads = self.city.pack.roads
        factors = congestion(self.city, shot.traffic)
        for link in np.argsort(-roads.link_class, kind="stable").tolist():
            grade = min(int(roads.link_class[link]), len(c.ROADS) - 1)
            factor = float(factors[link])
            colour = c.ROADS[grade]
            if not math.isfinite(factor):
                colour = c.RED
            elif factor > 1.25:
                colour = c.mixed(colour, (206, 112, 58), min((factor - 1.25) / 1.75, 1.0) * 0.75)
            ends = self.node_xy[[roads.link_from[link], roads.link_to[link]]] * k
            pg.draw.line(big, colour, ends[0].tolist(), ends[1].tolist(), (5, 4, 3, 2, 2)[grade])
        out = pg.transform.smoothscale(big, (c.WIDTH, c.HEIGHT))
        self._names(out)
        return out

    def _names(self, surface: Any) -> None:
        """Names of places where there is room: never under a station or on another name."""
        pg = c.pygame()
        reach = RADIUS + 4
        taken = [pg.Rect(x - reach, y - reach, 2 * reach, 2 * reach) for x, y in self.station_xy.tolist()]
        taken += [pg.Rect(x - 13, y - 8, 26, 16) for x, y in self._hubs.values()]
        for x, y, _, kind, name in sorted(self._places, key=lambda place: (place[2], place[4])):
            width, height = c.font(10).size(name)
            room = pg.Rect(x - width / 2 - 3, y + 6, width + 6, height)
            if room.collidelist(taken) < 0 and room.left > LEFT and room.right < RIGHT:
                taken.append(room)
                tone = (84, 132, 176) if kind == "water" else (124, 136, 164)
                c.write(surface, name, x, y + 6, 10, tone, align="middle")

    def _feeder_hubs(self) -> dict[int, tuple[float, float]]:
        """Where the name of each feeder stands: near the middle of its stations, off every glyph."""
        feeder = np.asarray(self.city.pack.stations.feeder)
        out: dict[int, tuple[float, float]] = {}
        for f in range(len(self.city.pack.grid.feeder_ids)):
            mine = np.flatnonzero(feeder == f)
            if not len(mine):
                continue
            middle = self.station_xy[mine].mean(axis=0)
            spots = [(0.0, 0.0), *((d * math.cos(a), d * math.sin(a)) for d in (28.0, 40.0, 56.0)
                                   for a in (math.pi * n / 8 for n in range(16)))]  # fmt: skip
            other = np.array([*self.station_xy.tolist(), *out.values()])
            for dx, dy in spots:
                spot = (float(middle[0] + dx), float(middle[1] + dy))
                if float(np.hypot(*(other - spot).T).min()) > RADIUS + 14:
                    break
            out[f] = spot
        return out

    # -- what changes ------------------------------------------------------------------------------------
    def draw(self, surface: Any, shot: Shot, moving: Shot, minute: float) -> None:
        """Draw everything: the state `shot`, and at `minute` of the episode the cars of `moving`."""
        pg = c.pygame()
        surface.set_clip(pg.Rect(LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP))
        surface.blit(self.ground(shot), (0, 0))
        self._feeders(surface, shot)
        self._cars(surface, shot, moving, minute)
        for k in range(len(self.station_xy)):
            self._station(surface, shot, k)
        self._feeder_names(surface, shot)
        surface.set_clip(None)

    def _feeders(self, surface: Any, shot: Shot) -> None:
        """A scheme: stations tied to the middle of their feeder's; where cables lie is not surveyed."""
        feeder = np.asarray(self.city.pack.stations.feeder)
        for f, hub in self._hubs.items():
            for s in np.flatnonzero(feeder == f):
                c.pygame().draw.aaline(
                    surface, self._feeder_colour(shot, f), hub, self.station_xy[s].tolist()
                )

    def _feeder_names(self, surface: Any, shot: Shot) -> None:
        for f, (x, y) in self._hubs.items():
            c.box(surface, x - 12, y - 7, 24, 14, self._feeder_colour(shot, f), 4)
            c.write(
                surface, self.city.pack.grid.feeder_ids[f], x, y - 6, 10, c.GROUND, bold=True, align="middle"
            )

    def _feeder_colour(self, shot: Shot, f: int) -> c.Colour:
        load = float(shot.feeder_load[f] / max(shot.feeder_limit[f], 1e-9))
        return c.mixed(c.GROUND, c.load_colour(load), 0.75)

    def _cars(self, surface: Any, shot: Shot, moving: Shot, minute: float) -> None:
        for node, critical in shot.waiting:
            x, y = self.node_xy[node]
            c.put_dot(surface, x, y, 3.0, c.GROUND, c.RED if critical else c.INK)
        for car in moving.moving:
            if not car.way.minutes[0] <= minute < car.way.minutes[-1]:
                continue  # has not set out, or has arrived
            x, y = (float(v) for v in self.at(*car.way.at(minute)))
            c.put_dot(surface, x, y, 2.6, c.WALKIN if car.walkin else c.SKY, c.GROUND)

    def _station(self, surface: Any, shot: Shot, k: int) -> None:
        x, y = self.station_xy[k]
        occupied, queued, up = int(shot.occupied[k]), int(shot.queued[k]), int(shot.slots_up[k])
        if math.dist((x, y), self._true_xy[k]) > 1.5:
            c.pygame().draw.aaline(surface, c.MUTED, (x, y), self._true_xy[k].tolist())
        slots = int(self.city.pack.stations.slots[k])
        put_station(surface, x, y, state_of(occupied, queued, up, slots), (occupied + queued) / max(up, 1))
        c.write(surface, f"{occupied}/{up}", x, y - 6, 9, c.GROUND, bold=True, align="middle")
        for n in range(min(queued, MOST_DOTS)):
            c.put_dot(surface, x + RADIUS + 6 + 6 * (n % 4), y - 3 + 6 * (n // 4), 2.2, c.AMBER, c.GROUND)
        if queued > MOST_DOTS:
            c.write(surface, str(queued), x + RADIUS + 30, y - 6, 10, c.AMBER, bold=True)


def put_station(surface: Any, x: float, y: float, state: str, load: float) -> None:
    """A station's glyph: shape by state, colour by (occupied + queued) / usable slots."""
    colour = c.load_colour(load) if state != NONE else (110, 118, 138)
    sprite = _glyph(state, colour)
    surface.blit(sprite, (round(x) - sprite.get_width() // 2, round(y) - sprite.get_height() // 2))


@lru_cache(maxsize=256)
def _glyph(state: str, colour: c.Colour) -> Any:
    pg, k = c.pygame(), 4
    side = int(RADIUS * 2 + 10)
    big = pg.Surface((side * k, side * k), pg.SRCALPHA)
    big.fill((*c.GROUND, 0))
    for grow, tone in ((2.0, c.GROUND), (0.0, colour)):
        r = (RADIUS + grow) * k
        m = side * k / 2
        if state in (FREE, NONE):
            pg.draw.circle(big, tone, (m, m), r)
        elif state == FULL:
            pg.draw.rect(
                big, tone, pg.Rect(m - r * 0.92, m - r * 0.92, r * 1.84, r * 1.84), border_radius=3 * k
            )
        elif state == QUEUE:
            r *= 1.28
            pg.draw.polygon(big, tone, [(m, m - r), (m + r, m), (m, m + r), (m - r, m)])
        else:
            r *= 1.06
            turns = [math.radians(60 * n + 30) for n in range(6)]
            pg.draw.polygon(big, tone, [(m + r * math.cos(a), m + r * math.sin(a)) for a in turns])
    if state == NONE:
        r = RADIUS * 0.95 * k
        m = side * k / 2
        pg.draw.line(big, c.RED, (m - r * 0.7, m - r * 0.7), (m + r * 0.7, m + r * 0.7), 2 * k)
    return pg.transform.smoothscale(big, (side, side))


def apart(xy: Any, gap: float) -> Any:
    """Glyphs moved until none covers another; a thin line ties each that moved to its place."""
    out = xy.copy()
    for _ in range(200):
        moved = False
        for a in range(len(out)):
            for b in range(a + 1, len(out)):
                step = out[b] - out[a]
                far = math.hypot(*step)
                if far < gap:
                    push = (step / far if far > 0 else np.array([1.0, 0.0])) * (gap - far + 0.5) / 2
                    out[a] -= push
                    out[b] += push
                    moved = True
        if not moved:
            break
    return out


def _places(city: PackedCity) -> list[tuple[float, float, int, str, str]]:
    """x, y, rank, kind and name of the pack's places; none where it has no such table."""
    path = city.pack.path / "places.csv"
    if not path.is_file():
        return []
    at = fitted(city, LEFT, TOP, RIGHT - LEFT, BOTTOM - TOP, MARGIN)
    with path.open(encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table))
    out = []
    for row in rows:
        x, y = at(float(row["lon"]), float(row["lat"]))
        out.append((float(x), float(y), int(row["rank"]), row["kind"], row["name"]))
    return out
