"""Texts and rows for the tests of TRL's doors."""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.ids import car_id
from ev_grid_oracle.episode.observe import LiveObservation
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.interfaces.trl_rows import Greedy, begin
from ev_grid_oracle.policies.base import PolicyContext
from ev_grid_oracle.policies.registry import make_policy
from ev_grid_oracle.protocol import render_actions
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.enums import ActionKind, Rate

MALFORMED = "I would send the first car to BLR-07, it looks free."
COLUMNS = ("seed", "scenario", "tick", "ticks")


def moment(session: Session, row: dict[str, object]) -> LiveObservation:
    """The observation that a row names."""
    return begin(session, Greedy(packed(session.city)), row, None)


def answer(obs: LiveObservation, session: Session, policy: str, seed: int = 0) -> list[Action]:
    """What a policy answers."""
    player = make_policy(policy)
    player.begin(PolicyContext(packed(session.city), seed))
    out = np.zeros((128, r.N_DCOL), np.int32)
    n = player.answer(obs.row, out)
    return [
        Action(
            ActionKind(int(d[r.D_KIND])),
            obs.station_ids[d[r.D_STATION]] if d[r.D_STATION] >= 0 else None,
            Rate(int(d[r.D_RATE])),
            int(d[r.D_DEFER]) if d[r.D_KIND] else 0,
            car_id(int(d[r.D_SEQ])),
            "as the policy says",
            int(d[r.D_CONF]) / 10000,
        )
        for d in out[:n]
    ]


def text(obs: LiveObservation, session: Session, policy: str, seed: int = 0) -> str:
    """The same as a text."""
    return render_actions(answer(obs, session, policy, seed))


def columns(row: dict[str, object], n: int) -> dict[str, list[object]]:
    """TRL's keyword columns for `n` completions of one row."""
    return {name: [row[name]] * n for name in COLUMNS if name in row}
