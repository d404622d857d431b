"""The upload to a Space: what goes, what is refused, and that a dry run sends nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
