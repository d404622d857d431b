"""A car that a person puts into the world: an ordinary request from then on, and repeatable."""

from __future__ import annotations

import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.episode.spawn import spawn
from ev_grid_oracle.interfaces.openenv.recipe import Recipe
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import CarState
from ev_grid_oracle.schema.errors import CapacityError, EpisodeOverError, OptionError


def _started(city: CityPack, **options: object) -> Session:
    session = Session(city)
    session.reset(**{"seed": 3, **options})
    return session


def test_a_spawned_car_is_pending_and_can_be_sent(city_toy: CityPack) -> None:
    session = _started(city_toy)
    before = session.observation.pending_ids
    ev_id, o = spawn(session, zone=city_toy.zones.ids[0], persona="taxi", soc_frac=0.3)
    assert set(o.pending_ids) == {*before, ev_id}
    car = next(c for c in o.pending if c.ev_id == ev_id)
    assert car.soc_frac == pytest.approx(0.3, abs=1e-4) and car.waited_min == 0.0
    k = o.pending_ids.index(ev_id)
    station = o.station_ids[int(o.candidates(k).usable.argmax())]
    o = session.step(
        {"actions": [{"ev_id": ev_id, "action_type": "route", "station_id": station, "charge_rate": "slow"}]}
    )
    assert o.info["errors"] == [] and ev_id not in o.pending_ids


def test_cars_are_conserved_and_counted(city_toy: CityPack) -> None:
    session, twin = _started(city_toy, ticks=12), _started(city_toy, ticks=12)
    for _ in range(3):
        spawn(session, urgency_frac=0.95)
    for s in (session, twin):
        while not s.observation.done:
            s.step()
            cars = s._world.view("CAR")[0]
            alive = int((cars[:, r.C_STATE] != CarState.ABSENT).sum())
            assert alive + s._world.scalar(0, r.Y_NFREE) == len(cars)
    a, b = session.observation.info["kpis"], twin.observation.info["kpis"]
    assert a["requests"] == b["requests"] + 3 and a["critical"] == b["critical"] + 3
    assert a["floor"] > b["floor"]


def test_ids_of_later_requests_stay(city_toy: CityPack) -> None:
    session, twin = _started(city_toy), _started(city_toy)
    names = [spawn(session)[0] for _ in range(2)]
    assert len(set(names)) == 2
    for _ in range(6):
        mine, theirs = session.step(), twin.step()
        assert set(theirs.pending_ids) <= set(mine.pending_ids) | {"-"}


def test_the_recipe_plays_spawns_again(city_toy: CityPack) -> None:
    session = _started(city_toy)
    kept = Recipe(city_toy.id, city_toy.sha256, dict(session.host_view()["options"]))  # type: ignore[call-overload]
    for n in range(4):
        if n % 2:
            car = {"persona": "emergency", "patience_min": 30}
            kept.steps.append({"spawn": car})
            spawn(session, **car)
        kept.steps.append(None)
        session.step()
    assert Recipe.from_dict(kept.to_dict()).play().digest() == session.digest()


@pytest.mark.parametrize(
    "car",
    [
        {"node": -1},
        {"node": 10**6},
        {"node": 1.5},
        {"node": True},
        {"lat": 12.9},
        {"lat": float("nan"), "lon": 77.6},
        {"node": 1, "zone": "north"},
        {"zone": "atlantis"},
        {"persona": "ghost"},
        {"vehicle": "sled"},
        {"soc_frac": 1.5},
        {"soc_frac": 0.9, "target_frac": 0.5},
        {"patience_min": 0},
        {"wings": 2},
    ],
)
def test_impossible_cars_are_refused(city_toy: CityPack, car: dict[str, object]) -> None:
    session = _started(city_toy)
    digest = session.digest()
    with pytest.raises(OptionError):
        spawn(session, **car)
    assert session.digest() == digest


def test_a_full_world_and_an_ended_one_refuse(city_toy: CityPack) -> None:
    session = _started(city_toy, ticks=1)
    with pytest.raises(CapacityError):
        for _ in range(10_000):
            spawn(session)
    session.step()
    with pytest.raises(EpisodeOverError):
        spawn(session)
