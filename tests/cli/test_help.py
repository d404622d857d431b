"""Help of every command, start-up without heavy modules, usage errors."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer.main

from ev_grid_oracle.cli.main import app
from ev_grid_oracle.version import __version__

HEAVY = ("numba", "numpy", "scipy", "torch", "fastapi")


def commands() -> Iterator[tuple[str, ...]]:
    """Paths of all commands that do something."""

    def walk(path: tuple[str, ...], command: object) -> Iterator[tuple[str, ...]]:
        children = getattr(command, "commands", None)
        if children is None or (path and getattr(command, "invoke_without_command", False)):
            yield path
        if children is not None:
            for name, child in children.items():
                yield from walk((*path, name), child)

    return walk((), typer.main.get_command(app))


@pytest.mark.parametrize("path", list(commands()), ids=" ".join)
def test_every_command_has_help_with_an_example(path: tuple[str, ...], evgrid: Callable) -> None:
    done = evgrid(*path, "--help")
    assert done.code == 0
    assert f"evgrid {' '.join(path)}" in done.out
    assert "Example: evgrid" in " ".join(done.out.split())


def test_documented_commands_exist() -> None:
    found = {" ".join(path) for path in commands()}
    assert found == {
        "demo", "run", "eval", "replay", "verify", "doctor", "serve", "train", "train push", "bench world", "bench integrity", "bench server", "city list",
        "city info", "city validate", "plan document",
    }  # fmt: skip


@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["city", "validate", "--help"]])
def test_help_loads_nothing_heavy(argv: list[str]) -> None:
    code = (
        "import sys\n"
        "from ev_grid_oracle.cli.main import call\n"
        f"code = call({argv!r})\n"
        f"print('HEAVY', [m for m in {HEAVY!r} if m in sys.modules])\n"
        "sys.exit(code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "HEAVY []"


def test_version(evgrid: Callable) -> None:
    done = evgrid("--version")
    assert (done.code, done.out.strip()) == (0, f"evgrid {__version__}")


@pytest.mark.parametrize(
    "argv",
    [
        ["fly"],
        ["city", "fly"],
        ["run", "--fly"],
        ["run", "--seed", "seven"],
        ["verify"],
        ["bench", "world", "--envs", "0"],
    ],
    ids=" ".join,
)
def test_wrong_usage_is_2(argv: list[str], evgrid: Callable) -> None:
    done = evgrid(*argv)
    assert done.code == 2
    assert done.out == ""
    assert done.err


@pytest.mark.parametrize("profile", ["cpu-small", "tiny-test", "t4-qwen3b"])
def test_training_without_torch_names_the_extra(profile: str, tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "sys.modules['torch'] = None\n"  # as if it were not installed
        "from importlib import util\n"
        "find = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'torch' else find(name, *rest)\n"
        "from ev_grid_oracle.cli.main import call\n"
        f"sys.exit(call(['train', '--profile', {profile!r}, '--out', 'here']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 4, done.stderr
    assert done.stderr.startswith("evgrid: E_EXTRA: Training needs the `train` extra (torch")
    assert "pip install 'openenv-ev-grid-oracle[train]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_no_color(monkeypatch: pytest.MonkeyPatch, evgrid: Callable) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in evgrid("--help").out


def test_keyboard_stop_is_130(evgrid: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(path: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ev_grid_oracle.city.validate.validate_pack", stop)
    done = evgrid("city", "validate", Path.cwd())
    assert done.code == 130
    assert done.err.splitlines()[-1] == "evgrid: stopped."


def test_an_unforeseen_error_is_one_line(evgrid: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: object) -> None:
        raise ZeroDivisionError("by\nzero")

    monkeypatch.setattr("ev_grid_oracle.city.validate.validate_pack", fail)
    done = evgrid("city", "validate", Path.cwd())
    assert done.code == 3
    assert done.err.startswith("evgrid: E_INTERNAL: ZeroDivisionError: by zero.")
    assert len(done.err.splitlines()) == 1
