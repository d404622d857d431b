"""The command line as the pages' tests read it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import typer.main


@lru_cache(maxsize=1)
def root() -> Any:
    from ev_grid_oracle.cli.main import app

    return typer.main.get_command(app)


def acts(command: Any) -> bool:
    """Whether it does something by its own name; `evgrid train` does, and has commands below it."""
    return not hasattr(command, "commands") or bool(command.invoke_without_command)


def leaves(path: str = "evgrid", command: Any = None) -> Iterator[tuple[str, Any]]:
    """(full name, command) of every command that does something."""
    here = root() if command is None else command
    children = getattr(here, "commands", None)
    if acts(here) and here is not root():
        yield path, here
    for name, child in sorted((children or {}).items()):
        yield from leaves(f"{path} {name}", child)


def leaf_of(words: list[str]) -> tuple[str, Any, list[str]]:
    """Full name, command and arguments of the words after `evgrid`."""
    command, name, rest = root(), "evgrid", list(words)
    while rest and rest[0] in getattr(command, "commands", {}):
        name = f"{name} {rest[0]}"
        command = command.commands[rest.pop(0)]
    return name, command, rest


def options_of(command: Any) -> set[str]:
    """All spellings of its options."""
    return {o for p in command.params for o in (*p.opts, *p.secondary_opts) if o.startswith("-")} | {"--help"}
