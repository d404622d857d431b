"""A trace file beside the baseline: the lane is the recorded run, and what is no true trace is refused in a sentence."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.episode.trace import Trace
from ev_grid_oracle.server.demo_session import DemoSession

BAD = "ACTION: fly"


@pytest.fixture(scope="module")
def recorded(city_toy: CityPack, tmp_path_factory: pytest.TempPathFactory) -> tuple[Trace, Path]:
    """Spawned cars, a refused text, refused actions without a text, and ticks of a policy."""
    policies = {"baseline": "baseline", "oracle": "greedy_counting"}
    demo = DemoSession("recorded", city_toy, {"seed": 4, "ticks": 8}, policies, 30.0)
    for tick in range(8):
        if tick in (2, 5):
            demo.spawn({"persona": "emergency", "soc_frac": 0.2})
        if tick in (3, 4):
            demo.lanes["oracle"].session.step(BAD if tick == 3 else [{}], source="llm")
            demo.lanes["baseline"].step()
        else:
            demo.step()
    trace = demo.lanes["oracle"].session.trace
    demo.close()
    return trace, trace.save(tmp_path_factory.mktemp("told") / "run.evt")


def test_a_trace_is_played_as_it_was_recorded(client: TestClient, recorded: tuple[Trace, Path]) -> None:
    trace, path = recorded
    state = client.post("/demo/trace", content=path.read_bytes()).json()
    assert state["tick"] == 0 and state["trace"] == {"policy": trace.header["policy"], "ticks": 8}
    body = {"session_id": state["session_id"], "ticks": 8}
    events = client.post("/demo/step", json=body).json()["events"]
    assert [e["type"] for e in events].count("spawn") == 2 and [e["seq"] for e in events] == list(range(10))
    ticks = [e for e in events if e["type"] == "tick"]
    lane = [t["lanes"]["oracle"] for t in ticks]
    assert [x["frame"]["digest"] for x in lane] == [f.digest for f in trace]
    assert [x["frame"]["reward"] for x in lane] == [f.reward for f in trace]
    assert [x["badge"]["source"] for x in lane] == [f.source for f in trace]
    assert lane[3]["frame"]["text"] == BAD and lane[3]["frame"]["refused"] and lane[4]["frame"]["refused"]
    assert ticks[-1]["done"] and ticks[-1]["lanes"]["baseline"]["badge"]["acted"] == "baseline"
    added = client.post("/demo/spawn_vehicle", json={"session_id": state["session_id"]})
    assert added.status_code == 422 and "plays a trace" in added.json()["message"]


def test_a_trace_that_stops_early_ends_there(client: TestClient, city_toy: CityPack, tmp_path: Path) -> None:
    session = Session(city_toy)
    session.reset(seed=1, ticks=6)
    session.step()
    session.step()
    data = session.trace.save(tmp_path / "short.evt").read_bytes()
    name = client.post("/demo/trace", content=data).json()["session_id"]
    assert client.post("/demo/step", json={"session_id": name, "ticks": 2}).json()["tick"] == 2
    reply = client.post("/demo/step", json={"session_id": name})
    assert reply.status_code == 409 and reply.json()["message"] == "The trace ends here."


def test_what_is_no_true_trace_is_refused(
    client: TestClient, recorded: tuple[Trace, Path], city_toy: CityPack, tmp_path: Path
) -> None:
    trace, path = recorded
    whole = path.read_bytes()
    lie = trace.numbers.copy()
    lie[5, 0] += 1.0
    told = {
        "rewards": replace(trace, numbers=lie),
        "city": replace(trace, header={**trace.header, "city": {"id": "pune", "sha256": "0" * 64}}),
        "older": replace(trace, header={**trace.header, "city": {"id": "toy", "sha256": "0" * 64}}),
        "middle": replace(trace, start=b"x"),
    }
    files = {name: t.save(tmp_path / name).read_bytes() for name, t in told.items()}
    first, _, body = whole.partition(b"\n")
    head, _, packed = body.partition(b"\n")
    odd = head + b"\n" + packed[:40]
    files |= {"cut": whole[:-20], "text": b"hello", "empty": b""}
    files["odd"] = b" ".join([*first.split(b" ")[:2], hashlib.sha256(odd).hexdigest().encode()]) + b"\n" + odd
    for name, why in (
        ("rewards", "Tick 5 is not what the simulator gives: reward differs."),
        ("city", "another city"), ("older", "has changed"), ("middle", "in the middle"),
        ("cut", "cut or altered"), ("text", "The file is no trace."), ("empty", "The file is no trace."),
        ("odd", "do not fit together"),
    ):  # fmt: skip
        reply = client.post("/demo/trace", content=files[name])
        assert (reply.status_code, reply.json()["code"]) == (422, "E_TRACE"), name
        assert why in reply.json()["message"], name
    assert client.post("/demo/trace", content=b"0" * (2 << 20)).status_code == 413
