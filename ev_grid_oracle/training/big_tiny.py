"""Qwen2.5 shrunk, with random weights: every part of the big run on a laptop, offline.

The architecture is the real one (grouped-query attention, RMS norm, SwiGLU, rotary positions, biased q, k and v,
tied embeddings), the chat template is Qwen2.5's own (as TRL ships it), the vocabulary is a byte-level one made of
the prompts at hand. It knows nothing; it shows that the pieces fit. For a run that shall move it, `school` teaches
it in a second to say one of a few texts, each a token of its vocabulary: answers that are all refused are worth the
same, and a group of such answers has no gradient.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ev_grid_oracle.schema.errors import MissingExtraError

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
VOCABULARY = 1536
POSITIONS = 16384
MAX_READ = 4096


def tiny_tokenizer(texts: Iterable[str], size: int = VOCABULARY) -> Any:
    """A byte-level tokenizer made of `texts`, with Qwen2.5's chat template."""
    import trl
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())  # sorted: its order differs from run to run
    core.train_from_iterator(
        texts,
        trainers.BpeTrainer(
            vocab_size=size, special_tokens=list(SPECIAL), initial_alphabet=alphabet, show_progress=False
        ),
    )
    fast: Any = PreTrainedTokenizerFast
    tokenizer = fast(tokenizer_object=core, eos_token=SPECIAL[2], pad_token=SPECIAL[0], padding_side="left")
    template = Path(trl.__file__).parent / "chat_templates" / "qwen2_5.jinja"
    if not template.is_file():
        raise MissingExtraError(
            "This release of TRL has no chat template of Qwen2.5.",
            "Run: pip install --upgrade 'openenv-ev-grid-oracle[train]'",
        )
    tokenizer.chat_template = template.read_text(encoding="utf-8")
    return tokenizer


def tiny_model(vocabulary: int, seed: int = 0, width: int = 64, layers: int = 2) -> Any:
    """A random Qwen2 causal language model of about 0.2 M parameters; the same weights for the same seed."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        vocab_size=vocabulary, hidden_size=width, intermediate_size=2 * width, num_hidden_layers=layers,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=POSITIONS, tie_word_embeddings=True,
        eos_token_id=2, pad_token_id=0, bos_token_id=None,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Qwen2ForCausalLM(config)


def school(
    model: Any, tokenizer: Any, prompts: Sequence[Sequence[int]], texts: Sequence[str], steps: int = 24
) -> None:
    """Teach `model` to answer any of `prompts` (tokens) with one of `texts`, whichever; changes it in place.

    `texts` must be single tokens of the vocabulary (`tokenizer.add_tokens`). The first steps read the ends of the
    prompts only, which is faster.
    """
    import torch

    learner = torch.optim.AdamW(model.parameters(), lr=1e-2)
    model.train()
    for step in range(steps):
        prompt = list(prompts[step % len(prompts)])[-(100 if step < 2 * steps // 3 else MAX_READ) :]
        said = [*tokenizer.encode(texts[step % len(texts)]), tokenizer.eos_token_id]
        labels = torch.tensor([[-100] * len(prompt) + said])
        learner.zero_grad()
        model(input_ids=torch.tensor([prompt + said]), labels=labels).loss.backward()
        learner.step()
    model.eval()
