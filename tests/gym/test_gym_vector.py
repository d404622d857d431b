"""The native vector environment: row k is a single environment, whatever the threads."""

from __future__ import annotations

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="the gym extra is not installed")

from gymnasium.vector import AutoresetMode  # noqa: E402

from ev_grid_oracle.city.model import CityPack  # noqa: E402
from ev_grid_oracle.interfaces.gymnasium_env import EVGridEnv  # noqa: E402
from ev_grid_oracle.interfaces.spaces import SLOTS  # noqa: E402
from ev_grid_oracle.interfaces.vector_env import EVGridVectorEnv  # noqa: E402
from ev_grid_oracle.schema.errors import NoEpisodeError, OptionError  # noqa: E402


def pick(mask: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(mask.shape) * mask).argmax(-1)


def test_row_k_equals_the_single_environment(city_blr: CityPack) -> None:
    seeds = [3, 2**32 - 1, 17, 3]
    options = {"ticks": 7, "scenario": tuple(s.name for s in city_blr.scenarios)}
    vector = EVGridVectorEnv(4, city_blr, **options)
    singles = [EVGridEnv(city_blr, **options) for _ in seeds]
    rng = np.random.default_rng(0)
    obs, info = vector.reset(seed=seeds)
    for k, env in enumerate(singles):
        one, one_info = env.reset(seed=seeds[k])
        assert np.array_equal(one, obs[k]) and np.array_equal(one_info["action_mask"], info["action_mask"][k])
    over = [False] * 4
    ends = 0
    for _ in range(24):
        action = pick(info["action_mask"], rng)
        obs, rewards, terminated, truncated, info = vector.step(action)
        for k, env in enumerate(singles):
            if over[k]:  # NEXT_STEP: this step resets and ignores the action
                one, one_info = env.reset()
                reward, ended, cut = 0.0, False, False
            else:
                one, reward, ended, cut, one_info = env.step(action[k])
                for name, value in one_info["breakdown"].items():
                    if name != "total":
                        assert info["breakdown"][name][k] == value
            assert np.array_equal(one, obs[k])
            assert (reward, ended, cut) == (rewards[k], terminated[k], truncated[k])
            assert np.array_equal(one_info["action_mask"], info["action_mask"][k])
            over[k] = ended or cut
            assert ("kpis" in info and bool(info["_kpis"][k])) == over[k]
            if over[k]:
                ends += 1
                for name, value in one_info["kpis"].items():
                    got = info["kpis"][name][k]
                    assert np.isnan(got) if value is None else got == value
    assert ends == 4 * 3
    assert np.array_equal(vector.action_masks().reshape(4, SLOTS, -1), info["action_mask"].astype(bool))


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_threads_do_not_matter(city_toy: CityPack, mode: AutoresetMode) -> None:
    first, second = (EVGridVectorEnv(5, city_toy, threads=t, autoreset_mode=mode, ticks=6) for t in (1, 3))
    rng = np.random.default_rng(0)
    a, info = first.reset(seed=8)
    b, _ = second.reset(seed=8)
    for _ in range(15):
        assert np.array_equal(a, b)
        action = pick(info["action_mask"], rng)
        a, rewards, *_ = *first.step(action)[:2], None
        info = {"action_mask": first.action_masks().reshape(5, SLOTS, -1)}
        b, others, *_ = second.step(action)
        assert np.array_equal(rewards, others)
    second.close()


def test_same_step_gives_the_last_and_the_first_observation(city_toy: CityPack) -> None:
    same = EVGridVectorEnv(3, city_toy, autoreset_mode=AutoresetMode.SAME_STEP, ticks=4)
    later = EVGridVectorEnv(3, city_toy, ticks=4)
    still = np.zeros((3, SLOTS), np.int64)
    same.reset(seed=[1, 2, 3])
    later.reset(seed=[1, 2, 3])
    for _ in range(4):
        obs, _, done, _, info = same.step(still)
        last, _, ended, _, last_info = later.step(still)
        assert np.array_equal(done, ended)
    assert done.all() and np.array_equal(np.stack(info["final_obs"]), last)
    np.testing.assert_equal(info["final_info"]["kpis"], last_info["kpis"])
    assert np.array_equal(later.step(still)[0], obs)


def test_calls_at_the_wrong_time_and_wrong_arguments_are_refused(city_toy: CityPack) -> None:
    env = EVGridVectorEnv(2, city_toy)
    with pytest.raises(NoEpisodeError):
        env.step(np.zeros((2, SLOTS), np.int64))
    with pytest.raises(NoEpisodeError):
        env.action_masks()
    env.reset(seed=1)
    with pytest.raises(OptionError):
        env.step(np.zeros(SLOTS, np.int64))
    for seed in ([1], -1, "x"):
        with pytest.raises(OptionError):
            env.reset(seed=seed)  # type: ignore[arg-type]
    for wrong in ({"num_envs": 0}, {"threads": 0}, {"render_mode": "ansi"}, {"autoreset_mode": None}):
        with pytest.raises(OptionError):
            EVGridVectorEnv(**{"num_envs": 1, "city": city_toy, **wrong})


def test_make_vec_finds_it() -> None:
    import ev_grid_oracle.interfaces.gymnasium_env  # noqa: F401  # registers

    env = gymnasium.make_vec("EVGrid-v0", num_envs=2, city="toy", ticks=4)
    assert isinstance(env.unwrapped, EVGridVectorEnv)
    assert env.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    obs, _ = env.reset(seed=5)
    again, _ = env.reset(seed=5)
    assert env.observation_space.contains(obs) and np.array_equal(obs, again)
    assert not np.array_equal(obs[0], obs[1])  # rows draw apart
    env.action_space.seed(1)
    obs, rewards, terminated, truncated, _ = env.step(env.action_space.sample())
    assert env.observation_space.contains(obs) and rewards.dtype == np.float64
    assert terminated.dtype == truncated.dtype == np.bool_
    assert not np.array_equal(env.reset()[0], again)  # without a seed the rows go on


def test_returned_arrays_are_copies(city_toy: CityPack) -> None:  # ENV-03
    env = EVGridVectorEnv(2, city_toy)
    obs, info = env.reset(seed=1)
    kept = obs.tobytes(), info["action_mask"].tobytes()
    still = np.zeros((2, SLOTS), np.int64)
    _, rewards, _, _, facts = env.step(still)
    held = rewards.copy(), facts["flag_counts"].copy()
    env.step(still)
    assert (obs.tobytes(), info["action_mask"].tobytes()) == kept
    assert np.array_equal(rewards, held[0]) and np.array_equal(facts["flag_counts"], held[1])
