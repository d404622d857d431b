"""Checked bytes for a session that is kept as its recipe: a JSON head and, where there is one, a body.

Layout, little-endian: magic (4 bytes), version (uint16), length of the head and of the body (uint32 each),
CRC-32 of both (uint32), head (UTF-8 JSON), body. Never pickle.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping
from typing import cast

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.schema.errors import SnapshotError, UnknownCityError

_FIXED = struct.Struct("<4sHIII")
_CURE = "Use the bytes that snapshot() returned."


def seal(magic: bytes, version: int, head: Mapping[str, object], body: bytes = b"") -> bytes:
    """One blob."""
    text = json.dumps(head, sort_keys=True, allow_nan=False, separators=(",", ":")).encode()
    return _FIXED.pack(magic, version, len(text), len(body), zlib.crc32(body, zlib.crc32(text))) + text + body


def unseal(magic: bytes, version: int, blob: object) -> tuple[dict[str, object], bytes]:
    """Head and body; `SnapshotError` says what does not fit."""
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise SnapshotError(f"A snapshot is bytes, not {type(blob).__name__}.", _CURE)
    data = bytes(blob)
    if len(data) < _FIXED.size or data[:4] != magic:
        raise SnapshotError("This is not a snapshot of this kind of session.", _CURE)
    _magic, found, n_text, n_body, crc = _FIXED.unpack_from(data)
    if found != version:
        raise SnapshotError(
            f"The snapshot is of version {found}, this library reads {version}.", "Play its recipe again."
        )
    both = data[_FIXED.size :]
    if len(both) != n_text + n_body or zlib.crc32(both) != crc:
        raise SnapshotError("The snapshot is damaged (length or checksum).", "Take it again.")
    try:
        head = json.loads(both[:n_text])
    except ValueError:
        raise SnapshotError("The snapshot's head is no JSON.", _CURE) from None
    if not isinstance(head, dict):
        raise SnapshotError("The snapshot's head is no JSON object.", _CURE)
    return head, both[n_text:]


def city_facts(city: CityPack) -> dict[str, str]:
    """What names the very city of a recipe."""
    return {"id": city.id, "sha256": city.sha256}


def city_of(recipe: Mapping[str, object], city: CityPack | str | None) -> CityPack:
    """The city of a recipe, which must be the very one it was made in; `SnapshotError` if not."""
    try:
        named = cast("Mapping[str, str]", recipe["city"])
        name, sha256 = named["id"], named["sha256"]
    except (KeyError, TypeError) as exc:
        raise SnapshotError("The recipe names no city.", "Use what recipe() returned.") from exc
    try:
        pack = city if isinstance(city, CityPack) else load_city(city or name)
    except UnknownCityError as exc:
        raise SnapshotError(exc.message, "Give the city beside the recipe.") from exc
    if pack.sha256 != sha256:
        raise SnapshotError(
            f"The recipe is of city {name!r} in another version, or of another city.",
            "Use the city it was made in.",
        )
    return pack
