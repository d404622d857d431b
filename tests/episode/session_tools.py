"""Shortcuts for tests of sessions: answers as text, what of a world is physical, play to the end."""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.episode.observe import LiveObservation
from ev_grid_oracle.episode.session import Session

ACCOUNTS = ("TK", "EP", "TERM", "TSUM", "SETT", "FLAG")
"""Fields that keep books: what a refused text may change. Everything else is the world."""


def block(
    station: str = "NONE",
    action: str = "route",
    *,
    rate: str = "slow",
    minutes: int = 0,
    ev_id: str | None = None,
    reason: str = "the shortest way",
    confidence: str = "0.8",
) -> str:
    """One answer as text."""
    lines = [] if ev_id is None else [f"EV_ID: {ev_id}"]
    lines += [
        f"ACTION: {action}",
        f"STATION: {station}",
        f"CHARGE_RATE: {rate}",
        f"DEFER_MINUTES: {minutes}",
        f"REASON: {reason}",
        f"CONFIDENCE: {confidence}",
    ]
    return "\n".join(lines) + "\n"


def first_usable(obs: LiveObservation, index: int = 0) -> str:
    """Id of the first station that pending car `index` may be routed to."""
    return obs.station_ids[int(np.flatnonzero(obs.candidates(index).usable)[0])]


def until_pending(session: Session, cars: int = 1, reach: bool = True) -> LiveObservation:
    """Step without answers until `cars` requests are pending (and the first can go somewhere)."""
    obs = session.observation
    while len(obs.pending) < cars or (reach and not obs.candidates(0).usable.any()):
        obs = session.step()
    return obs


def physical(session: Session) -> bytes:
    """The rows of the world without its books."""
    world = session._world
    f, i = world.f.copy(), world.i.copy()
    for name in ACCOUNTS:
        row = i if name == "FLAG" else f
        world.layout.view(row, name)[...] = 0
    return f.tobytes() + i.tobytes() + world.u.tobytes()


def play_out(session: Session) -> LiveObservation:
    """Step without answers to the end."""
    obs = session.observation
    while not obs.done:
        obs = session.step()
    return obs
