"""An event as one binary chunk: its JSON, with the numeric lists taken out as typed arrays behind it.

    "EVGC" | uint16 version | uint16 0 | uint32 length of the JSON | JSON | zeros to a multiple of 8 | arrays

A list of dictionaries with equal keys is ``{"#": {key: values}}``. A list of at least four numbers (or of equal
rows of them) is ``{"$": k}``; ``columns[k]`` is ``[type, offset, shape]``: `i4` or `f8`, little-endian, the offset counted from the first array and a multiple of 8.
A page reads the arrays where they lie. The JSON without columns is the event as the text form sends it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

MAGIC = b"EVGC"
VERSION = 1
_LEAST = 4


def encode_chunk(event: Mapping[str, object]) -> bytes:
    """The chunk of an event (JSON-safe, no NaN)."""
    arrays: list[npt.NDArray[np.generic]] = []
    body = {"event": _taken(event, arrays), "columns": _places(arrays)}
    text = json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
    head = MAGIC + VERSION.to_bytes(2, "little") + b"\0\0" + len(text).to_bytes(4, "little") + text
    parts = [head, b"\0" * (-len(head) % 8)]
    for values in arrays:
        raw = values.tobytes()
        parts += [raw, b"\0" * (-len(raw) % 8)]
    return b"".join(parts)


def decode_chunk(chunk: bytes) -> dict[str, object]:
    """The event of a chunk, as the text form has it."""
    if chunk[:4] != MAGIC or int.from_bytes(chunk[4:6], "little") != VERSION:
        raise ValueError("no chunk of this version")
    size = int.from_bytes(chunk[8:12], "little")
    body = json.loads(chunk[12 : 12 + size])
    start = 12 + size + (-(12 + size) % 8)
    columns = []
    for kind, offset, shape in body["columns"]:
        n = int(np.prod(shape))
        columns.append(np.frombuffer(chunk, f"<{kind}", n, start + offset).reshape(shape).tolist())
    found = _put_back(body["event"], columns)
    assert isinstance(found, dict)
    return found


def _taken(value: object, arrays: list[npt.NDArray[np.generic]]) -> object:
    if isinstance(value, Mapping):
        return {k: _taken(v, arrays) for k, v in value.items()}
    if not isinstance(value, list):
        return value
    if len(value) > 1 and _table(value):
        return {"#": {k: _taken([row[k] for row in value], arrays) for k in value[0]}}
    rows = value if _rows(value) else [value]
    if len(value) >= _LEAST and all(_is_number(v) for row in rows for v in row):
        whole = all(isinstance(v, int) and abs(v) < 2**31 for row in rows for v in row)
        arrays.append(np.asarray(value, "<i4" if whole else "<f8"))
        return {"$": len(arrays) - 1}
    return [_taken(v, arrays) for v in value]


def _table(value: list[object]) -> bool:
    """A list of dictionaries with the same keys in the same order."""
    first = value[0]
    return isinstance(first, dict) and all(isinstance(v, dict) and list(v) == list(first) for v in value)


def _rows(value: list[object]) -> bool:
    """A list of rows of one length."""
    first = value[0] if value else None
    return isinstance(first, list) and all(isinstance(v, list) and len(v) == len(first) for v in value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _places(arrays: list[npt.NDArray[np.generic]]) -> list[list[object]]:
    out: list[list[object]] = []
    at = 0
    for values in arrays:
        out.append([values.dtype.str[1:], at, list(values.shape)])
        at += values.nbytes + -values.nbytes % 8
    return out


def _put_back(value: object, columns: list[object]) -> object:
    if isinstance(value, dict):
        if set(value) == {"$"}:
            return columns[value["$"]]
        if set(value) == {"#"}:
            table = {k: _put_back(v, columns) for k, v in value["#"].items()}
            return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
        return {k: _put_back(v, columns) for k, v in value.items()}
    return [_put_back(v, columns) for v in value] if isinstance(value, list) else value
