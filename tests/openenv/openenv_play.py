"""A rule that answers from the wire observation alone, and trajectories as text."""

from __future__ import annotations

import json
from collections.abc import Callable

from ev_grid_oracle.interfaces.openenv.environment import EVGridEnvironment
from ev_grid_oracle.models import EVGridAction, EVGridAnswer, EVGridObservation


def first_car(o: EVGridObservation) -> EVGridAction:
    """The first pending car to its best candidate."""
    if not o.candidates.car or o.candidates.car[0] != 0:
        return EVGridAction()
    station = o.candidates.station[0]
    rate = ("slow", "fast", "ultra_fast")[o.stations.rate[station]]
    answer = EVGridAnswer(
        ev_id=o.pending.ev_id[0], action_type="route", station_id=o.stations.id[station], charge_rate=rate
    )
    return EVGridAction(actions=[answer])


def nobody(o: EVGridObservation) -> EVGridAction:
    """Nobody is answered."""
    return EVGridAction()


def shown(o: EVGridObservation) -> str:
    """The observation as JSON, without what names the episode."""
    return json.dumps(o.model_dump(exclude={"episode_id"}), sort_keys=True, allow_nan=False)


def trajectory(
    env: EVGridEnvironment,
    rule: Callable[[EVGridObservation], EVGridAction] = first_car,
    steps: int = 10_000,
    **options: object,
) -> list[str]:
    """Every observation of an episode, at most `steps` steps of it."""
    o = env.reset(**options)
    out = [shown(o)]
    while not o.done and len(out) <= steps:
        o = env.step(rule(o))
        out.append(shown(o))
    return out
