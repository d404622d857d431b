"""The batch behind Stable-Baselines3: what its users and sb3-contrib rely on, and one short MaskablePPO run."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sb3_contrib", reason="the train extra is not installed")

from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.interfaces.sb3_env import SB3VecEnv
from ev_grid_oracle.interfaces.spaces import SLOTS
from ev_grid_oracle.schema.errors import OptionError


def test_masks_and_ends(city_toy: CityPack) -> None:
    env = SB3VecEnv(3, city=city_toy, ticks=4)
    env.seed(5)
    first = env.reset()
    assert is_masking_supported(env) and get_action_masks(env).shape == (3, int(env.action_space.nvec.sum()))
    totals = np.zeros(3)
    for tick in range(4):
        obs, rewards, dones, infos = env.step(np.zeros((3, SLOTS), np.int64))
        totals += rewards
        assert dones.all() == dones.any() == (tick == 3)
    for e, info in enumerate(infos):
        assert info["episode"] == {"r": pytest.approx(totals[e]), "l": 4} and info["kpis"]["requests"] >= 0
        assert not info["TimeLimit.truncated"] and not np.array_equal(info["terminal_observation"], obs[e])
    env.seed(5)
    assert np.array_equal(env.reset(), first) and not np.array_equal(obs, first)
    assert len(env.env_method("action_masks", indices=[1])) == 1 and env.env_is_wrapped(object) == [False] * 3
    assert env.get_attr("num_envs", 0) == [3]
    with pytest.raises(OptionError):
        env.env_method("render")
    with pytest.raises(OptionError):
        env.set_attr("x", 1)
    env.close()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_maskable_ppo_only_makes_legal_choices(city_toy: CityPack) -> None:
    env = SB3VecEnv(2, city=city_toy, ticks=6)
    model = MaskablePPO("MlpPolicy", env, n_steps=16, batch_size=16, n_epochs=1, seed=1, device="cpu")
    model.learn(64)
    obs = env.reset()
    for _ in range(8):
        masks = env.action_masks()
        action, _ = model.predict(obs, action_masks=masks)
        assert np.take_along_axis(masks.reshape(2, SLOTS, -1), action[..., None], 2).all()
        obs, *_ = env.step(action)
