"""Evenings played by a small model that is not shipped yet: what it is worth on seeds it never trained on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.evaluation.players import policy_seed
from ev_grid_oracle.evaluation.values import Values, values_of
from ev_grid_oracle.interfaces.openenv.tasks import split_seeds
from ev_grid_oracle.policies.base import Policy, PolicyContext
from ev_grid_oracle.policies.llm.small import SmallOracle
from ev_grid_oracle.policies.llm.small_net import Net
from ev_grid_oracle.policies.registry import make_policy
from ev_grid_oracle.sim.world import WorldOptions

BLOCK = 22


def play(city: CityPack, policy: SmallOracle | str, worlds: Sequence[WorldOptions]) -> list[Values]:
    """Values of every episode, played side by side in blocks; a name is a policy of the registry."""
    out: list[Values] = []
    for k in range(0, len(worlds), BLOCK):
        out += _block(city, policy, worlds[k : k + BLOCK])
    return out


def _block(city: CityPack, policy: SmallOracle | str, worlds: Sequence[WorldOptions]) -> list[Values]:
    pack = packed(city)
    batch = Batch(city, len(worlds), max_answers=pack.layout.dims["MP"])
    batch.reset(worlds)
    contexts = [PolicyContext(pack, policy_seed(o.seed)) for o in worlds]
    singles: list[Policy] = []
    if isinstance(policy, str):
        singles = [make_policy(policy) for _ in worlds]
        for single, context in zip(singles, contexts, strict=True):
            single.begin(context)
    else:
        policy.begin_batch(contexts)
    rows = np.zeros((len(worlds), pack.layout.sizes["o"]))
    envs = list(range(len(worlds)))
    for _ in range(worlds[0].ticks):
        batch.answers[:] = 0
        for e in envs:
            batch.world.observe(e, rows[e])
        if isinstance(policy, str):
            batch.counts[:] = [s.answer(rows[e], batch.answers[e]) for e, s in enumerate(singles)]
        else:
            batch.counts[:] = policy.answer_batch(list(rows), list(batch.answers), envs)
        batch.step()
    accounts, terms = batch.world.view("EP"), batch.world.view("TSUM")
    return [values_of(np.array(accounts[e]), np.array(terms[e]), city) for e in envs]


def validation_worlds(city: CityPack, seeds: int) -> list[WorldOptions]:
    """The first `seeds` seeds of the validation split in every scenario, evening by evening."""
    return [
        resolve(city, seed=seed, scenario=s.name).world
        for seed in split_seeds("validation")[:seeds]
        for s in city.scenarios
    ]


def composite(values: Sequence[Values]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """(n,) car-minutes of the KPIs."""
    return np.array([float(v["composite_car_minutes"] or 0.0) for v in values])


def gain(ours: Sequence[Values], theirs: Sequence[Values]) -> dict[str, float]:
    """Paired difference of the composite: mean, per cent of theirs, t."""
    a, b = composite(ours), composite(theirs)
    d = a - b
    spread = float(d.std(ddof=1)) / len(d) ** 0.5 if len(d) > 1 else 0.0
    return {
        "n": float(len(d)),
        "car_minutes": float(d.mean()),
        "per_cent": 100.0 * float(d.mean()) / float(b.mean()),
        "t": float(d.mean()) / spread if spread > 0.0 else 0.0,
    }


def oracle_at(folder: Path, threads: int = 1) -> SmallOracle:
    """The policy with the model of a folder."""
    return SmallOracle(net=Net(folder, threads))
