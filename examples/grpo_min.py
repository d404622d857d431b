"""GRPO with TRL in one page, both ways: answers as text and as tool calls.

    python examples/grpo_min.py                      # a random two-layer model of its own: offline, CPU, a minute
    python examples/grpo_min.py --way tools
    python examples/grpo_min.py --model Qwen/Qwen2.5-0.5B-Instruct --city bengaluru --steps 200

Needs the `train` extra. The random model learns nothing: it shows that the pieces fit.
"""

from __future__ import annotations

import argparse
import json
import os
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import torch
import trl
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
from transformers.utils import get_json_schema
from trl import GRPOConfig, GRPOTrainer

from ev_grid_oracle.interfaces.trl_env import EVGridToolEnv
from ev_grid_oracle.interfaces.trl_rewards import TextRewards, as_dataset, build_rows

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def tiny_tokenizer(texts: list[str]) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer made of `texts`, with the chat template of Qwen3 that ships with TRL."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    core.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=1500, special_tokens=SPECIAL, initial_alphabet=alphabet)
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, eos_token="<|im_end|>", pad_token="<|endoftext|>", padding_side="left"
    )
    template = Path(trl.__file__).parent / "chat_templates" / "qwen3.jinja"
    tokenizer.chat_template = template.read_text()
    return tokenizer


def corpus(city: str, rows: list[dict[str, Any]]) -> list[str]:
    """What the tiny tokenizer is made of: prompts, a state as text, and the tools' descriptions."""
    env = EVGridToolEnv(city, 2)
    tools = [env.route_ev, env.defer_ev, env.shift_load, env.advance]
    words = [json.dumps(get_json_schema(tool)) for tool in tools]
    return [row["prompt"][0]["content"] for row in rows] + [env.reset(**rows[0])] + words


def tiny_model(vocabulary: int, kind: type[Qwen2ForCausalLM] = Qwen2ForCausalLM) -> Qwen2ForCausalLM:
    """Two layers, random weights."""
    torch.manual_seed(0)
    config = Qwen2Config(
        vocab_size=vocabulary, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=16384, eos_token_id=2, pad_token_id=0, bos_token_id=None,
    )  # fmt: skip
    return kind(config)


def trainer(
    way: str,
    city: str = "toy",
    model: str | None = None,
    steps: int = 5,
    out: str = "runs/grpo_min",
    kind: type[Qwen2ForCausalLM] = Qwen2ForCausalLM,
) -> GRPOTrainer:
    """A trainer ready to run.

    Args:
        way: "text": the completion is the six-line answer, judged by the reward functions; "tools": it calls
            the tools of `EVGridToolEnv`, which owns its reward.
        model: name of a model, None for the tiny one.
    """
    rows = build_rows(8, city=city, kind="tools" if way == "tools" else "text", style="compact")
    ways: dict[str, Any]
    if way == "tools":
        ways = {"environment_factory": partial(EVGridToolEnv, city, 2)}
    else:
        judge = TextRewards(city)
        ways = {"reward_funcs": [judge.format_reward, judge.env_reward, judge.prediction_reward]}
    tokenizer = None if model else tiny_tokenizer(corpus(city, rows))
    arguments = GRPOConfig(
        output_dir=out, max_steps=steps, per_device_train_batch_size=4, num_generations=4, max_completion_length=32,
        learning_rate=1e-4, logging_steps=1, use_cpu=not torch.cuda.is_available(), bf16=torch.cuda.is_available(),
        report_to="none", save_strategy="no", disable_tqdm=True, gradient_checkpointing=False, seed=7,
    )  # fmt: skip
    return GRPOTrainer(
        model=model or tiny_model(len(tokenizer), kind),  # type: ignore[arg-type]
        processing_class=tokenizer,
        args=arguments,
        train_dataset=as_dataset(rows),
        **ways,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--way", choices=("text", "tools"), default="text")
    parser.add_argument("--city", default="toy")
    parser.add_argument("--model")
    parser.add_argument("--steps", type=int, default=5)
    args = parser.parse_args()
    run = trainer(args.way, args.city, args.model, args.steps)
    run.train()
    for entry in run.state.log_history:
        if "reward" in entry:
            print({k: round(v, 4) for k, v in entry.items() if k.startswith("reward")})


if __name__ == "__main__":
    main()
