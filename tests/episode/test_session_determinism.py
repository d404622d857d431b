"""One seed, one trajectory: in another process, under another hash seed, in any order of episodes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
from play_hash import trajectory

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.episode.session import Session


def test_equal_over_processes_and_hash_seeds() -> None:
    script = str(Path(__file__).with_name("play_hash.py"))
    seen = {trajectory()}
    for hash_seed in ("0", "1"):
        env = {**os.environ, "PYTHONHASHSEED": hash_seed}
        out = subprocess.run([sys.executable, script], env=env, capture_output=True, text=True, check=True)
        seen.add(out.stdout.strip())
    assert len(seen) == 1


def test_a_session_is_a_row_of_a_batch(city_toy: CityPack) -> None:
    """Row 5 of 8, whatever its neighbours play."""
    options = [resolve(city_toy, seed=s, ticks=20).world for s in range(8)]
    batch = Batch(city_toy, 8, threads=2)
    batch.reset(options)
    rewards = np.stack([batch.step().copy() for _ in range(20)])
    session = Session(city_toy)
    session.reset(seed=5, ticks=20)
    alone = [session.step().reward for _ in range(20)]
    assert rewards[:, 5].tolist() == alone and batch.world.digest(5) == session.digest()


def test_other_seeds_give_other_days() -> None:
    assert trajectory(1, 6) != trajectory(2, 6)
