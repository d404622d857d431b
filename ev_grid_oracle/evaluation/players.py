"""Play one policy on a block of episodes.

The built-in rules answer inside the kernels. A policy with `answer_batch` (see `policies.base.BatchPolicy`)
answers the whole block at once. Every other policy gets an instance of its own for each episode. All of them see
the observation row and nothing else.
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
from ev_grid_oracle.evaluation.watch import Record, Watch
from ev_grid_oracle.policies.base import BatchPolicy, Policy, PolicyContext, refusals_of, tallies_of
from ev_grid_oracle.policies.registry import make_policy
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.sim.world import WorldOptions


@dataclass
class Played:
    """What one policy did in a block of E episodes.

    Attributes:
        accounts: (E, N_EP) float64, the episode's sums after the settle.
        terms: (E, N_TERMS) float64, reward terms summed over the episode.
        starts: digest of each world at tick 0, the evidence that two policies met the same one.
        acted: name of the policy that acted; `sources` counts decisions by what made them.
        records: receipts, series and outcomes, one an episode.
        model_hash: of the weights that acted, None for what has none.
    """

    accounts: npt.NDArray[np.float64]
    terms: npt.NDArray[np.float64]
    starts: tuple[str, ...]
    acted: str
    sources: Counter[str] = field(default_factory=Counter)
    records: list[Record] = field(default_factory=list)
    model_hash: str | None = None


def play_block(
    name: str,
    city: CityPack,
    options: Sequence[WorldOptions],
    advance: Callable[[int], None] | None = None,
    *,
    series: Sequence[int] = (),
    outcomes: bool = False,
) -> Played:
    """Play the policy called `name` on the episodes of `options`; `advance` is told episode-ticks done.

    series: places in `options` whose state is kept tick by tick. outcomes: follow each CONFIDENCE.
    """
    tell = advance or (lambda ticks: None)
    batch = Batch(city, len(options), max_answers=packed(city).layout.dims["MP"])
    batch.reset(options)
    starts = tuple(batch.world.digest(e) for e in range(batch.n))
    first = make_policy(name)
    watch = Watch(batch, options[0].ticks, series, outcomes)
    if first.name in RULES:
        _play_rule(batch, first, options[0].ticks, watch, tell)
    elif isinstance(first, BatchPolicy):
        _play_batched(batch, first, options, watch, tell)
    else:
        _play_policy(batch, [first, *(make_policy(name) for _ in options[1:])], options, watch, tell)
    world = batch.world
    records = watch.records([o.settle for o in options])
    sources: Counter[str] = Counter()
    for record in records:
        sources.update(record.sources)
    model = getattr(first, "model_hash", None)
    return Played(
        world.view("EP").astype(np.float64), world.view("TSUM").astype(np.float64), starts, first.name, sources,
        records, None if model is None else str(model),
    )  # fmt: skip


def _play_rule(batch: Batch, rule: Policy, ticks: int, watch: Watch, tell: Callable[[int], None]) -> None:
    answers = np.zeros((1, batch.n, batch.max_answers, r.N_DCOL), np.int32)
    counts = np.zeros((1, batch.n), np.int32)
    for t in range(ticks):
        counts[:] = 0
        rewards = batch.play(rule.name, 1, (answers, counts))
        made = [{rule.source: int(n)} for n in counts[0]]
        watch.after(t, answers[0], counts[0], batch.invalid, rewards[0], made)
        tell(batch.n)


def _contexts(batch: Batch, options: Sequence[WorldOptions]) -> list[PolicyContext]:
    world = batch.world
    return [
        PolicyContext(world.city, policy_seed(o.seed), Planning(world.city.pack, world, e))
        for e, o in enumerate(options)
    ]


def _play_policy(
    batch: Batch,
    policies: Sequence[Policy],
    options: Sequence[WorldOptions],
    watch: Watch,
    tell: Callable[[int], None],
) -> None:
    world = batch.world
    row = np.zeros(world.layout.sizes["o"])
    for policy, context in zip(policies, _contexts(batch, options), strict=True):
        policy.begin(context)
    for t in range(options[0].ticks):
        done = batch.done
        batch.answers[:] = 0
        batch.counts[:] = 0
        batch.invalid[:] = 0
        made: list[dict[str, int]] = [{} for _ in policies]
        for e, policy in enumerate(policies):
            if not done[e]:
                n = policy.answer(world.observe(e, row), batch.answers[e])
                batch.counts[e] = n
                made[e] = dict(tallies_of(policy, [n], False)[0])
                batch.invalid[e] = refusals_of(policy, 1, False)[0]
        batch.step()
        watch.after(t, batch.answers, batch.counts, batch.invalid, batch.rewards, made)
        tell(batch.n)


def _play_batched(
    batch: Batch,
    policy: BatchPolicy,
    options: Sequence[WorldOptions],
    watch: Watch,
    tell: Callable[[int], None],
) -> None:
    world = batch.world
    rows = np.zeros((batch.n, world.layout.sizes["o"]))
    policy.begin_batch(_contexts(batch, options))
    for t in range(options[0].ticks):
        envs = np.flatnonzero(batch.done == 0).tolist()
        batch.answers[:] = 0
        batch.counts[:] = 0
        batch.invalid[:] = 0
        made: list[dict[str, int]] = [{} for _ in range(batch.n)]
        if envs:
            seen = [world.observe(e, rows[e]) for e in envs]
            counts = policy.answer_batch(seen, [batch.answers[e] for e in envs], envs)
            batch.counts[envs] = counts
            batch.invalid[envs] = refusals_of(policy, len(envs), True)
            for e, tally in zip(envs, tallies_of(policy, counts, True), strict=True):
                made[e] = dict(tally)
        batch.step()
        watch.after(t, batch.answers, batch.counts, batch.invalid, batch.rewards, made)
        tell(batch.n)


def policy_seed(seed: int) -> int:
    """The seed of a policy's own draws in an episode: a stream that the world does not use."""
    return int(np.random.SeedSequence(seed, spawn_key=(1,)).generate_state(1)[0])
