"""Which questions reinforcement learning sees: scenarios and states re-weighted by what the model still gets wrong.

A state's weight is the model's expected cost there above the best answer's (its regret against the planner), a
scenario's the mean over its states; half of the draws stay uniform, so that nothing is forgotten. The trap histogram
counts draws by what makes the right answer right (`small_words.REASONS`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from datasets import Dataset

from ev_grid_oracle.policies.llm import small_words as w
from ev_grid_oracle.training.small_data import Decisions
from ev_grid_oracle.training.small_grpo import GROUP, _right_padded, answer_log_odds, rows_of

CAP_MIN = 30.0
UNIFORM_SHARE = 0.5


@dataclass
class Curriculum:
    """Questions in the order in which they are asked.

    Attributes:
        data: `prompt`, `cost` for TRL.
        regret_min: mean expected regret of the pool, by scenario name.
        traps: draws by REASON, `drawn`, beside the pool's shares, `pool`.
    """

    data: Dataset
    regret_min: dict[str, float]
    traps: dict[str, dict[str, float]]


def expected_regret(
    model: Any, data: Decisions, texts: list[str], costs: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """(N,) expected car-minutes above the best answer under the model's own probabilities."""
    out = np.zeros(len(texts))
    with torch.no_grad():
        for k in range(0, len(texts), 256):
            rows = [[w.VOCABULARY[word] for word in text.split()] for text in texts[k : k + 256]]
            odds = answer_log_odds(model, *_right_padded(rows)).exp().numpy().astype(np.float64)
            part = costs[k : k + 256]
            least = np.nanmin(part, 1, keepdims=True)
            out[k : k + 256] = (np.where(np.isnan(part), 0.0, part - least) * odds).sum(1)
    return out


def build(
    model: Any,
    data: Decisions,
    groups: int,
    seed: int,
    names: list[str],
    reliefs: int = 4000,
    uniform: bool = False,
) -> Curriculum:
    """`groups` questions drawn for `model`; `uniform` draws all states alike."""
    texts, costs, scenario, why = rows_of(data, reliefs)
    regret = expected_regret(model, data, texts, costs)
    capped = np.minimum(regret, CAP_MIN)
    by_scenario = {k: float(regret[scenario == k].mean()) for k in np.unique(scenario)}
    weight = np.ones(len(texts)) / len(texts)
    if not uniform:
        level = np.array([by_scenario[k] for k in scenario])
        hard = capped * level
        weight = UNIFORM_SHARE * weight + (1.0 - UNIFORM_SHARE) * hard / hard.sum()
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(6, 4)))
    drawn = rng.choice(len(texts), groups, p=weight / weight.sum(), replace=groups > len(texts))
    if groups <= len(texts):
        rng.shuffle(drawn)  # drawn without return, the heaviest come first
    rows = Dataset.from_dict(
        {"prompt": [texts[k] for k in drawn], "cost": [costs[k].tolist() for k in drawn]}
    )
    pool, took = (np.bincount(v, minlength=len(w.REASONS)) for v in (why, why[drawn]))
    traps = {
        w.REASONS[k]: {"pool": pool[k] / len(why), "drawn": took[k] / groups} for k in range(len(w.REASONS))
    }
    level_of = {("feeders" if k < 0 else names[int(k)]): v for k, v in by_scenario.items()}
    return Curriculum(rows, level_of, traps)


__all__ = ["GROUP", "Curriculum", "build", "expected_regret"]
