"""MaskablePPO on `EVGrid-v0`: does a stock learner beat random choices, and how far does it come in minutes?

    python benchmarks/learn_gym.py --steps 150000 --seed 1

Trains on drawn evenings, then plays held-out evenings (test and validation splits) paired with uniform
legal choices, `baseline` and `greedy_counting`. Writes artifacts/gym_learning.json and .png. Exits 1 unless
the 95 % interval of the paired gain over random lies above zero.

The network shares its weights over slots and stations: each (car, station) pair is scored from its candidate,
car, station, feeder and clock columns, as a dispatcher would compare stations.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from scipy import stats
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecNormalize
from torch import nn

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.evaluation.provenance import provenance
from ev_grid_oracle.evaluation.writing import to_json, write_atomic
from ev_grid_oracle.interfaces.openenv.tasks import split_seeds
from ev_grid_oracle.interfaces.sb3_env import SB3VecEnv
from ev_grid_oracle.interfaces.spaces import SLOTS, GymLayout, layout_of
from ev_grid_oracle.interfaces.vector_env import EVGridVectorEnv
from ev_grid_oracle.schema.axes import DEFAULT_TICKS
from ev_grid_oracle.viz.figures_style import BLUE, SKY, new_figure, png, style, title_legend, write_png

F64 = npt.NDArray[np.float64]
SCHEMA = "evgrid.gym_learning/1"
HIDDEN = 48


class SlotNet(nn.Module):
    """Logits of every choice of every slot, and features for the value of the state."""

    def __init__(self, layout: GymLayout, feeder_of: npt.NDArray[np.int32]) -> None:
        super().__init__()
        self.shapes, self.sizes = layout.shapes, [int(np.prod(s)) for s in layout.shapes.values()]
        self.register_buffer("feeder_of", torch.as_tensor(feeder_of.astype(np.int64)))
        width = {name: shape[-1] for name, shape in layout.shapes.items()}
        self.candidate = nn.Linear(width["candidates"], HIDDEN)
        self.car = nn.Linear(width["cars"], HIDDEN)
        self.place = nn.Linear(width["stations"] + width["feeders"], HIDDEN)
        self.clock = nn.Linear(width["clock"], HIDDEN)
        self.pair = nn.Sequential(nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU())
        self.rates = nn.Linear(HIDDEN, 3)
        self.others = nn.Linear(HIDDEN, layout.choices - 3 * len(feeder_of))
        critic = width["clock"] + width["cars"] + width["stations"] + self.sizes[3]
        self.critic = nn.Sequential(nn.Linear(critic, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.latent_dim_pi, self.latent_dim_vf = SLOTS * layout.choices, 64
        with torch.no_grad():  # start near uniform choices
            for head in (self.rates, self.others):
                head.weight.mul_(0.05)
                head.bias.zero_()

    def blocks(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        parts = torch.split(x, self.sizes, dim=1)
        return {n: p.reshape(-1, *s) for (n, s), p in zip(self.shapes.items(), parts, strict=True)}

    def forward_actor(self, x: torch.Tensor) -> torch.Tensor:
        b = self.blocks(x)
        place = torch.cat([b["stations"], b["feeders"][:, self.feeder_of]], dim=2)
        shared = self.car(b["cars"]) + self.clock(b["clock"])[:, None]
        pair = self.pair(self.candidate(b["candidates"]) + shared[:, :, None] + self.place(place)[:, None])
        routes = self.rates(pair).flatten(2)  # (B, SLOTS, 3 S)
        others = self.others(self.pair(shared) + pair.amax(2))  # leave, deferrals, load_shifts
        return torch.cat([others[..., :1], routes, others[..., 1:]], dim=2).flatten(1)

    def forward_critic(self, x: torch.Tensor) -> torch.Tensor:
        b = self.blocks(x)
        pooled = [b["clock"], b["cars"].mean(1), b["stations"].mean(1), b["feeders"].flatten(1)]
        return self.critic(torch.cat(pooled, dim=1))  # type: ignore[no-any-return]

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.forward_actor(x), self.forward_critic(x)


class SlotPolicy(MaskableActorCriticPolicy):
    """MaskablePPO's policy with `SlotNet` in place of one dense layer a choice."""

    def __init__(
        self, *args: Any, layout: GymLayout, feeder_of: npt.NDArray[np.int32], **kwargs: Any
    ) -> None:
        self._made_of = (layout, feeder_of)
        super().__init__(*args, ortho_init=False, **kwargs)

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = SlotNet(*self._made_of)  # type: ignore[assignment]

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net = nn.Identity()
        parameters = [p for p in self.parameters() if p.requires_grad]
        self.optimizer = self.optimizer_class(parameters, lr=lr_schedule(1), **self.optimizer_kwargs)  # type: ignore[call-arg]


class Curve(BaseCallback):
    """After every rollout the mean reward of the last 100 (exploring) episodes; at times the held-out ones."""

    def __init__(self, held_out: Callable[[Any], float], every: int) -> None:
        super().__init__()
        self.points: list[dict[str, float]] = []
        self.begun = time.perf_counter()
        self._held_out, self._every = held_out, every

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        totals = [e["r"] for e in self.model.ep_info_buffer or ()]
        if not totals:
            return
        seconds = round(time.perf_counter() - self.begun, 1)
        point = {"steps": self.num_timesteps, "seconds": seconds, "exploring": float(np.mean(totals))}
        if len(self.points) % self._every == 0:
            point["held_out"] = self._held_out(self.model)
        self.points.append(point)
        print(point, flush=True)


