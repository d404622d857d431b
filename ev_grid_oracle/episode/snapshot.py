"""A session as checked bytes: options, what the agent was last told, and the world's own snapshot.

Layout, little-endian: magic ``EVGC``, version (uint16), length of the JSON head (uint32), length of the
world's part (uint32), CRC-32 of both parts (uint32), the JSON head (UTF-8), the world's part. Never pickle:
a blob from elsewhere can be wrong, it cannot run.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import cast

import numpy as np

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.model import CityPack, ScenarioEvent
from ev_grid_oracle.episode.forecasts import ScoredForecast
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.errors import SnapshotError, UnknownCityError
from ev_grid_oracle.sim.world import World

MAGIC = b"EVGC"
VERSION = 1
_FIXED = struct.Struct("<4sHIII")
_CURE = "Use the bytes that Session.snapshot() returned."


@dataclass(frozen=True)
class Head:
    """All of a session but its world.

    Attributes:
        options: as `resolve` takes them; None for a fork on a redrawn future, which has forgotten them.
        schedule: events of the scenario, for such a fork only what was told or has happened.
    """

    city_id: str
    city_sha256: str
    options: Mapping[str, object] | None
    future: int | None
    schedule: tuple[ScenarioEvent, ...]
    policy: str
    reward: float | None
    breakdown: Mapping[str, float]
    flags: tuple[str, ...]
    info: Mapping[str, object]
    forecasts: tuple[ScoredForecast, ...]


def join(head: Head, world: bytes) -> bytes:
    """One blob."""
    text = json.dumps(asdict(head), sort_keys=True, allow_nan=False, separators=(",", ":")).encode()
    crc = zlib.crc32(world, zlib.crc32(text))
    return _FIXED.pack(MAGIC, VERSION, len(text), len(world), crc) + text + world


def split(blob: object) -> tuple[dict[str, object], bytes]:
    """Head and world's part; `SnapshotError` says what does not fit."""
    if not isinstance(blob, bytes | bytearray | memoryview):
        raise SnapshotError(f"A snapshot is bytes, not {type(blob).__name__}.", _CURE)
    data = bytes(blob)
    if len(data) < _FIXED.size or data[:4] != MAGIC:
        raise SnapshotError("This is not a snapshot of a session.", _CURE)
    _magic, version, n_text, n_world, crc = _FIXED.unpack_from(data)
    if version != VERSION:
        raise SnapshotError(
            f"The snapshot is of version {version}, this library reads {VERSION}.",
            "Re-simulate it from its trace.",
        )
    body = data[_FIXED.size :]
    if len(body) != n_text + n_world or zlib.crc32(body) != crc:
        raise SnapshotError("The snapshot is damaged (length or checksum).", "Take it again.")
    try:
        head = json.loads(body[:n_text])
    except ValueError:
        raise SnapshotError("The snapshot's head is no JSON.", _CURE) from None
    if not isinstance(head, dict):
        raise SnapshotError("The snapshot's head is no JSON object.", _CURE)
    return head, body[n_text:]


def read_head(head: Mapping[str, object]) -> Head:
    """The head with its types checked as far as a session relies on them."""
    try:
        events = cast(Sequence[Mapping[str, object]], head["schedule"])
        made = cast(Sequence[Mapping[str, object]], head["forecasts"])
        known: dict[str, object] = {
            **head,
            "schedule": tuple(_event(e) for e in events),
            "forecasts": tuple(ScoredForecast(**f) for f in made),  # type: ignore[arg-type]  # checked below
            "flags": tuple(cast(Sequence[str], head["flags"])),
        }
        kept = Head(**known)  # type: ignore[arg-type]  # a key too many or too few raises
    except (KeyError, TypeError, ValueError, AttributeError) as exc:
        raise SnapshotError("The snapshot's head lacks what a session needs.", "Take it again.") from exc
    if not (kept.options is None or isinstance(kept.options, dict)) or not isinstance(kept.info, dict):
        raise SnapshotError("The snapshot's head lacks what a session needs.", "Take it again.")
    return kept


def _event(values: Mapping[str, object]) -> ScenarioEvent:
    fixed = {**values, "targets": tuple(cast(Sequence[int], values["targets"]))}
    return ScenarioEvent(**fixed)  # type: ignore[arg-type]  # a key too many or too few raises


def city_of(head: Head, city: CityPack | str | None) -> CityPack:
    """The city of a snapshot, which must be the very one it was taken in."""
    try:
        pack = city if isinstance(city, CityPack) else load_city(city or head.city_id)
    except UnknownCityError as exc:
        raise SnapshotError(exc.message, "Give the city as restore(blob, city=...).") from exc
    if pack.sha256 != head.city_sha256:
        raise SnapshotError(
            f"The snapshot is of city {head.city_id!r} in another version, or of another city.",
            "Restore it with the city it was taken in.",
        )
    return pack


def make_tables(world: World, horizon: int) -> None:
    """Travel tables of the next `horizon` ticks, and those that cars on the road set out by.

    A restored world may stand in a process that has never seen them.
    """
    world.ensure_tables(0, horizon)
    cars = world.view("CAR")[0]
    keys = {int(k) for k in cars[cars[:, r.C_STATE] == 3, r.C_BANK]}
    shape = world.bank.index.shape
    if any(not 0 <= key < world.bank.index.size for key in keys):
        raise SnapshotError("A car of the snapshot drives by a table that does not exist.", "Take it again.")
    world.bank.ensure([tuple(int(v) for v in np.unravel_index(k, shape)) for k in sorted(keys)])  # type: ignore[misc]
