"""Files that are either whole or not there, and JSON without NaN."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ev_grid_oracle.schema.errors import EVGridError


class OutputError(EVGridError):
    """A result cannot be written where it was asked for."""

    code = "E_OPTION"
    exit_code = 3


def clean(value: object) -> object:
    """`value` as plain JSON types: NumPy scalars unwrapped, NaN and infinities as null."""
    if isinstance(value, Mapping):
        return {str(k): clean(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [clean(v) for v in value]
    if isinstance(value, bool | int | str) or value is None:
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    for convert in ("tolist", "item"):
        if hasattr(value, convert):
            return clean(getattr(value, convert)())
    return str(value)


def to_json(value: object) -> str:
    """JSON text with two blanks of indent and a final newline; a list of plain values stands on one line."""
    return _text(clean(value), "") + "\n"


def _text(value: object, indent: str) -> str:
    """`value`, already clean, as JSON whose first line is indented by the caller."""
    deeper = indent + "  "
    if isinstance(value, dict) and value:
        rows = [f"{deeper}{_dumps(k)}: {_text(v, deeper)}" for k, v in value.items()]
        return "{\n" + ",\n".join(rows) + f"\n{indent}}}"
    if isinstance(value, list) and any(isinstance(v, dict | list) for v in value):
        rows = [f"{deeper}{_text(v, deeper)}" for v in value]
        return "[\n" + ",\n".join(rows) + f"\n{indent}]"
    return _dumps(value)


def _dumps(value: object) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def check_writable(path: Path) -> None:
    """Raise `OutputError` before the work starts if `path` could not be written after it; creates nothing."""
    if path.is_dir():
        raise OutputError(f"{str(path)!r} is a folder.", "Name a file.")
    there = next(p for p in path.absolute().parents if p.exists())
    if not there.is_dir():
        raise OutputError(
            f"{str(path)!r} cannot be written: {str(there)!r} is a file.", "Choose another place."
        )
    if not os.access(there, os.W_OK | os.X_OK):
        raise OutputError(
            f"{str(path)!r} cannot be written: no right to {str(there)!r}.", "Choose another place."
        )


def write_atomic(path: Path, text: str) -> None:
    """Write beside `path`, then put it in place at once; a reader never sees half a file."""
    check_writable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
