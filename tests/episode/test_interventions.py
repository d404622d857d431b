"""What a host does to a world beside the answers: recorded, played again, and a lie about it is named."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.interventions import H_INTERVENED, Intervention
from ev_grid_oracle.episode.ma_price import order_price
from ev_grid_oracle.episode.replay import verify_trace
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.episode.spawn import spawn
from ev_grid_oracle.episode.trace import Trace
from ev_grid_oracle.episode.two_agents import TwoAgents
from ev_grid_oracle.schema.errors import EpisodeOverError, OptionError, TraceError

TICKS = 14


@pytest.fixture
def spawned(city_toy: CityPack) -> Trace:
    """An episode with two spawned cars before tick 3, one before tick 6, one answered by name."""
    session = Session(city_toy)
    obs = session.reset(seed=5, ticks=TICKS)
    while not obs.done:
        tick, answer = obs.state.tick, None
        if tick == 3:
            spawn(session, persona="taxi", soc_frac=0.3)
            spawn(session, zone=city_toy.zones.ids[1], urgency_frac=0.95)
        elif tick == 6:
            name, obs = spawn(session, lat=13.0, lon=77.6) if _inside(city_toy) else spawn(session, node=4)
            station = obs.station_ids[int(obs.candidates(obs.pending_ids.index(name)).usable.argmax())]
            answer = {"actions": [{"ev_id": name, "action_type": "route", "station_id": station}]}
        obs = session.step(answer)
    return session.trace


def _inside(city: CityPack) -> bool:
    low_lat, high_lat, low_lon, high_lon = city.bbox
    return low_lat <= 13.0 <= high_lat and low_lon <= 77.6 <= high_lon


def test_spawned_cars_are_part_of_the_receipt(spawned: Trace, tmp_path: Path) -> None:
    assert [(d.tick, d.kind) for d in spawned.interventions] == [(3, "spawn"), (3, "spawn"), (6, "spawn")]
    report = verify_trace(spawned)
    assert (report.ok, report.frames) == (True, TICKS), report
    again = Trace.load(spawned.save(tmp_path / "spawned.evt"))
    assert again.interventions == spawned.interventions and verify_trace(again).ok
    assert again.save(tmp_path / "two.evt").read_bytes() == (tmp_path / "spawned.evt").read_bytes()
    assert spawned.frame(3).interventions[0] == {
        "kind": "spawn",
        "given": {"persona": "taxi", "soc_frac": 0.3},
    }
    assert spawned.frame(4).interventions == []
    assert spawned.heads[:, H_INTERVENED].tolist() == [0, 0, 0, 2, 0, 0, 1] + [0] * (TICKS - 7)


Change = Callable[[list[Intervention]], list[Intervention]]


@pytest.mark.parametrize(
    ("change", "tick", "field"),
    [
        (lambda d: [replace(d[0], given={**d[0].given, "soc_frac": 0.31}), *d[1:]], 3, "spawn"),
        (lambda d: [replace(d[0], given={"wings": 2}), *d[1:]], 3, "spawn"),
        (lambda d: [replace(d[0], given={"session": 2}), *d[1:]], 3, "spawn"),
        (lambda d: [replace(d[0], digest="0" * 32), *d[1:]], 3, "spawn"),
        (lambda d: [replace(d[0], kind="price", given={"mult": 1.5}), *d[1:]], 3, "price"),
        (lambda d: [d[1], d[0], d[2]], 3, "spawn"),
        (lambda d: d[1:], 3, "interventions"),
        (lambda d: d[:2], 6, "interventions"),
        (lambda d: [], 3, "interventions"),
        (lambda d: [replace(d[0], tick=2), *d[1:]], 2, "interventions"),
        (lambda d: [*d, replace(d[2], tick=40)], TICKS, "spawn"),
        (lambda d: [*d, replace(d[2], tick=TICKS)], TICKS, "spawn"),
    ],
)
def test_a_doctored_spawn_is_named(
    spawned: Trace, tmp_path: Path, change: Change, tick: int | None, field: str
) -> None:
    told = replace(spawned, interventions=tuple(change(list(spawned.interventions))))
    report = verify_trace(told.save(tmp_path / "lie.evt"))
    assert (report.ok, report.tick, report.field) == (False, tick, field), report
    assert field in report.message


def test_a_spawn_left_out_everywhere_is_still_found(spawned: Trace) -> None:
    heads = spawned.heads.copy()
    heads[:, H_INTERVENED] = 0
    report = verify_trace(replace(spawned, interventions=(), heads=heads))
    assert (report.ok, report.tick) == (False, 3)


def test_a_spawn_after_the_last_frame_counts(city_toy: CityPack) -> None:
    session = Session(city_toy)
    session.reset(seed=5)
    session.step()
    spawn(session)
    trace = session.trace
    assert len(trace) == 1 and verify_trace(trace).ok
    assert verify_trace(replace(trace, interventions=())).field == "accounts"
    lie = replace(trace.interventions[0], given={"soc_frac": 0.11})
    assert verify_trace(replace(trace, interventions=(lie,))).field == "spawn"


def test_a_trace_from_mid_episode_and_forks(city_toy: CityPack) -> None:
    session = Session(city_toy)
    session.reset(seed=5, ticks=TICKS)
    session.step()
    spawn(session)
    twins = (Session.restore(session.snapshot()), session.fork(record=True), session.fork(3, record=True))
    for twin in twins:
        assert twin.trace.interventions == (), "what came before stands in the state the trace begins in"
        twin.step()
        spawn(twin, persona="delivery")
        twin.step()
        assert len(twin.trace.interventions) == 1 and verify_trace(twin.trace).ok
    session.reset(seed=5, ticks=TICKS)
    assert session.trace.interventions == ()


@pytest.mark.parametrize("scenario", ["baseline", "tariff_shock"])
def test_prices_of_the_two_agents_are_part_of_the_receipt(
    city_toy: CityPack, tmp_path: Path, scenario: str
) -> None:
    if scenario not in {s.name for s in city_toy.scenarios}:
        scenario = city_toy.scenarios[-1].name
    game = TwoAgents(city_toy, record=True)
    game.reset(seed=2, scenario=scenario, ticks=TICKS)
    orders = {2: 1.5, 5: 1.5, 7: 0.6, 9: 1.0}
    for tick in range(TICKS):
        if tick in orders:
            directive = {"price_mult": orders[tick], "station_blacklist": [city_toy.stations.ids[0]]}
            game.step({"grid_operator": directive})
        else:
            game.auto_step()
    trace = game.session.trace
    kept = [(d.tick, d.given["mult"]) for d in trace.interventions if d.kind == "price"]
    assert kept[0] == (2, 1.5) and (7, 0.6) in kept, "an order that changes nothing is none"
    assert verify_trace(trace.save(tmp_path / "game.evt")).ok
    k = next(n for n, d in enumerate(trace.interventions) if d.tick == 7)
    lie = list(trace.interventions)
    lie[k] = replace(lie[k], given={"mult": 0.7})
    report = verify_trace(replace(trace, interventions=tuple(lie)))
    assert (report.ok, report.tick, report.field) == (False, 7, "price")
    for wrong in (None, "x", True, 9.0, float("nan")):
        lie[k] = replace(lie[k], given={"mult": wrong})
        assert verify_trace(replace(trace, interventions=tuple(lie))).field == "price"


def test_an_impossible_price_changes_nothing(city_toy: CityPack) -> None:
    session = Session(city_toy)
    session.reset(seed=1, ticks=1)
    digest = session.digest()
    for mult in (0.4, 2.1, "1", None):
        with pytest.raises(OptionError):
            order_price(session, mult)
    assert session.digest() == digest and session.trace.interventions == ()
    session.step()
    with pytest.raises(EpisodeOverError):
        order_price(session, 1.5)


def _sealed(version: int, head: dict[str, object], payload: bytes) -> bytes:
    body = json.dumps(head, sort_keys=True).encode() + b"\n" + gzip.compress(payload, 6, mtime=0)
    return b"EVGRID-TRACE %d %s\n" % (version, hashlib.sha256(body).hexdigest().encode()) + body


def test_files_of_version_1_are_read(city_toy: CityPack, tmp_path: Path) -> None:
    session = Session(city_toy)
    session.reset(seed=5, ticks=4)
    while not session.observation.done:
        session.step()
    _first, line, packed = session.trace.save(tmp_path / "new.evt").read_bytes().split(b"\n", 2)
    head, payload = json.loads(line), gzip.decompress(packed)
    last = head["columns"].pop()
    assert last["name"] == "interventions"
    old = tmp_path / "old.evt"
    old.write_bytes(_sealed(1, head, payload[: len(payload) - last["shape"][0]]))
    trace = Trace.load(old)
    assert trace.interventions == () and verify_trace(trace).ok


@pytest.mark.parametrize(
    "kept",
    [
        {},
        [3],
        [{"tick": 1, "kind": "spawn", "given": {}}],
        [{"tick": True, "kind": "spawn", "given": {}, "digest": ""}],
        [{"tick": 1, "kind": "teleport", "given": {}, "digest": ""}],
        [{"tick": 1, "kind": "spawn", "given": [], "digest": ""}],
        [{"tick": 1, "kind": "spawn", "given": {}, "digest": "", "more": 1}],
        7,
    ],
)
def test_broken_interventions_are_refused(spawned: Trace, tmp_path: Path, kept: object) -> None:
    _first, line, packed = spawned.save(tmp_path / "good.evt").read_bytes().split(b"\n", 2)
    head, payload = json.loads(line), gzip.decompress(packed)
    size = head["columns"][-1]["shape"][0]
    text = json.dumps(kept).encode()
    head["columns"][-1]["shape"] = [len(text)]
    bad = tmp_path / "bad.evt"
    bad.write_bytes(_sealed(2, head, payload[: len(payload) - size] + text))
    with pytest.raises(TraceError):
        Trace.load(bad)


def test_recording_changes_no_world(city_toy: CityPack) -> None:
    sessions = [Session(city_toy, record=record) for record in (True, False)]
    for session in sessions:
        session.reset(seed=5)
        spawn(session, persona="taxi")
        order_price(session, 1.5)
    for _ in range(4):
        assert sessions[0].digest() == sessions[1].digest()
        for session in sessions:
            session.step()
