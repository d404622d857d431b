"""Options that several commands share, with their completion in the shell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_DATA = Path(__file__).resolve().parent.parent / "city" / "data"
POLICIES = (
    "baseline", "greedy_counting", "planner", "clairvoyant", "oracle", "random", "always_defer",
    "always_load_shift", "nearest", "same_station",
)  # fmt: skip


def complete_city(incomplete: str) -> list[str]:
    names = sorted(p.parent.name for p in _DATA.glob("*/manifest.toml"))
    return [n for n in names if n.startswith(incomplete)]


def complete_scenario(incomplete: str) -> list[str]:
    names = sorted({p.stem for p in _DATA.glob("*/scenarios/*.toml")})
    return [n for n in names if n.startswith(incomplete)]


def complete_policy(incomplete: str) -> list[str]:
    return [n for n in POLICIES if n.startswith(incomplete)]


City = Annotated[
    str,
    typer.Option("--city", help="A city by name, or the folder of a pack.", autocompletion=complete_city),
]
Scenario = Annotated[
    str, typer.Option("--scenario", help="A scenario of the city.", autocompletion=complete_scenario)
]
Seed = Annotated[int, typer.Option("--seed", help="0 to 4294967295.")]
Ticks = Annotated[int, typer.Option("--ticks", help="Length of an episode, in ticks of 5 minutes.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
Threads = Annotated[int, typer.Option("--threads", help="Threads; results do not depend on it.")]


def listed(text: str, everything: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Names of a comma-separated list; ``all`` stands for `everything` where there is such a thing."""
    if text.strip() == "all" and everything:
        return everything
    return tuple(name.strip() for name in text.split(",") if name.strip())
