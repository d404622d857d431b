"""A model on this machine: transformers, LoRA adapters by peft, answers held to the grammar.

Everything is loaded from safetensors and no code of a repository is run (see `hub`). One engine is kept for
each model and shared by all policies that use it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from ev_grid_oracle.policies.llm.grammar import answer_grammar
from ev_grid_oracle.policies.llm.guard import ModelError
from ev_grid_oracle.policies.llm.hub import ModelFiles, files_in, hash_of
from ev_grid_oracle.policies.llm.policy import Ask, Reply
from ev_grid_oracle.schema.errors import MissingExtraError

BATCH = 8
MOST_CONTEXT = 8192
"""Tokens; longer windows than a prompt needs only cost memory."""
_SPELLING = "EV_ID: EV-0001\nACTION: route\nDEFER_MINUTES: 0\n"


class LocalEngine:
    """A causal language model of transformers.

    Args:
        name: as on the command line.
        model: in evaluation mode.
        tokenizer: a fast one, with a chat template or without.
        model_hash: of its files.
    """

    def __init__(
        self, name: str, model: Any, tokenizer: Any, model_hash: str | None = None, batch: int = BATCH
    ) -> None:
        from llguidance.hf import from_tokenizer

        self.name, self.model_hash, self.batch = name, model_hash, batch
        self.model, self.tokenizer = model, tokenizer
        window = int(getattr(model.config, "max_position_embeddings", 0) or MOST_CONTEXT)
        self.context = min(window, MOST_CONTEXT) - self._frame_tokens()
        stops = getattr(model.generation_config, "eos_token_id", None)
        listed = stops if isinstance(stops, list) else [stops]
        self._eos = sorted({int(t) for t in [*listed, tokenizer.eos_token_id] if t is not None})
        if not self._eos:
            raise ModelError(f"{name!r} has no token that ends a text.", "Set eos_token in its tokenizer.")
        if tokenizer.decode(tokenizer.encode(_SPELLING, add_special_tokens=False)) != _SPELLING:
            raise ModelError(
                f"{name!r} has a vocabulary that cannot spell the answer's lines.", "Take another one."
            )
        self._pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else self._eos[0]
        rows = int(model.get_input_embeddings().weight.shape[0])
        self._vocabulary = from_tokenizer(tokenizer, n_vocab=max(rows, len(tokenizer)), eos_token=self._eos)
        self._lock = threading.Lock()
        self.chosen, self.written = 0, 0  # tokens the model chose, and all tokens of its answers

    def _frame_tokens(self) -> int:
        """Tokens that the chat template puts around a prompt."""
        return len(self.tokens("x"))

    def count(self, text: str) -> int:
        """Tokens of a text."""
        return len(self.tokenizer.encode(text, add_special_tokens=False))

    def tokens(self, prompt: str) -> list[int]:
        """A prompt as the model reads it: a user's turn, and the beginning of the answer."""
        if self.tokenizer.chat_template is None:
            return list(self.tokenizer.encode(prompt))
        turn = [{"role": "user", "content": prompt}]
        text = self.tokenizer.apply_chat_template(
            turn, tokenize=False, add_generation_prompt=True, enable_thinking=False
        )
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def replies(self, asks: Sequence[Ask], deadline: float) -> list[Reply]:
        """See `policy.Engine`."""
        from ev_grid_oracle.policies.llm.local_decode import decode

        prompts = [self.tokens(ask.prompt) for ask in asks]
        grammars = [answer_grammar(ask.choices) for ask in asks]
        with self._lock:  # one model, many policies: their batches wait for each other
            found = decode(
                self.model,
                self._vocabulary,
                prompts,
                grammars,
                pad=self._pad,
                eos=self._eos,
                deadline=deadline,
            )
        self.chosen += sum(d.chosen for d in found)
        self.written += sum(len(d.tokens) for d in found)
        return [Reply(self.tokenizer.decode(d.tokens)) for d in found]


def load_engine(name: str, folder: Path) -> LocalEngine:
    """The engine of the model or adapter in `folder`, loaded once; `name` is what it was called.

    Raises:
        MissingExtraError: the `train` extra is not installed.
        ModelError: no such model, or it cannot be loaded.
    """
    try:
        import llguidance
        import peft
        import torch
        import transformers
    except ImportError as missing:
        raise MissingExtraError(
            "Language models need the `train` extra.", "Run: pip install 'openenv-ev-grid-oracle[train]'"
        ) from missing
    del llguidance, peft, torch, transformers
    files = files_in(folder, name)
    return _loaded(name, files, _stamp(files))


def _stamp(files: ModelFiles) -> tuple[tuple[str, int, int], ...]:
    """What changes when a model is trained again in the same place."""
    folders = (files.folder,) if files.base is None else (files.folder, files.base)
    stats = [(str(p), p.stat()) for folder in folders for p in sorted(folder.iterdir()) if p.is_file()]
    return tuple((name, s.st_size, s.st_mtime_ns) for name, s in stats)


@lru_cache(maxsize=2)
def _loaded(name: str, files: ModelFiles, _stamp: tuple[tuple[str, int, int], ...]) -> LocalEngine:
    try:
        model, tokenizer = read_model(files)
    except ModelError:
        raise
    except Exception as fault:  # a broken file ends in many kinds of errors of several libraries
        text = " ".join(f"{type(fault).__name__}: {fault}".split())[:200]
        raise ModelError(f"{name[:80]!r} cannot be loaded: {text}") from fault
    return LocalEngine(f"llm:{name}", model, tokenizer, hash_of(files))


def read_model(files: ModelFiles, dtype: Any = None) -> tuple[Any, Any]:
    """(model in evaluation mode, tokenizer) of `files`; safetensors only, no code of the repository.

    Args:
        dtype: of the weights (torch); None: as saved on a GPU, float32 on a CPU, which is faster there.
    """
    import torch
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    gpu = torch.cuda.is_available()
    kind = dtype or ("auto" if gpu else torch.float32)
    home = files.folder if files.base is None else files.base
    safe: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
    model: Any = AutoModelForCausalLM.from_pretrained(home, use_safetensors=True, dtype=kind, **safe)
    if files.base is not None:  # its weights are adapter_model.safetensors: `find_model` has looked
        model = PeftModel.from_pretrained(model, str(files.folder), local_files_only=True)
    words = files.folder if (files.folder / "tokenizer.json").is_file() else home
    tokenizer: Any = AutoTokenizer.from_pretrained(words, **safe)
    if not getattr(tokenizer, "is_fast", False):
        raise ModelError("The model has no fast tokenizer.", "Save it with a tokenizer.json.")
    return model.to("cuda" if gpu else "cpu").eval(), tokenizer
