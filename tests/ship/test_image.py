"""The Dockerfile: linted, its steps carried out without an engine, its context without junk."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_dockerfile_is_linted() -> None:
    linter = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")
    if linter is None:
        pytest.skip("hadolint is not installed")
    done = subprocess.run([linter, "--no-color", str(ROOT / "Dockerfile")], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def test_instructions_are_read_as_an_engine_does() -> None:
    steps = tool("image_steps")
    text = "# a comment\nFROM a:1 AS b\n\nENV X=1 \\\n    Y=2\nRUN one && \\\n    two\n"
    assert list(steps.instructions(text)) == [
        ("FROM", "a:1 AS b"),
        ("ENV", "X=1 Y=2"),
        ("RUN", "one && two"),
    ]


@pytest.mark.parametrize(
    ("path", "goes"),
    [
        ("pyproject.toml", True),
        ("ev_grid_oracle/sim/step.py", True),
        ("ev_grid_oracle/sim/__pycache__/step.pyc", False),
        ("web/src/main.ts", True),
        ("web/node_modules/vite/index.js", False),
        ("tests/conftest.py", False),
        ("artifacts/headroom.json", False),
        (".git/config", False),
        (".env", False),
    ],
)
def test_only_what_the_image_needs_travels(path: str, goes: bool) -> None:
    rules = [
        line.strip()
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line.strip() and not line.startswith("#")
    ]
    assert tool("image_steps").allowed(Path(path), rules) is goes


def test_the_lock_holds_every_dependency_of_the_image() -> None:
    lock = tool("lock")
    assert lock.asked() <= set(lock.locked())
    assert all(version for version in lock.locked().values())


def test_image_health_check_and_defaults() -> None:
    text = (ROOT / "Dockerfile").read_text()
    found = dict.fromkeys(name for name, _ in tool("image_steps").instructions(text))
    assert {"HEALTHCHECK", "USER", "EXPOSE", "CMD"} <= set(found)
    assert "DEMO_ORACLE_INFERENCE_TIMEOUT_SEC=120" in text
