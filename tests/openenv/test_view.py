"""The wire observation: at most 8 kB, columns of equal length, no NaN, prompt on request."""

from __future__ import annotations

import json

import pytest
from openenv_play import first_car

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.interfaces.openenv.environment import EVGridEnvironment
from ev_grid_oracle.interfaces.openenv.view import MAX_BYTES, wire_observation
from ev_grid_oracle.models import Columns, EVGridAction, EVGridObservation


def _check(o: EVGridObservation) -> None:
    text = json.dumps(o.model_dump(mode="json", exclude={"prompt"}), separators=(",", ":"), allow_nan=False)
    assert len(text.encode()) <= MAX_BYTES
    for table in (o.stations, o.feeders, o.pending, o.candidates):
        assert isinstance(table, Columns)
        assert len({len(column) for column in table.model_dump().values()}) == 1
    assert all(k < len(o.pending.ev_id) for k in o.candidates.car)
    assert len(o.pending.ev_id) + len(o.more_pending_ids) <= o.pending_count
    assert EVGridObservation.model_validate_json(o.model_dump_json()) == o


@pytest.mark.parametrize("participation", [None, 1.0])
def test_every_scenario_fits(city_blr: CityPack, participation: float | None) -> None:
    session = Session(city_blr, record=False)
    for scenario in city_blr.scenarios:
        o = session.reset(seed=11, scenario=scenario.name, participation=participation)
        while True:
            if o.state.tick % 4 == 0 or o.done:
                _check(wire_observation(o, episode_id="x" * 255, step=o.state.tick))
            if o.done:
                break
            o = session.step("refused" if o.state.tick % 2 else None)


def test_toytown_fits(env_toy: EVGridEnvironment) -> None:
    o = env_toy.reset(seed=1)
    while not o.done:
        o = env_toy.step(first_car(o))
        _check(o)


def test_a_dead_feeder_has_no_voltage_and_no_nan(city_toy: CityPack) -> None:
    session = Session(city_toy)
    session.reset(seed=1)
    session._world.view("FD_OUT")[0][0] = 1.0
    for _ in range(2):
        o = session.step()
    view = wire_observation(o)
    assert view.feeders.min_voltage_pu[0] is None
    _check(view)


def test_prompt_only_on_request(env_toy: EVGridEnvironment) -> None:
    assert env_toy.reset(seed=1).prompt is None
    assert env_toy.reset(seed=1, include_prompt=True).prompt
    assert env_toy.step(EVGridAction()).prompt is None
    assert env_toy.step(EVGridAction(include_prompt=True)).prompt == env_toy.session.observation.prompt


def test_the_view_is_a_copy(env_toy: EVGridEnvironment) -> None:
    o = env_toy.reset(seed=1)
    before = env_toy.session.digest()
    o.stations.occupied[0] = 99
    assert env_toy.session.digest() == before
    assert env_toy.session.observation.state.stations.occupied[0] != 99
