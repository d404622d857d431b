"""The pages say what the code does."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


def load_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gen_docs", ROOT / "tools" / "gen_docs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_reference_pages_are_current(tmp_path: Path) -> None:
    generator = load_generator()
    assert generator.stale() == []
    assert generator.stale(tmp_path) == list(generator.PAGES)


@pytest.mark.parametrize("page", ["README.md", "docs/architecture.md", "CONTRIBUTING.md"])
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if not target.startswith("http"):
            assert ((ROOT / page).parent / target).exists(), target


def test_readme_begins_with_two_commands_and_is_short() -> None:
    text = (ROOT / "README.md").read_text()
    block = text.split("```")[1].strip().splitlines()
    assert [line.split("#")[0].strip() for line in block] == ["make demo", "make test"]
    assert len(text.splitlines()) <= 150


def test_commands_of_the_readme_parse() -> None:
    import typer.main

    from ev_grid_oracle.cli.main import app

    root = typer.main.get_command(app)
    lines = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("evgrid ")]
    assert len(lines) > 5
    for line in lines:
        words = line.split()[1:]
        command = root
        while words and hasattr(command, "commands"):
            command = command.commands[words.pop(0)]
        options = {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
        for word in words:
            if word.startswith("--"):
                assert word in options, line


def test_the_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    space: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), space)
    assert space["observation"].reward is not None  # type: ignore[attr-defined]
    assert "total" in capsys.readouterr().out
