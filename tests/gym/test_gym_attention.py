"""The attention policy: a short run of MaskablePPO, legal choices, and no dependence on the order of stations."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sb3_contrib", reason="the train extra is not installed")

import torch
from sb3_contrib import MaskablePPO

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.interfaces.sb3_attention import AttentionPolicy, StationAttention, attention_arguments
from ev_grid_oracle.interfaces.sb3_env import SB3VecEnv
from ev_grid_oracle.interfaces.spaces import SLOTS, layout_of

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


def test_it_learns_and_only_makes_legal_choices(city_toy: CityPack) -> None:
    env = SB3VecEnv(2, city=city_toy, ticks=6)
    model = MaskablePPO(
        AttentionPolicy, env, n_steps=16, batch_size=16, n_epochs=1, seed=1, device="cpu",
        policy_kwargs=attention_arguments(city_toy),
    )  # fmt: skip
    before = {n: p.detach().clone() for n, p in model.policy.named_parameters()}
    model.learn(64)
    moved = {n for n, p in model.policy.named_parameters() if not torch.equal(p, before[n])}
    for part in ("attend.self_attn", "place", "candidate", "rates", "others", "critic", "value_net"):
        assert any(part in name for name in moved), part
    obs = env.reset()
    for _ in range(8):
        masks = env.action_masks()
        action, _ = model.predict(obs, action_masks=masks)
        assert np.take_along_axis(masks.reshape(2, SLOTS, -1), action[..., None], 2).all()
        obs, *_ = env.step(action)
    env.close()


def test_stations_are_a_set(city_blr: CityPack) -> None:
    layout = layout_of(packed(city_blr))
    n = len(city_blr.stations.ids)
    torch.manual_seed(0)
    feeder = city_blr.stations.feeder
    net = StationAttention(layout, feeder).eval()
    x = torch.rand(3, layout.size)
    order = torch.randperm(n)
    shuffled = {k: v.clone() for k, v in net._blocks(x).items()}
    shuffled["candidates"], shuffled["stations"] = (
        shuffled["candidates"][:, :, order],
        shuffled["stations"][:, order],
    )
    other = StationAttention(layout, np.asarray(feeder)[order.numpy()]).eval()
    weights = {k: v for k, v in net.state_dict().items() if k != "feeder_of"}
    other.load_state_dict(weights, strict=False)
    with torch.no_grad():
        logits, value = net(x)
        logits_2, value_2 = other(torch.cat([v.flatten(1) for v in shuffled.values()], dim=1))
    routes = logits.reshape(3, SLOTS, -1)[..., 1 : 1 + 3 * n].reshape(3, SLOTS, n, 3)
    routes_2 = logits_2.reshape(3, SLOTS, -1)[..., 1 : 1 + 3 * n].reshape(3, SLOTS, n, 3)
    assert torch.allclose(routes[:, :, order], routes_2, atol=1e-5) and torch.allclose(
        value, value_2, atol=1e-5
    )
    assert routes.std() > 0
    # and they see each other: one station's queue moves the score of another
    nudged = net._blocks(x.clone())
    nudged["stations"] = nudged["stations"].clone()
    nudged["stations"][:, 0] += 1.0
    with torch.no_grad():
        moved = net.forward_actor(torch.cat([v.flatten(1) for v in nudged.values()], dim=1))
    moved_routes = moved.reshape(3, SLOTS, -1)[..., 1 : 1 + 3 * n].reshape(3, SLOTS, n, 3)
    assert not torch.allclose(moved_routes[:, :, 1], routes[:, :, 1], atol=1e-7)
