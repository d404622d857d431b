"""Drivers of the road task: random walk, greedy bearing, shortest path under current traffic.

The first two read the observation alone. The third also has the map with today's traffic
(`RoadSession.network`), as a navigation device has; it is the optimum that the reward prefers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from ev_grid_oracle.episode.road import RoadSession
from ev_grid_oracle.episode.road_network import RoadNetwork
from ev_grid_oracle.episode.road_view import RoadObservation
from ev_grid_oracle.schema.errors import UnknownPolicyError

RANDOM_TAG = 0x57414C4B  # keeps the stream apart from any other use of a policy's seed


class RoadPolicy(Protocol):
    """One driver."""

    name: str

    def begin(self, network: RoadNetwork, seed: int = 0) -> None:
        """A new trip; `seed` is the policy's own."""

    def choose(self, obs: RoadObservation) -> int | None:
        """The next node; None where no road leads on."""


class RandomWalk:
    """Any open road, each as likely."""

    name = "random_walk"

    def begin(self, network: RoadNetwork, seed: int = 0) -> None:
        self._rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(RANDOM_TAG,)))

    def choose(self, obs: RoadObservation) -> int | None:
        if not obs.neighbours:
            return None
        return obs.neighbours[int(self._rng.integers(len(obs.neighbours)))].node


class GreedyBearing:
    """The road whose heading is nearest to the target's; it knows neither traffic nor dead ends."""

    name = "greedy_bearing"

    def begin(self, network: RoadNetwork, seed: int = 0) -> None:
        """It keeps nothing."""

    def choose(self, obs: RoadObservation) -> int | None:
        if not obs.neighbours:
            return None
        at_goal = [n for n in obs.neighbours if n.node == obs.target_node]
        if at_goal:
            return at_goal[0].node
        return min(obs.neighbours, key=lambda n: (_turn(n.heading_deg, obs.target_heading_deg), n.node)).node


class ShortestPath:
    """The fastest way under today's traffic by the clock, looked up anew at every node."""

    name = "shortest_path"

    def begin(self, network: RoadNetwork, seed: int = 0) -> None:
        self._network = network

    def choose(self, obs: RoadObservation) -> int | None:
        way = self._network.route(obs.node, obs.target_node, obs.minute_of_day).nodes
        return way[1] if len(way) > 1 else None


_MAKERS: Mapping[str, Callable[[], RoadPolicy]] = {
    "random_walk": RandomWalk,
    "greedy_bearing": GreedyBearing,
    "shortest_path": ShortestPath,
}


def road_policy_names() -> tuple[str, ...]:
    """Every name `make_road_policy` takes."""
    return tuple(_MAKERS)


def make_road_policy(name: str) -> RoadPolicy:
    """A new driver; `UnknownPolicyError` lists the names there are."""
    maker = _MAKERS.get(name) if isinstance(name, str) else None
    if maker is None:
        raise UnknownPolicyError(f"There is no driver {str(name)[:60]!r}.", f"Known: {', '.join(_MAKERS)}.")
    return maker()


def drive(task: RoadSession, policy: RoadPolicy, seed: int = 0) -> tuple[RoadObservation, float]:
    """Let `policy` drive the trip that `task` has started; (last observation, sum of rewards)."""
    policy.begin(task.network, seed)
    obs, total = task.observation, 0.0
    while not obs.done:
        obs = task.step(policy.choose(obs))
        total += obs.reward or 0.0
    return obs, total


def _turn(a: float, b: float) -> float:
    """Degrees between two headings, 0 to 180."""
    return abs((a - b + 180.0) % 360.0 - 180.0)
