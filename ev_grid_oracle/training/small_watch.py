"""Watching a run of reinforcement learning: validation, early stop, and reward that rises while the city gets worse."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation.values import Values
from ev_grid_oracle.evaluation.writing import to_json, write_atomic
from ev_grid_oracle.training.small_data import Decisions
from ev_grid_oracle.training.small_export import export
from ev_grid_oracle.training.small_score import composite, oracle_at, play, validation_worlds
from ev_grid_oracle.training.small_warm import divergence, regret

CHECKS = "checks.json"
HACK_PER_CENT = 0.5
"""Rise of the composite above the start's, on the same validation evenings, that stops a run whose reward rises."""
PATIENCE = 4
"""Checks without a better validation after which a run ends."""


@dataclass
class Check:
    """One look at the model."""

    step: int
    regret_min: float
    accuracy: float
    composite: float
    reward: float
    kl: float

    @property
    def worth(self) -> float:
        """What the best model is chosen by, less is better: the composite on the validation evenings; without them the
        regret on held-out decisions (of a few thousand decisions it is the noisier one)."""
        return self.composite if self.composite > 0.0 else self.regret_min


@dataclass
class Watch:
    """What a run was like.

    Attributes:
        checks: one each `every` steps, the first before any step.
        best: step of the least composite on the validation evenings; its weights are in ``best/``.
        stopped: why the run ended early, empty otherwise.
    """

    folder: Path
    city: CityPack
    valid: Decisions
    every: int
    seeds: int
    start: Any
    checks: list[Check] = field(default_factory=list)
    best: int = -1
    stopped: str = ""

    def look(self, model: Any, step: int, reward: float) -> Check:
        """Validate, keep the model where it is the best so far."""
        found = regret(model, self.valid, 3000)
        total = 0.0
        if self.seeds:
            now = self.folder / "now"
            export(model, now)
            played: list[Values] = play(self.city, oracle_at(now), validation_worlds(self.city, self.seeds))
            total = float(composite(played).mean())
        far = divergence(model, self.start, self.valid)
        check = Check(step, found["regret_min"], found["accuracy"], total, reward, far)
        if self.best < 0 or check.worth < min(c.worth for c in self.checks):
            self.best = step
            export(model, self.folder / "best")
        self.checks.append(check)
        write_atomic(
            self.folder / CHECKS, to_json({"best": self.best, "checks": [asdict(c) for c in self.checks]})
        )
        shutil.rmtree(self.folder / "now", ignore_errors=True)
        return check

    def remember(self, step: int) -> None:
        """Checks up to `step` of a run that goes on; nothing where there are none."""
        path = self.folder / CHECKS
        if not path.exists():
            return
        found = json.loads(path.read_text(encoding="utf-8"))
        self.checks = [
            Check(
                c["step"], *(_number(c[k]) for k in ("regret_min", "accuracy", "composite", "reward", "kl"))
            )
            for c in found["checks"]
            if c["step"] <= step
        ]
        self.best = min(self.checks, key=lambda c: c.worth).step if self.checks else -1

    def verdict(self) -> str:
        """Why to stop now; empty to go on."""
        first, last = self.checks[0], self.checks[-1]
        if first.composite > 0.0 and last.regret_min < first.regret_min:
            rise = 100.0 * (last.composite / first.composite - 1.0)
            if rise > HACK_PER_CENT:
                return f"the reward on held-out decisions rises while the composite is {rise:.2f} % worse"
        since = [c for c in self.checks if c.step > self.best]
        return "no better validation" if len(since) >= PATIENCE else ""


def _number(value: float | None) -> float:
    """JSON's null is the NaN that it was."""
    return math.nan if value is None else value


class WatchCallback(TrainerCallback):
    """Looks every `watch.every` steps and writes what it sees to TensorBoard."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.trainer: Any = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """The start, before any step (a resumed run has looked already)."""
        if not self.watch.checks:
            self._look(0, float("nan"))

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """A look when it is due."""
        if state.global_step % self.watch.every == 0:
            rewards = [h["reward"] for h in state.log_history[-3:] if "reward" in h]
            self._look(state.global_step, sum(rewards) / len(rewards) if rewards else float("nan"))
            self.watch.stopped = self.watch.verdict()
            if self.watch.stopped:
                control.should_training_stop = True

    def _look(self, step: int, reward: float) -> None:
        model = self.trainer.accelerator.unwrap_model(self.trainer.model)
        training = model.training
        model.eval()
        with torch.random.fork_rng():  # a look draws nothing that training would draw
            check = self.watch.look(model, step, reward)
        model.train(training)
        for name in ("regret_min", "accuracy", "composite", "kl"):
            self.trainer._metrics["train"][f"validation/{name}"].append(getattr(check, name))
