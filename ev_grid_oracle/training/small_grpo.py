"""GRPO for the small oracle: TRL's GRPOTrainer and loss; sampling and log-probabilities restricted to legal answers.

A completion is the decision token. It is drawn from the softmax over the answers that are legal in its question (lines,
``defer``, ``none``), and the loss takes its log-probability from the same softmax over the same set, read from the
prompt's own tokens: sampling and gradient see one distribution, so the gradient is on-policy and no probability is
wasted on answers that cannot be given.

Reward of an answer: minus its marginal cost on K sampled futures that the group of 8 shares, station-local with the
feeder's part, in units of 30 car-minutes, centred in the group (TRL subtracts the group's mean; `scale_rewards` off,
`loss_type` dr_grpo). Groups whose answers agree have advantage 0 and give no gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from transformers import PreTrainedTokenizerFast, Qwen2ForCausalLM
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from ev_grid_oracle.policies.llm import small_words as w
from ev_grid_oracle.training.reporting import PROJECT
from ev_grid_oracle.training.small_data import Decisions
from ev_grid_oracle.training.small_export import tokenizer_json
from ev_grid_oracle.training.small_rehearsal import Rehearsal

GROUP = 8
UNIT_MIN = 30.0
REHEARSAL_WEIGHT = 0.3
MOST_ABOVE_MIN = 60.0
"""An answer counts at most this much worse than the best one: a few ruinous caps would drown every other signal."""
ILLEGAL = -0.1
"""Reward part of an answer that is not legal; it never happens, and is counted."""
LEAST_PATIENCE, FLEXIBLE = 10, 3
ANSWERS = (*range(w.POINTER, w.POINTER + w.MOST_LINES), w.DEFER_ID, w.NONE_ID)
"""Tokens that may answer, in the order of the masks below."""
_PLACE = {token: k for k, token in enumerate(ANSWERS)}


def legal(ids: torch.Tensor, length: torch.Tensor) -> torch.Tensor:
    """(B, 10) which of `ANSWERS` a question allows, from its tokens (B, T), ``?`` at `length` - 1."""
    relief = ids[:, 0] == w.RELIEF_QUESTION.opening
    heads = torch.where(relief, w.RELIEF_QUESTION.head_words, w.CAR.head_words)
    widths = torch.where(relief, w.RELIEF_QUESTION.line_words, w.CAR.line_words)
    lines = (length - 1 - heads) // widths
    pointers = torch.arange(w.MOST_LINES)[None, :] < lines[:, None]
    patience = ids[:, 2] - w.FIRST["p"]
    kind = ids[:, 3] - w.FIRST["k"]
    defer = ~relief & (patience >= LEAST_PATIENCE) & (kind == FLEXIBLE)
    return torch.cat([pointers, defer[:, None], relief[:, None]], 1)


def answer_log_odds(model: Any, ids: torch.Tensor, length: torch.Tensor) -> torch.Tensor:
    """(B, 10) log-probabilities over the legal answers of questions (B, T), padded behind."""
    body = model.model(input_ids=ids, use_cache=False).last_hidden_state
    h = body[torch.arange(len(ids)), length - 1]
    logits = h @ model.lm_head.weight[list(ANSWERS)].T
    return torch.log_softmax(logits.masked_fill(~legal(ids, length), -1e9), -1)


def tokenizer() -> Any:
    """The vocabulary in the form that TRL asks for."""
    from tokenizers import Tokenizer

    made: Any = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(tokenizer_json()), pad_token=w.PAD
    )
    made.eos_token = w.PAD
    made.padding_side = "left"
    return made


def rows_of(
    data: Decisions, reliefs: int
) -> tuple[list[str], np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Prompts, (N, 10) costs in the order of `ANSWERS` (nan: not legal), (N,) scenario (-1: a feeder), (N,) REASON.

    Flexible cars are left to the warm start: a deferral's cost assumes that the later answer is the best one, so a
    learner would rather put a car off than risk a wrong line, which is good for the reward and bad for the city.
    """
    texts, costs = [], []
    asked = data.car_ids[:, 3] - w.FIRST["k"] != FLEXIBLE
    for ids, lines, cost in zip(
        data.car_ids[asked], data.car_lines[asked], data.car_cost[asked], strict=True
    ):
        texts.append(w.spell(ids[: w.CAR.length(int(lines))]))
        costs.append([*cost[: w.MOST_LINES].tolist(), np.nan, np.nan])
    for ids, lines, cost in zip(data.relief_ids[:reliefs], data.relief_lines, data.relief_cost, strict=False):
        texts.append(w.spell(ids[: w.RELIEF_QUESTION.length(int(lines))]))
        costs.append([*cost.tolist(), np.nan, 0.0])
    feeders = np.full(len(texts) - int(asked.sum()), -1)
    why = np.concatenate([data.car_why[asked], np.full(len(feeders), len(w.REASONS) - 1)])
    return texts, np.array(costs, np.float64), np.concatenate([data.car_scenario[asked], feeders]), why


