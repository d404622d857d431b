"""The small oracle as a Hugging Face model: Qwen2's architecture, a vocabulary of its own, smooth embeddings while learning.

While the warm start runs, the embedding of a number is a smooth function of it (cosines over its column's range) plus a
part of its own, so that a number learns from its neighbours; afterwards both are summed into the ordinary table.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import nn
from transformers import Qwen2Config, Qwen2ForCausalLM

from ev_grid_oracle.policies.llm import small_words as w

WAVES = 10
INIT = 0.06


def config_of(width: int = 64, layers: int = 3, inner: int = 256, heads: int = 4) -> Qwen2Config:
    """Architecture of `width` x `layers`; parameters stay between 0.3 and 3 M for the sizes of the profiles."""
    return Qwen2Config(
        vocab_size=w.SIZE, hidden_size=width, intermediate_size=inner, num_hidden_layers=layers,
        num_attention_heads=heads, num_key_value_heads=heads, max_position_embeddings=256, tie_word_embeddings=True,
        initializer_range=INIT, use_sliding_window=False, attention_dropout=0.0, use_cache=False,
        pad_token_id=w.VOCABULARY[w.PAD], bos_token_id=None, eos_token_id=None,
        rope_parameters={"rope_theta": 10000.0, "rope_type": "default"},
    )  # fmt: skip


def new_model(seed: int, **sizes: int) -> Qwen2ForCausalLM:
    """A model with weights drawn from `seed`."""
    torch.manual_seed(seed)
    return Qwen2ForCausalLM(config_of(**sizes))


class SmoothTable(nn.Module):
    """(V, H) embeddings: waves over each column's range times shared weights, plus each token's own part."""

    def __init__(self, width: int, seed: int) -> None:
        super().__init__()
        rng = torch.Generator().manual_seed(seed)
        waves = torch.zeros(w.SIZE, len(w.COLUMNS) * WAVES)
        for k, column in enumerate(w.COLUMNS):
            first, n = w.FIRST[column.letter], column.count
            u = (torch.arange(n) + 0.5) / n
            for j in range(WAVES):
                waves[first : first + n, k * WAVES + j] = torch.cos(math.pi * j * u) / (1.0 + 0.5 * j)
        self.register_buffer("waves", waves)
        self.shared = nn.Parameter(torch.randn(waves.shape[1], width, generator=rng) * INIT)
        own = torch.randn(w.SIZE, width, generator=rng) * 0.1 * INIT
        own[: w.FIRST[w.COLUMNS[0].letter]] = (
            torch.randn(w.FIRST[w.COLUMNS[0].letter], width, generator=rng) * INIT
        )
        self.own = nn.Parameter(own)

    def forward(self) -> torch.Tensor:
        """(V, H)."""
        waves: torch.Tensor = self.get_buffer("waves")
        return waves @ self.shared + self.own


def hidden_at(model: Any, table: torch.Tensor, ids: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    """Last hidden states (B, P, H) of tokens (B, T) at positions (P,) or (B, P)."""
    states: torch.Tensor = model(
        inputs_embeds=nn.functional.embedding(ids, table), use_cache=False
    ).last_hidden_state
    if at.dim() == 1:
        return states[:, at]
    return states.gather(1, at[:, :, None].expand(-1, -1, states.shape[-1]))


def optimisers(
    model: Qwen2ForCausalLM, table: nn.Module, muon_lr: float, adam_lr: float
) -> list[torch.optim.Optimizer]:
    """Muon for the blocks' matrices, AdamW for embeddings, norms and biases."""
    matrices = [p for name, p in model.model.layers.named_parameters() if p.dim() == 2]
    rest = [p for name, p in model.model.named_parameters() if p.dim() < 2]
    groups: list[dict[str, Any]] = [
        {"params": rest, "lr": adam_lr, "weight_decay": 0.0},
        {"params": list(table.parameters()), "lr": adam_lr, "weight_decay": 0.0},
    ]
    return [
        torch.optim.Muon(matrices, lr=muon_lr, weight_decay=0.01, momentum=0.95),
        torch.optim.AdamW(groups, betas=(0.9, 0.98)),
    ]


def set_rates(found: Iterable[torch.optim.Optimizer], share: float) -> None:
    """Learning rates as a share of their first values."""
    for optimiser in found:
        for group in optimiser.param_groups:
            group.setdefault("first_lr", group["lr"])
            group["lr"] = group["first_lr"] * share


def parameters_of(model: Qwen2ForCausalLM) -> int:
    """Number of weights, tied ones once."""
    return sum(p.numel() for p in model.parameters())


def set_table(model: Qwen2ForCausalLM, table: SmoothTable) -> None:
    """Write the sum of both parts into the model's embedding table (and its tied head)."""
    with torch.no_grad():
        model.model.embed_tokens.weight.copy_(table())


def as_tensor(values: np.ndarray[Any, Any]) -> torch.Tensor:
    """Tokens as int64."""
    return torch.from_numpy(np.ascontiguousarray(values.astype(np.int64)))
