"""Where a number comes from: command, commit, city, versions, machine."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.version import __version__

LIBRARIES = ("numpy", "numba", "llvmlite", "scipy")
RESULT_ROOMS = ("schema", "city", "sim", "reward", "protocol", "episode")
"""Rooms whose code decides what an episode with given answers results in."""


def _git(*args: str) -> str | None:
    root = Path(__file__).resolve().parent.parent.parent
    if not (root / ".git").exists():
        return None
    try:
        done = subprocess.run(["git", "-C", str(root), *args], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


@lru_cache(maxsize=8)
def code_hash(rooms: Sequence[str] = RESULT_ROOMS) -> str:
    """sha256 over name and bytes of every source file of these rooms, as they are on disk at the first call.

    Two results with equal `code_hash()`, equal city hash and equal answers are equal; whoever reads stored
    results checks this before mixing them. ``code_hash(("policies",))`` is the same of those who answer.
    `rooms` is a tuple, so that the answer can be kept.
    """
    package = Path(__file__).resolve().parent.parent
    return files_hash(
        package,
        (
            path
            for room in rooms
            for path in sorted((package / room).rglob("*.py"), key=lambda p: p.relative_to(package).as_posix())
        ),
    )


def files_hash(top: Path, paths: Iterable[Path]) -> str:
    """sha256 over name below `top`, length and bytes of every file, in the order given."""
    h = hashlib.sha256()
    for path in paths:
        data = path.read_bytes()
        h.update(f"{path.relative_to(top).as_posix()}\0{len(data)}\0".encode())
        h.update(data)
    return h.hexdigest()


def command_line() -> str:
    """The running command, without the folder that its script lies in."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])


def _sim_version() -> int:
    # late: a machine without numba can still say what it has
    from ev_grid_oracle.sim.world import SIM_VERSION

    return SIM_VERSION


def identity(city: CityPack) -> dict[str, object]:
    """What must be equal for two results to be of one kind: city, code, versions."""
    libraries = library_versions()
    return {
        "city": {"id": city.id, "sha256": city.sha256},
        "code_sha256": code_hash(),
        "policies_sha256": code_hash(("policies",)),
        "versions": {
            "ev_grid_oracle": __version__,
            "sim": _sim_version(),
            "numpy": libraries["numpy"],
            "numba": libraries["numba"],
        },
    }


def library_versions() -> dict[str, str | None]:
    """Installed versions by distribution; None where one is missing."""
    found: dict[str, str | None] = {}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = None
    return found


def cpu_model() -> str:
    """Name of the processor, as the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def cores() -> int:
    """Processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def machine() -> dict[str, object]:
    return {"cpu": cpu_model(), "cores": cores(), "system": platform.platform(terse=True)}


def provenance(city: CityPack) -> dict[str, object]:
    """Everything needed to get the same numbers again; `commit` is None outside a checkout."""
    status = _git("status", "--porcelain", "--untracked-files=no")
    return {
        "command": command_line(),
        "commit": _git("rev-parse", "HEAD"),
        "modified": None if status is None else bool(status),
        "city": {"id": city.id, "sha256": city.sha256},
        "code_sha256": code_hash(),
        "policies_sha256": code_hash(("policies",)),
        "versions": {
            "ev_grid_oracle": __version__,
            "sim": _sim_version(),
            "python": platform.python_version(),
            **library_versions(),
        },
        "machine": machine(),
    }
