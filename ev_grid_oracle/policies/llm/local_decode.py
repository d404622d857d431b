"""Constrained decoding of a batch with jump-forward: what the grammar forces is not generated.

Each row of the batch has a matcher of its own (llguidance). In a round a row takes one token of the model's
choice among those its grammar allows, and then all tokens that follow without a choice (keys, line ends, the
rest of an id once it is clear); these are fed to the model together. Rows that feed fewer tokens than the
longest are padded on the left of the round's chunk; padded places are masked out of the attention and do not
count as positions, so a row's answer does not depend on its neighbours (but for rounding).
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from llguidance import LLMatcher, LLTokenizer

from ev_grid_oracle.policies.llm.guard import LateError, ModelError


@dataclass
class _Row:
    matcher: Any
    fed: list[int]  # tokens the model has not seen yet
    said: list[int] = field(default_factory=list)
    done: bool = False
    steps: int = 0


@dataclass(frozen=True, slots=True)
class Decoded:
    """Tokens of an answer, and how many of them the model had to choose."""

    tokens: list[int]
    chosen: int


def decode(
    model: Any,
    vocabulary: LLTokenizer,
    prompts: Sequence[Sequence[int]],
    grammars: Sequence[str],
    *,
    pad: int,
    eos: Sequence[int],
    deadline: float = float("inf"),
    temperature: float = 0.0,
    generator: torch.Generator | None = None,
) -> list[Decoded]:
    """An answer within its grammar for each prompt (tokens).

    Args:
        model: a causal language model of transformers, in evaluation mode.
        grammars: in llguidance's Lark, one a prompt.
        pad, eos: token numbers.
        deadline: on `time.monotonic`'s clock.
        temperature: 0 takes the likeliest token; above, `generator` draws.

    Raises:
        LateError: the deadline passed.
        ModelError: a grammar is refused by llguidance.
    """
    rows = [
        _Row(LLMatcher(vocabulary, grammar), list(prompt))
        for prompt, grammar in zip(prompts, grammars, strict=True)
    ]
    for row in rows:
        if row.matcher.is_error():
            raise ModelError(f"The grammar of an answer was refused: {row.matcher.get_error()[:160]}")
        _jump(row, eos)
    with torch.inference_mode():
        _run(model, rows, pad, eos, deadline, temperature, generator)
    return [Decoded(row.said, row.steps) for row in rows]


def _run(
    model: Any,
    rows: Sequence[_Row],
    pad: int,
    eos: Sequence[int],
    deadline: float,
    temperature: float,
    generator: torch.Generator | None,
) -> None:
    """Rounds of the model until every row is done."""
    device, memory = next(model.parameters()).device, _memory_name(model)
    mask = torch.zeros((len(rows), 0), dtype=torch.long, device=device)
    cache = None
    while any(not row.done for row in rows):
        if time.monotonic() > deadline:
            raise LateError("The model was not done within the time allowed.")
        width = max(len(row.fed) for row in rows)
        chunk = torch.full((len(rows), width), pad, dtype=torch.long)
        live = torch.zeros((len(rows), width), dtype=torch.long)
        for k, row in enumerate(rows):
            if row.fed:
                chunk[k, width - len(row.fed) :] = torch.tensor(row.fed)
                live[k, width - len(row.fed) :] = 1
                row.fed = []
        seen = mask.sum(1, keepdim=True)
        live = live.to(device)
        places = (seen + live.cumsum(1) - 1).clamp(min=0)
        mask = torch.cat([mask, live], 1)
        out = model(
            input_ids=chunk.to(device), attention_mask=mask, position_ids=places, use_cache=True, logits_to_keep=1,
            **{memory: cache},
        )  # fmt: skip
        cache = getattr(out, memory)
        logits = out.logits[:, -1].float().cpu()
        for k, row in enumerate(rows):
            if not row.done:
                _choose(row, logits[k], eos, temperature, generator)


def _memory_name(model: Any) -> str:
    """What this release of transformers calls the keys and values of what was read."""
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    return "cache" if "cache" in inspect.signature(inner.forward).parameters else "past_key_values"


def _choose(
    row: _Row, logits: torch.Tensor, eos: Sequence[int], temperature: float, generator: torch.Generator | None
) -> None:
    """One token of the model's choice, and what it forces."""
    bits = np.frombuffer(row.matcher.compute_bitmask(), np.uint8)
    allowed = torch.from_numpy(np.unpackbits(bits, bitorder="little")[: len(logits)].astype(bool))
    scores = torch.where(allowed, logits[: len(allowed)], -torch.inf)
    if temperature > 0.0:
        shares = torch.softmax(scores / temperature, 0)
        token = int(torch.multinomial(shares, 1, generator=generator))
    else:
        token = int(scores.argmax())
    row.steps += 1
    if token in eos:
        row.done = True
        return
    if not row.matcher.consume_token(token):
        raise ModelError(f"A token outside the grammar was chosen: {row.matcher.get_error()[:160]}")
    row.said.append(token)
    row.fed = [token]
    _jump(row, eos)


def _jump(row: _Row, eos: Sequence[int]) -> None:
    """Take all tokens that follow without a choice."""
    forced = row.matcher.compute_ff_tokens()
    if forced and row.matcher.consume_tokens(forced):
        taken = [t for t in forced if t not in eos]
        row.said += taken
        row.fed += taken
    if row.matcher.is_stopped():
        row.done = True
        row.fed = []
