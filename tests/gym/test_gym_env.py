"""`EVGrid-v0` as Gymnasium's users and checkers expect it."""

from __future__ import annotations

import json

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="the gym extra is not installed")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from ev_grid_oracle.city.model import CityPack  # noqa: E402
from ev_grid_oracle.episode.session import Session  # noqa: E402
from ev_grid_oracle.interfaces.gymnasium_env import EVGridEnv  # noqa: E402
from ev_grid_oracle.interfaces.spaces import SLOTS  # noqa: E402
from ev_grid_oracle.schema.errors import (  # noqa: E402
    EpisodeOverError,
    NoEpisodeError,
    OptionError,
    UnknownScenarioError,
)


def legal(env: EVGridEnv, rng: np.random.Generator) -> np.ndarray:
    mask = env.action_masks().reshape(SLOTS, -1)
    return (rng.random(mask.shape) * mask).argmax(1)


@pytest.mark.parametrize("city", ["toy", "bengaluru"])
def test_the_checker_passes(city: str) -> None:
    env = gymnasium.make("ev_grid_oracle.interfaces.gymnasium_env:EVGrid-v0", city=city, ticks=8)
    check_env(env.unwrapped)
    assert isinstance(env.unwrapped, EVGridEnv) and env.spec.id == "EVGrid-v0"


def test_types_fit_space_and_json(city_blr: CityPack) -> None:  # ENV-04
    env, rng = EVGridEnv(city_blr), np.random.default_rng(1)
    obs, info = env.reset(seed=4)
    steps = 0
    while steps < 500:
        obs, reward, terminated, truncated, info = env.step(legal(env, rng))
        steps += 1
        assert env.observation_space.contains(obs) and np.isfinite(obs).all()
        assert type(reward) is float and type(terminated) is bool and type(truncated) is bool
        json.dumps(
            {"obs": obs.tolist(), **{k: v for k, v in info.items() if k != "action_mask"}}, allow_nan=False
        )
        assert info["errors"] == [] and info["action_mask"].dtype == np.int8
        assert env.action_space.contains(env.action_space.sample(mask=tuple(info["action_mask"])))
        if terminated or truncated:
            assert info["kpis"]["requests"] > 0 and set(info["settle"]) < set(info["breakdown"])
            env.reset()


def test_an_observation_is_a_copy(city_toy: CityPack) -> None:  # ENV-03
    env = EVGridEnv(city_toy)
    first, info = env.reset(seed=1)
    kept, mask = first.tobytes(), info["action_mask"].tobytes()
    first_again = first
    for _ in range(5):
        env.step(np.zeros(SLOTS, np.int64))
    assert first_again.tobytes() == kept and info["action_mask"].tobytes() == mask
    first[:] = 9
    info["action_mask"][:] = 0
    assert env.action_masks().any()


def test_a_choice_plays_like_its_action(city_toy: CityPack) -> None:
    env, session = EVGridEnv(city_toy), Session(city_toy, record=False)
    rng = np.random.default_rng(3)
    env.reset(seed=9, options={"ticks": 12})
    obs = session.reset(seed=9, ticks=12)
    while not obs.done:
        choice = legal(env, rng)
        shift = int(env._shift[0])
        station = obs.station_ids[shift] if shift >= 0 else None
        pairs = zip(choice, obs.pending_ids, strict=False)
        actions = [a for c, ev in pairs if (a := env.layout.action_of(int(c), ev, station)) is not None]
        obs = session.step(actions)
        _seen, reward, terminated, truncated, info = env.step(choice)
        assert reward == obs.reward and (terminated, truncated) == (obs.terminated, obs.truncated)
        assert info["breakdown"] == obs.breakdown
    assert info["kpis"] == obs.info["kpis"] and env._session.digest() == session.digest()


