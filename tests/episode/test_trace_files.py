"""Traces: what they hold, that they survive a file, and that a lie in one is found and named."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from session_tools import block, first_usable, until_pending

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode import capture as k
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.episode.replay import trace_of, verify_trace
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.episode.trace import Trace
from ev_grid_oracle.reward.terms import TERM_NAMES
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.errors import NoEpisodeError, TraceError


@pytest.fixture
def played(session: Session) -> Session:
    """An episode with texts, refusals, structured answers and silence."""
    session.policy_name = "tester"
    obs = session.reset(seed=3, scenario="station_outage", ticks=26)
    said = 0
    while not obs.done:
        if obs.pending and obs.candidates(0).usable.any() and said % 4 == 0:
            obs = session.step(block(first_usable(obs)), source="llm")
        elif said % 4 == 1:
            obs = session.step("rubbish", source="llm")
        elif said % 4 == 2:
            obs = session.step({"actions": [{"action_type": "route", "station_id": "TOY-Z"}]})
        else:
            obs = session.step()
        said += 1
    return session


def test_frames_hold_what_the_steps_returned(session: Session) -> None:
    obs = session.reset(seed=3, ticks=12)
    seen = []
    while not obs.done:
        obs = session.step(block(first_usable(obs)) if obs.pending and _goes(obs) else None)
        seen.append((obs, session.digest()))
    trace = session.trace
    assert len(trace) == 12 and trace.done
    for frame, (then, digest) in zip(trace, seen, strict=True):
        state = then.state
        assert (frame.reward, frame.breakdown, frame.digest) == (then.reward, then.breakdown, digest)
        assert tuple(frame.flags) == then.flags and frame.tick == state.tick - 1
        assert np.array_equal(frame.occupied, state.stations.occupied)
        assert np.array_equal(frame.queued, state.stations.queued)
        assert np.array_equal(frame.station_kw, state.stations.load_kw)
        assert np.allclose(frame.feeders[0] / session.city.grid.feeder_kva, state.feeders.load_frac)
        known = [c for c in frame.cars if not c["walkin"]]
        assert len(known) == int((~state.inbound_announced).sum())
        json.dumps(frame.to_dict(), allow_nan=False)
    assert trace.frame(-1).settle == seen[-1][0].info["settle"]
    assert [a["code"] for f in trace for a in f.answers] == [""] * sum(len(f.answers) for f in trace)
    assert (trace.frame(0).minute_of_day, trace.frame(3).minute_of_day) == (1020, 1035)
    with pytest.raises(TraceError):
        trace.frame(12)


def _goes(obs) -> bool:  # type: ignore[no-untyped-def]
    return bool(obs.candidates(0).usable.any())


def test_a_file_gives_the_same_trace(played: Session, tmp_path: Path) -> None:
    trace = played.trace
    path = trace.save(tmp_path / "run.evt")
    again = Trace.load(path)
    for name in ("heads", "numbers", "words", "answers", "cars", "accounts", "settle"):
        assert np.array_equal(getattr(trace, name), getattr(again, name)), name
    assert again.texts == trace.texts and again.header == trace.header and again.start == trace.start
    assert [f.to_dict() for f in again] == [f.to_dict() for f in trace]
    assert again.header["policy"] == "tester" and again.header["seed"] == 3
    assert again.header["sources"]["llm"] > 0  # type: ignore[index]
    assert trace.save(tmp_path / "two.evt").read_bytes() == path.read_bytes()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["run.evt", "two.evt"], "nothing is left beside"
    assert verify_trace(path).ok and verify_trace(path).frames == 26


def test_broken_files_are_refused_in_a_sentence(played: Session, tmp_path: Path) -> None:
    data = played.trace.save(tmp_path / "run.evt").read_bytes()
    altered = bytearray(data)
    altered[-20] ^= 1
    header = data.replace(b'"seed":3', b'"seed":4')
    bad = tmp_path / "bad.evt"
    for content, words in (
        (b"", "no trace"),
        (b"hello\nworld\n", "no trace"),
        (data[: len(data) // 2], "cut or altered"),
        (data[:-1], "cut or altered"),
        (bytes(altered), "cut or altered"),
        (header, "cut or altered"),
        (data.replace(b"EVGRID-TRACE 2 ", b"EVGRID-TRACE 7 ", 1), "version 7"),
    ):
        bad.write_bytes(content)
        with pytest.raises(TraceError, match=words) as found:
            Trace.load(bad)
        assert found.value.code == "E_TRACE" and found.value.hint
    with pytest.raises(TraceError, match="could not be read"):
        Trace.load(tmp_path / "missing.evt")
    with pytest.raises(TraceError, match="could not be written"):
        played.trace.save(tmp_path / "no" / "folder" / "run.evt")


def _doctored(trace: Trace, name: str, change) -> Trace:  # type: ignore[no-untyped-def]
    column = getattr(trace, name).copy()
    change(column)
    return replace(trace, **{name: column}, _ends={})


def _add(column, t: int, index: int, value: float) -> None:  # type: ignore[no-untyped-def]
    column[t, index] += value


@pytest.mark.parametrize(
    ("name", "index", "value", "field"),
    [
        ("numbers", k.G_REWARD, 0.5, "reward"),
        ("numbers", k.N_GRID, 0.5, "breakdown.wait"),
        ("numbers", k.N_GRID + 8, 1e-9, "breakdown.format"),
        ("numbers", k.N_GRID + r.N_TERMS + 2, 1.0, "facts"),
        ("numbers", k.N_GRID + r.N_TERMS + r.N_TK, 1.0, "station_kw"),
        ("numbers", k.N_GRID + r.N_TERMS + r.N_TK + 4, 1.0, "feeder_kva"),
        ("heads", k.H_MINUTE, 1, "minute_of_day"),
        ("heads", k.H_PENDING, 1, "pending"),
        ("heads", k.N_HEAD, 1, "flags.invalid_action"),
        ("heads", k.N_HEAD + r.N_FLAGS, 1, "occupied"),
        ("heads", k.N_HEAD + r.N_FLAGS + 4, 1, "queued"),
        ("words", 0, 1, "digest"),
    ],
)
def test_a_doctored_number_is_named(
    played: Session, tmp_path: Path, name: str, index: int, value: float, field: str
) -> None:
    column = getattr(played.trace, name)
    told = _doctored(played.trace, name, lambda c: _add(c, 7, index, np.asarray(value, column.dtype)))
    report = verify_trace(told.save(tmp_path / "lie.evt"))
    assert (report.ok, report.tick, report.field, report.frames) == (False, 7, field, 7)
    assert "7" in report.message and field in report.message


def test_a_doctored_answer_is_named(city_toy: CityPack, tmp_path: Path) -> None:
    session = Session(city_toy)
    session.reset(seed=3, ticks=20)
    obs = until_pending(session)
    tick, usable = obs.state.tick, np.flatnonzero(obs.candidates(0).usable)
    session.step([{"action_type": "route", "station_id": obs.station_ids[usable[0]], "charge_rate": "slow"}])
    while not session.observation.done:
        session.step()
    honest = session.trace
    assert verify_trace(honest).ok
    told = _doctored(honest, "answers", lambda c: _add(c, 0, r.D_STATION, int(usable[1] - usable[0])))
    report = verify_trace(told.save(tmp_path / "lie.evt"))
    assert not report.ok and report.tick == tick
    wild = _doctored(honest, "answers", lambda c: _add(c, 0, r.D_STATION, 1000))
    assert (verify_trace(wild).ok, verify_trace(wild).tick, verify_trace(wild).field) == (
        False,
        tick,
        "answers",
    )


def test_a_text_that_says_something_else_is_named(played: Session) -> None:
    trace = played.trace
    tick = min(t for t, text in trace.texts.items() if text.startswith("ACTION"))
    report = verify_trace(replace(trace, texts={**trace.texts, tick: block(action="defer", minutes=5)}))
    assert (report.ok, report.tick, report.field) == (False, tick, "reward") or report.tick == tick
    report = verify_trace(replace(trace, texts={**trace.texts, tick: "rubbish"}))
    assert not report.ok and report.tick == tick


def _without(trace: Trace, t: int) -> Trace:
    keep = np.arange(len(trace)) != t
    parts = {
        n: np.concatenate([trace.part(n, j) for j in range(len(trace)) if j != t])
        for n in ("answers", "cars")
    }
    return replace(
        trace,
        heads=trace.heads[keep],
        numbers=trace.numbers[keep],
        words=trace.words[keep],
        **parts,
        _ends={},
    )


def test_a_removed_tick_is_named(played: Session, tmp_path: Path) -> None:
    report = verify_trace(_without(played.trace, 9).save(tmp_path / "lie.evt"))
    assert (report.ok, report.tick, report.field, report.frames) == (False, 10, "tick", 9)
    last = verify_trace(_without(played.trace, 25))
    assert (last.ok, last.field) == (False, "accounts"), "the sums still tell of the tick that is gone"


def test_doctored_sums_and_headers_are_found(played: Session) -> None:
    trace = played.trace
    assert verify_trace(replace(trace, accounts=trace.accounts + 1.0)).field == "accounts"
    assert verify_trace(replace(trace, settle=trace.settle + 1.0)).field == "settle"
    options = {**trace.header["options"], "seed": 4}  # type: ignore[dict-item]
    lie = verify_trace(replace(trace, header={**trace.header, "options": options, "seed": 4}))
    assert not lie.ok and lie.tick == 0
    for header, words in (
        ({**trace.header, "seed": 4}, "seed and scenario"),
        ({**trace.header, "sim_version": 0}, "simulator"),
        ({**trace.header, "city": {"id": "toy", "sha256": "0"}}, "has changed"),
        ({**trace.header, "city": {"id": "atlantis", "sha256": "0"}}, "cannot be started"),
        ({**trace.header, "options": {"seed": "x"}}, "cannot be started"),
        ({"sim_version": trace.header["sim_version"]}, "lacks"),
    ):
        with pytest.raises(TraceError, match=words):
            verify_trace(replace(trace, header=header))


def test_a_trace_that_begins_in_mid_episode_carries_its_start(played: Session, tmp_path: Path) -> None:
    played.reset(seed=8, ticks=20)
    for _ in range(5):
        played.step()
    twin = Session.restore(played.snapshot())
    fork = played.fork(future=4, record=True)
    for session in (twin, fork):
        for _ in range(6):
            session.step()
        path = session.trace.save(tmp_path / "part.evt")
        assert Trace.load(path).frame(0).tick == 5
        assert verify_trace(path).ok, verify_trace(path)
    assert fork.trace.header["future"] == 4 and "seed" not in fork.trace.header
    with pytest.raises(NoEpisodeError):
        _ = played.fork().trace


def test_an_unfinished_trace_is_a_trace(session: Session) -> None:
    session.reset(seed=1)
    assert len(session.trace) == 0 and verify_trace(session.trace).ok
    session.step()
    assert not session.trace.done and verify_trace(session.trace).ok


def test_a_batch_gives_the_same_trace(city_toy: CityPack, tmp_path: Path) -> None:
    options: dict[str, object] = {"seed": 6, "scenario": "station_outage", "ticks": 24}
    batch = Batch(city_toy, 1)
    batch.reset([resolve(city_toy, **options).world])
    answers = np.zeros((24, 1, batch.max_answers, r.N_DCOL), np.int32)
    counts = np.zeros((24, 1), np.int32)
    rewards = batch.play("greedy_counting", 24, (answers, counts))
    trace = trace_of(city_toy, options, answers[:, 0], counts[:, 0], rewards[:, 0], policy="greedy_counting")
    assert np.array_equal(trace.rewards, rewards[:, 0])
    assert trace.frame(-1).digest == batch.world.digest(0)
    assert verify_trace(trace.save(tmp_path / "batch.evt")).ok
    with pytest.raises(TraceError, match="Tick 3"):
        doctored = rewards[:, 0].copy()
        doctored[3] += 1.0
        trace_of(city_toy, options, answers[:, 0], counts[:, 0], doctored)


def test_long_episodes_outgrow_the_first_arrays(city_toy: CityPack) -> None:
    session = Session(city_toy)
    session.reset(seed=1, ticks=600, settle=False)
    while not session.observation.done:
        session.step()
    trace = session.trace
    assert len(trace) == 600 and trace.heads[:, k.H_TICK].tolist() == list(range(600))
    assert sum(len(trace.part("cars", t)) for t in range(600)) == len(trace.cars)
    assert verify_trace(trace).ok


def test_terms_add_up(played: Session) -> None:
    for frame in played.trace:
        assert sum(frame.breakdown[n] for n in TERM_NAMES) == pytest.approx(frame.reward, abs=1e-12)


def _resealed(data: bytes, change) -> bytes:  # type: ignore[no-untyped-def]
    """The file with its header changed and a checksum that holds again."""
    _first, line, packed = data.split(b"\n", 2)
    head = json.loads(line)
    body = json.dumps(change(head), sort_keys=True).encode() + b"\n" + packed
    return b"EVGRID-TRACE 2 " + hashlib.sha256(body).hexdigest().encode() + b"\n" + body


def test_a_sealed_header_that_does_not_fit_is_refused(played: Session, tmp_path: Path) -> None:
    data = played.trace.save(tmp_path / "run.evt").read_bytes()
    assert len(Trace.load(tmp_path / "run.evt")) == 26

    def columns(head, **changes):  # type: ignore[no-untyped-def]
        return {**head, "columns": [{**c, **changes.get(c["name"], {})} for c in head["columns"]]}

    bad = tmp_path / "bad.evt"
    for change in (
        lambda h: {**h, "frames": 25},
        lambda h: {name: v for name, v in h.items() if name != "columns"},
        lambda h: {**h, "columns": h["columns"][1:]},
        lambda h: {**h, "columns": 3},
        lambda h: {**h, "stations": h["stations"][1:]},
        lambda h: {**h, "stations": 4},
        lambda h: columns(h, heads={"shape": [-1, 5]}),
        lambda h: columns(h, heads={"shape": [2**40, 2**40]}),
        lambda h: columns(h, numbers={"dtype": "<f4"}),
        lambda h: columns(h, cars={"shape": [1, 8]}),
        lambda h: [],
    ):
        bad.write_bytes(_resealed(data, change))
        with pytest.raises(TraceError) as found:
            Trace.load(bad)
        assert found.value.hint
