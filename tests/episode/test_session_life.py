"""Life cycle: what may be called when, what ends how, and that no episode remembers the one before."""

from __future__ import annotations

import json

import numpy as np
import pytest
from session_tools import play_out

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.session import EVGridCore, Session, make_session
from ev_grid_oracle.schema.errors import EpisodeOverError, NoEpisodeError, OptionError


def test_nothing_but_reset_works_before_reset(session: Session) -> None:
    for call in (session.step, session.snapshot, session.fork, session.digest, session.host_view):
        with pytest.raises(NoEpisodeError) as found:
            call()
        assert found.value.code == "E_NO_EPISODE" and "reset" in found.value.hint
    with pytest.raises(NoEpisodeError):
        _ = session.trace


def test_reset_twice_then_step(session: Session) -> None:
    session.reset(seed=1)
    first = session.reset(seed=1)
    assert first.reward is None and first.breakdown == {} and not first.done
    assert session.step().state.tick == 1


def test_after_the_end_a_step_raises_and_changes_nothing(session: Session) -> None:
    session.reset(seed=2, ticks=6)
    last = play_out(session)
    before = session.digest()
    with pytest.raises(EpisodeOverError) as found:
        session.step("anything")
    assert found.value.code == "E_EPISODE_OVER"
    assert session.digest() == before and session.observation is last
    assert not session.reset(seed=2).done


def test_settle_terminates_and_a_cut_truncates(session: Session) -> None:
    session.reset(seed=3, ticks=8)
    paid = play_out(session)
    assert (paid.done, paid.terminated, paid.truncated) == (True, True, False)
    session.reset(seed=3, ticks=8, settle=False)
    cut = play_out(session)
    assert (cut.done, cut.terminated, cut.truncated) == (True, False, True)
    assert any(paid.info["settle"].values()) and not any(cut.info["settle"].values())  # type: ignore[attr-defined]
    assert paid.reward is not None and cut.reward is not None and paid.reward < cut.reward


def test_last_car_served_exactly_at_the_limit_is_terminated(session: Session) -> None:
    """The two flags exclude each other: an empty closed world has ended, even on the last tick."""
    session.reset(seed=3, ticks=400, demand="closed", settle=False)
    obs, ticks = session.observation, 0
    while not obs.done:
        obs, ticks = session.step(), ticks + 1
    assert ticks < 400 and (obs.terminated, obs.truncated) == (True, False)
    session.reset(seed=3, ticks=ticks, demand="closed", settle=False)
    obs = play_out(session)
    assert obs.state.tick == ticks and (obs.terminated, obs.truncated) == (True, False)
    session.reset(seed=3, ticks=ticks - 1, demand="closed", settle=False)
    obs = play_out(session)
    assert (obs.terminated, obs.truncated) == (False, True)


def test_observation_stays_as_it_was_returned(session: Session) -> None:
    """An observation is a copy: later steps do not change it, and changing it changes no world."""
    first = session.reset(seed=1)
    kept = json.dumps([first.state.stations.occupied.tolist(), first.state.grid_load_frac, first.prompt])
    row = first.row.copy()
    twin = session.fork()
    for _ in range(10):
        obs = session.step()
    assert obs is not first
    again = json.dumps([first.state.stations.occupied.tolist(), first.state.grid_load_frac, first.prompt])
    assert again == kept and np.array_equal(first.row, row, equal_nan=True)
    before = twin.digest()
    seen = twin.observation
    seen.state.stations.occupied[:] = 99
    seen.state.feeders.load_frac[:] = 9.0
    seen.row[:] = 0.0
    assert twin.digest() == before
    for _ in range(10):
        other = twin.step()
    assert twin.digest() == session.digest() and other.reward == obs.reward


def test_an_observation_has_no_other_fields_and_is_compared_by_identity(session: Session) -> None:
    obs = session.reset(seed=1)
    with pytest.raises(AttributeError):
        _ = obs.seed
    with pytest.raises(AttributeError):
        obs.reward = 1.0  # type: ignore[misc]
    assert obs == session.observation and obs != session.step()
    assert "tick 0" in repr(obs)


def _profiles(session: Session, seed: int, scenario: str = "baseline") -> bytes:
    """Base load and renewable share along an episode."""
    obs = session.reset(seed=seed, scenario=scenario, ticks=20, settle=False)
    out = []
    while not obs.done:
        out += [obs.state.feeders.base_frac, np.array([obs.state.renewable_frac, obs.state.ratio_city])]
        out += [obs.state.stations.slots_up, obs.state.stations.limit_kw]
        obs = session.step()
    return b"".join(a.tobytes() for a in out)


def test_reset_keeps_nothing_of_the_day_before(session: Session) -> None:
    first, second, third = (_profiles(session, seed) for seed in (1, 2, 1))
    assert first == third and first != second
    outage = _profiles(session, 1, "station_outage")
    assert outage != first
    assert _profiles(session, 1) == first


def test_a_refused_option_leaves_the_episode_alone(session: Session) -> None:
    session.reset(seed=5)
    session.step()
    before, obs = session.digest(), session.observation
    with pytest.raises(OptionError):
        session.reset(seed=-1)
    assert session.digest() == before and session.observation is obs
    assert session.step().state.tick == 2


def test_make_session_by_name(city_toy: CityPack) -> None:
    made = make_session(city="toy")
    assert isinstance(made, EVGridCore) and made.city is city_toy


def test_kpis_come_with_the_last_observation_only(session: Session) -> None:
    obs = session.reset(seed=4, ticks=5)
    while not obs.done:
        assert "kpis" not in obs.info and "settle" not in obs.info
        obs = session.step()
    kpis = obs.info["kpis"]
    assert isinstance(kpis, dict) and kpis["requests"] >= 0
    json.dumps(obs.info, allow_nan=False)
