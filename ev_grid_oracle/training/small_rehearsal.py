"""What reinforcement learning must not forget: supervised batches beside it, of questions that it does not ask.

Caps of feeders, flexible cars and forecasts keep their labels of the warm start while the cars' choices are learnt from
rewards; without them the shared layers drift.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from transformers import Qwen2ForCausalLM

from ev_grid_oracle.policies.llm import small_words as w
from ev_grid_oracle.training.small_data import Decisions
from ev_grid_oracle.training.small_warm import Warm, WarmSettings

RELIEFS, FLEXIBLE, WORLDS = 128, 32, 32
"""Questions a step."""


class Rehearsal(Warm):
    """Losses of the warm start on the model's own table, drawn anew and reproducibly at every step."""

    def __init__(self, model: Qwen2ForCausalLM, data: Decisions, seed: int) -> None:
        self.model, self.data, self.settings, self.seed = model, data, WarmSettings(), seed
        self.body: Any = model.model
        self._flexible = np.flatnonzero(data.car_ids[:, 3] - w.FIRST["k"] == 3)

    def table(self) -> torch.Tensor:
        """The model's embedding table."""
        weight: torch.Tensor = self.model.model.embed_tokens.weight
        return weight

    def loss(self, step: int) -> torch.Tensor:
        """Sum of the losses of step `step`."""
        self.rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(6, 5, step)))
        losses: dict[str, torch.Tensor] = {}
        if len(self.data.relief_ids):
            losses |= self.relief_loss(self.rng.integers(0, len(self.data.relief_ids), RELIEFS))
        if len(self._flexible):
            losses |= self.car_loss(self.rng.choice(self._flexible, FLEXIBLE))
        if len(self.data.world_ids):
            losses |= self.world_loss(self.rng.integers(0, len(self.data.world_ids), WORLDS))
        return torch.stack(list(losses.values())).sum() if losses else torch.zeros(())
