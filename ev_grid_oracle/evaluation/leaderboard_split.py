"""The frozen split of the public leaderboard: which worlds count. Never change it; a new one gets a new name.

Its seeds are those that `evgrid eval --seed 270318` plays, written out so that a change of their derivation is seen.
None is in a split of the task API (train, validation, test) or among the evaluation's usual seeds; training leaves
them out with `is_leaderboard`.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    seeds=(
        1_022_883_020, 1_765_092_280, 1_834_972_873, 365_001_975, 237_024_784,
        3_525_574_969, 4_131_882_911, 92_359_341, 4_250_325_521, 2_098_991_112,
        2_892_005_220, 2_688_253_183, 837_333_461, 3_602_456_034, 1_712_384_481,
        426_002_360, 839_088_981, 3_208_064_671, 3_097_932_804, 1_506_326_254,
    ),
    scenarios=(
        "baseline", "AirportRush", "CricketFinal", "festival_surge", "heatwave_peak", "MonsoonStorm", "SilkBoardJam",
        "station_outage", "tariff_shock", "transformer_derate", "WhitefieldNight",
    ),
)  # fmt: skip


def is_leaderboard(seed: int) -> bool:
    """The seed belongs to the leaderboard: training leaves it out."""
    return seed in SPLIT.seeds
