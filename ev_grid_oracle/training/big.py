"""`evgrid train --profile t4-qwen3b`: GRPO on LoRA adapters of Qwen2.5-3B-Instruct, and the same run dry.

    rows -> model + adapter -> GRPO with TRL -> adapter saved, loaded, asked -> merged into the 16-bit base, asked

Everything lands in one folder: ``logs/`` (TensorBoard), ``checkpoint-*/``, ``adapter/``, ``merged/``,
``samples.jsonl`` (answers as they were given) and ``report.json``.
"""

from __future__ import annotations

import gc
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.observe import LiveObservation
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.evaluation.provenance import provenance
from ev_grid_oracle.evaluation.writing import check_writable, to_json, write_atomic
from ev_grid_oracle.interfaces.openenv.tasks import split_seeds
from ev_grid_oracle.interfaces.trl_rows import Greedy, as_dataset, begin, build_rows
from ev_grid_oracle.schema.errors import MissingExtraError
from ev_grid_oracle.training.big_profile import DRY_RUN, T4_QWEN3B, BigProfile, grpo_arguments
from ev_grid_oracle.training.reporting import reporters

SCHEMA = "evgrid.train.big/1"
OUT = Path("ev_oracle_grpo_road")
"""Where the documents look for the logs."""
WATCH_TIMEOUT_S = 3600.0
"""A validation evening must be the model's, however slow: a fallback would be measured in its place."""