def marginal_cost(
    completion_ids: Sequence[Sequence[int]], cost: Sequence[Sequence[float]], **_: Any
) -> list[float | None]:
    """Minus what each answer costs everybody, units of 30 car-minutes."""
    out: list[float | None] = []
    for ids, costs in zip(completion_ids, cost, strict=True):
        place = _PLACE.get(int(ids[0]), -1)
        value = float(costs[place]) if place >= 0 and costs[place] is not None else np.nan
        known = [float(c) for c in costs if c is not None and np.isfinite(c)]
        least = min(known)
        above = (value if np.isfinite(value) else max(known)) - least
        out.append(-(least + min(above, MOST_ABOVE_MIN)) / UNIT_MIN)
    return out


def legal_format(
    completion_ids: Sequence[Sequence[int]], cost: Sequence[Sequence[float]], **_: Any
) -> list[float | None]:
    """0 for an answer that is legal; the grammar of the question allows no other."""
    out: list[float | None] = []
    for ids, costs in zip(completion_ids, cost, strict=True):
        place = _PLACE.get(int(ids[0]), -1)
        good = place >= 0 and costs[place] is not None and np.isfinite(float(costs[place]))
        out.append(0.0 if good else ILLEGAL)
    return out


def config(folder: Path, steps: int, seed: int, groups: int = 32, rate: float = 3e-4, beta: float = 0.0,
           scale_rewards: bool = False, save: int = 50, report_to: Sequence[str] = ("tensorboard",)) -> GRPOConfig:  # fmt: skip
    """Settings of a run of `steps` steps of `groups` groups of eight."""
    return GRPOConfig(
        output_dir=str(folder), max_steps=steps, seed=seed, data_seed=seed, num_generations=GROUP,
        per_device_train_batch_size=groups * GROUP, gradient_accumulation_steps=1, steps_per_generation=1,
        max_completion_length=1, learning_rate=rate, lr_scheduler_type="linear", warmup_steps=5, weight_decay=0.0,
        max_grad_norm=1.0, beta=beta, loss_type="dr_grpo", scale_rewards="group" if scale_rewards else "none",
        logging_steps=5 if steps >= 20 else 1, save_steps=save, save_total_limit=3, report_to=list(report_to) or "none", project=PROJECT, run_name=folder.name, use_cpu=True, bf16=False,
        shuffle_dataset=False, dataloader_num_workers=0, gradient_checkpointing=False, disable_dropout=True,
        remove_unused_columns=False, disable_tqdm=True, log_completions=False, temperature=1.0,
    )  # fmt: skip


