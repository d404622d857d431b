"""What the files of evidence claim to come from, and whether that is the code and the city that are here.

A result is worth what its origin is worth: a JSON file under ``artifacts/`` carries one or more `provenance`
objects (`evaluation.provenance`), a figure the same as a text chunk, or a JSON of its name stands beside it. Where one of them has `code_sha256`, that hash of the rooms that decide an
episode must be the present one, and its city's hash that of the present pack. An older code is as good where
``same_results.json`` says that the present one plays every episode of a large comparison to the same bytes
(`benchmarks/same_results.py`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ev_grid_oracle.schema.errors import EVGridError

CURRENT, STALE, UNSIGNED = "current", "stale", "unsigned"
SAME = "same_results.json"
LEAST_EPISODES = 1000
"""With fewer episodes compared, an older code does not count as the same."""


class EvidenceError(EVGridError):
    """A file of evidence cannot be read."""

    code = "E_OPTION"
    exit_code = 3


@dataclass(frozen=True)
class Claim:
    """One `provenance` object: where it stands in the file, and what it says (None where it does not)."""

    where: str
    command: str | None
    commit: str | None
    code_sha256: str | None
    city_id: str | None
    city_sha256: str | None


@dataclass(frozen=True)
class Evidence:
    """One file: `state` is current, stale or unsigned (no hash of the code, or no provenance at all)."""

    name: str
    state: str
    reason: str
    claims: tuple[Claim, ...]


def read_object(path: Path) -> dict[str, object]:
    """The JSON object in `path`; `EvidenceError` where it is not one."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EvidenceError(
            f"{str(path)!r} is no JSON: {' '.join(str(error).split())[:120]}.", "Make it again."
        ) from error
    if not isinstance(value, dict):
        raise EvidenceError(f"{str(path)!r} holds no JSON object.", "Make it again.")
    return value


def claims_of(value: object, where: str = "") -> Iterator[Claim]:
    """Every `provenance` object in `value`, outer ones first."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            path = f"{where}/{key}"
            if key == "provenance" and isinstance(inner, Mapping):
                yield _claim(path, inner)
            yield from claims_of(inner, path)
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from claims_of(inner, f"{where}/{place}")


def _claim(where: str, found: Mapping[str, object]) -> Claim:
    city = found.get("city")
    held = city if isinstance(city, Mapping) else {}

    def text(source: Mapping[str, object], key: str) -> str | None:
        value = source.get(key)
        return value if isinstance(value, str) else None

    return Claim(
        where,
        text(found, "command"),
        text(found, "commit"),
        text(found, "code_sha256"),
        text(held, "id"),
        text(held, "sha256"),
    )


def same_codes(folder: Path, code: str) -> frozenset[str]:
    """Hashes of older codes that give the results of `code`, by ``same_results.json`` in `folder`."""
    path = folder / SAME
    found = read_object(path) if path.is_file() else {}
    episodes, compared = found.get("episodes"), found.get("compared")
    if found.get("code_sha256") != code or not isinstance(episodes, int) or episodes < LEAST_EPISODES:
        return frozenset()
    rows = compared if isinstance(compared, list) else []
    return frozenset(str(row.get("old_code_sha256")) for row in rows if row.get("episodes_different") == 0)


def judge(name: str, claims: tuple[Claim, ...], codes: Collection[str], cities: Mapping[str, str]) -> Evidence:
    """State of a file with these claims, beside the hashes of `codes` that count as present and the packs' by id."""
    for claim in claims:
        if claim.code_sha256 is not None and claim.code_sha256 not in codes:
            return Evidence(name, STALE, f"{claim.where}: another code ({claim.code_sha256[:12]})", claims)
        if claim.city_sha256 is not None and cities.get(claim.city_id or "") != claim.city_sha256:
            return Evidence(name, STALE, f"{claim.where}: another city ({claim.city_sha256[:12]})", claims)
    if not claims:
        return Evidence(name, UNSIGNED, "no provenance", claims)
    for claim in claims:
        if claim.code_sha256 is None or claim.city_sha256 is None:
            lacks = "code_sha256" if claim.code_sha256 is None else "the city's hash"
            return Evidence(name, UNSIGNED, f"{claim.where}: no {lacks}", claims)
    return Evidence(name, CURRENT, "", claims)


def png_text(path: Path) -> dict[str, str]:
    """Text chunks of a PNG by key (the tEXt chunks of the PNG specification, section 11.3.4.3)."""
    data = path.read_bytes()
    out, at = {}, 8
    while at + 8 <= len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        if data[at + 4 : at + 8] == b"tEXt":
            key, _, text = data[at + 8 : at + 8 + size].partition(b"\0")
            out[key.decode("latin-1")] = text.decode("latin-1")
        at += 12 + size
    return out


def claims_in(path: Path) -> tuple[Claim, ...]:
    """Claims of a file: of a PNG those in its text chunk `provenance`; of another one that is no JSON, and of a
    PNG without that chunk, those of the JSON of the same name beside it, or of the film whose frame it is."""
    if path.suffix == ".json":
        return tuple(claims_of(read_object(path)))
    if path.suffix == ".png":
        try:
            told = json.loads(png_text(path).get("provenance", "null"))
        except ValueError:
            told = None
        if isinstance(told, dict):
            return (_claim("/provenance", told),)
    for beside in (path.with_suffix(".json"), path.with_name("film.json")):
        if beside.is_file():
            return tuple(claims_of(read_object(beside)))
    return ()


def survey(folder: Path, code: str, cities: Mapping[str, str]) -> tuple[Evidence, ...]:
    """All files of evidence in `folder` and below, by name; Markdown is no evidence."""
    found, codes = [], {code, *same_codes(folder, code)}
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix != ".md"):
        name = path.relative_to(folder).as_posix()
        found.append(judge(name, claims_in(path), codes, cities))
    return tuple(found)
