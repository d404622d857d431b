"""Where a model's files are: a local folder, or a repository of the Hugging Face Hub, fetched safely.

- Weights are safetensors; pickled ones (``.bin``, ``.pt``) can run code when they are read and are refused.
- Code of a repository is never run.
- A repository that does not exist, or a Hub that cannot be reached, is an error within `PROBE_S` seconds.
- Without a network, what a former run has fetched is used.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ev_grid_oracle.policies.llm.guard import LateError, ModelError, within
from ev_grid_oracle.schema.errors import MissingExtraError

PROBE_S = 8.0
_HUB_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}(?:/[A-Za-z0-9][A-Za-z0-9._-]{0,95})?", re.ASCII)
_FILES = ("*.json", "*.safetensors", "*.onnx", "*.txt", "*.model", "*.jinja")
_PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
ADAPTER = "adapter_config.json"


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model on this machine.

    Attributes:
        folder: its files.
        base: of the model that an adapter is for; None where `folder` holds a whole model.
    """

    folder: Path
    base: Path | None = None


def find_model(name: str) -> ModelFiles:
    """The files of a local folder or of a Hub repository; of an adapter, those of its base too.

    Raises:
        ModelError: it does not exist, cannot be reached, or holds no safetensors.
    """
    return files_in(locate(name), name)


def files_in(folder: Path, name: str) -> ModelFiles:
    """What `folder` holds: a whole model, or an adapter and where its base is. `name` is for messages."""
    config = folder / ADAPTER
    if not config.is_file():
        _check(folder, name, "model", "config.json")
        return ModelFiles(folder)
    _check(folder, name, "adapter_model", ADAPTER)
    facts = _read(config)
    if facts.get("peft_type") != "LORA":
        raise ModelError(
            f"{name!r} is an adapter of type {str(facts.get('peft_type'))[:20]!r}.", "LoRA adapters are read."
        )
    base = facts.get("base_model_name_or_path")
    if not isinstance(base, str) or not base:
        raise ModelError(f"{name!r} does not say which model it adapts.", f"Name it in {ADAPTER}.")
    home = locate(base if not base.startswith(".") else str(folder / base))
    if (home / ADAPTER).is_file():
        raise ModelError(f"The base {base!r} of {name!r} is an adapter itself.", "Merge it first.")
    _check(home, base, "model", "config.json")
    return ModelFiles(folder, home)


def hash_of(files: ModelFiles) -> str:
    """SHA-256 over names and bytes of weights, settings and vocabulary, of the base too."""
    total = hashlib.sha256()
    for folder in (files.folder, files.base):
        if folder is None:
            continue
        for path in sorted(
            p for p in folder.iterdir() if p.is_file() and p.suffix in (".json", ".safetensors")
        ):
            with path.open("rb") as file:
                total.update(f"{path.name}\n{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()


def locate(name: str) -> Path:
    """The folder of a local model, or of a Hub repository's files, fetched where they are not here yet.

    Raises:
        ModelError: it does not exist, or cannot be reached.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        return path.resolve()
    if path.exists():
        raise ModelError(f"{name[:80]!r} is a file.", "Name the folder of a model.")
    if not _HUB_ID.fullmatch(name) or name.count("/") != 1:
        raise ModelError(
            f"There is no folder {name[:80]!r}, and it is no id of the Hub.", "An id is written owner/name."
        )
    return _fetch(name)


def _fetch(name: str) -> Path:
    """The repository's files; a former run's where the Hub cannot be reached."""
    try:
        client: Any = import_module("huggingface_hub")
        errors: Any = import_module("huggingface_hub.errors")
    except ImportError as missing:
        raise MissingExtraError(
            "Models of the Hub need the `train` extra.", "Run: pip install 'openenv-ev-grid-oracle[train]'"
        ) from missing

    def kept(why: str) -> Path:
        try:
            return Path(client.snapshot_download(name, allow_patterns=list(_FILES), local_files_only=True))
        except (errors.LocalEntryNotFoundError, OSError, ValueError) as none:
            raise ModelError(
                f"{name!r} cannot be fetched: {why}.", "Name a local folder, or check the network."
            ) from none

    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        return kept("HF_HUB_OFFLINE is set and it was not fetched before")
    try:
        within(PROBE_S, "the Hub", lambda: client.HfApi().model_info(name, timeout=PROBE_S))
    except errors.RepositoryNotFoundError as none:
        raise ModelError(
            f"The Hub has no model {name!r}, or it is private.", "Check the id; log in for a private one."
        ) from none
    except (LateError, errors.HfHubHTTPError, OSError) as fault:
        return kept(" ".join(str(fault).split())[:160].rstrip(".") or type(fault).__name__)
    except Exception as fault:  # the client's own network errors are of several libraries
        return kept(f"{type(fault).__name__}: {' '.join(str(fault).split())[:160]}".rstrip("."))
    try:
        return Path(client.snapshot_download(name, allow_patterns=list(_FILES), etag_timeout=PROBE_S))
    except Exception as fault:
        raise ModelError(f"Fetching {name!r} failed: {' '.join(str(fault).split())[:160]}") from fault


def _check(folder: Path, name: str, weights: str, config: str) -> None:
    """`folder` holds `config` and weights as safetensors."""
    if not (folder / config).is_file():
        raise ModelError(f"{name[:80]!r} holds no {config}.", "Name the folder of a saved model or adapter.")
    if any(folder.glob(f"{weights}*.safetensors")):
        return
    pickles = sorted(p.name for p in folder.iterdir() if p.suffix in _PICKLES)
    if pickles:
        raise ModelError(
            f"{name[:80]!r} holds pickled weights only ({pickles[0]}), which can run code when they are read.",
            "Save them with safe_serialization=True.",
        )
    raise ModelError(f"{name[:80]!r} holds no {weights}*.safetensors.", "Save the weights there.")


def _read(path: Path) -> dict[str, object]:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        raise ModelError(f"{path.name} of {path.parent.name!r} cannot be read: {fault}") from fault
    if not isinstance(facts, dict):
        raise ModelError(f"{path.name} of {path.parent.name!r} is no object.")
    return facts
