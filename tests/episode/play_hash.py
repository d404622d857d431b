"""Plays 50 ticks of Toytown with fixed answers and prints a digest of the trajectory; run as a script."""

from __future__ import annotations

import hashlib
import json

from ev_grid_oracle.episode.session import Session


def trajectory(seed: int = 42, ticks: int = 50) -> str:
    """SHA-256 of every observation, reward and digest as JSON."""
    session = Session("toy")
    obs = session.reset(seed=seed, ticks=ticks)
    told = []
    while not obs.done:
        answers = [
            {"action_type": "defer", "defer_minutes": 5 * (1 + n % 3), "ev_id": car.ev_id}
            if n % 2
            else {
                "action_type": "route",
                "station_id": obs.station_ids[n % 4],
                "ev_id": car.ev_id,
                "charge_rate": "slow",
            }
            for n, car in enumerate(obs.pending)
        ]
        obs = session.step({"actions": answers})
        told.append([obs.prompt, obs.reward, obs.breakdown, obs.flags, obs.info, session.digest()])
    told.append(session.host_view())
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


if __name__ == "__main__":
    print(trajectory())
