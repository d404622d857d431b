"""The upload to a Space: what goes, what is refused, and that a dry run sends nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from test_image import ROOT, tool

SCRIPT = [sys.executable, str(ROOT / "tools" / "sync_space_to_hub.py")]


def checkout(folder: Path) -> Path:
    """A small checkout with a built command center, one ignored and one left-out file."""
    for name, text in {
        "README.md": "x",
        ".gitignore": "secret.txt\n/ev_grid_oracle/server/static/ui/\n",
        "secret.txt": "x",
        "artifacts/a.json": "{}",
        "web/node_modules/p/i.js": "x",
        "web/src/main.ts": "x",
        "ev_grid_oracle/server/static/ui/index.html": "<html>",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> object:
    module = tool("sync_space_to_hub")
    monkeypatch.setattr(module, "ROOT", checkout(tmp_path))
    return module


def test_the_list_is_the_tree_without_artifacts_and_ignored_files(space: object) -> None:
    names = [p.as_posix() for p in space.listing()]  # type: ignore[attr-defined]
    assert names == [
        ".gitignore",
        "README.md",
        "ev_grid_oracle/server/static/ui/index.html",
        "web/src/main.ts",
    ]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("notes.md", "hf_" + "a" * 34),
        ("config.toml", "AKIA" + "A" * 16),
        ("key.txt", "-----BEGIN RSA PRIVATE " + "KEY-----"),
        (".env", "X=1"),
        ("deploy/id_rsa", "x"),
    ],
)
def test_a_secret_is_refused(space: object, name: str, content: str) -> None:
    target = space.ROOT / name  # type: ignore[attr-defined]
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(content)
    with pytest.raises(space.Refused, match="looks like"):  # type: ignore[attr-defined]
        space.look_for_secrets(space.listing())  # type: ignore[attr-defined]


def test_this_tree_holds_no_secret() -> None:
    module = tool("sync_space_to_hub")
    module.look_for_secrets(module.listing())


def test_without_a_name_one_sentence_and_exit_code_3() -> None:
    done = subprocess.run(
        [*SCRIPT, "--skip-build"], capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"}
    )
    assert done.returncode == 3
    assert done.stderr == "Name the Space: set HF_SPACE_REPO_ID, or --repo-id owner/name.\n"


class Api:
    """A Hub that cannot be reached: its client's error is no OSError, as with httpx."""

    def create_repo(self, *_: object, **__: object) -> None:
        raise RuntimeError("[Errno -2] Name or service\nnot known.")


def send(space: object, monkeypatch: pytest.MonkeyPatch, client: object) -> int:
    monkeypatch.setattr(space, "import_module", lambda name: client)
    monkeypatch.setattr(sys, "argv", ["sync", "--skip-build", "--repo-id", "owner/name"])
    return int(space.main())  # type: ignore[attr-defined]


def test_without_a_token_one_sentence_and_no_call(
    space: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert send(space, monkeypatch, SimpleNamespace(get_token=lambda: None)) == 3
    told = "There is no token of the Hub: run `hf auth login` or set HF_TOKEN; --dry-run needs none.\n"
    assert capsys.readouterr().err == told


def test_a_hub_out_of_reach_is_one_sentence(
    space: object, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert send(space, monkeypatch, SimpleNamespace(get_token=lambda: "x", HfApi=Api)) == 3
    told = "The Hub could not be reached or refused the upload: [Errno -2] Name or service not known.\n"
    assert capsys.readouterr().err == told


def test_files_that_the_pages_write_do_not_go(space: object) -> None:
    root = space.ROOT  # type: ignore[attr-defined]
    (root / ".gitignore").write_bytes((ROOT / ".gitignore").read_bytes())
    for name in (
        "run.evt",
        "cheapest.evt",
        "results.json",
        ".venv/a",
        "build/clean/a",
        "runs/first/report.json",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("x")
    names = {p.as_posix() for p in space.listing()}  # type: ignore[attr-defined]
    assert names == {
        ".gitignore",
        "README.md",
        "secret.txt",
        "ev_grid_oracle/server/static/ui/index.html",
        "web/src/main.ts",
    }
