"""Play one policy on a block of episodes.

The built-in rules answer inside the kernels. Every other policy gets an instance of its own for each
episode, sees the observation row and nothing else, and answers through `Batch.step`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.batch import RULES, Batch
from ev_grid_oracle.episode.planning import Planning
from ev_grid_oracle.policies.base import Policy, PolicyContext
from ev_grid_oracle.policies.registry import make_policy
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.sim.world import WorldOptions

TICKS_AT_ONCE = 12
"""Ticks a built-in rule plays between two reports of progress."""


@dataclass
class Played:
    """What one policy did in a block of E episodes.

    Attributes:
        accounts: (E, N_EP) float64, the episode's sums after the settle.
        terms: (E, N_TERMS) float64, reward terms summed over the episode.
        starts: digest of each world at tick 0, the evidence that two policies met the same one.
        acted: name of the policy that acted; `sources` counts decisions by what made them.
    """

    accounts: npt.NDArray[np.float64]
    terms: npt.NDArray[np.float64]
    starts: tuple[str, ...]
    acted: str
    sources: Counter[str] = field(default_factory=Counter)


def play_block(
    name: str, city: CityPack, options: Sequence[WorldOptions], advance: Callable[[int], None] | None = None
) -> Played:
    """Play the policy called `name` on the episodes of `options`; `advance` is told episode-ticks done."""
    tell = advance or (lambda ticks: None)
    batch = Batch(city, len(options), max_answers=packed(city).layout.dims["MP"])
    batch.reset(options)
    starts = tuple(batch.world.digest(e) for e in range(batch.n))
    first = make_policy(name)
    sources: Counter[str] = Counter()
    if first.name in RULES:
        _play_rule(batch, first, options[0].ticks, sources, tell)
    else:
        _play_policy(batch, [first, *(make_policy(name) for _ in options[1:])], options, sources, tell)
    world = batch.world
    return Played(world.view("EP").copy(), world.view("TSUM").copy(), starts, first.name, sources)  # type: ignore[arg-type]


def _play_rule(
    batch: Batch, rule: Policy, ticks: int, sources: Counter[str], tell: Callable[[int], None]
) -> None:
    answers = np.zeros((TICKS_AT_ONCE, batch.n, batch.max_answers, r.N_DCOL), np.int32)
    counts = np.zeros((TICKS_AT_ONCE, batch.n), np.int32)
    for start in range(0, ticks, TICKS_AT_ONCE):
        span = min(TICKS_AT_ONCE, ticks - start)
        counts[:] = 0
        batch.play(rule.name, span, (answers, counts))
        sources[rule.source] += int(counts.sum())
        tell(span * batch.n)


def _play_policy(
    batch: Batch,
    policies: Sequence[Policy],
    options: Sequence[WorldOptions],
    sources: Counter[str],
    tell: Callable[[int], None],
) -> None:
    world = batch.world
    row = np.zeros(world.layout.sizes["o"])
    for e, policy in enumerate(policies):
        planning = Planning(world.city.pack, world, e)
        policy.begin(PolicyContext(world.city, policy_seed(options[e].seed), planning))
    for _ in range(options[0].ticks):
        done = batch.done
        batch.answers[:] = 0
        batch.counts[:] = 0
        for e, policy in enumerate(policies):
            if not done[e]:
                n = policy.answer(world.observe(e, row), batch.answers[e])
                batch.counts[e] = n
                sources[policy.source] += n
        batch.step()
        tell(batch.n)


def policy_seed(seed: int) -> int:
    """The seed of a policy's own draws in an episode: a stream that the world does not use."""
    return int(np.random.SeedSequence(seed, spawn_key=(1,)).generate_state(1)[0])
