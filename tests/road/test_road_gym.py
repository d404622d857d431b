"""`EVGridRoad-v0` as Gymnasium's own checker and users expect it."""

from __future__ import annotations

import json

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="needs the extra 'gym'")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from ev_grid_oracle.city.model import CityPack  # noqa: E402
from ev_grid_oracle.interfaces.road_gym import ENV_ID, RoadEnv  # noqa: E402
from ev_grid_oracle.schema.errors import EpisodeOverError, OptionError  # noqa: E402


@pytest.mark.parametrize("city", ["toy", "bengaluru"])
def test_gymnasium_s_checker_passes(city: str) -> None:
    check_env(gymnasium.make(ENV_ID, city=city).unwrapped)


def test_types_bounds_and_masks_on_every_step(city_toy: CityPack) -> None:
    env = RoadEnv(city_toy)
    rng = np.random.default_rng(0)
    obs, info = env.reset(seed=1)
    for _ in range(300):
        assert env.observation_space.contains(obs)
        assert (info["action_mask"] == env.action_masks()).all()
        action = int(rng.choice(np.flatnonzero(info["action_mask"])))
        obs, reward, terminated, truncated, info = env.step(action)
        assert type(reward) is float and type(terminated) is bool and type(truncated) is bool
        json.dumps({k: v for k, v in info.items() if k != "action_mask"})
        if terminated or truncated:
            with pytest.raises(EpisodeOverError):
                env.step(0)
            obs, info = env.reset()


def test_a_masked_action_is_a_non_neighbour(city_toy: CityPack) -> None:
    env = RoadEnv(city_toy)
    _obs, info = env.reset(seed=2, options={"start_node": 0})
    wrong = int(np.flatnonzero(info["action_mask"] == 0)[0])
    _obs, reward, terminated, _truncated, info = env.step(wrong)
    assert terminated and info["flags"] == ["not_a_neighbour"] and reward < -20.0
    assert not info["action_mask"].any()


def test_seeds_name_the_trip(city_toy: CityPack) -> None:
    a, b = RoadEnv(city_toy), RoadEnv(city_toy)
    for _ in range(3):
        first, second = a.reset(seed=9)[0], b.reset(seed=9)[0]
        assert (first == second).all() and (a.reset()[0] == b.reset()[0]).all()
    assert (a.reset(seed=9)[0] != a.reset(seed=10)[0]).any()


def test_wrong_actions_and_options_are_refused(city_toy: CityPack) -> None:
    env = RoadEnv(city_toy, shaping=False)
    env.reset(seed=1)
    for bad in (-1, env.most, 0.5, "0", np.array([0])):
        with pytest.raises(OptionError):
            env.step(bad)
    with pytest.raises(OptionError):
        env.reset(options={"nothing": 1})
    with pytest.raises(OptionError):
        RoadEnv(city_toy, render_mode="human")
    assert RoadEnv(city_toy, render_mode="ansi").render_mode == "ansi"
    assert "shaping" in env.step(0)[4]["breakdown"]
