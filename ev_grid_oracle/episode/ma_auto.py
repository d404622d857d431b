"""Built-in players of the two roles, for `auto_step`, demos and as opponents: each uses its own view alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import cast

from ev_grid_oracle.episode.ma_directive import FEEDER_CAP, Directive
from ev_grid_oracle.episode.ma_resolve import Resolver, actions_of
from ev_grid_oracle.episode.ma_shadow import shadow
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.schema.action import Action

STRAINED = 0.95
"""A feeder is capped at its present rating once its heat or its load is this near to it."""


def auto_directive(view: Mapping[str, object]) -> dict[str, object]:
    """The rule of the operator: cap the strained feeders at their rating, and say which one is worst.

    view: of `ma_views.operator_view`.
    """
    f = cast("Mapping[str, Sequence[float]]", view["feeders"])
    ids = cast("Sequence[str]", f["id"])
    caps: dict[str, float] = {}
    worst, where = 0.0, ""
    for name, load, limit, heat in zip(ids, f["load_pct"], f["limit_pct"], f["heat_frac"], strict=True):
        if limit > 0.0 and max(load / limit, heat) > STRAINED:
            caps[name] = min(max(limit, FEEDER_CAP[0]), FEEDER_CAP[1])
            if load > worst:
                worst, where = load, name
    said = f"CLAIM load {where} >= {math.floor(worst * 100.0) / 100.0:.2f}" if where else ""
    return {**Directive(feeder_caps=caps).to_dict(), "message": said}


def auto_answers(session: Session, directive: Directive, resolver: Resolver) -> tuple[Action, ...]:
    """The rule of the dispatcher: `greedy_counting`, held to the directive in force.

    It never breaks a directive: what it would be refused it sends elsewhere itself.
    """
    obs = session.observation
    wanted = actions_of(shadow(session, 1).rows, obs.station_ids)
    return resolver.resolve(obs, wanted, directive).actions
