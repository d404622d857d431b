"""A game of two agents kept as its recipe and a snapshot, and taken up again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, cast

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode import road_store as store
from ev_grid_oracle.episode.ma_directive import read_directive
from ev_grid_oracle.episode.ma_negotiation import Negotiation
from ev_grid_oracle.episode.ma_reward import RoleObservation
from ev_grid_oracle.episode.ma_views import AGENTS
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.schema.errors import EVGridError, SnapshotError

if TYPE_CHECKING:
    from ev_grid_oracle.episode.two_agents import TwoAgents

_MAGIC, _VERSION = b"EVGM", 1


def recipe_of(session: Session, moves: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """The recipe of a game: JSON-safe."""
    return {
        "task": "two_agents",
        "city": store.city_facts(session.city),
        "options": session.host_view()["options"],
        "actions": [dict(move) for move in moves],
    }


def play(kind: type[TwoAgents], recipe: Mapping[str, object], city: CityPack | str | None) -> TwoAgents:
    """The game of a recipe, played from the start; `SnapshotError` if it does not hold."""
    game = kind(store.city_of(recipe, city))
    try:
        game.reset(**cast("dict[str, object]", recipe["options"]))  # type: ignore[arg-type]  # checked there
        for move in cast("Sequence[Mapping[str, object]]", recipe["actions"]):
            game.step(move)
    except EVGridError as exc:
        raise SnapshotError(f"The recipe cannot be played: {exc.message}", exc.hint) from exc
    except (KeyError, TypeError) as exc:
        raise SnapshotError("The recipe lacks what a game needs.", "Use what recipe() returned.") from exc
    return game


def save(game: TwoAgents) -> bytes:
    """Recipe, score, what was last seen, and the session's own snapshot."""
    seen = {}
    for agent, told in game.observations.items():
        kept = told.to_dict()
        del kept["done"]
        seen[agent] = kept
    head = {
        **game.recipe(),
        "directive": game.directive.to_dict(),
        "negotiation": game.negotiation.to_dict(),
        "accounts": game._accounts.to_dict(),
        "reward_sums": game.totals,
        "timeline": game.timeline,
        "seen": seen,
    }
    return store.seal(_MAGIC, _VERSION, head, game.session.snapshot())


def load(kind: type[TwoAgents], blob: bytes, city: CityPack | str | None) -> TwoAgents:
    """The game of a snapshot."""
    head, body = store.unseal(_MAGIC, _VERSION, blob)
    pack = store.city_of(head, city)
    game = kind(pack)
    game.session = Session.restore(body, pack, record=False)
    game._begin()
    try:
        directive, issues = read_directive(head["directive"], pack.stations.ids, pack.grid.feeder_ids)
        if directive is None or issues:
            raise ValueError("directive")
        game.directive = directive
        game.negotiation = Negotiation.from_dict(cast("Mapping[str, object]", head["negotiation"]))
        game._accounts.load(cast("Mapping[str, object]", head["accounts"]))
        sums = cast("Mapping[str, float]", head["reward_sums"])
        game.totals = {agent: float(sums[agent]) for agent in AGENTS}
        game.timeline = list(cast("Sequence[dict[str, object]]", head["timeline"]))
        game._moves = [dict(m) for m in cast("Sequence[Mapping[str, object]]", head["actions"])]
        seen = cast("Mapping[str, Mapping[str, object]]", head["seen"])
        game._seen = {agent: _told(seen[agent]) for agent in AGENTS}
    except (KeyError, TypeError, ValueError, AttributeError) as exc:
        raise SnapshotError("The snapshot's head lacks what a game needs.", "Take it again.") from exc
    return game


def _told(kept: Mapping[str, object]) -> RoleObservation:
    values = {f.name: kept[f.name] for f in fields(RoleObservation)}
    values["flags"] = tuple(cast("Sequence[str]", values["flags"]))
    return RoleObservation(**values)  # type: ignore[arg-type]  # what to_dict kept
