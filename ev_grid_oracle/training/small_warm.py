"""Supervised warm start: soft labels from the planner's costs, at every line and at the end.

A line's last word is followed by what the line costs everybody (an ordinal word), the next by the best station so far;
``?`` by the decision, the decision by its REASON. Labels of decisions are soft, exp(-cost / T) with T = 4 minutes: a
policy that has not closed its mind is what reinforcement learning starts from.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.nn import functional as fn
from transformers import Qwen2ForCausalLM

from ev_grid_oracle.policies.llm import small_words as w
from ev_grid_oracle.protocol.prompt_compact import Column
from ev_grid_oracle.training.small_data import Decisions
from ev_grid_oracle.training.small_model import SmoothTable, hidden_at, optimisers, set_rates, set_table

MOST = w.MOST_LINES
BLUR_WORDS = 1.5
"""Spread of an ordinal label over its neighbours, words."""
Log = Callable[[int, dict[str, float]], None]


@dataclass(frozen=True)
class WarmSettings:
    """Size and weights of the warm start.

    Attributes:
        temperature_min: of the soft labels.
        aside: one batch of feeders and one of forecasts after this many batches of cars.
        only_final: labels at the end alone (an ablation).
        predict: learn the forecasts (an ablation switches it off).
    """

    epochs: float = 1.0
    batch: int = 64
    muon_lr: float = 0.02
    adam_lr: float = 4e-3
    temperature_min: float = 4.0
    cost_weight: float = 0.3
    best_weight: float = 0.5
    why_weight: float = 0.05
    aside: int = 6
    only_final: bool = False
    predict: bool = True
    compile: bool = False


def positions(question: w.Question) -> tuple[torch.Tensor, torch.Tensor]:
    """(8,) places of each line's last word and (8,) of the word after the line."""
    after = question.head_words + question.line_words * (torch.arange(MOST) + 1)
    return after - 1, after


def ordinal(column: Column, value: torch.Tensor) -> torch.Tensor:
    """(.., count) label around `value` (raw), spread over neighbouring words."""
    centre = (value * column.per_unit).clamp(column.low, column.high) - column.low
    steps = torch.arange(column.count, dtype=torch.float32)
    return torch.softmax(-0.5 * ((steps - centre[..., None]) / BLUR_WORDS) ** 2, -1)


def group(table: torch.Tensor, first: int, count: int) -> torch.Tensor:
    """(H, count) head of `count` neighbouring words."""
    return table[first : first + count].T


def cross(logits: torch.Tensor, label: torch.Tensor, keep: torch.Tensor) -> torch.Tensor:
    """Mean cross entropy where `keep` holds."""
    loss = -(label * fn.log_softmax(logits, -1)).sum(-1)
    return (loss * keep).sum() / keep.sum().clamp(min=1.0)


def shuffled(ids: np.ndarray[Any, Any], lines: np.ndarray[Any, Any], cost: np.ndarray[Any, Any], question: w.Question,
             rng: np.random.Generator) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:  # fmt: skip
    """The same questions with their lines in another order; `cost` (N, >= 8) follows."""
    n, width = len(ids), question.line_words
    key = rng.random((n, MOST)) + 10.0 * (np.arange(MOST)[None, :] >= lines[:, None])
    order = key.argsort(1)
    body = ids[:, question.head_words : question.head_words + MOST * width].reshape(n, MOST, width)
    out, costs = ids.copy(), cost.copy()
    moved = np.take_along_axis(body, order[:, :, None], 1)
    real = np.arange(MOST)[None, :, None] < lines[:, None, None]
    out[:, question.head_words : question.head_words + MOST * width] = np.where(real, moved, body).reshape(
        n, -1
    )
    costs[:, :MOST] = np.take_along_axis(cost[:, :MOST], order, 1)
    return out, costs


def soft(cost: torch.Tensor, temperature: float) -> torch.Tensor:
    """exp(-cost / T), normalised over the last axis; nan: not an answer."""
    score = torch.where(torch.isnan(cost), torch.full_like(cost, -torch.inf), -cost / temperature)
    return torch.nan_to_num(torch.softmax(score, -1))


