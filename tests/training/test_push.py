"""`evgrid train push`: what would go is listed, what must not go stops it, what goes is one commit of that list."""

from __future__ import annotations

import importlib.util
import json
import pickle
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ev_grid_oracle.cli.main import call
from ev_grid_oracle.policies.llm.guard import ModelError
from ev_grid_oracle.schema.errors import EVGridError
from ev_grid_oracle.training.push import listing, push
from ev_grid_oracle.training.secret_search import SECRETS

ROOT = Path(__file__).resolve().parents[2]
WEIGHTS = (2).to_bytes(8, "little") + b"{}"
"""The smallest safetensors file: no tensor."""


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    """A folder as `save_adapter` leaves it, and what a trainer may leave beside it."""
    folder = tmp_path / "adapter"
    (folder / "checkpoint-2").mkdir(parents=True)
    (folder / "checkpoint-2" / "optimizer.pt").write_bytes(b"x")
    (folder / "adapter_config.json").write_text(
        json.dumps({"peft_type": "LORA", "base_model_name_or_path": "Qwen/Qwen2.5-3B-Instruct"})
    )
    (folder / "adapter_model.safetensors").write_bytes(WEIGHTS)
    (folder / "tokenizer.json").write_text("{}")
    (folder / "events.out").write_text("x")
    return folder


NAMES = ["adapter_config.json", "adapter_model.safetensors", "tokenizer.json"]


def test_a_dry_run_lists_exactly_what_would_go(adapter: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call(["train", "push", str(adapter), "--repo", "me/mine", "--dry-run", "--json"]) == 0
    out, err = capsys.readouterr()
    report = json.loads(out)
    assert report["files"] == {name: (adapter / name).stat().st_size for name in NAMES}
    assert (report["left_out"], report["sent"]) == (["checkpoint-2", "events.out"], None)
    assert all(name in err for name in NAMES)


def test_the_shipped_model_may_go() -> None:
    model = ROOT / "ev_grid_oracle" / "policies" / "llm" / "model"
    assert set(listing(model).files) == {p.name for p in model.iterdir()}


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("pytorch_model.bin", pickle.dumps({}), "no safetensors"),
        ("optimizer.PT", b"x", "no safetensors"),
        ("more.safetensors", pickle.dumps({}), "no safetensors"),
        ("more.safetensors", (2).to_bytes(8, "little") + b"[]", "no safetensors"),
        ("notes.md", b"hf_" + b"a" * 34, "looks like a Hub token"),
        ("more.safetensors", (43).to_bytes(8, "little") + b'{"a":"hf_' + b"a" * 32 + b'"}', "looks like a Hub token"),
        (".env", b"X=1", "looks like a secret"),
        ("credentials.json", b"{}", "looks like a secret"),
    ],
)  # fmt: skip
def test_what_must_not_go_stops_it(adapter: Path, name: str, content: bytes, why: str) -> None:
    (adapter / name).write_bytes(content)
    with pytest.raises(ModelError, match=why):
        listing(adapter)


def test_a_link_to_a_file_elsewhere_is_left_out(adapter: Path, tmp_path: Path) -> None:
    (tmp_path / "private.txt").write_text("mine")
    (adapter / "notes.txt").symlink_to(tmp_path / "private.txt")
    assert listing(adapter).left_out == ["checkpoint-2", "events.out", "notes.txt"]


@pytest.mark.parametrize("base", ["../base", "/srv/base", "", "base"])
def test_a_base_that_nobody_else_has_is_refused(adapter: Path, base: str) -> None:
    (adapter / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": base}))
    with pytest.raises(ModelError, match="folder of this machine"):
        listing(adapter)


@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff\xfe", b""])
def test_settings_that_cannot_be_read_are_one_sentence(adapter: Path, content: bytes) -> None:
    (adapter / "adapter_config.json").write_bytes(content)
    with pytest.raises(ModelError, match="cannot be read"):
        push(adapter, "owner/name", dry_run=True)


def test_folders_without_a_model_are_refused(adapter: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no folder"):
        listing(tmp_path / "nowhere")
    (adapter / "adapter_model.safetensors").unlink()
    with pytest.raises(ModelError, match="no adapter_model"):
        listing(adapter)
    (adapter / "adapter_config.json").unlink()
    with pytest.raises(ModelError, match="neither an adapter nor a model"):
        listing(adapter)


def hub(monkeypatch: pytest.MonkeyPatch, token: str | None, fault: Exception | None = None) -> list[Any]:
    """A Hub that notes what it is asked."""
    asked: list[Any] = []

    class Api:
        def create_repo(self, repo: str, **options: Any) -> None:
            asked.append(("create", repo, options["private"]))
            if fault:
                raise fault

        def create_commit(self, repo: str, adds: list[Any], **_: Any) -> Any:
            asked.append(("commit", repo, [(a.name, a.path) for a in adds]))
            return SimpleNamespace(commit_url="https://hub/commit/1")

    def add(name: str, path: str) -> SimpleNamespace:
        return SimpleNamespace(name=name, path=path)

    client = SimpleNamespace(HfApi=Api, get_token=lambda: token, CommitOperationAdd=add)
    monkeypatch.setitem(sys.modules, "huggingface_hub", client)  # type: ignore[arg-type]
    return asked


def test_what_was_listed_goes_in_one_commit(adapter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = hub(monkeypatch, "a token")
    report = push(adapter, "me/mine", private=True, tell=lambda text: None)
    files = [(name, str(adapter / name)) for name in NAMES]
    assert asked == [("create", "me/mine", True), ("commit", "me/mine", files)]
    assert report["sent"] == "https://hub/commit/1"


def test_without_a_token_one_sentence_and_no_call(
    adapter: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = hub(monkeypatch, None)
    assert call(["train", "push", str(adapter), "--repo", "me/mine"]) == 2
    assert "hf auth login" in capsys.readouterr().err.splitlines()[-1]
    assert asked == []


def test_a_refusal_of_the_hub_is_one_sentence(adapter: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub(monkeypatch, "a token", RuntimeError("403\nForbidden"))
    with pytest.raises(ModelError, match=r"refused the upload: 403 Forbidden\.$"):
        push(adapter, "me/mine", tell=lambda text: None)


@pytest.mark.parametrize("repo", ["mine", "me/mine/more", "../mine", "me/ mine"])
def test_a_name_that_is_no_id_is_refused(adapter: Path, repo: str) -> None:
    with pytest.raises(EVGridError, match="owner/name"):
        push(adapter, repo, dry_run=True, tell=lambda text: None)


def test_the_upload_of_the_space_knows_the_same_secrets() -> None:
    spec = importlib.util.spec_from_file_location("sync_space", ROOT / "tools" / "sync_space_to_hub.py")
    assert spec is not None and spec.loader is not None
    space = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(space)
    assert space.secret_search.SECRETS == SECRETS
