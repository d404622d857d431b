"""One episode through the front door, with its trace."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.observe import LiveObservation
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.evaluation.players import policy_seed
from ev_grid_oracle.policies.base import Policy, PolicyContext
from ev_grid_oracle.schema import rows as r


def play_on(
    session: Session,
    policy: Policy,
    observation: LiveObservation,
    advance: Callable[[int], None] | None = None,
) -> LiveObservation:
    """Let `policy`, already begun, answer from `observation` to the end of the episode."""
    out = np.zeros((packed(session.city).layout.dims["MP"], r.N_DCOL), np.int32)
    while not observation.done:
        n = policy.answer(observation.row, out)
        observation = session.step(out[:n], source=policy.source)
        if advance is not None:
            advance(1)
    return observation


def play_evening(
    session: Session, policy: Policy, advance: Callable[[int], None] | None = None, **options: object
) -> LiveObservation:
    """Reset `session` with `options` and let `policy` answer to the end; the session keeps the trace.

    The policy's own draws come from the same seed as in an evaluation, so both play the same episode.
    """
    observation = session.reset(**options)  # type: ignore[arg-type]
    seed = int(options.get("seed", 0))  # type: ignore[call-overload]
    session.policy_name = policy.name
    policy.begin(PolicyContext(packed(session.city), policy_seed(seed), session.planning()))
    return play_on(session, policy, observation, advance)