def run(
    dry_run: bool = False,
    *,
    out: Path = OUT,
    steps: int | None = None,
    seed: int = 1,
    resume: bool = False,
    model: str | None = None,
    merge: bool = True,
    report_to: str = "tensorboard",
    tell: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Train, save, check; returns what ``report.json`` holds.

    Args:
        dry_run: every part with a random shrunk model on the toy city: two steps, no GPU, no network.
        steps: optimizer steps, instead of the profile's.
        seed: of rows, weights and sampling.
        resume: go on from the last checkpoint in `out`.
        model: another base (folder or Hub id).
        merge: also write the merged model.
        report_to: one of `reporting.REPORTERS`.

    Raises:
        MissingExtraError: the `train` extra or the reporter is not installed.
        EVGridError: no GPU, no model, or what was made does not hold; the message says what to do.
    """
    profile = DRY_RUN if dry_run else T4_QWEN3B
    if steps is not None:
        profile = replace(profile, steps=steps)
    if model is not None:
        profile = replace(profile, model=model)
    check_writable(out / "report.json")
    _needs_train()
    logs = reporters(report_to)
    from ev_grid_oracle.training import big_adapter
    from ev_grid_oracle.training.big_model import UNSLOTH, check_machine, precision, trainable
    from ev_grid_oracle.training.big_watch import Watch

    begun = time.monotonic()
    check_machine(profile)
    city = load_city(profile.city)
    tell(f"rows: {profile.rows} moments of {len(profile.scenarios)} scenarios")
    rows = rows_of(profile, city, seed)
    out.mkdir(parents=True, exist_ok=True)
    made = trainable(profile, out, [row["prompt"][0]["content"] for row in rows], seed)
    tell(f"model: {profile.model} ({made.maker}, {precision()})")
    watch = Watch()
    trainer, rewards = _trainer(profile, made, rows, out, seed, city, watch, logs, tell)
    trainer.train(resume_from_checkpoint=_last_checkpoint(out) if resume else None)
    tell(f"trained: {trainer.state.global_step} steps, {time.monotonic() - begun:.0f} s so far")

    moments = moments_of(city, rows[: profile.check_prompts])
    base_name = profile.model
    if profile.model == "random":
        base_name = "../base"
    elif Path(profile.model).is_dir():
        base_name = str(made.base)
    trained = None
    if made.maker != UNSLOTH:
        trained = big_adapter.decisions(
            _engine(trainer.model, made.tokenizer), moments, profile.prompt_tokens
        )
    adapter = out / "adapter"
    big_adapter.save_adapter(trainer.model, made.tokenizer, adapter, base_name)
    _write_samples(rewards, out)
    history = [entry for entry in trainer.state.log_history if "reward" in entry]
    report: dict[str, Any] = {
        "schema": SCHEMA, "profile": asdict(profile), "maker": made.maker, "precision": precision(), "seed": seed,
        "steps": trainer.state.global_step, "stopped": watch.stopped, "watch": watch.composites, "history": history,
        "parameters_trained": sum(p.numel() for p in trainer.model.parameters() if p.requires_grad),
    }  # fmt: skip
    half = "bfloat16" if precision() == "bf16" else "float16"
    base = made.base
    del trainer, made
    _free()
    report["checks"] = _checks(profile, adapter, base, out, moments, trained, half, merge, tell)
    report["seconds"] = round(time.monotonic() - begun, 1)
    report["provenance"] = provenance(city)
    write_atomic(out / "report.json", to_json(report))
    tell(f"report: {out / 'report.json'}")
    return report


def _checks(
    profile: BigProfile,
    adapter: Path,
    base: Path,
    out: Path,
    moments: list[LiveObservation],
    trained: list[list[Any]] | None,
    half: str,
    merge: bool,
    tell: Callable[[str], None],
) -> dict[str, Any]:
    """Ask the saved adapter and the merged model what the trained one was asked."""
    from ev_grid_oracle.policies.llm.hub import ModelFiles
    from ev_grid_oracle.training import big_adapter
    from ev_grid_oracle.training.big_model import TrainingError

    checks: dict[str, Any] = {}
    if trained is not None:
        again = big_adapter.decisions(
            big_adapter._engine("adapter", ModelFiles(adapter, base), half), moments, profile.prompt_tokens
        )
        same = big_adapter.agreement(trained, again)
        tell(f"adapter: {same.equal} of {same.of} decisions as before it was saved")
        if profile.bits != 4 and same.share < 1.0:  # with 4 bits the base it is loaded on is another one
            raise TrainingError(
                f"The saved adapter decides like the trained model in {same.equal} of {same.of} cases."
            )
        checks["adapter"] = same.to_dict()
    if merge:
        merged = big_adapter.merge_adapter(adapter, base, out / "merged", half)
        found = big_adapter.check_merge(adapter, base, merged, moments, profile.prompt_tokens, half)
        tell(f"merged ({half}): {found.equal} of {found.of} decisions as base and adapter side by side")
        checks["merged"] = found.to_dict()
    return checks


def _trainer(
    profile: BigProfile,
    made: Any,
    rows: list[dict[str, Any]],
    out: Path,
    seed: int,
    city: CityPack,
    watch: Any,
    logs: list[str],
    tell: Callable[[str], None],
) -> tuple[Any, Any]:
    """TRL's trainer with rewards, logs and the watch."""
    import torch
    from torch.utils.tensorboard import SummaryWriter

    from ev_grid_oracle.policies.llm.policy import LLMPolicy
    from ev_grid_oracle.training.big_model import UNSLOTH, precision
    from ev_grid_oracle.training.big_rewards import BigRewards
    from ev_grid_oracle.training.big_watch import callback, composites, teller

    rewards = BigRewards(city)
    writer: Any = SummaryWriter(str(out / "logs")) if logs else None
    board: Any = import_module("transformers.integrations").TensorBoardCallback
    trl: Any = import_module("trl")
    trainer: Any = trl.GRPOTrainer(
        model=made.model,
        processing_class=made.tokenizer,
        args=trl.GRPOConfig(
            **grpo_arguments(profile, out, seed, torch.cuda.is_available(), precision(), logs)
        ),
        train_dataset=as_dataset(rows),
        reward_funcs=rewards.functions(),
        peft_config=made.peft_config,
        callbacks=[*([board(writer)] if logs else []), teller(tell)],
    )
    for printer in ("PrinterCallback", "ProgressCallback"):  # standard output belongs to --json
        trainer.remove_callback(getattr(import_module("transformers.trainer_callback"), printer))
    for weights in trainer.model.parameters():
        if (
            weights.requires_grad
        ):  # TRL makes those of a quantized base bfloat16: small steps would be lost in them,
            weights.data = weights.data.float()  # and the gradient scaler of fp16, a T4's type, refuses them
    seeds = split_seeds("validation")[: profile.watch_seeds]

    if made.maker == UNSLOTH:
        return trainer, rewards

    def measure() -> list[float]:
        training = trainer.model.training
        engine = _engine(trainer.model.eval(), made.tokenizer)
        found = composites(city, LLMPolicy(engine, WATCH_TIMEOUT_S), seeds, profile.watch_ticks)
        trainer.model.train(training)
        return found

    def log(step: int, value: float) -> None:
        if writer is not None:
            writer.add_scalar("watch/composite_car_minutes", value, step)

    trainer.add_callback(callback(watch, measure, profile.watch_every, log))
    return trainer, rewards


def _engine(model: Any, tokenizer: Any) -> Any:
    from ev_grid_oracle.policies.llm.local import LocalEngine

    return LocalEngine("in training", model, tokenizer)


def rows_of(profile: BigProfile, city: CityPack, seed: int) -> list[dict[str, Any]]:
    """The training set: every other row asks for the forecast block too, since a model plays without it."""
    half = profile.rows // 2
    seeds = [int(s) for s in np.random.SeedSequence(seed).generate_state(2)]
    parts = [
        build_rows(
            half,
            city=city,
            seed=s,
            scenarios=profile.scenarios,
            budget=profile.prompt_tokens,
            predict=predict,
        )
        for s, predict in zip(seeds, (True, False), strict=True)
    ]
    return [row for pair in zip(*parts, strict=True) for row in pair]


def moments_of(city: CityPack, rows: list[dict[str, Any]]) -> list[LiveObservation]:
    """The observations that rows name."""
    greedy = Greedy(packed(city))
    named = [{k: v for k, v in row.items() if k != "prompt"} for row in rows]
    return [begin(Session(city, record=False), greedy, row, None) for row in named]


def _last_checkpoint(out: Path) -> str | None:
    library: Any = import_module("transformers.trainer_utils")
    found: str | None = library.get_last_checkpoint(str(out))
    return found


def _write_samples(rewards: Any, out: Path) -> None:
    lines = [json.dumps({"reward": s.reward, "text": s.text}, ensure_ascii=False) for s in rewards.samples]
    write_atomic(out / "samples.jsonl", "\n".join(lines) + "\n")


def _free() -> None:
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def _needs_train() -> None:
    """The extra is there; Unsloth, where it is, wants to be imported before TRL."""
    os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")
    missing = [
        n
        for n in ("torch", "trl", "peft", "transformers", "datasets", "llguidance", "tensorboard")
        if not find_spec(n)
    ]
    if missing:
        raise MissingExtraError(
            f"Training needs the `train` extra ({', '.join(missing)} missing).",
            "Run: pip install 'openenv-ev-grid-oracle[train]'",
        )
    import torch

    if find_spec("unsloth") is not None and torch.cuda.is_available():
        import_module("unsloth")  # it patches TRL, so it comes first