def play(city: CityPack, seeds: list[int], model: MaskablePPO | None, ticks: int) -> F64:
    """Total reward of each evening under the model's best choices, or uniform legal ones without a model."""
    env, rng = EVGridVectorEnv(len(seeds), city, ticks=ticks), np.random.default_rng(0)
    obs, _ = env.reset(seed=seeds)
    totals = np.zeros(len(seeds))
    for _ in range(ticks):
        masks = env.action_masks()
        if model is None:
            action = (
                rng.random((len(seeds), SLOTS, env.layout.choices)) * masks.reshape(len(seeds), SLOTS, -1)
            ).argmax(2)
        else:
            action = model.predict(obs, action_masks=masks, deterministic=True)[0]
        obs, rewards, *_ = env.step(action)
        totals += rewards
    return totals


def rule(city: CityPack, seeds: list[int], name: str, ticks: int) -> F64:
    """The same for a built-in rule."""
    batch = Batch(city, len(seeds))
    batch.reset([resolve(city, seed=s, ticks=ticks).world for s in seeds])
    return batch.play(name, ticks).sum(0)


def gain(ours: F64, theirs: F64) -> dict[str, float]:
    """Mean paired difference with its 95 % interval (Student's t)."""
    d = ours - theirs
    half = float(stats.t.ppf(0.975, len(d) - 1) * d.std(ddof=1) / np.sqrt(len(d)))
    mean = float(d.mean())
    return {"mean": mean, "low": mean - half, "high": mean + half, "wins": int((d > 0).sum()), "of": len(d)}


def draw(report: dict[str, Any], path: Path) -> None:
    """The curve beside the held-out means, in the suite's style; the file carries the report's provenance."""
    points, means = report["curve"], report["mean_episode_reward"]
    caption = (
        f"Lines: means of n = {report['held_out_evenings']} held-out evenings (test and validation splits). Exploring: mean of the "
        f"last 100 training episodes. Best choices: n = {len(split_seeds('validation'))} validation evenings. Learner's seed "
        f"{report['seed']}, {report['steps']:,} steps, city {report['provenance']['city']['id']}."
    )  # fmt: skip
    with style():
        named = {
            "exploring": ("MaskablePPO, exploring", SKY),
            "held_out": ("MaskablePPO, best choices", BLUE),
        }
        others = {name: value for name, value in means.items() if name != "learned"}
        legend = [*(label for label, _ in named.values()), *others]
        fig = new_figure(3.6, "EVGrid-v0: a stock learner on the reference evening", caption, legend)
        ax = fig.subplots()
        lines = []
        for key, (_, colour) in named.items():
            seen = [p for p in points if key in p]
            lines += ax.plot([p["steps"] for p in seen], [p[key] for p in seen], color=colour)
        for value, dashes in zip(others.values(), (":", "--", "-."), strict=True):
            lines.append(ax.axhline(value, linestyle=dashes, color="0.4"))
        ax.set_xlabel("environment steps (ticks)")
        ax.set_ylabel("episode reward (car-minutes / N0)")
        title_legend(fig, lines, legend)
        write_png(path, png(fig, report["provenance"]))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--city", default="bengaluru")
    parser.add_argument("--steps", type=int, default=150_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--envs", type=int, default=32)
    parser.add_argument("--ticks", type=int, default=DEFAULT_TICKS)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("artifacts"))
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    city = load_city(args.city)
    layout = layout_of(packed(city))
    env = SB3VecEnv(args.envs, city=city, threads=args.threads, ticks=args.ticks)
    model = MaskablePPO(
        SlotPolicy, VecNormalize(env, norm_obs=False, gamma=0.95), seed=args.seed, device="cpu",
        n_steps=48, batch_size=384, n_epochs=4, learning_rate=1e-3, gamma=0.95, gae_lambda=0.9, ent_coef=0.002,
        policy_kwargs={"layout": layout, "feeder_of": city.stations.feeder},
    )  # fmt: skip
    validation = list(split_seeds("validation"))
    curve = Curve(lambda now: float(play(city, validation, now, args.ticks).mean()), every=8)
    model.learn(args.steps, callback=curve)
    seconds = time.perf_counter() - curve.begun
    seeds = [*split_seeds("test"), *validation]
    totals = {"learned": play(city, seeds, model, args.ticks), "random": play(city, seeds, None, args.ticks)}
    totals |= {name: rule(city, seeds, name, args.ticks) for name in ("baseline", "greedy_counting")}
    means = {name: float(v.mean()) for name, v in totals.items()}
    gains = {name: gain(totals["learned"], v) for name, v in totals.items() if name != "learned"}
    report: dict[str, Any] = {
        "schema": SCHEMA, "task": "EVGrid-v0", "algorithm": "sb3_contrib.MaskablePPO", "seed": args.seed, "steps": args.steps,
        "train_seconds": round(seconds, 1), "threads": args.threads, "held_out_evenings": len(seeds),
        "mean_episode_reward": means, "paired_gain_of_learned": gains, "curve": curve.points,
        "learner": {name: version(name) for name in ("torch", "stable-baselines3", "sb3-contrib", "gymnasium")},
        "provenance": provenance(city),
    }  # fmt: skip
    args.out.mkdir(parents=True, exist_ok=True)
    write_atomic(args.out / "gym_learning.json", to_json(report))
    draw(report, args.out / "gym_learning.png")
    print(json.dumps({"train_seconds": report["train_seconds"], "mean": means, "gain": gains}, indent=1))
    return 0 if gains["random"]["low"] > 0 else 1


if __name__ == "__main__":
    raise SystemExit(main())
