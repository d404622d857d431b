"""Sizes of a training run of the small oracle."""

from __future__ import annotations

from dataclasses import dataclass, field

from ev_grid_oracle.schema.errors import OptionError
from ev_grid_oracle.training.small_warm import WarmSettings


@dataclass(frozen=True)
class SmallProfile:
    """One profile of ``evgrid train``.

    Attributes:
        decisions: car decisions of the warm start, fixed before any reinforcement learning.
        valid: car decisions held out, on seeds of their own.
        futures: sampled futures of a warm-start label.
        fresh: car decisions of the reinforcement learning, on states that the warm-started model reaches.
        group_futures: K, sampled futures that a group of eight shares.
        steps, groups: optimiser steps of `groups` groups each.
        scale_rewards: divide rewards by the group's deviation (an ablation).
        others: weight of the harm to others in the labels (0: own cost only, an ablation).
        city_ticks: H > 0: the reinforcement learning's costs are those of H ticks of the whole city (an ablation).
        check_every: steps between two validations; check_seeds evenings a scenario.
    """

    name: str
    city: str = "bengaluru"
    sizes: dict[str, int] = field(default_factory=dict)
    warm: WarmSettings = field(default_factory=WarmSettings)
    decisions: int = 96_000
    valid: int = 6_000
    futures: int = 48
    fresh: int = 24_000
    group_futures: int = 48
    steps: int = 200
    groups: int = 160
    rate: float = 1.5e-4
    beta: float = 0.0
    reliefs: int = 0
    scale_rewards: bool = False
    others: float = 1.0
    city_ticks: int = 0
    check_every: int = 40
    check_seeds: int = 3
    ticks: int = 48


PROFILES = {
    "cpu-small": SmallProfile("cpu-small"),
    "tiny-test": SmallProfile(
        "tiny-test",
        city="toy",
        sizes={"width": 32, "layers": 1, "inner": 64, "heads": 2},
        warm=WarmSettings(batch=32),
        decisions=320,
        valid=96,
        futures=8,
        fresh=160,
        group_futures=8,
        steps=4,
        groups=8,
        rate=1e-3,
        reliefs=16,
        check_every=2,
        check_seeds=1,
        ticks=24,
    ),
}


def profile_of(name: str) -> SmallProfile:
    """The profile called `name`; `OptionError` lists the names there are."""
    if name not in PROFILES:
        raise OptionError(
            f"There is no profile {name[:40]!r}.", f"Choose one of {', '.join(PROFILES)}, t4-qwen3b."
        )
    return PROFILES[name]
