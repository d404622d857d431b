"""Options of `reset`: what each value means, and a sentence with a cure for everything else."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.options import DEFAULTS, fleet_modes, resolve
from ev_grid_oracle.schema.enums import Season
from ev_grid_oracle.schema.errors import OptionError, UnknownScenarioError


def test_defaults_come_from_the_scenario(city_blr: CityPack) -> None:
    world = resolve(city_blr).world
    assert (world.seed, world.start_min, world.weekday, world.season) == (0, 1020, 2, Season.SUMMER)
    assert (world.persona, world.ticks, world.participation) == (-1, 48, 0.0)
    assert world.open_demand and world.settle
    storm = resolve(city_blr, scenario="MonsoonStorm").world
    assert storm.season == Season.MONSOON and storm.scenario.name == "MonsoonStorm"


def test_what_was_asked_gives_the_same_again(city_blr: CityPack) -> None:
    options = resolve(
        city_blr, seed=np.uint32(7), scenario="heatwave_peak", fleet_mode="taxi",
        start="2026-07-19T20:15:00Z", ticks=np.int64(12), participation=0.5, demand="closed", settle=False,
    )  # fmt: skip
    text = json.dumps(options.asked)
    assert list(options.asked) == list(DEFAULTS)
    again = resolve(city_blr, **json.loads(text))
    assert again == options and asdict(again.world) == asdict(options.world)


@pytest.mark.parametrize(
    ("start", "minute", "weekday", "season"),
    [
        ("2026-03-02T10:30:00+05:30", 630, 0, Season.SUMMER),  # a Monday
        ("2026-03-02T05:00:00Z", 630, 0, Season.SUMMER),
        ("2026-01-03T19:00:00Z", 30, 6, Season.WINTER),  # Saturday evening UTC is Sunday here
        ("2026-01-03T10:00:00+05:30", 600, 5, Season.WINTER),  # Saturday counts as a weekday
        ("2026-06-01T00:00:00+05:30", 0, 0, Season.MONSOON),
        ("2026-09-30T23:59:00+05:30", 1439, 2, Season.MONSOON),
        ("2026-10-01T00:00:00+05:30", 0, 3, Season.POST_MONSOON),
        ("2026-11-30T12:00:00+05:30", 720, 0, Season.POST_MONSOON),
        ("2026-12-01T12:00:00+05:30", 720, 1, Season.WINTER),
        ("2026-02-28T12:00:00+05:30", 720, 5, Season.WINTER),
    ],
)
def test_iso_start_gives_day_and_season(
    city_blr: CityPack, start: str, minute: int, weekday: int, season: Season
) -> None:
    world = resolve(city_blr, start=start).world
    assert (world.start_min, world.weekday, world.season) == (minute, weekday, season)


def test_clock_start_keeps_the_scenarios_day(city_blr: CityPack) -> None:
    world = resolve(city_blr, start="06:05", day_type="sunday", season="winter").world
    assert (world.start_min, world.weekday, world.season) == (365, 6, Season.WINTER)


def test_fleet_modes_are_the_citys(city_blr: CityPack) -> None:
    modes = fleet_modes(city_blr)
    assert modes == ("mixed", "taxi", "corporate", "delivery", "private", "emergency")
    assert [resolve(city_blr, fleet_mode=m).world.persona for m in modes] == [-1, 0, 1, 2, 3, 4]


BAD: list[dict[str, object]] = [
    {"seed": -1}, {"seed": 2**32}, {"seed": True}, {"seed": 1.0}, {"seed": "1"}, {"seed": None},
    {"seed": np.bool_(True)}, {"seed": np.float64(3)}, {"seed": 10**400},
    {"ticks": 0}, {"ticks": 2017}, {"ticks": 48.0}, {"ticks": True}, {"ticks": None},
    {"participation": 0.0}, {"participation": -0.1}, {"participation": 1.01}, {"participation": float("nan")},
    {"participation": True}, {"participation": "0.5"}, {"participation": float("inf")},
    {"settle": 1}, {"settle": None}, {"demand": "shut"}, {"demand": None},
    {"fleet_mode": "bus"}, {"fleet_mode": None}, {"scenario": None}, {"scenario": 3},
    {"day_type": "saturday"}, {"day_type": 0}, {"season": "spring"}, {"season": []},
    {"start": "25:00"}, {"start": "7:00"}, {"start": "17:60"}, {"start": "tomorrow"}, {"start": 1020},
    {"start": "2026-03-01T17:00:00"}, {"start": "2026-13-01T17:00:00Z"}, {"start": "17:00+05:30"},
    {"start": "0001-01-01T00:00:00+23:00"}, {"start": "2026-03-01T17:00:00Z" * 40}, {"start": "１7:00"},
    {"start": "2026-03-02T10:30:00+05:30", "day_type": "sunday"},
    {"start": "2026-03-02T10:30:00+05:30", "season": "winter"},
    {"speed": 3},
]  # fmt: skip


@pytest.mark.parametrize("given", BAD, ids=[str(n) for n in range(len(BAD))])
def test_everything_else_is_refused_with_a_cure(city_blr: CityPack, given: dict[str, object]) -> None:
    with pytest.raises(OptionError) as found:
        resolve(city_blr, **given)
    assert found.value.code == "E_OPTION" and found.value.hint and len(str(found.value)) < 400
    if set(given) != {"start", "day_type"} and set(given) != {"start", "season"}:
        assert next(iter(given)) in found.value.message or "reset has no option" in found.value.message


def test_an_unknown_scenario_lists_the_known(city_blr: CityPack) -> None:
    with pytest.raises(UnknownScenarioError, match="CricketFinal"):
        resolve(city_blr, scenario="flood2")
