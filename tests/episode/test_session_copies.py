"""Snapshots, forks and what-ifs: a copy goes its own way and never touches where it came from."""

from __future__ import annotations

import hashlib
import json
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
from session_tools import block, first_usable, physical, until_pending

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode import snapshot as container
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.schema.errors import OptionError, SnapshotError

RESTORE = """
import sys
from ev_grid_oracle.episode.session import Session
s = Session.restore(open(sys.argv[1], "rb").read())
while not s.observation.done:
    s.step()
print(s.digest(), s.observation.info["kpis"]["composite_car_minutes"])
"""


def test_restore_goes_on_as_the_original_would(session: Session) -> None:
    session.reset(seed=7, scenario="station_outage", ticks=30)
    for _ in range(12):
        session.step()
    session.step("rubbish" if session.observation.pending else None)
    twin = Session.restore(session.snapshot())
    a, b = session.observation, twin.observation
    assert np.array_equal(a.row, b.row, equal_nan=True)
    assert (a.reward, a.breakdown, a.flags, a.info, a.done) == (
        b.reward,
        b.breakdown,
        b.flags,
        b.info,
        b.done,
    )
    assert a.announcements == b.announcements != ()
    assert twin.host_view() == session.host_view()
    while not a.done:
        a, b = session.step(), twin.step()
        assert (a.reward, a.breakdown, a.announcements) == (b.reward, b.breakdown, b.announcements)
        assert session.digest() == twin.digest()
    assert a.info == b.info and b.done


def test_a_snapshot_taken_twice_is_the_same_bytes(session: Session) -> None:
    session.reset(seed=1)
    assert session.snapshot() == session.snapshot()
    assert Session.restore(session.snapshot()).snapshot() == session.snapshot()


@pytest.mark.slow
def test_restore_in_another_process(session: Session, tmp_path) -> None:  # type: ignore[no-untyped-def]
    """Travel tables of the way so far are made anew there."""
    session.reset(seed=9, ticks=40, start="16:50")
    for _ in range(20):
        obs = session.observation
        session.step([] if not obs.pending else None)
    (tmp_path / "s").write_bytes(session.snapshot())
    out = subprocess.run(
        [sys.executable, "-c", RESTORE, str(tmp_path / "s")], capture_output=True, text=True, check=True
    ).stdout.split()
    while not session.observation.done:
        session.step()
    kpis = session.observation.info["kpis"]
    assert out == [session.digest(), str(kpis["composite_car_minutes"])]  # type: ignore[index]


