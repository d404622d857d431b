"""`openenv validate --level static`: passes, also beside the node modules of the web folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("openenv.validation", reason="needs the server extra")

from openenv.validation import run_validation
from openenv.validation.types import Level

ROOT = Path(__file__).resolve().parents[2]
PARTS = ("openenv.yaml", "discovery.json", "README.md", "pyproject.toml")


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The parts of the checkout that the static level reads; the whole tree changes under a test run."""
    copy = tmp_path / "package"
    copy.mkdir()
    for name in PARTS:
        shutil.copy(ROOT / name, copy / name)
    shutil.copytree(ROOT / "validation", copy / "validation", ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def _statuses(package: Path) -> dict[str, str]:
    return {r.check_id: r.status.value for r in run_validation(package, max_level=Level.STATIC).results}


def test_the_manifest_passes(package: Path) -> None:
    assert _statuses(package) == {"static.manifest": "pass"}


def test_node_modules_without_links_do_no_harm(package: Path) -> None:
    tool = package / "web" / "node_modules" / "tool"
    tool.mkdir(parents=True)
    (tool / "cli.js").write_text("#!/usr/bin/env node\n")
    assert _statuses(package) == {"static.manifest": "pass"}
    (tool.parent / ".bin").mkdir()
    (tool.parent / ".bin" / "tool").symlink_to("../tool/cli.js")
    assert set(_statuses(package).values()) != {"pass"}, "what npm does unless told not to"


@pytest.mark.skipif(not (ROOT / "web" / "package.json").exists(), reason="this checkout has no web folder")
def test_npm_is_told_to_make_no_links() -> None:
    assert "bin-links=false" in (ROOT / "web" / ".npmrc").read_text().split()
