"""The city's fingerprint: one sha256 over every table."""

from __future__ import annotations

import hashlib
from pathlib import Path


def pack_files(folder: Path) -> tuple[str, ...]:
    """Names of the pack's tables relative to its folder, sorted, with forward slashes."""
    tables = [p.name for p in folder.glob("*.csv")] + [p.name for p in folder.glob("*.toml")]
    tables += [f"scenarios/{p.name}" for p in (folder / "scenarios").glob("*.toml")]
    return tuple(sorted(tables))


def pack_hash(folder: Path) -> str:
    """sha256 over name and bytes of every table, in sorted order; lengths keep the pieces apart."""
    h = hashlib.sha256()
    for name in pack_files(folder):
        data = (folder / name).read_bytes()
        h.update(f"{name}\0{len(data)}\0".encode())
        h.update(data)
    return h.hexdigest()
