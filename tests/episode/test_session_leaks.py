"""What an agent is handed names no seed, no scenario, no future: the whole object graph is searched."""

from __future__ import annotations

import dataclasses
import functools
import json

import numpy as np
import pytest
from session_tools import play_out, until_pending

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.options import EpisodeOptions
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.sim.world import World, WorldOptions

SEED = 3_141_592_653


def reachable(root: object) -> list[object]:
    """Every object that attributes, items, closures and bound functions lead to; the public city apart."""
    todo, seen, out = [root], set(), []
    while todo:
        item = todo.pop()
        if id(item) in seen or isinstance(item, CityPack | PackedCity | type):
            continue
        seen.add(id(item))
        out.append(item)
        if isinstance(item, dict):
            todo += [*item.keys(), *item.values()]
        elif isinstance(item, list | tuple | set | frozenset):
            todo += list(item)
        elif isinstance(item, functools.partial):
            todo += [item.func, *item.args, *item.keywords.values()]
        elif hasattr(item, "__self__") and not isinstance(item.__self__, type(json)):
            todo.append(item.__self__)
        elif callable(item) and getattr(item, "__closure__", None):
            todo += [c.cell_contents for c in item.__closure__]
        if hasattr(item, "__dict__") and not isinstance(item, type(json)):
            todo += list(vars(item).values())
        if dataclasses.is_dataclass(item) and not isinstance(item, type):
            todo += [getattr(item, f.name) for f in dataclasses.fields(item)]
    return out


@pytest.fixture
def watched(session: Session) -> Session:
    session.reset(seed=SEED, scenario="station_outage", ticks=40)
    until_pending(session)
    return session


def test_no_hidden_object_can_be_reached_from_an_observation(watched: Session) -> None:
    obs = watched.observation
    _ = obs.state, obs.pending, obs.announcements, obs.prompt, obs.candidates(0)
    world = watched._world
    for item in reachable(obs):
        assert not isinstance(item, Session | World | Batch | EpisodeOptions | WorldOptions)
        if isinstance(item, np.ndarray):
            for hidden in (world.f, world.i, world.u):
                assert not np.shares_memory(item, hidden)
        if isinstance(item, str):
            assert "station_outage" not in item and str(SEED) not in item
        if isinstance(item, int | float) and not isinstance(item, bool):
            assert item != SEED


def test_errors_and_prompts_name_no_seed(watched: Session) -> None:
    obs = watched.step("rubbish")
    text = json.dumps(obs.info) + obs.prompt
    assert "station_outage" not in text and str(SEED) not in text


def test_events_are_told_when_they_are_announced_and_no_sooner(session: Session) -> None:
    obs = session.reset(seed=1, scenario="station_outage", ticks=30)
    told = {}
    while not obs.done:
        told[obs.state.tick] = obs.announcements
        obs = session.step()
    assert all(told[t] == () for t in (0, 1))  # the work at tick 14 is told 12 ticks ahead
    for t in range(2, 30):
        (news,) = told[t]
        assert (news.kind, news.targets, news.in_ticks, news.value) == ("slots", ("TOY-C",), 14 - t, 1.0)
    labels = {a.label for known in told.values() for a in known}
    assert labels == {"North Gate down to 1 bay (planned work)"}  # the surge at tick 22 is never told


def test_an_event_is_listed_until_another_replaces_it(city_blr: CityPack) -> None:
    session = Session(city_blr, record=False)
    obs = session.reset(seed=1, scenario="heatwave_peak", ticks=34, settle=False)
    listed = {}
    while not obs.done:
        listed[obs.state.tick] = [round(a.value, 2) for a in obs.announcements if a.kind == "base_load"]
        obs = session.step()
    assert listed[0] == [0.02] and listed[5] == [0.02]
    assert listed[6] == [0.02, 0.04] and listed[17] == [0.02, 0.04]
    assert listed[18] == [0.04, 0.07] and listed[30] == [0.07]


def test_every_scenario_tells_only_its_own_announced_events(city_blr: CityPack) -> None:
    session = Session(city_blr, record=False)
    for scenario in city_blr.scenarios:
        obs = session.reset(seed=1, scenario=scenario.name, ticks=2, settle=False)
        never = {e.label for e in scenario.events if e.announced_ticks < 0}
        told = {a.label for a in obs.announcements}
        assert not told & never
        early = {e.label for e in scenario.events if e.tick - e.announced_ticks <= 0 <= e.announced_ticks}
        assert told == early, scenario.name


def test_the_host_knows(watched: Session) -> None:
    view = watched.host_view()
    assert (view["seed"], view["scenario"]) == (SEED, "station_outage")
    assert len(view["schedule"]) == 2  # type: ignore[arg-type]
    assert view["options"]["ticks"] == 40  # type: ignore[index]
    play_out(watched)
