"""What the big run is made of, as numbers: Qwen2.5-3B-Instruct on one T4, and the same run shrunk for a laptop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ev_grid_oracle.training.reporting import PROJECT


@dataclass(frozen=True)
class BigProfile:
    """One run of GRPO on LoRA adapters of a large model.

    Attributes:
        model: Hub id or folder of the base, in 16-bit weights.
        bits: 4: the base is quantized while it is trained (QLoRA); 16: it is not.
        rows: moments in the training set, an even number; `scenarios` take turns.
        prompt_tokens: budget of a prompt, by `protocol.tokens.estimate_tokens`.
        answer_tokens: longest answer, the forecast block included.
        group: answers to one moment. groups: moments of one optimizer step.
        kl: weight of the divergence from the base (the adapter switched off is the reference).
        weights: of the rewards env, format, prediction: the last two a tenth of the first.
        rank, alpha, dropout, targets: of LoRA.
        check_prompts: moments on which saved adapter and merged model must answer alike.
        watch_every: steps between two plays of the validation evenings; watch_seeds of them, watch_ticks each.
    """

    name: str
    model: str
    bits: int
    city: str
    scenarios: tuple[str, ...]
    rows: int
    prompt_tokens: int
    answer_tokens: int
    group: int
    groups: int
    steps: int
    learning_rate: float
    kl: float
    weights: tuple[float, float, float]
    rank: int
    alpha: int
    dropout: float
    targets: tuple[str, ...]
    save_every: int
    check_prompts: int
    watch_every: int
    watch_seeds: int
    watch_ticks: int


ALL_SCENARIOS = (
    "baseline", "heatwave_peak", "festival_surge", "transformer_derate", "station_outage", "tariff_shock",
    "MonsoonStorm", "CricketFinal", "AirportRush", "SilkBoardJam", "WhitefieldNight",
)  # fmt: skip
LINEAR_LAYERS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")

T4_QWEN3B = BigProfile(
    name="t4-qwen3b", model="Qwen/Qwen2.5-3B-Instruct", bits=4, city="bengaluru", scenarios=ALL_SCENARIOS, rows=2048,
    prompt_tokens=1400, answer_tokens=640, group=8, groups=4, steps=300, learning_rate=5e-6, kl=0.01,
    weights=(1.0, 0.1, 0.1), rank=16, alpha=32, dropout=0.0, targets=LINEAR_LAYERS, save_every=25, check_prompts=16,
    watch_every=50, watch_seeds=4, watch_ticks=12,
)  # fmt: skip

DRY_RUN = replace(
    T4_QWEN3B, name="t4-qwen3b (dry run)", model="random", bits=16, city="toy", scenarios=("baseline", "station_outage"),
    rows=8, answer_tokens=48, group=4, groups=1, steps=2, learning_rate=2e-3, rank=4, alpha=8, save_every=1,
    check_prompts=6, watch_every=1, watch_seeds=2, watch_ticks=2,
)  # fmt: skip
"""Every object of the run, at a size for one core and no network. The learning rate is high so that two steps move
the adapter by more than rounding: what is saved, loaded and merged afterwards must be seen to differ from the base."""


def grpo_arguments(
    profile: BigProfile, out: Path, seed: int, gpu: bool, half: str, report_to: Sequence[str] = ()
) -> dict[str, Any]:
    """Keyword arguments of `trl.GRPOConfig`.

    `scale_rewards` off and ``dr_grpo``: a group's spread does not inflate its weight, and a group whose answers are
    all worth the same adds nothing. Answers are sampled freely, at temperature 1 without top-p or a grammar, so the
    log-probabilities of the loss are those of the distribution that was sampled; the grammar holds answers when the
    model plays, not while it learns.

    Args:
        half: "bf16" or "fp16", of a GPU.
        report_to: integrations of the trainer; `big` gives it a TensorBoard writer of its own, at a known place.
    """
    return {
        "output_dir": str(out),
        "max_steps": profile.steps,
        "per_device_train_batch_size": profile.group,
        "gradient_accumulation_steps": profile.groups,
        "num_generations": profile.group,
        "max_completion_length": profile.answer_tokens,
        "temperature": 1.0,
        "learning_rate": profile.learning_rate,
        "lr_scheduler_type": "constant_with_warmup",
        "warmup_steps": max(profile.steps // 20, 0),
        "max_grad_norm": 0.2,
        "beta": profile.kl,
        "loss_type": "dr_grpo",
        "scale_rewards": "none",
        "reward_weights": list(profile.weights),
        "gradient_checkpointing": gpu,
        "use_cpu": not gpu,
        "bf16": gpu and half == "bf16",
        "fp16": gpu and half == "fp16",
        "logging_steps": 1,
        "save_steps": profile.save_every,
        "save_total_limit": 2,
        "report_to": [name for name in report_to if name != "tensorboard"] or "none",
        "project": PROJECT,
        "run_name": profile.name,
        "disable_tqdm": True,
        "dataloader_pin_memory": gpu,
        "seed": seed,
    }
