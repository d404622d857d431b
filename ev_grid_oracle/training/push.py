"""`evgrid train push`: an adapter or a model to the Hugging Face Hub, and nothing beside it.

What goes is a short list of kinds of files at the top of one folder. A file that can run code when it is read, that
is no safetensors though it says so, or that looks like a secret, stops the whole upload.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from ev_grid_oracle.policies.llm.guard import ModelError
from ev_grid_oracle.policies.llm.hub import ADAPTER
from ev_grid_oracle.schema.errors import MissingExtraError, OptionError
from ev_grid_oracle.training.secret_search import held as secret_held
from ev_grid_oracle.training.secret_search import named_like_one

KINDS = (".safetensors", ".onnx", ".json", ".jinja", ".txt", ".model", ".md")
"""Suffixes that go. ONNX goes beside safetensors only: it is a graph, not a program."""
WEIGHTS = (
    ".bin",
    ".pt",
    ".pth",
    ".ckpt",
    ".pkl",
    ".pickle",
    ".h5",
    ".msgpack",
    ".npz",
    ".npy",
    ".joblib",
    ".gguf",
)
REPO_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_HEADER_BYTES = 100_000_000


@dataclass(frozen=True)
class Upload:
    """What would be sent.

    Attributes:
        files: name and bytes, by name.
        left_out: names of other files and folders beside them.
    """

    files: dict[str, int]
    left_out: list[str]


def listing(folder: Path) -> Upload:
    """The files of an upload; each has been looked at.

    Raises:
        ModelError: no adapter or model lies there, or a file must not be sent.
    """
    if not folder.is_dir():
        raise ModelError(f"There is no folder {str(folder)[:80]!r}.", "Name the folder of a saved adapter.")
    files: dict[str, int] = {}
    left_out = []
    for path in sorted(folder.iterdir()):
        if named_like_one(path.name):
            raise ModelError(f"{path.name} looks like a secret by its name.", "Remove it from the folder.")
        if path.suffix.lower() in WEIGHTS:
            raise ModelError(
                f"{path.name} is no safetensors file.", "Save weights with safe_serialization=True."
            )
        if path.is_symlink() or not path.is_file() or path.suffix not in KINDS:
            left_out.append(path.name)
            continue
        _look(path)
        files[path.name] = path.stat().st_size
    _whole(folder, files)
    return Upload(files, left_out)


def push(
    folder: Path,
    repo: str,
    *,
    dry_run: bool = False,
    private: bool = False,
    tell: Callable[[str], None] = print,
) -> dict[str, Any]:
    """Send a saved adapter or model to the Hub in one commit; returns what was or would be sent.

    Args:
        repo: owner/name; it is made where it does not exist.
        dry_run: look and list; no network, no token.
        private: of a repository that is made.

    Raises:
        OptionError: `repo` is no id, or there is no token.
        ModelError: the folder does not hold, or the Hub refused.
        MissingExtraError: huggingface_hub is not installed.
    """
    if not REPO_ID.fullmatch(repo):
        raise OptionError(f"{repo[:80]!r} is no id of the Hub.", "An id is written owner/name.")
    found = listing(folder)
    for name, size in found.files.items():
        tell(f"{size:>12,}  {name}")
    if found.left_out:
        tell(f"left out: {', '.join(found.left_out)}")
    tell(f"{len(found.files)} files, {sum(found.files.values()) / 1e6:.1f} MB, to {repo}")
    report: dict[str, Any] = {
        "schema": "evgrid.train.push/1", "repo": repo, "files": found.files, "left_out": found.left_out, "sent": None,
    }  # fmt: skip
    if not dry_run:
        report["sent"] = _send(folder, repo, sorted(found.files), private)
        tell(f"sent: {report['sent']}")
    return report


def _look(path: Path) -> None:
    """One file: safetensors by its first bytes, text without a secret."""
    if path.suffix == ".safetensors":
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = file.read(length) if 2 <= length <= _HEADER_BYTES else b""
        try:
            held = json.loads(header)
        except ValueError:
            held = None
        if not isinstance(held, dict):
            raise ModelError(
                f"{path.name} is no safetensors file.", "Save weights with safe_serialization=True."
            )
        content = header
    else:
        content = path.read_bytes()
    what = secret_held(content)
    if what is not None:
        raise ModelError(f"{path.name} holds what looks like {what}.", "Remove it, and revoke it.")


def _whole(folder: Path, files: dict[str, int]) -> None:
    """An adapter with a base that others can have, or a model with its settings."""
    weights = [n for n in files if n.endswith(".safetensors")]
    if ADAPTER in files:
        try:
            facts = json.loads((folder / ADAPTER).read_text(encoding="utf-8"))
        except ValueError:  # no JSON, or no UTF-8
            facts = None
        if not isinstance(facts, dict):
            raise ModelError(f"{ADAPTER} cannot be read.", "Save the adapter again.")
        base = str(facts.get("base_model_name_or_path") or "")
        if not REPO_ID.fullmatch(base) or base.startswith("."):
            raise ModelError(
                f"The adapter's base {base[:80]!r} is a folder of this machine: nobody else could load it.",
                f"Name the base's Hub id in {ADAPTER}, or push the merged model.",
            )
        if not any(n.startswith("adapter_model") for n in weights):
            raise ModelError("The folder holds no adapter_model*.safetensors.", "Save the adapter there.")
    elif "config.json" not in files or not weights:
        raise ModelError(
            f"{str(folder)[:80]!r} holds neither an adapter nor a model.",
            f"Name a folder with {ADAPTER} or config.json, and safetensors.",
        )


def _send(folder: Path, repo: str, names: list[str], private: bool) -> str:
    """One commit; returns its address."""
    try:
        hub: Any = import_module("huggingface_hub")
    except ImportError as missing:
        raise MissingExtraError(
            "The upload needs huggingface_hub.", "Run: pip install huggingface_hub"
        ) from missing
    if not hub.get_token():
        raise OptionError(
            "There is no token of the Hub.", "Run `hf auth login` or set HF_TOKEN; --dry-run needs none."
        )
    try:
        api = hub.HfApi()
        api.create_repo(repo, repo_type="model", private=private, exist_ok=True)
        adds = [hub.CommitOperationAdd(name, str(folder / name)) for name in names]
        made = api.create_commit(repo, adds, commit_message="Upload the trained model", repo_type="model")
    except Exception as fault:  # the client's errors are of several libraries
        why = " ".join(str(fault).split())[:200].rstrip(".") or type(fault).__name__
        raise ModelError(f"The Hub could not be reached or refused the upload: {why}.") from fault
    return str(made.commit_url)
