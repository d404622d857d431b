"""All evidence names the code and the city that it was measured with, and they are the present ones."""

from __future__ import annotations

import json
import shutil
import struct
import zlib
from fnmatch import fnmatch
from pathlib import Path

import pytest

from ev_grid_oracle.city import load_city
from ev_grid_oracle.city.load import list_cities
from ev_grid_oracle.evaluation import plan_evidence as ev
from ev_grid_oracle.evaluation.provenance import code_hash, provenance

ARTIFACTS = Path(__file__).resolve().parent.parent.parent / "artifacts"
WITHOUT_HASH = {
    "health.json": "about the tree, not about an episode",
    "ui/*.png": "pictures of the command center",
}
"""Files that carry no hash, and why. The list may only become shorter."""


@pytest.fixture(scope="module")
def cities() -> dict[str, str]:
    return {name: load_city(name).sha256 for name in list_cities()}


def test_no_evidence_claims_another_code_or_city(cities: dict[str, str]) -> None:
    found = ev.survey(ARTIFACTS, code_hash(), cities)
    assert len(found) > 5
    assert [f"{e.name}: {e.reason}" for e in found if e.state == ev.STALE] == []
    unsigned = [e.name for e in found if e.state == ev.UNSIGNED]
    assert [n for n in unsigned if not any(fnmatch(n, known) for known in WITHOUT_HASH)] == []


def test_a_current_claim_holds_and_another_does_not(tmp_path: Path, cities: dict[str, str]) -> None:
    claim = provenance(load_city("toy"))
    good, stale, moved, bare = (json.loads(json.dumps(claim)) for _ in range(4))
    stale["code_sha256"] = "0" * 64
    moved["city"]["sha256"] = "0" * 64
    del bare["code_sha256"]
    for name, told in (("good", good), ("stale", stale), ("moved", moved), ("bare", bare)):
        (tmp_path / f"{name}.json").write_text(json.dumps({"rows": [1], "provenance": told}))
    (tmp_path / "deep.json").write_text(json.dumps({"runs": [{"provenance": good}, {"provenance": stale}]}))
    (tmp_path / "none.json").write_text("{}")
    (tmp_path / "good.csv").write_text("a\n1\n")
    (tmp_path / "film").mkdir()
    (tmp_path / "film" / "film.json").write_text(json.dumps({"provenance": stale}))
    (tmp_path / "film" / "frame_000001.png").write_bytes(b"")
    (tmp_path / "lonely.csv").write_text("a\n1\n")
    states = {e.name: e.state for e in ev.survey(tmp_path, code_hash(), cities)}
    assert states == {
        "good.json": ev.CURRENT,
        "good.csv": ev.CURRENT,
        "film/film.json": ev.STALE,
        "film/frame_000001.png": ev.STALE,
        "stale.json": ev.STALE,
        "moved.json": ev.STALE,
        "deep.json": ev.STALE,
        "bare.json": ev.UNSIGNED,
        "none.json": ev.UNSIGNED,
        "lonely.csv": ev.UNSIGNED,
    }


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ({}, ev.CURRENT),
        ({"code_sha256": "1" * 64}, ev.STALE),  # the comparison was made with another code than the present one
        ({"episodes": ev.LEAST_EPISODES - 1}, ev.STALE),
        ({"compared": [{"old_code_sha256": "0" * 64, "episodes_different": 1}]}, ev.STALE),
        ({"compared": [{"old_code_sha256": "2" * 64, "episodes_different": 0}]}, ev.STALE),
        ({"compared": []}, ev.STALE),
    ],
)
def test_an_older_code_stands_where_it_was_shown_to_give_the_same(
    tmp_path: Path, cities: dict[str, str], change: dict[str, object], state: str
) -> None:
    same = {
        "code_sha256": code_hash(),
        "episodes": ev.LEAST_EPISODES,
        "compared": [{"old_code_sha256": "0" * 64, "episodes_different": 0}],
        "provenance": provenance(load_city("toy")),
    }
    old = {**provenance(load_city("toy")), "code_sha256": "0" * 64}
    (tmp_path / ev.SAME).write_text(json.dumps({**same, **change}))
    (tmp_path / "old.json").write_text(json.dumps({"provenance": old}))
    assert {e.name: e.state for e in ev.survey(tmp_path, code_hash(), cities)}["old.json"] == state


def png(text: str) -> bytes:
    """One grey pixel with a text chunk `provenance`."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    body = chunk(b"tEXt", b"provenance\0" + text.encode("latin-1"))
    return b"\x89PNG\r\n\x1a\n" + head + body + chunk(b"IDAT", zlib.compress(b"\0\0")) + chunk(b"IEND", b"")


def test_a_figure_can_carry_its_claim(tmp_path: Path, cities: dict[str, str]) -> None:
    claim = provenance(load_city("toy"))
    (tmp_path / "a.png").write_bytes(png(json.dumps(claim)))
    claim["code_sha256"] = "0" * 64
    (tmp_path / "b.png").write_bytes(png(json.dumps(claim)))
    (tmp_path / "c.png").write_bytes(png("nonsense"))
    states = [e.state for e in ev.survey(tmp_path, code_hash(), cities)]
    assert states == [ev.CURRENT, ev.STALE, ev.UNSIGNED]


def test_a_broken_file_is_named(tmp_path: Path, cities: dict[str, str]) -> None:
    shutil.copy(ARTIFACTS / "powerflow.json", tmp_path / "cut.json")
    (tmp_path / "cut.json").write_text((tmp_path / "cut.json").read_text()[:-20])
    with pytest.raises(ev.EvidenceError, match=r"cut\.json"):
        ev.survey(tmp_path, code_hash(), cities)
