"""The road task's prompt: where the car stands, and its neighbours with heading, minutes and road name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ev_grid_oracle.protocol.numbers import clock, percent, tenth, whole


class Neighbour(Protocol):
    """A node that can be driven to next, as the prompt shows it."""

    @property
    def node(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def road(self) -> str: ...
    @property
    def heading(self) -> str: ...
    @property
    def heading_deg(self) -> float: ...
    @property
    def minutes(self) -> float: ...
    @property
    def metres(self) -> float: ...


class RoadView(Protocol):
    """What the prompt is written from."""

    @property
    def node(self) -> int: ...
    @property
    def node_name(self) -> str: ...
    @property
    def target_id(self) -> str: ...
    @property
    def target_name(self) -> str: ...
    @property
    def target_node(self) -> int: ...
    @property
    def target_heading(self) -> str: ...
    @property
    def target_km(self) -> float: ...
    @property
    def minute_of_day(self) -> float: ...
    @property
    def minutes(self) -> float: ...
    @property
    def soc_frac(self) -> float: ...
    @property
    def range_km(self) -> float: ...
    @property
    def steps(self) -> int: ...
    @property
    def max_steps(self) -> int: ...
    @property
    def city_name(self) -> str: ...
    @property
    def neighbours(self) -> Sequence[Neighbour]: ...


def build_road_prompt(view: RoadView) -> str:
    """The prompt: task, where the car stands, its neighbours with heading, minutes and road name."""
    lines = [
        f"You drive an electric car through {view.city_name} to a charging station, one road at a time. "
        f"It is {clock(int(view.minute_of_day))}.",
        f"Current node {view.node} ({_one_line(view.node_name)}). Target node {view.target_node} "
        f"({view.target_id}, {_one_line(view.target_name)}), {tenth(view.target_km)} km "
        f"{view.target_heading} as the crow flies.",
        f"Battery {percent(view.soc_frac)}%, about {whole(view.range_km)} km. "
        f"Driven {tenth(view.minutes)} min, move {view.steps + 1} of at most {view.max_steps}.",
        "Arrive in the fewest minutes under today's traffic. A road that is not listed ends the trip.",
        "NEIGHBOURS: node, heading, minutes now, metres, road, place",
    ]
    for n in view.neighbours:
        lines.append(
            f"{n.node} {n.heading} {tenth(n.minutes)} min {whole(n.metres)} m, "
            f"{_one_line(n.road)}, to {_one_line(n.name)}"
        )
    if not view.neighbours:
        lines.append("none")
    lines += [
        "ANSWER with exactly these four lines and nothing else:",
        "CURRENT_NODE: the current node",
        "NEXT_NODE: one of the neighbours",
        "REASON: at most 20 words",
        "CONFIDENCE: 0.0-1.0, chance that this is the fastest way",
    ]
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())