@pytest.mark.parametrize("settle", [True, False])
def test_the_end_has_one_flag(city_toy: CityPack, settle: bool) -> None:  # ENV-06
    env = EVGridEnv(city_toy, ticks=3, settle=settle)
    env.reset(seed=1)
    flags = [env.step(np.zeros(SLOTS, np.int64))[2:4] for _ in range(3)]
    assert flags[:2] == [(False, False)] * 2
    assert flags[2] == (settle, not settle)


def test_nobody_left_at_the_last_tick_is_an_end_not_a_cut(city_toy: CityPack) -> None:  # ENV-06
    def length(ticks: int) -> tuple[int, bool, bool]:
        env = EVGridEnv(city_toy, ticks=ticks, demand="closed", settle=False)
        env.reset(seed=3)
        steps, terminated, truncated = 0, False, False
        while not (terminated or truncated):
            _, _, terminated, truncated, _ = env.step(np.zeros(SLOTS, np.int64))
            steps += 1
        return steps, terminated, truncated

    steps, terminated, truncated = length(400)
    assert steps < 400 and (terminated, truncated) == (True, False)
    assert length(steps) == (steps, True, False)
    assert length(steps - 1) == (steps - 1, False, True)


def test_life_cycle_errors_change_nothing(city_toy: CityPack) -> None:  # ENV-07
    env = EVGridEnv(city_toy, ticks=2)
    still = np.zeros(SLOTS, np.int64)
    with pytest.raises(NoEpisodeError):
        env.step(still)
    with pytest.raises(NoEpisodeError):
        env.action_masks()
    env.reset(seed=1)
    env.reset(seed=1)
    with pytest.raises(OptionError):
        env.step(np.full(SLOTS, 10_000))
    env.step(still)
    _, _, terminated, _, _ = env.step(still)
    assert terminated
    before = env._session.digest()
    with pytest.raises(EpisodeOverError):
        env.step(still)
    assert env._session.digest() == before


def test_seeds(city_toy: CityPack) -> None:
    env = EVGridEnv(city_toy)
    one, _ = env.reset(seed=1)
    next_of_one, _ = env.reset()
    two, _ = env.reset(seed=2)
    again, _ = env.reset(seed=1)
    assert np.array_equal(one, again) and not np.array_equal(one, two)
    assert np.array_equal(next_of_one, env.reset()[0]) and not np.array_equal(next_of_one, one)
    session = Session(city_toy, record=False)
    session.reset(seed=1)
    env.reset(seed=1)
    assert env._session.digest() == session.digest()
    for bad in (-1, 2**32, True, "7", 1.5):
        with pytest.raises(OptionError):
            env.reset(seed=bad)  # type: ignore[arg-type]
    env.reset(seed=np.int64(3))  # type: ignore[arg-type]


def test_options(city_toy: CityPack) -> None:
    with pytest.raises(OptionError):
        EVGridEnv(city_toy, seed=3)
    with pytest.raises(OptionError):
        EVGridEnv(city_toy, render_mode="human")
    with pytest.raises(UnknownScenarioError):
        EVGridEnv(city_toy, scenario="atlantis").reset(seed=1)
    names = tuple(s.name for s in city_toy.scenarios)
    env = EVGridEnv(city_toy, scenario=names, ticks=4)
    drawn = set()
    for seed in range(12):
        env.reset(seed=seed)
        drawn.add(env._session.host_view()["scenario"])
    assert len(drawn) == min(len(names), len(drawn)) and (len(names) == 1 or len(drawn) > 1)


def test_nothing_names_the_future(city_toy: CityPack) -> None:
    _, info = EVGridEnv(city_toy).reset(seed=123456789)
    text = json.dumps({k: v for k, v in info.items() if k != "action_mask"})
    assert "seed" not in text and "scenario" not in text and "123456789" not in text


def test_ansi_is_the_prompt(city_toy: CityPack) -> None:
    env = EVGridEnv(city_toy, render_mode="ansi")
    env.reset(seed=1)
    assert env.render() == env._session.observation.prompt
    assert EVGridEnv(city_toy).render_mode is None