def test_damaged_and_foreign_snapshots_are_refused(session: Session, city_blr: CityPack) -> None:
    session.reset(seed=1)
    blob = session.snapshot()
    flipped = bytearray(blob)
    flipped[len(blob) // 2] ^= 1
    versioned = bytearray(blob)
    versioned[4] = 9
    for bad in (
        b"",
        b"EVGC",
        blob[:-1],
        blob + b"x",
        bytes(flipped),
        bytes(versioned),
        b"x" * 100,
        "text",
        None,
    ):
        with pytest.raises(SnapshotError) as found:
            Session.restore(bad)  # type: ignore[arg-type]
        assert found.value.code == "E_SNAPSHOT" and found.value.hint
    with pytest.raises(SnapshotError, match="another city"):
        Session.restore(blob, city_blr)
    with pytest.raises(SnapshotError):
        Session.restore(blob, "atlantis")


def test_previews_change_nothing(session: Session) -> None:
    """Run B makes three what-ifs before each step, one of them illegal; states stay those of run A."""
    session.reset(seed=5)
    other = session.fork()
    for _ in range(20):
        obs = other.observation
        for answer in (None, "rubbish", block(first_usable(obs)) if obs.pending and _goes(obs) else None):
            other.fork().step(answer)
            other.fork(future=3).step(answer)
        session.step()
        other.step()
        assert session.digest() == other.digest()


def _goes(obs) -> bool:  # type: ignore[no-untyped-def]
    return bool(obs.candidates(0).usable.any())


def test_a_preview_is_what_then_happens(session: Session) -> None:
    session.reset(seed=3)
    obs = until_pending(session)
    text = block(first_usable(obs))
    preview = session.fork()
    seen = preview.step(text)
    real = session.step(text)
    assert preview.digest() == session.digest() and seen.reward == real.reward


def test_a_redrawn_fork_shows_the_same_present_and_another_future(session: Session) -> None:
    session.reset(seed=5, scenario="station_outage", ticks=40)
    for _ in range(8):
        session.step()
    before = session.digest()
    one, two, same = session.fork(future=1), session.fork(future=2), session.fork(future=1)
    for fork in (one, two, same):
        assert np.array_equal(fork.observation.row, session.observation.row, equal_nan=True)
        assert fork.observation.announcements == session.observation.announcements
        assert fork.observation.prompt == session.observation.prompt
    for fork in (one, two, same, session):
        for _ in range(6):
            fork.step()
    assert one.digest() == same.digest() and len({one.digest(), two.digest(), session.digest()}) == 3
    assert before != session.digest()


def test_a_redrawn_fork_has_forgotten_what_names_the_future(session: Session) -> None:
    session.reset(seed=424242, scenario="station_outage", ticks=40)
    for _ in range(3):
        session.step()
    fork = session.fork(future=0)
    view = fork.host_view()
    assert (view["seed"], view["scenario"], view["options"], view["future"]) == (None, None, None, 0)
    assert [e["label"] for e in view["schedule"]] == ["North Gate down to 1 bay (planned work)"]  # type: ignore[index, attr-defined]
    assert b"424242" not in fork.snapshot() and b"More cars" not in fork.snapshot()
    again = Session.restore(fork.snapshot())
    for _ in range(5):
        assert again.step().reward == fork.step().reward
    assert again.host_view() == fork.host_view()
    for bad in (True, -1, 1.0, "1"):
        with pytest.raises(OptionError):
            session.fork(future=bad)  # type: ignore[arg-type]


def test_the_hidden_future_does_not_show(session: Session, city_toy: CityPack) -> None:
    """Two worlds with one present and different futures give an agent the same to see."""
    session.reset(seed=11, ticks=40)
    until_pending(session)
    views = set()
    for k in range(4):
        obs = session.fork(future=k).observation
        table = obs.candidates(0)
        digest = hashlib.sha256(obs.row.tobytes() + obs.prompt.encode() + table.score.tobytes())
        views.add(digest.hexdigest())
    assert len(views) == 1


def test_planning_gives_redrawn_worlds_only(session: Session) -> None:
    session.reset(seed=5)
    planning = session.planning()
    one, two = planning.fork_rows(1, 12), planning.fork_rows(1, 12)
    assert one.digest(0) == two.digest(0) != session.digest()
    assert one.digest(0) == session.fork(future=1).digest()
    assert not np.array_equal(one.u[0], session._world.u[0])


def test_a_fork_of_the_true_future_keeps_everything(session: Session) -> None:
    session.reset(seed=5)
    session.step()
    fork = session.fork()
    assert fork.digest() == session.digest() and physical(fork) == physical(session)
    assert fork.host_view() == session.host_view()


def test_a_sealed_head_that_lacks_something_is_refused(session: Session) -> None:
    """The checksum holds; what is inside is no session."""
    session.reset(seed=1)
    session.step()
    blob = session.snapshot()
    head, world = container.split(blob)
    for change in (
        {"options": {"seed": -1}},
        {"options": {"speed": 3}},
        {"options": 3},
        {"schedule": 5},
        {"schedule": [{"tick": 3}]},
        {"forecasts": [{"made": 3}]},
        {"flags": None},
        {"info": []},
        {"extra": 1},
    ):
        with pytest.raises(SnapshotError) as found:
            Session.restore(_sealed({**head, **change}, world))
        assert found.value.hint
    for missing in head:
        with pytest.raises(SnapshotError):
            Session.restore(_sealed({k: v for k, v in head.items() if k != missing}, world))
    with pytest.raises(SnapshotError):
        Session.restore(_sealed(head, world[:-8]))
    assert Session.restore(_sealed(head, world)).digest() == session.digest()


def _sealed(head: dict[str, object], world: bytes) -> bytes:
    text = json.dumps(head).encode()
    crc = zlib.crc32(world, zlib.crc32(text))
    return struct.pack("<4sHIII", b"EVGC", container.VERSION, len(text), len(world), crc) + text + world
