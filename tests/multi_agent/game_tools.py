"""Shortcuts for tests of the two-agent game."""

from __future__ import annotations

from ev_grid_oracle.episode.ids import car_id
from ev_grid_oracle.episode.ma_resolve import actions_of
from ev_grid_oracle.episode.ma_shadow import Shadow, shadow
from ev_grid_oracle.episode.ma_views import DISPATCHER, OPERATOR
from ev_grid_oracle.episode.two_agents import TwoAgents
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.enums import ActionKind


def greedy(game: TwoAgents) -> list[Action]:
    """What `greedy_counting` answers now."""
    return list(actions_of(shadow(game.session, 1).rows, game.session.observation.station_ids))


def until_greedy_routes(game: TwoAgents) -> tuple[str, str]:
    """Play `greedy_counting` until it routes a car: (car, station) of its first route."""
    while True:
        for action in greedy(game):
            if action.kind == ActionKind.ROUTE:
                return str(action.ev_id), str(action.station_id)
        game.step({DISPATCHER: greedy(game)})


def without(game: TwoAgents, station: str) -> list[Action]:
    """`greedy_counting`'s answers but those for `station`: those cars wait."""
    return [a for a in greedy(game) if a.kind != ActionKind.ROUTE or a.station_id != station]


def unused_station(game: TwoAgents, ticks: int) -> str:
    """A station to which `greedy_counting` sends nobody in the next ticks."""
    told: Shadow = shadow(game.session, ticks)
    used = {s for tick in told.routed for _seq, s in tick}
    ids = game.session.observation.station_ids
    return next(ids[s] for s in range(len(ids)) if s not in used)


def verdicts(game: TwoAgents, agent: str = DISPATCHER) -> list[tuple[str, str, float]]:
    """(kind, verdict, points) of the last tick."""
    return [
        (str(v["kind"]), str(v["verdict"]), float(v["points"]))  # type: ignore[arg-type]
        for v in game.observations[agent].statements
    ]


def seq_id(row: object) -> str:
    """Id of the car of a decision row."""
    return car_id(int(row[r.D_SEQ]))  # type: ignore[index]


__all__ = [
    "DISPATCHER",
    "OPERATOR",
    "greedy",
    "seq_id",
    "until_greedy_routes",
    "unused_station",
    "verdicts",
    "without",
]
