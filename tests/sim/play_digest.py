"""Play fixed episodes and print their digests: run in other processes by test_determinism.

python play_digest.py CITY SEED TICKS
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import numpy as np
from wild import answers

from ev_grid_oracle.city import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.sim.world import WorldOptions


def trail(city: CityPack, seed: int, ticks: int, *, n: int = 1, row: int = 0, threads: int = 1) -> list[str]:
    """Digest after reset and after every tick, and the reward's bits, of one episode in a batch of `n`."""
    batch = Batch(city, n, threads=threads)
    scenario = city.scenarios[seed % len(city.scenarios)]
    seeds = [seed if e == row else 1000 + e for e in range(n)]
    batch.reset([WorldOptions(s, scenario, 17 * 60, ticks=ticks) for s in seeds])
    out = [batch.world.digest(row)]
    rngs = [np.random.default_rng([seed, 7] if e == row else [e]) for e in range(n)]
    for _ in range(ticks):
        for e in range(n):
            batch.counts[e] = answers(batch.world, e, rngs[e], "mixed", batch.answers[e])
        rewards = batch.step()
        out.append(batch.world.digest(row) + float(rewards[row]).hex())
    return out


def main(args: Sequence[str]) -> None:
    city, seed, ticks = args
    print(json.dumps(trail(load_city(city), int(seed), int(ticks))))


if __name__ == "__main__":
    main(sys.argv[1:])
