"""The model that is trained: Unsloth's where it can be had, transformers and PEFT otherwise, a random one dry."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ev_grid_oracle.policies.llm.hub import find_model
from ev_grid_oracle.schema.errors import EVGridError, MissingExtraError
from ev_grid_oracle.training.big_profile import BigProfile
from ev_grid_oracle.training.big_tiny import school, tiny_model, tiny_tokenizer

UNSLOTH = "unsloth"
"""Its kernels take the place of the model's forward pass: the watch, which decodes by itself, is off with it."""
DRY_ANSWERS = tuple(
    f"ACTION: load_shift\nSTATION: NONE\nCHARGE_RATE: {rate}\nDEFER_MINUTES: {minutes}\nREASON: relief\nCONFIDENCE: 0.5"
    for rate in ("slow", "fast", "ultra_fast")
    for minutes in (5, 60, 240)
)


class TrainingError(EVGridError):
    """A run cannot start, or what it made does not hold."""

    code = "E_OPTION"


@dataclass(frozen=True)
class Trainable:
    """A model for `GRPOTrainer`.

    Attributes:
        base: folder of the 16-bit base, for loading the adapter again and for the merge.
        peft_config: what the trainer adds; None where the model carries its adapter already (Unsloth).
        maker: "unsloth", "peft" or "random + peft", for the report.
    """

    model: Any
    tokenizer: Any
    base: Path
    peft_config: Any | None
    maker: str


def precision() -> str:
    """ "bf16" or "fp16", whichever the GPU does natively (a T4: fp16); "fp32" without a GPU."""
    import torch

    if not torch.cuda.is_available():
        return "fp32"
    return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16"


def check_machine(profile: BigProfile) -> None:
    """Before anything that takes time: can this machine train the profile?

    Raises:
        TrainingError: a quantized base without a GPU.
        MissingExtraError: a quantized base without Unsloth and bitsandbytes.
    """
    if profile.bits != 4:
        return
    if precision() == "fp32":
        raise TrainingError(
            f"{profile.model} needs a GPU.",
            "Add --dry-run to see every part work here, or use the notebook on Colab.",
        )
    if find_spec(UNSLOTH) is None and find_spec("bitsandbytes") is None:
        raise MissingExtraError("QLoRA needs bitsandbytes.", "Run: pip install bitsandbytes")


def trainable(profile: BigProfile, out: Path, texts: Sequence[str], seed: int) -> Trainable:
    """Model, tokenizer and LoRA settings of a profile.

    Args:
        texts: prompts, of which a random model's vocabulary is made.

    Raises:
        EVGridError: as `check_machine` says, or there is no such model.
    """
    from peft import LoraConfig

    check_machine(profile)

    lora = LoraConfig(
        r=profile.rank, lora_alpha=profile.alpha, lora_dropout=profile.dropout, target_modules=list(profile.targets),
        bias="none", task_type="CAUSAL_LM",
    )  # fmt: skip
    if profile.model == "random":
        base = random_base(out / "base", texts, seed)
        model, tokenizer = _plain(base)
        return Trainable(model, tokenizer, base, lora, "random + peft")
    base = find_model(profile.model).folder
    if find_spec(UNSLOTH) is not None and precision() != "fp32":
        return _unsloth(profile, base, seed)
    model, tokenizer = _quantized(base) if profile.bits == 4 else _plain(base)
    return Trainable(model, tokenizer, base, lora, "peft")


def random_base(folder: Path, texts: Sequence[str], seed: int) -> Path:
    """A random shrunk Qwen2.5 in 16-bit weights, as files; kept where it is there already (a resumed run).

    It is taught to give one of `DRY_ANSWERS`, which are legal for the first car at any moment and worth different
    things, so that two steps of GRPO have something to learn from.
    """
    if (folder / "model.safetensors").is_file():
        return folder
    import torch

    tokenizer = tiny_tokenizer(texts)
    tokenizer.add_tokens(list(DRY_ANSWERS))
    model = tiny_model(len(tokenizer), seed)
    turns = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": t}], tokenize=False, add_generation_prompt=True
        )
        for t in texts
    ]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        school(model, tokenizer, [tokenizer.encode(t) for t in turns], DRY_ANSWERS, steps=48)
    model = model.to(torch.float16)
    model.config.dtype = torch.float16
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _plain(base: Path) -> tuple[Any, Any]:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    kinds = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
    model: Any = AutoModelForCausalLM.from_pretrained(
        base, use_safetensors=True, dtype=kinds[precision()], local_files_only=True
    )
    tokenizer: Any = AutoTokenizer.from_pretrained(base, local_files_only=True, padding_side="left")
    return model, tokenizer


def _quantized(base: Path) -> tuple[Any, Any]:
    """The base in 4 bits (NF4, nested); TRL makes it ready to carry a gradient to the adapter."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig

    half = torch.bfloat16 if precision() == "bf16" else torch.float16
    four: Any = BitsAndBytesConfig
    model: Any = AutoModelForCausalLM.from_pretrained(
        base, use_safetensors=True, dtype=half, local_files_only=True, device_map={"": 0},
        quantization_config=four(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=half
        ),
    )  # fmt: skip
    tokenizer: Any = AutoTokenizer.from_pretrained(base, local_files_only=True, padding_side="left")
    return model, tokenizer


def _unsloth(profile: BigProfile, base: Path, seed: int) -> Trainable:
    maker: Any = import_module(UNSLOTH).FastLanguageModel
    model, tokenizer = maker.from_pretrained(
        model_name=str(base), max_seq_length=2 * profile.prompt_tokens + profile.answer_tokens,
        load_in_4bit=profile.bits == 4, dtype=None,
    )  # fmt: skip
    model = maker.get_peft_model(
        model, r=profile.rank, lora_alpha=profile.alpha, lora_dropout=profile.dropout,
        target_modules=list(profile.targets), bias="none", use_gradient_checkpointing="unsloth", random_state=seed,
    )  # fmt: skip
    return Trainable(model, tokenizer, base, None, UNSLOTH)


def name_base(adapter: Path, base: str) -> None:
    """Write which model an adapter is for; trainers note the copy they loaded, which may be quantized or a cache."""
    path = adapter / "adapter_config.json"
    facts = json.loads(path.read_text(encoding="utf-8"))
    facts["base_model_name_or_path"] = base
    path.write_text(json.dumps(facts, indent=2, sort_keys=True) + "\n", encoding="utf-8")
