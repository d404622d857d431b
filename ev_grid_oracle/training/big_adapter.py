"""After training: the adapter is saved, loaded again and asked; the merge goes through a 16-bit base and is asked too.

A LoRA adapter trained on a 4-bit base must not be merged into those 4 bits: the sum is rounded to 16 levels and
the adapter is mostly lost. Here the adapter is put on the base's own 16-bit weights and added there; what comes out
must decide as base and adapter side by side do, or it is thrown away.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ev_grid_oracle.episode.observe import LiveObservation
from ev_grid_oracle.policies.llm.grammar import choices_of
from ev_grid_oracle.policies.llm.hub import ADAPTER, ModelFiles
from ev_grid_oracle.policies.llm.local import LocalEngine, read_model
from ev_grid_oracle.policies.llm.policy import Ask
from ev_grid_oracle.protocol import build_prompt, parse_action
from ev_grid_oracle.training.big_model import TrainingError, name_base

MIN_EQUAL = 0.95
"""Share of decisions that a merged model must have in common with base and adapter side by side."""
Decision = tuple[int, str | None, int, int]  # kind, station, rate, minutes


@dataclass(frozen=True)
class Agreement:
    """How two models decided on the same moments."""

    equal: int
    of: int

    @property
    def share(self) -> float:
        return self.equal / self.of if self.of else 1.0

    def to_dict(self) -> dict[str, object]:
        return {**asdict(self), "share": self.share}


def decisions(engine: LocalEngine, moments: Sequence[LiveObservation], budget: int) -> list[list[Decision]]:
    """What the model decides at each moment, by its likeliest tokens within the grammar."""
    found: list[list[Decision]] = []
    asks = [Ask(build_prompt(obs, budget=budget), choices_of(obs)) for obs in moments]
    for start in range(0, len(asks), engine.batch):
        part = asks[start : start + engine.batch]
        for obs, reply in zip(moments[start:], engine.replies(part, float("inf")), strict=False):
            verdict = parse_action(reply.text, obs)
            if not verdict.ok:
                raise TrainingError(f"An answer within the grammar was refused: {verdict.errors[0].message}")
            found.append([(int(a.kind), a.station_id, int(a.rate), a.defer_minutes) for a in verdict.actions])
    return found


def agreement(ours: Sequence[Sequence[Decision]], theirs: Sequence[Sequence[Decision]]) -> Agreement:
    """Car by car."""
    pairs = [(a, b) for x, y in zip(ours, theirs, strict=True) for a, b in zip(x, y, strict=True)]
    return Agreement(sum(a == b for a, b in pairs), len(pairs))


def save_adapter(model: Any, tokenizer: Any, folder: Path, base: str) -> None:
    """The adapter and its vocabulary as files; what lies there is read back and compared with what was trained.

    Raises:
        TrainingError: the model has no adapter, or the file does not hold what the model does.
    """
    import torch
    from peft import get_peft_model_state_dict
    from safetensors.torch import load_file

    if not hasattr(model, "peft_config"):
        raise TrainingError("The model has no adapter.", "Train one with LoRA.")
    # TRL may keep a second, frozen adapter as its reference
    model.save_pretrained(folder, safe_serialization=True, selected_adapters=["default"])
    tokenizer.save_pretrained(folder)
    name_base(folder, base)
    kept = load_file(folder / "adapter_model.safetensors")
    trained = {k: v.detach().cpu() for k, v in get_peft_model_state_dict(model).items()}
    wrong = [k for k, v in trained.items() if k not in kept or not torch.equal(kept[k], v.to(kept[k].dtype))]
    if wrong or len(kept) != len(trained):
        raise TrainingError(
            f"The saved adapter is not the trained one: {', '.join(wrong[:3]) or 'more tensors'}."
        )


def merge_adapter(adapter: Path, base: Path, out: Path, half: str = "float16") -> Path:
    """Base and adapter as one model in 16 bits.

    Args:
        base: folder of 16-bit (or wider) weights; a quantized base is refused.
        half: "float16" or "bfloat16".

    Raises:
        TrainingError: the base is quantized, or `adapter` is no adapter.
    """
    import torch
    from transformers import AutoConfig

    if not (adapter / ADAPTER).is_file():
        raise TrainingError(f"{str(adapter)!r} is no adapter.", "Give the folder that the training saved.")
    config = AutoConfig.from_pretrained(base, local_files_only=True)
    if getattr(config, "quantization_config", None) is not None:
        raise TrainingError(
            f"The base {base.name!r} is quantized: a merge would round the adapter away.",
            "Merge into the 16-bit weights of the same model.",
        )
    kind = getattr(torch, half)
    model, tokenizer = read_model(ModelFiles(adapter, base), dtype=kind)
    if getattr(model.get_base_model(), "is_quantized", False):
        raise TrainingError("The base was loaded quantized.", "Load it in 16 bits.")
    merged = model.merge_and_unload(safe_merge=True)
    beside = out.with_name(f".{out.name}.part")
    shutil.rmtree(beside, ignore_errors=True)
    merged.save_pretrained(beside, safe_serialization=True)
    tokenizer.save_pretrained(beside)
    shutil.rmtree(out, ignore_errors=True)
    beside.rename(out)
    return out


def check_merge(
    adapter: Path, base: Path, merged: Path, moments: Sequence[LiveObservation], budget: int, half: str
) -> Agreement:
    """Compare a merged model with base and adapter side by side; a model that decides otherwise is removed.

    Raises:
        TrainingError: fewer than `MIN_EQUAL` of the decisions are equal.
    """
    apart = decisions(_engine("adapter", ModelFiles(adapter, base), half), moments, budget)
    whole = decisions(_engine("merged", ModelFiles(merged), half), moments, budget)
    found = agreement(apart, whole)
    if found.share < MIN_EQUAL:
        shutil.rmtree(merged, ignore_errors=True)
        raise TrainingError(
            f"The merged model decides like base and adapter in {found.equal} of {found.of} cases; it was removed.",
            "Use the adapter itself (llm:<folder>).",
        )
    return found


def _engine(name: str, files: ModelFiles, half: str) -> LocalEngine:
    """An engine in the type that this machine computes in: 16 bits on a GPU, float32 on a CPU."""
    import torch

    kind = getattr(torch, half) if torch.cuda.is_available() else torch.float32
    model, tokenizer = read_model(files, dtype=kind)
    return LocalEngine(name, model, tokenizer)