class Warm:
    """The warm start of one model."""

    def __init__(self, model: Qwen2ForCausalLM, data: Decisions, settings: WarmSettings, seed: int) -> None:
        self.model, self.data, self.settings = model, data, settings
        self.smooth = SmoothTable(model.config.hidden_size, seed)
        self.rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(6, 3)))
        self.body: Any = torch.compile(model.model, dynamic=False) if settings.compile else model.model
        self.opts = optimisers(model, self.smooth, settings.muon_lr, settings.adam_lr)

    def table(self) -> torch.Tensor:
        """The embedding table (V, H) of the moment."""
        table: torch.Tensor = self.smooth()
        return table

    # -- losses ------------------------------------------------------------------------------------
    def car_loss(self, pick: np.ndarray[Any, Any]) -> dict[str, torch.Tensor]:
        """Losses of a batch of car decisions."""
        d, s = self.data, self.settings
        ids, cost = shuffled(d.car_ids[pick], d.car_lines[pick], d.car_cost[pick], w.CAR, self.rng)
        lines = torch.from_numpy(d.car_lines[pick].astype(np.int64))
        costs = torch.from_numpy(cost)
        n = len(pick)
        tokens = torch.zeros(n, ids.shape[1] + 1, dtype=torch.int64)
        tokens[:, :-1] = torch.from_numpy(ids.astype(np.int64))
        end = w.CAR.head_words + w.CAR.line_words * lines  # where ``?`` stands
        label = soft(costs, s.temperature_min)
        best = label.argmax(-1)
        decided = torch.where(best == MOST, w.DEFER_ID, w.POINTER + best)
        tokens.scatter_(1, (end + 1)[:, None], decided[:, None])
        last, after = positions(w.CAR)
        at = torch.cat([last.expand(n, -1), after.expand(n, -1), (end + 1)[:, None]], 1)
        table = self.table()
        h = hidden_at(self.body, table, tokens, at)
        real = torch.arange(MOST)[None, :] < lines[:, None]
        out = {}
        answers = torch.cat([table[w.POINTER : w.POINTER + MOST], table[w.DEFER_ID : w.DEFER_ID + 1]]).T
        final = (
            h[:, MOST : 2 * MOST].gather(1, (lines - 1)[:, None, None].expand(-1, 1, h.shape[-1]))[:, 0]
            @ answers
        )
        final = final.masked_fill(torch.isnan(costs), -1e9)
        out["decision"] = cross(final, label, torch.ones(n))
        if not s.only_final:
            cost_logits = h[:, :MOST] @ group(table, w.FIRST["cost"], w.COST.count)
            out["cost"] = s.cost_weight * cross(
                cost_logits, ordinal(w.COST, torch.nan_to_num(costs[:, :MOST])), real
            )
            so_far = torch.full((n, MOST, MOST), torch.nan)
            for j in range(MOST):
                so_far[:, j, : j + 1] = costs[:, : j + 1]
            points = h[:, MOST : 2 * MOST] @ answers[:, :MOST]
            points = points.masked_fill(torch.isnan(so_far), -1e9)
            early = real & (torch.arange(MOST)[None, :] < (lines - 1)[:, None])
            out["best"] = s.best_weight * cross(points, soft(so_far, s.temperature_min), early)
        why = h[:, -1] @ group(table, w.REASON, len(w.REASONS))
        out["why"] = s.why_weight * fn.cross_entropy(why, torch.from_numpy(d.car_why[pick].astype(np.int64)))
        return out

    def relief_loss(self, pick: np.ndarray[Any, Any]) -> dict[str, torch.Tensor]:
        """Loss of a batch of feeder questions: caps against none (cost 0)."""
        d = self.data
        ids, cost = shuffled(
            d.relief_ids[pick], d.relief_lines[pick], d.relief_cost[pick], w.RELIEF_QUESTION, self.rng
        )
        lines = torch.from_numpy(d.relief_lines[pick].astype(np.int64))
        costs = torch.cat([torch.from_numpy(cost), torch.zeros(len(pick), 1)], 1)
        end = w.RELIEF_QUESTION.head_words + w.RELIEF_QUESTION.line_words * lines
        table = self.table()
        h = hidden_at(self.body, table, torch.from_numpy(ids.astype(np.int64)), end[:, None])[:, 0]
        answers = torch.cat([table[w.POINTER : w.POINTER + MOST], table[w.NONE_ID : w.NONE_ID + 1]]).T
        logits = (h @ answers).masked_fill(torch.isnan(costs), -1e9)
        return {"relief": cross(logits, soft(costs, self.settings.temperature_min), torch.ones(len(pick)))}

    def world_loss(self, pick: np.ndarray[Any, Any]) -> dict[str, torch.Tensor]:
        """Loss of a batch of forecasts."""
        d, q = self.data, w.WORLD_QUESTION
        truth = torch.from_numpy(d.world_truth[pick])
        last, after = positions(q)
        at = torch.cat([last, after, torch.tensor([q.head_words - 1, q.head_words - 2])])
        table = self.table()
        h = hidden_at(self.body, table, torch.from_numpy(d.world_ids[pick].astype(np.int64)), at)
        keep = torch.ones(len(pick), MOST)

        def of(column: Column, states: torch.Tensor, value: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
            return cross(
                states @ group(table, w.FIRST[column.letter], column.count), ordinal(column, value), k
            )

        return {
            "occupied": 0.3 * of(w.OCCUPIED, h[:, :MOST], truth[:, 2 : 2 + MOST], keep),
            "queued": 0.3 * of(w.QUEUED, h[:, MOST : 2 * MOST], truth[:, 2 + MOST :], keep),
            "load": 0.3 * of(w.LOAD_SHIFT, h[:, -2], truth[:, 0], keep[:, 0]),
            "share": 0.3 * of(w.SHARE_SHIFT, h[:, -1], truth[:, 1], keep[:, 0]),
        }

    # -- the loop ----------------------------------------------------------------------------------
    def run(self, log: Log = lambda step, values: None) -> float:
        """Train; returns seconds. The model's own table is set at the end."""
        s, begun = self.settings, time.perf_counter()
        n = len(self.data.car_ids)
        steps = max(int(s.epochs * n / s.batch), 1)
        order = np.concatenate([self.rng.permutation(n) for _ in range(math.ceil(s.epochs) + 1)])
        self.model.train()
        for step in range(steps):
            part = step / steps
            set_rates(
                self.opts, min(1.0, (step + 1) / 50) * (1.0 if part < 0.4 else (1.0 - part) / 0.6) + 1e-4
            )
            losses = self.car_loss(order[step * s.batch : (step + 1) * s.batch])
            if step % s.aside == 0 and len(self.data.relief_ids):
                losses |= self.relief_loss(self._draw(len(self.data.relief_ids)))
            if step % s.aside == 0 and s.predict and len(self.data.world_ids):
                losses |= self.world_loss(self._draw(len(self.data.world_ids)))
            loss = torch.stack(list(losses.values())).sum()
            for o in self.opts:
                o.zero_grad(set_to_none=True)
            loss.backward()
            for o in self.opts:
                o.step()
            if step % 25 == 0 or step == steps - 1:
                log(step, {k: float(v.detach()) for k, v in losses.items()})
        set_table(self.model, self.smooth)
        self.model.train(False)
        return time.perf_counter() - begun

    def _draw(self, n: int) -> np.ndarray[Any, Any]:
        return self.rng.integers(0, n, min(self.settings.batch, n))


def decision_logits(model: Qwen2ForCausalLM, ids: np.ndarray[Any, Any], lines: np.ndarray[Any, Any],
                    question: w.Question, other: int) -> torch.Tensor:  # fmt: skip
    """(N, 9) logits of the lines' pointers and of `other` (a token) at ``?``, lines that are not there at -inf."""
    table = model.model.embed_tokens.weight
    tokens = torch.from_numpy(ids.astype(np.int64))
    count = torch.from_numpy(lines.astype(np.int64))
    at = question.head_words + question.line_words * count
    h = hidden_at(model.model, table, tokens, at[:, None])[:, 0]
    logits = h @ torch.cat([table[w.POINTER : w.POINTER + MOST], table[other : other + 1]]).T
    gone = torch.arange(MOST + 1)[None, :] >= torch.where(
        torch.arange(MOST + 1) == MOST, MOST + 2, count[:, None]
    )
    return logits.masked_fill(gone, -torch.inf)


def divergence(model: Qwen2ForCausalLM, start: Qwen2ForCausalLM, data: Decisions, most: int = 1024) -> float:
    """Mean KL divergence of `model` from `start` over the answers to held-out car decisions, nats."""
    total, n = 0.0, min(most, len(data.car_ids))
    with torch.no_grad():
        for k in range(0, n, 256):
            part = slice(k, min(k + 256, n))
            gone = torch.isnan(torch.from_numpy(data.car_cost[part]))
            ours, theirs = (
                torch.log_softmax(
                    decision_logits(
                        m, data.car_ids[part], data.car_lines[part], w.CAR, w.DEFER_ID
                    ).masked_fill(gone, -1e9),
                    -1,
                )
                for m in (model, start)
            )
            total += float((ours.exp() * (ours - theirs)).sum())
    return total / n


def regret(model: Qwen2ForCausalLM, data: Decisions, most: int = 6000) -> dict[str, float]:
    """Mean car-minutes above the best answer by the labels: the model's, greedy_counting's (line 1), and accuracy.

    Cars that are not flexible stand apart from those that are: their costs are of another size.
    """
    n = min(most, len(data.car_ids))
    found = []
    with torch.no_grad():
        for k in range(0, n, 256):
            part = slice(k, min(k + 256, n))
            logits = decision_logits(model, data.car_ids[part], data.car_lines[part], w.CAR, w.DEFER_ID)
            allowed = torch.isfinite(torch.from_numpy(data.car_cost[part]))
            found.append(logits.masked_fill(~allowed, -torch.inf).argmax(-1).numpy())
    chosen = np.concatenate(found)
    cost = data.car_cost[:n]
    lost = cost[np.arange(n), chosen] - np.nanmin(cost, 1)
    flexible = data.car_ids[:n, 3] - w.FIRST["k"] == 3
    return {
        "regret_min": float(lost[~flexible].mean()),
        "flexible_regret_min": float(lost[flexible].mean()) if flexible.any() else math.nan,
        "greedy_regret_min": float((cost[:, 0] - np.nanmin(cost, 1))[~flexible].mean()),
        "accuracy": float(np.mean(chosen == np.nanargmin(cost, 1))),
        "relief_accuracy": _relief_accuracy(model, data),
    }


def _relief_accuracy(model: Qwen2ForCausalLM, data: Decisions) -> float:
    if not len(data.relief_ids):
        return math.nan
    with torch.no_grad():
        logits = decision_logits(
            model, data.relief_ids[:2000], data.relief_lines[:2000], w.RELIEF_QUESTION, w.NONE_ID
        )
    costs = np.concatenate([data.relief_cost[:2000], np.zeros((len(logits), 1), np.float32)], 1)
    return float(np.mean(logits.argmax(-1).numpy() == np.nanargmin(costs, 1)))
