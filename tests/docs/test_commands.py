"""Commands and code on the pages work: every command is read by the command line, README and tutorials are run."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from docs_cli import acts, leaf_of, options_of
from docs_pages import ROOT, Block, blocks, commands, inline_commands, pages

SMALL = {"--episodes": "1", "--ticks": "3", "--scenarios": "baseline", "--workers": "1", "--sample": "1"}
"""Options that make a shown command short; it is run with these where it has them."""
ONLY_READ = (
    "evgrid serve",
    "evgrid train",
    "evgrid train push",
    "evgrid bench world",
    "evgrid bench server",
    "evgrid bench integrity",
)
"""Not run here: they go on until stopped, take minutes, or measure; their own tests run them."""
EXTRAS = {
    "tiny-agent.md": ("gymnasium", "torch"),
    "write-a-policy.md": (),
    "first-evening.md": (),
    "README.md": (),
}
RUN = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]


def all_commands() -> list[tuple[str, list[str]]]:
    """(page, words) of every command in a shell block."""
    return [
        (str(p.relative_to(ROOT)), words)
        for p in pages()
        for block in blocks(p.read_text(encoding="utf-8"))
        for words in commands(block)
    ]


@pytest.mark.parametrize(
    ("page", "words"),
    [(p, w) for p, w in all_commands() if w[0] == "evgrid"],
    ids=lambda v: v if isinstance(v, str) else " ".join(v)[:60],
)
def test_a_command_line_is_read(page: str, words: list[str]) -> None:
    from ev_grid_oracle.city.load import load_city
    from ev_grid_oracle.policies.llm.resolve import names_a_model
    from ev_grid_oracle.policies.registry import policy_names

    if "..." in words or "--help" in words or words[1:2] == ["--install-completion"]:
        return
    _name, command, rest = leaf_of(words[1:])
    assert acts(command), f"{page}: {' '.join(words)} names no command"
    given = command.make_context("evgrid", list(rest)).params  # raises what the command line would say
    for key in ("policy", "policies"):
        for policy in str(given.get(key) or "").split(","):
            assert not policy or policy in policy_names() or names_a_model(policy), policy
    if str(given.get("city", "bengaluru")) == "bengaluru":
        scenarios = {s.name for s in load_city("bengaluru").scenarios} | {"all", ""}
        for key in ("scenario", "scenarios"):
            assert set(str(given.get(key) or "").split(",")) <= scenarios


@pytest.mark.parametrize("path", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_commands_in_running_text_exist(path: Path) -> None:
    for line in inline_commands(path.read_text(encoding="utf-8")):
        name, command, rest = leaf_of(line.split()[1:])
        options = options_of(command) | {"--version", "--install-completion"}
        for option in re.findall(r"--[a-z-]+", " ".join(rest)):
            assert option in options, line
        assert name != "evgrid" or not rest or rest[0].startswith("-"), line


def test_scripts_targets_and_extras_that_pages_name_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    looked_at = 0
    for page, words in all_commands():
        if words[0] in ("python", "python3"):
            for script in [w for w in words[1:3] if w.endswith(".py")]:
                assert (ROOT / script).is_file(), f"{page}: {script}"
                looked_at += 1
        elif words[0] == "make":
            assert set(words[1:2]) <= targets, f"{page}: {' '.join(words)}"
        elif words[:2] == ["pip", "install"]:
            for found in re.findall(
                r"(?:^\.|ev-grid-oracle)\[([a-z,]+)\]", "\n".join(words), flags=re.MULTILINE
            ):
                assert set(found.split(",")) <= extras, f"{page}: {found}"
    assert looked_at > 10


@pytest.mark.parametrize("path", RUN, ids=lambda p: p.name)
def test_a_page_runs_from_top_to_bottom(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in EXTRAS.get(path.name, ()):
        pytest.importorskip(module, reason=f"{path.name} needs {module}")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ev_grid_oracle").symlink_to(ROOT / "ev_grid_oracle")  # pages name paths of a checkout
    space: dict[str, object] = {"__name__": path.stem}
    ran = 0
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.language == "python":
            exec(compile(block.text, path.name, "exec"), space)
            ran += 1
        else:
            ran += _run(block, capsys)
    assert ran > 2


def _run(block: Block, capsys: pytest.CaptureFixture[str]) -> int:
    """Run the block's `evgrid` lines made small; returns how many."""
    from ev_grid_oracle.cli.main import call

    ran = 0
    for words in commands(block):
        if words[0] != "evgrid":
            continue
        name, command, rest = leaf_of(words[1:])
        if name in ONLY_READ:
            continue
        known = options_of(command)
        short = [w for option, value in SMALL.items() if option in known for w in (option, value)]
        if "--all" in rest or name == "evgrid verify":
            short = []
        assert call([*name.split()[1:], *rest, *short]) == 0, f"{' '.join(words)}\n{capsys.readouterr().err}"
        ran += 1
    return ran