class SmallGRPO(GRPOTrainer):
    """TRL's trainer with this model's way to sample and to weigh an answer; loss and advantages are TRL's.

    Equal prompts of a batch share one pass of the network: a group of eight costs as much as one question.
    """

    def __init__(
        self,
        model: Qwen2ForCausalLM,
        data: Dataset,
        args: GRPOConfig,
        rehearsal: Rehearsal | None = None,
        **more: Any,
    ) -> None:
        self.rehearsal = rehearsal
        self.words: Any = tokenizer()
        model.model.embed_tokens.weight.requires_grad_(False)  # rare words would only collect noise
        super().__init__(
            model=model, args=args, train_dataset=data, processing_class=self.words,
            reward_funcs=[marginal_cost, legal_format], rollout_func=self._sample, **more,
        )  # fmt: skip

    def _sample(self, prompts: list[str], trainer: Any) -> dict[str, Any]:
        """One answer for each prompt, drawn from the legal ones."""
        tokens = [self.words(p)["input_ids"] for p in prompts]
        rows, index = _unique(tokens)
        ids, length = _right_padded(rows)
        model = self.accelerator.unwrap_model(self.model)
        with torch.no_grad():
            odds = answer_log_odds(model, ids, length)[index]
        place = torch.multinomial(odds.exp(), 1)[:, 0]
        logps = odds.gather(1, place[:, None])
        mode = "train" if model.training else "eval"
        cars = torch.tensor([t[0] == w.CAR.opening for t in tokens])
        shares = {
            "defer": (place == w.MOST_LINES) & cars,
            "first_line": (place == 0) & cars,
            "cap": (place < w.MOST_LINES) & ~cars,
        }
        for name, found in shares.items():
            base = cars if name != "cap" else ~cars
            if bool(base.any()):
                self._metrics[mode][f"actions/{name}"].append(float(found.sum() / base.sum()))
        self._metrics[mode]["invalid_rate"].append(
            float((~torch.isfinite(logps) | (logps < -50.0)).float().mean())
        )
        answers = [[ANSWERS[int(k)]] for k in place]
        return {"prompt_ids": tokens, "completion_ids": answers, "logprobs": logps.tolist()}

    def _compute_loss(self, model: Any, inputs: Any) -> torch.Tensor:
        """TRL's loss, and a rehearsal of what is not asked here."""
        loss: torch.Tensor = super()._compute_loss(model, inputs)
        if self.rehearsal is not None and model.training:
            more = self.rehearsal.loss(self.state.global_step)
            self._metrics["train"]["rehearsal"].append(float(more.detach()))
            loss = loss + REHEARSAL_WEIGHT * more
        return loss

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: torch.Tensor, attention_mask: torch.Tensor, logits_to_keep: int,
        batch_size: int | None = None, compute_entropy: bool = False, compute_aux_loss: bool = False, **_: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None, None]:  # fmt: skip
        """Log-probability (B, 1) of each answer among the legal ones, and the entropy over them."""
        prompts = [
            row[mask.bool()].tolist()
            for row, mask in zip(input_ids[:, :-1], attention_mask[:, :-1], strict=True)
        ]
        rows, index = _unique(prompts)
        ids, length = _right_padded(rows)
        odds = answer_log_odds(self.accelerator.unwrap_model(model), ids, length)[index]
        place = torch.tensor([_PLACE.get(int(t), 0) for t in input_ids[:, -1]])
        entropy = -(odds.exp() * odds.clamp(min=-50.0)).sum(-1, keepdim=True) if compute_entropy else None
        return odds.gather(1, place[:, None]), entropy, None


def _unique(rows: Sequence[Sequence[int]]) -> tuple[list[list[int]], torch.Tensor]:
    """Different rows in order of appearance, and which of them each row is."""
    seen: dict[tuple[int, ...], int] = {}
    index = [seen.setdefault(tuple(row), len(seen)) for row in rows]
    return [list(row) for row in seen], torch.tensor(index)


def _right_padded(rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """(B, T) tokens with zeros behind, (B,) lengths."""
    length = torch.tensor([len(row) for row in rows])
    ids = torch.zeros(len(rows), int(length.max()), dtype=torch.int64)
    for k, row in enumerate(rows):
        ids[k, : len(row)] = torch.tensor(row)
    return ids, length
