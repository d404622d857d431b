"""The <SIMULATE> block: scored against the simulator itself, told at T+5, dropped where the episode ends."""

from __future__ import annotations

import numpy as np
import pytest
from session_tools import block, first_usable, until_pending

from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.protocol.predict import Reference, Truth, score_prediction
from ev_grid_oracle.schema.action import SimulationPrediction, StationForecast


def simulate(load: float, renewable: float, top: str) -> str:
    return (
        f"<SIMULATE>\nT+5_GRID_LOAD_PCT: {load:.4f}\nT+5_RENEWABLE_PCT: {renewable:.4f}\n"
        f"T+5_TOP_STATIONS: {top}\n</SIMULATE>\n"
    )


def later(session: Session, text: str) -> Batch:
    """The world five ticks on: this text's answers, then greedy_counting."""
    twin = session.fork()
    twin.step(text)
    batch = Batch(session.city, 1)
    twin._world.copy(0, 0, batch.world)
    batch.play("greedy_counting", 4)
    return batch


@pytest.fixture
def ready(session: Session) -> Session:
    session.reset(seed=3, ticks=40)
    until_pending(session)
    return session


def test_a_true_forecast_scores_one_and_is_told_five_ticks_later(ready: Session) -> None:
    obs = ready.observation
    answer = block(first_usable(obs))
    end = later(ready, answer)
    row = end.world.observe(0)
    view = end.world.layout.view
    slots = ready.city.stations.slots
    occupied, queued = view(row, "O_OCC")[:4].astype(float), view(row, "O_QUEUE")[:4].astype(float)
    order = sorted(range(4), key=lambda s: (-(occupied[s] + queued[s]) / slots[s], s))[:3]
    top = " | ".join(
        f"{ready.city.stations.ids[s]}:{occupied[s] / slots[s]:.4f}:{int(queued[s])}" for s in order
    )
    scalar = ready._decoder.scalar
    text = simulate(scalar(row, 5), scalar(row, 6), top) + answer
    before, made = ready.fork(), obs.state.tick
    before.step(answer)
    assert ready.step(text).info["errors"] == []
    assert ready.digest() == before.digest(), "a forecast changes nothing in the world"
    for _ in range(4):
        assert ready.host_view()["predictions"] == []
        ready.step()
    (known,) = ready.host_view()["predictions"]  # type: ignore[misc]
    assert (known["made_tick"], known["due_tick"]) == (made, made + 5)
    assert known["scores"]["grid_load"] == pytest.approx(1.0, abs=0.02)
    assert known["scores"]["renewable"] == pytest.approx(1.0, abs=0.02)
    assert known["scores"]["stations"] == pytest.approx(1.0, abs=0.02)


def test_reference_is_last_value_plus_the_slope_of_the_hour(ready: Session) -> None:
    obs = ready.observation
    state, city = obs.state, ready.city
    answer = block(first_usable(obs))
    said = SimulationPrediction(0.9, 0.1, (StationForecast("TOY-A", 0.5, 2),))
    end = later(ready, answer)
    row, view = end.world.observe(0), end.world.layout.view
    scalar = ready._decoder.scalar
    base = state.feeders.base_next_frac * city.grid.feeder_kva[:, None]
    reference = Reference(
        state.grid_load_frac + float((base[:, 5] - base[:, 0]).sum() / city.grid.feeder_kva.sum()),
        state.renewable_frac + float(state.renewable_next_frac[5] - state.renewable_next_frac[0]),
        state.stations.occupied,
        state.stations.queued,
    )
    truth = Truth(
        city.stations.ids, scalar(row, 5), scalar(row, 6), view(row, "O_OCC")[:4], view(row, "O_QUEUE")[:4],
        city.stations.slots,
    )  # fmt: skip
    wanted = score_prediction(said, truth, reference)
    ready.step(simulate(0.9, 0.1, "TOY-A:0.5:2") + answer)
    for _ in range(4):
        ready.step()
    (known,) = ready.host_view()["predictions"]  # type: ignore[misc]
    assert known["scores"] == pytest.approx(wanted, abs=1e-9)
    assert np.isfinite(list(wanted.values())).all()


def test_a_score_survives_snapshots_and_true_forks_only(ready: Session) -> None:
    ready.step(simulate(0.9, 0.1, "TOY-A:0.5:2") + block(first_usable(ready.observation)))
    twins = [Session.restore(ready.snapshot()), ready.fork(), ready.fork(future=1)]
    for twin in [ready, *twins]:
        for _ in range(4):
            twin.step()
    known = [t.host_view()["predictions"] for t in [ready, *twins]]
    assert known[0] and known[0] == known[1] == known[2] and known[3] == []


def test_a_forecast_past_the_end_is_dropped(session: Session) -> None:
    session.reset(seed=3, ticks=40)
    tick = until_pending(session).state.tick
    for ticks, count in ((tick + 4, 0), (tick + 5, 1)):
        session.reset(seed=3, ticks=ticks)
        until_pending(session)
        session.step(simulate(0.9, 0.1, "TOY-A:0.5:2") + block(first_usable(session.observation)))
        while not session.observation.done:
            session.step()
        assert len(session.host_view()["predictions"]) == count  # type: ignore[arg-type]


def test_a_malformed_forecast_refuses_the_answer(ready: Session) -> None:
    text = simulate(0.9, 0.1, "TOY-A:0.5") + block(first_usable(ready.observation))
    obs = ready.step(text)
    assert obs.flags == ("invalid_action",)
    assert obs.info["errors"][0]["code"] == "E_SIMULATE"  # type: ignore[index]
