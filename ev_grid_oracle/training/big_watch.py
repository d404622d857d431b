"""Reward-hack watch: validation evenings are played while the model learns; the run stops when the two part.

The reward of GRPO is worth on sampled futures; what counts is the composite of whole evenings (car-minutes, see
`episode.kpis`). Every few steps the present model plays the same validation evenings. The run stops when the
reward of the last half of its steps lies above that of the first half while the composite of the same evenings has
become worse by more than its own noise (paired t over the evenings above `T_STOP`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.evaluation.evening import play_evening
from ev_grid_oracle.policies.base import Policy

T_STOP = 2.0
MIN_STEPS = 8
"""Steps before a trend is called one."""


@dataclass
class Watch:
    """What has been seen so far.

    Attributes:
        rewards: mean reward of each step.
        composites: step -> composite of each validation evening, car-minutes.
        stopped: why the run was stopped; "".
    """

    rewards: list[float] = field(default_factory=list)
    composites: dict[int, list[float]] = field(default_factory=dict)
    stopped: str = ""

    def judge(self) -> str:
        """A sentence where the reward has risen and the composite become worse; else ""."""
        if len(self.rewards) < MIN_STEPS or len(self.composites) < 2:
            return ""
        half = len(self.rewards) // 2
        rise = float(np.mean(self.rewards[half:]) - np.mean(self.rewards[:half]))
        first, last = self.composites[min(self.composites)], self.composites[max(self.composites)]
        worse = np.subtract(last, first)
        if rise <= 0.0 or len(worse) < 2:
            return ""
        spread = float(worse.std(ddof=1)) / math.sqrt(len(worse))
        mean = float(worse.mean())
        if mean <= 0.0 or (spread > 0.0 and mean / spread <= T_STOP):
            return ""
        return f"reward rose by {rise:.4f} while the composite became {mean:.0f} car-minutes worse"


def composites(city: CityPack, policy: Policy, seeds: Sequence[int], ticks: int) -> list[float]:
    """Composite car-minutes of the baseline scenario's evenings of `seeds` under `policy`."""
    found = []
    for seed in seeds:
        end = play_evening(Session(city, record=False), policy, seed=int(seed), ticks=ticks)
        kpis = end.info["kpis"]
        assert isinstance(kpis, dict)  # the evening is over
        found.append(float(kpis["composite_car_minutes"]))
    return found


def callback(
    watch: Watch, measure: Callable[[], list[float]], every: int, log: Callable[[int, float], None]
) -> object:
    """The watch as a callback of the trainer."""
    import transformers

    def play(step: int) -> None:
        watch.composites[step] = measure()
        log(step, float(np.mean(watch.composites[step])))

    def on_train_begin(self: Any, args: Any, state: Any, control: Any, **rest: Any) -> None:
        play(int(state.global_step))

    def on_log(self: Any, args: Any, state: Any, control: Any, logs: Any = None, **rest: Any) -> None:
        if logs and "reward" in logs:
            watch.rewards.append(float(logs["reward"]))

    def on_step_end(self: Any, args: Any, state: Any, control: Any, **rest: Any) -> None:
        if state.global_step % every == 0:
            play(int(state.global_step))
            watch.stopped = watch.judge()
            control.should_training_stop = control.should_training_stop or bool(watch.stopped)

    events = {"on_train_begin": on_train_begin, "on_log": on_log, "on_step_end": on_step_end}
    return type("Watching", (transformers.TrainerCallback,), events)()


def teller(tell: Callable[[str], None]) -> object:
    """A line a step, in place of what the trainer would print on standard output."""
    import transformers

    def on_log(self: Any, args: Any, state: Any, control: Any, logs: Any = None, **rest: Any) -> None:
        if logs and "reward" in logs:
            shown = ("reward", "reward/format", "answers/invalid", "loss", "kl", "entropy")
            facts = "  ".join(f"{name} {float(logs[name]):.4g}" for name in shown if name in logs)
            tell(f"step {state.global_step} of {state.max_steps}: {facts}")

    return type("Telling", (transformers.TrainerCallback,), {"on_log": on_log})()
