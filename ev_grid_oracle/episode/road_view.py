"""What the driver of the road task sees: the node, its neighbours, the target, the battery."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from ev_grid_oracle.city.detmath import cos_det_deg
from ev_grid_oracle.city.geo import M_PER_DEG
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.protocol.road_prompt import build_road_prompt

_POINTS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")


@dataclass(frozen=True, slots=True)
class RoadNeighbour:
    """A node one open road away.

    Attributes:
        node, name: where the road leads.
        road: name of the road.
        heading, heading_deg: direction from here as the crow flies, a compass point and whole degrees from
            north, clockwise.
        minutes: to drive it, setting out now. metres: its length. kwh: what it takes from the battery.
        target_km: from its end to the target as the crow flies.
    """

    node: int
    name: str
    road: str
    heading: str
    heading_deg: float
    minutes: float
    metres: float
    kwh: float
    target_km: float

    def to_dict(self) -> dict[str, object]:
        """JSON-safe."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True)
class RoadObservation:
    """The driver's view and, after a step, what the step was worth.

    Attributes:
        minute_of_day: city time now, minutes; `minutes`: driven and waited since the start.
        range_km: kilometres the battery holds at the vehicle's city consumption.
        neighbours: by node number; the action `k` of the Gymnasium task is `neighbours[k]`.
        reward: None at reset. breakdown: its parts and ``total``.
        flags: why the episode ended, where it did not arrive.
        terminated: arrived or failed; truncated: the step limit.
        info: errors (code, message, hint) of the last answer; JSON-safe.
    """

    city_name: str
    node: int
    node_name: str
    target_id: str
    target_name: str
    target_node: int
    target_heading: str
    target_heading_deg: float
    target_km: float
    minute_of_day: float
    minutes: float
    vehicle: str
    soc_frac: float
    kwh_left: float
    range_km: float
    steps: int
    max_steps: int
    neighbours: tuple[RoadNeighbour, ...]
    reward: float | None = None
    breakdown: Mapping[str, float] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    arrived: bool = False
    terminated: bool = False
    truncated: bool = False
    info: Mapping[str, object] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """The episode is over."""
        return self.terminated or self.truncated

    @property
    def prompt(self) -> str:
        """The text a language model is asked with."""
        return build_road_prompt(self)

    def to_dict(self) -> dict[str, object]:
        """JSON-safe, without the prompt; both end flags and `done` are in it."""
        out: dict[str, object] = {
            name: value for name, value in self.__dict__.items() if name not in ("neighbours", "flags")
        }
        out.update(
            neighbours=[n.to_dict() for n in self.neighbours],
            flags=list(self.flags),
            breakdown=dict(self.breakdown),
            info=dict(self.info),
            done=self.done,
        )
        return out


class Compass:
    """Directions and distances between the nodes of a city, on a flat city."""

    def __init__(self, city: CityPack) -> None:
        roads = city.roads
        scale = cos_det_deg(float(roads.node_lat.mean()))
        self._north = (roads.node_lat * M_PER_DEG).tolist()
        self._east = (roads.node_lon * M_PER_DEG * scale).tolist()

    def degrees(self, start: int, end: int) -> float:
        """Whole degrees from north, clockwise, 0 to 359; 0 where the two places are one."""
        east, north = self._east[end] - self._east[start], self._north[end] - self._north[start]
        return float(round(math.degrees(math.atan2(east, north))) % 360)

    def km(self, start: int, end: int) -> float:
        """Kilometres as the crow flies."""
        east, north = self._east[end] - self._east[start], self._north[end] - self._north[start]
        return math.sqrt(east * east + north * north) / 1000.0


def point(degrees: float) -> str:
    """The nearest of eight compass points."""
    return _POINTS[int((degrees + 22.5) // 45.0) % 8]
