"""Which worlds an evaluation is played on."""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.schema.axes import MAX_SEED
from ev_grid_oracle.schema.errors import OptionError


def episode_seed(seed: int, index: int) -> int:
    """The world's seed of episode `index` of an evaluation with `seed`; independent of every other."""
    return int(np.random.SeedSequence(seed, spawn_key=(index,)).generate_state(1)[0])


def episode_seeds(seed: int, episodes: int) -> tuple[int, ...]:
    """Seeds of the first `episodes` episodes; more episodes keep the earlier ones.

    Raises:
        OptionError: the seed or the number of episodes is out of range.
    """
    if not 0 <= seed <= MAX_SEED:
        raise OptionError(f"Seed {seed} is out of range.", f"Choose 0 to {MAX_SEED}.")
    if not 1 <= episodes <= 100_000:
        raise OptionError(f"{episodes} episodes are out of range.", "Choose 1 to 100000.")
    return tuple(episode_seed(seed, index) for index in range(episodes))
