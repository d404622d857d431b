"""Facts of the observation that a control room can know: deferrals of a car, today's traffic; fields lie right."""

from __future__ import annotations

import numpy as np
import pytest
from session_tools import until_pending

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.session import Session, decoder_of
from ev_grid_oracle.schema import rows as r


def test_deferrals_are_told_car_by_car(session: Session) -> None:
    session.reset(seed=2)
    times: dict[str, int] = {}
    for _ in range(40):
        obs = session.observation
        for car in obs.pending:
            assert car.deferrals == times.get(car.ev_id, 0), car.ev_id
        patient = [c for c in obs.pending if c.patience_left_min >= 10.0]
        for car in patient:
            times[car.ev_id] = times.get(car.ev_id, 0) + 1
        session.step([{"ev_id": c.ev_id, "action_type": "defer", "defer_minutes": 5} for c in patient])
        assert session.observation.info["errors"] == []
    assert max(times.values()) >= 2, "some car must have been deferred twice"


def test_traffic_is_the_factor_that_cars_drive_by(city_blr: CityPack) -> None:
    """A car's travel minutes are its table's minutes times the factor, rounded up to whole minutes at most."""
    session = Session(city_blr, record=False)
    seen = set()
    for seed in (1, 2):
        session.reset(seed=seed)
        obs = until_pending(session)
        seen.add(obs.state.traffic)
        world, car = session._world, obs.pending[0]
        table = world.bank.minutes[world.scalar(0, r.Y_TRAVEL), car.node, : len(obs.station_ids)]
        told = obs.candidates(0).travel_min
        open_ = np.isfinite(told)
        assert np.abs(told[open_] - table[open_] * obs.state.traffic).max() <= 1.0
        assert obs.state.traffic == world.view("X")[0][r.X_TRAFFIC]
    assert len(seen) == 2 and all(0.3 < factor < 5.0 for factor in seen)


def test_the_decoder_reads_every_field_where_it_lies(city_toy: CityPack) -> None:
    session = Session(city_toy, record=False)
    row = session.reset(seed=1).row
    decoder = decoder_of(session._world.city)
    for spec in (f for f in r.FIELDS if f.row == "o"):
        expected = decoder.city.layout.view(row, spec.name)
        assert np.array_equal(decoder._view(row, spec.name), expected, equal_nan=True), spec.name


@pytest.mark.parametrize("name", ["deferrals", "traffic"])
def test_both_travel_over_the_wire(city_toy: CityPack, name: str) -> None:
    view = pytest.importorskip("ev_grid_oracle.interfaces.openenv.view", reason="needs the server extra")
    session = Session(city_toy, record=False)
    session.reset(seed=2)
    obs = until_pending(session)
    wire = view.wire_observation(obs)
    if name == "traffic":
        assert wire.grid.traffic == round(obs.state.traffic, 3)
    else:
        assert wire.pending.deferrals == [c.deferrals for c in obs.pending[: len(wire.pending.ev_id)]]
