"""From a name to a policy with a model behind it, and what `oracle` stands for here.

====================================  ==================================================================
name                                  policy
====================================  ==================================================================
``llm:<path or Hub id>``              a model or LoRA adapter on this machine; a folder with `model.onnx` is
                                      a small oracle, as `evgrid train` writes one
``openai:<base_url>#<model>``         a server of the OpenAI kind
``oracle``                            ``ORACLE_SKIP_LLM=1``: the baseline, source `skipped`; else
                                      ``ORACLE_LORA_REPO``; else the small model that is shipped, where
                                      its files and onnxruntime are there; else the planner
====================================  ==================================================================

Names come from people at a command line, who may name any model, and from requests to a server, which may only
name what its operator allows (`allowed_models`): a name is a download or a request to another machine.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from ev_grid_oracle.policies.base import Policy
from ev_grid_oracle.schema.errors import UnknownPolicyError

LORA_VARIABLE = "ORACLE_LORA_REPO"
SKIP_VARIABLE = "ORACLE_SKIP_LLM"
ALLOW_VARIABLE = "ORACLE_ALLOWED_MODELS"
LOCAL, SERVER = "llm:", "openai:"
SMALL_MODEL = Path(__file__).resolve().parent / "model" / "model.onnx"


def names_a_model(name: str) -> bool:
    """Whether `name` is of the kind ``llm:`` or ``openai:``."""
    return name.startswith((LOCAL, SERVER))


def allowed_models() -> tuple[str, ...]:
    """Names that a server's clients may ask for: patterns of ``ORACLE_ALLOWED_MODELS``, split by commas.

    ``*`` stands for any characters: ``llm:my-org/*,openai:http://127.0.0.1:8000/v1#*``. Empty: none.
    """
    return tuple(p for p in (t.strip() for t in os.environ.get(ALLOW_VARIABLE, "").split(",")) if p)


def model_policy(name: str, allow: Sequence[str] | None = None) -> Policy:
    """The policy of a name of the kind ``llm:`` or ``openai:``.

    Args:
        allow: patterns of the names that may be asked for; None: any (a person at a command line).

    Raises:
        UnknownPolicyError: the name is not allowed here.
        EVGridError: the model cannot be had; the message says why.
    """
    if allow is not None and not any(fnmatchcase(name, pattern) for pattern in allow):
        raise UnknownPolicyError(
            f"The model {name[:80]!r} may not be asked for here.",
            f"The operator allows names in {ALLOW_VARIABLE}.",
        )
    if name.startswith(LOCAL):
        return _local(name)
    from ev_grid_oracle.policies.llm.guard import timeout_s
    from ev_grid_oracle.policies.llm.openai import open_engine
    from ev_grid_oracle.policies.llm.policy import LLMPolicy

    return LLMPolicy(open_engine(name.removeprefix(SERVER)), timeout_s())


def _local(name: str) -> Policy:
    from ev_grid_oracle.policies.llm.guard import timeout_s
    from ev_grid_oracle.policies.llm.hub import locate

    named = name.removeprefix(LOCAL)
    folder = locate(named)
    if (folder / SMALL_MODEL.name).is_file():
        policy = import_module("ev_grid_oracle.policies.llm.small").SmallOracle(folder)
        policy.name = name
        return cast(Policy, policy)
    from ev_grid_oracle.policies.llm.local import load_engine
    from ev_grid_oracle.policies.llm.policy import LLMPolicy

    return LLMPolicy(load_engine(named, folder), timeout_s())


def oracle_policy() -> Policy:
    """What stands for the trained dispatcher here; its `name` and `source` say what acts."""
    if os.environ.get(SKIP_VARIABLE, "").strip() == "1":
        from ev_grid_oracle.policies.rules import Baseline

        return Baseline(source="skipped")
    named = os.environ.get(LORA_VARIABLE, "").strip()
    if named:
        return model_policy(f"{LOCAL}{named}")
    if has_small_model():
        return cast(Policy, import_module("ev_grid_oracle.policies.llm.small").make())
    return cast(Policy, import_module("ev_grid_oracle.policies.planner").make())


def has_small_model() -> bool:
    """The small model's files are here, and what runs them is installed."""
    return SMALL_MODEL.is_file() and all(find_spec(n) is not None for n in ("onnxruntime", "tokenizers"))
