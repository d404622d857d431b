"""The pages of the repository, their blocks, and the commands in them."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent.parent
SHELL = ("", "bash", "sh", "console", "shell")


def pages() -> list[Path]:
    """Every page: README, CONTRIBUTING, CHANGELOG, and all under docs/."""
    own = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    return own + sorted((ROOT / "docs").rglob("*.md"))


def tool(name: str) -> ModuleType:
    """A script of tools/ as a module."""
    folder = str(ROOT / "tools")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return import_module(name)


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    language: str
    text: str


def blocks(text: str) -> Iterator[Block]:
    """Fenced blocks in their order."""
    for found in re.finditer(r"^(`{3,})([^\n`]*)\n(.*?)^\1[ \t]*$", text, flags=re.DOTALL | re.MULTILINE):
        yield Block(found[2].strip(), found[3])


def outside(text: str) -> str:
    """The text without its fenced blocks."""
    return re.sub(r"^(`{3,})[^\n]*\n.*?^\1[ \t]*$", "", text, flags=re.DOTALL | re.MULTILINE)


def commands(block: Block) -> Iterator[list[str]]:
    """Command lines of a shell block as words: continued lines joined, comments and leading variables left out."""
    if block.language not in SHELL:
        return
    joined = re.sub(r"\\\n\s*", " ", block.text)
    for line in joined.splitlines():
        try:
            words = shlex.split(line.removeprefix("$ ").strip(), comments=True)
        except ValueError:
            continue  # a block of output, not of commands
        while words and re.fullmatch(r"[A-Z][A-Z0-9_]*=.*", words[0]):
            words = words[1:]
        if words:
            yield words


def inline_commands(text: str) -> Iterator[str]:
    """`evgrid ...` in running text."""
    yield from re.findall(r"`(evgrid [^`\n]+)`", outside(text))
