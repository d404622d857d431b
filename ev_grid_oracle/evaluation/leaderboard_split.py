"""The frozen split of the public leaderboard: which worlds count. Never change it; a new one gets a new name.

Its seeds are those that `evgrid eval --seed 270318` plays, written out so that a change of their derivation is seen.
They stand in `interfaces.openenv.tasks` beside the task API's splits (train, validation, test), none of which holds
one of them, and whose `is_frozen` is what training leaves out. None is among the evaluation's usual seeds.
"""

from __future__ import annotations

from dataclasses import dataclass

from ev_grid_oracle.interfaces.openenv.tasks import LEADERBOARD_SEEDS
from ev_grid_oracle.schema.axes import DEFAULT_TICKS


@dataclass(frozen=True)
class Split:
    """Worlds that every entry plays: each scenario with each seed, all other options as they are by default."""

    name: str
    city: str
    seed: int
    seeds: tuple[int, ...]
    scenarios: tuple[str, ...]
    ticks: int = DEFAULT_TICKS

    @property
    def episodes(self) -> int:
        return len(self.seeds)


SPLIT = Split(
    name="bengaluru-1",
    city="bengaluru",
    seed=270_318,
    seeds=LEADERBOARD_SEEDS,
    scenarios=(
        "baseline", "AirportRush", "CricketFinal", "festival_surge", "heatwave_peak", "MonsoonStorm", "SilkBoardJam",
        "station_outage", "tariff_shock", "transformer_derate", "WhitefieldNight",
    ),
)  # fmt: skip
