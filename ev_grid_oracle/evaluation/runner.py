"""Paired evaluation: every policy plays every scenario on the same worlds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event, Lock

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.evaluation.paired import Difference, Rows, difference, mean_of
from ev_grid_oracle.evaluation.players import Played, play_block
from ev_grid_oracle.evaluation.seeds import episode_seeds
from ev_grid_oracle.evaluation.values import Values, better_side, binary_of, values_of
from ev_grid_oracle.policies.registry import make_policy
from ev_grid_oracle.schema.axes import DEFAULT_TICKS, MAX_TICKS
from ev_grid_oracle.schema.errors import OptionError
from ev_grid_oracle.sim.world import WorldOptions

BLOCK = 8
"""Episodes that are played side by side; what one thread takes at a time."""

Progress = Callable[[str, int], None]
"""Told the policy that plays and the episode-ticks just done."""


@dataclass(frozen=True)
class Plan:
    """What to evaluate.

    Attributes:
        policies: names; the first is the reference of the paired differences.
        scenarios: names of the city's scenarios.
        options: further options of `reset`, equal for every episode.
    """

    city: CityPack
    policies: tuple[str, ...]
    scenarios: tuple[str, ...] = ("baseline",)
    episodes: int = 10
    seed: int = 0
    ticks: int = DEFAULT_TICKS
    threads: int = 1
    options: dict[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for kind, names in (("policy", self.policies), ("scenario", self.scenarios)):
            if not names:
                raise OptionError(f"No {kind} was named.", f"Name at least one {kind}.")
            doubles = [n for n, count in Counter(names).items() if count > 1]
            if doubles:
                raise OptionError(f"The {kind} {doubles[0]!r} stands twice.", "Name each once.")
        if not 1 <= self.ticks <= MAX_TICKS:
            raise OptionError(f"{self.ticks} ticks are out of range.", f"Choose 1 to {MAX_TICKS}.")
        if not 1 <= self.threads <= 256:
            raise OptionError(f"{self.threads} threads are out of range.", "Choose 1 to 256.")
        episode_seeds(self.seed, self.episodes)
        for name in self.scenarios:
            self.city.scenario(name)
        for name in self.policies:
            make_policy(name)

    @property
    def total_ticks(self) -> int:
        """Episode-ticks of the whole plan, for progress."""
        return len(self.policies) * len(self.scenarios) * self.episodes * self.ticks

    def worlds(self, scenario: str) -> list[WorldOptions]:
        """Resolved options of every episode of a scenario."""
        return [
            resolve(
                self.city, **{**self.options, "seed": seed, "scenario": scenario, "ticks": self.ticks}
            ).world
            for seed in episode_seeds(self.seed, self.episodes)
        ]


@dataclass
class Run:
    """One scenario: values and yes-or-no facts by policy, one entry per episode in the order of `seeds`."""

    scenario: str
    seeds: tuple[int, ...]
    values: dict[str, list[Values]]
    binary: dict[str, list[dict[str, bool]]]
    paired_same_world: bool

    def rows(self, policy: str) -> Rows:
        return list(zip(self.seeds, self.values[policy], strict=True))

    def means(self, policy: str) -> Values:
        """Mean of every value over the episodes that have it."""
        keys = self.values[policy][0]
        return {k: mean_of([v[k] for v in self.values[policy]]) for k in keys}

    def differences(self, policy: str, reference: str) -> dict[str, Difference]:
        """Paired differences of every value."""
        ours, theirs = self.rows(policy), self.rows(reference)
        return {k: difference(ours, theirs, k, better_side(k)) for k in self.values[policy][0]}


@dataclass
class Evaluation:
    """All runs of a plan, and what acted under each policy's name."""

    plan: Plan
    runs: list[Run]
    acted: dict[str, str]
    sources: dict[str, dict[str, int]]


def _play_all(
    plan: Plan, scenario: str, pool: ThreadPoolExecutor, progress: Progress
) -> dict[str, list[Played]]:
    worlds = plan.worlds(scenario)
    blocks = [worlds[n : n + BLOCK] for n in range(0, len(worlds), BLOCK)]
    lock, stop = Lock(), Event()

    def job(name: str, block: Sequence[WorldOptions]) -> Played:
        def advance(ticks: int) -> None:
            if stop.is_set():  # an interrupt ends a long block within one tick
                raise CancelledError
            with lock:
                progress(name, ticks)

        return play_block(name, plan.city, block, advance)

    jobs = {name: [pool.submit(job, name, block) for block in blocks] for name in plan.policies}
    try:
        return {name: [j.result() for j in waiting] for name, waiting in jobs.items()}
    except BaseException:
        stop.set()
        for waiting in jobs.values():
            for j in waiting:
                j.cancel()
        raise


def evaluate(plan: Plan, progress: Progress = lambda name, ticks: None) -> Evaluation:
    """Play the plan. Results do not depend on `threads`."""
    seeds = episode_seeds(plan.seed, plan.episodes)
    runs: list[Run] = []
    acted: dict[str, str] = {}
    sources: dict[str, Counter[str]] = {name: Counter() for name in plan.policies}
    with ThreadPoolExecutor(plan.threads) as pool:
        for scenario in plan.scenarios:
            played = _play_all(plan, scenario, pool, progress)
            run = Run(scenario, seeds, {}, {}, True)
            starts = set()
            for name, blocks in played.items():
                accounts = [row for b in blocks for row in b.accounts]
                terms = [row for b in blocks for row in b.terms]
                run.values[name] = [values_of(a, t, plan.city) for a, t in zip(accounts, terms, strict=True)]
                run.binary[name] = [binary_of(a, plan.city) for a in accounts]
                starts.add(tuple(s for b in blocks for s in b.starts))
                acted[name] = blocks[0].acted
                for b in blocks:
                    sources[name].update(b.sources)
            run.paired_same_world = len(starts) == 1
            runs.append(run)
    return Evaluation(plan, runs, acted, {name: dict(sorted(c.items())) for name, c in sources.items()})
