"""Paired evaluation: every policy plays every scenario on the same worlds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.evaluation.backend import BACKENDS, Done, run_tasks
from ev_grid_oracle.evaluation.paired import Difference, Rows, difference, mean_of
from ev_grid_oracle.evaluation.seeds import episode_seeds
from ev_grid_oracle.evaluation.values import Values, better_side
from ev_grid_oracle.evaluation.work import Episode, Spec, Task, blocks
from ev_grid_oracle.policies.registry import make_policy
from ev_grid_oracle.schema.axes import DEFAULT_TICKS, MAX_TICKS
from ev_grid_oracle.schema.errors import OptionError
from ev_grid_oracle.sim.world import WorldOptions

if TYPE_CHECKING:
    from ev_grid_oracle.evaluation.store import Store

BLOCK = 16
"""Episodes that are played side by side: what one worker takes at a time, and one part of a store."""
SERIES = 8
"""Episodes of each scenario whose state is kept tick by tick, for figures."""

ALREADY = "(already there)"
Progress = Callable[[str, int], None]
"""Told the policy that plays and the episode-ticks just done; `ALREADY` for those that a store held."""


@dataclass(frozen=True)
class Plan:
    """What to evaluate, and how.

    Attributes:
        policies: names; the first is the reference of the paired differences.
        scenarios: names of the city's scenarios.
        threads: of the local backend within this process; the kernels release the interpreter lock.
        options: further options of `reset`, equal for every episode.
        workers: processes; with 1 the work is done in this one.
        backend: ``local`` or ``ray``.
        block: episodes of one piece of work.
        series: episodes of each scenario whose state is kept tick by tick.

    Results depend on `city`, `policies`, `scenarios`, `episodes`, `seed`, `ticks`, `options`, and on nothing else.
    """

    city: CityPack
    policies: tuple[str, ...]
    scenarios: tuple[str, ...] = ("baseline",)
    episodes: int = 10
    seed: int = 0
    ticks: int = DEFAULT_TICKS
    threads: int = 1
    options: Mapping[str, object] = field(default_factory=dict)
    workers: int = 1
    backend: str = "local"
    block: int = BLOCK
    series: int = SERIES

    def __post_init__(self) -> None:
        for kind, names in (("policy", self.policies), ("scenario", self.scenarios)):
            if not names:
                raise OptionError(f"No {kind} was named.", f"Name at least one {kind}.")
            doubles = [n for n, count in Counter(names).items() if count > 1]
            if doubles:
                raise OptionError(f"The {kind} {doubles[0]!r} stands twice.", "Name each once.")
        for what, value, most in (
            ("ticks", self.ticks, MAX_TICKS),
            ("threads", self.threads, 256),
            ("workers", self.workers, 256),
            ("episodes in a block", self.block, 4096),
        ):
            if not 1 <= value <= most:
                raise OptionError(f"{value} {what} are out of range.", f"Choose 1 to {most}.")
        if self.series < 0:
            raise OptionError(f"{self.series} series are out of range.", "Choose 0 or more.")
        if self.backend not in BACKENDS:
            raise OptionError(f"There is no backend {self.backend!r}.", f"Choose {' or '.join(BACKENDS)}.")
        episode_seeds(self.seed, self.episodes)
        for name in self.scenarios:
            resolve(self.city, **self.spec.asked(name, 0))
        for name in self.policies:
            make_policy(name)

    @property
    def spec(self) -> Spec:
        """What every piece of work is told."""
        return Spec(self.seed, self.ticks, self.options, self.series)

    @property
    def total_ticks(self) -> int:
        """Episode-ticks of the whole plan, for progress."""
        return len(self.policies) * len(self.scenarios) * self.episodes * self.ticks

    def tasks(self) -> list[Task]:
        """All the work, scenario by scenario."""
        return [
            task
            for scenario in self.scenarios
            for policy in self.policies
            for task in blocks(scenario, policy, self.episodes, self.block)
        ]

    def worlds(self, scenario: str) -> list[WorldOptions]:
        """Resolved options of every episode of a scenario."""
        return [resolve(self.city, **self.spec.asked(scenario, k)).world for k in range(self.episodes)]


@dataclass
class Run:
    """One scenario: episodes by policy, in the order of `seeds`."""

    scenario: str
    seeds: tuple[int, ...]
    episodes: dict[str, list[Episode]]

    @property
    def values(self) -> dict[str, list[Values]]:
        return {name: [e.values for e in rows] for name, rows in self.episodes.items()}

    @property
    def binary(self) -> dict[str, list[dict[str, bool]]]:
        """Yes-or-no facts by policy."""
        return {name: [e.binary for e in rows] for name, rows in self.episodes.items()}

    @property
    def paired_same_world(self) -> bool:
        """Every policy began every episode in the same state of the world, by its digest."""
        return len({tuple(e.start for e in rows) for rows in self.episodes.values()}) == 1

    def rows(self, policy: str) -> Rows:
        return [(e.seed, e.values) for e in self.episodes[policy]]

    def means(self, policy: str) -> Values:
        """Mean of every value over the episodes that have it."""
        rows = [e.values for e in self.episodes[policy]]
        return {k: mean_of([v[k] for v in rows]) for k in rows[0]}

    def differences(self, policy: str, reference: str) -> dict[str, Difference]:
        """Paired differences of every value."""
        ours, theirs = self.rows(policy), self.rows(reference)
        return {k: difference(ours, theirs, k, better_side(k)) for k in ours[0][1]}

    def sources(self, policy: str) -> Counter[str]:
        """Decisions by what made them."""
        total: Counter[str] = Counter()
        for e in self.episodes[policy]:
            total.update(e.sources)
        return total


@dataclass
class Evaluation:
    """All runs of a plan, and what acted under each policy's name."""

    plan: Plan
    runs: list[Run]

    @property
    def sources(self) -> dict[str, dict[str, int]]:
        """Decisions by what made them, over all scenarios."""
        out = {}
        for name in self.plan.policies:
            total: Counter[str] = Counter()
            for run in self.runs:
                total.update(run.sources(name))
            out[name] = dict(sorted(total.items()))
        return out

    @property
    def acted(self) -> dict[str, str]:
        return {name: self.runs[0].episodes[name][0].acted for name in self.plan.policies}

    @property
    def model_hash(self) -> dict[str, str | None]:
        return {name: self.runs[0].episodes[name][0].model_hash for name in self.plan.policies}


def assemble(plan: Plan, episodes: Iterable[Episode]) -> Evaluation:
    """The evaluation of these episodes, in any order.

    Raises:
        OptionError: an episode stands twice or is missing, or one name stood for several policies or models.
    """
    found: dict[str, Episode] = {}
    by: dict[tuple[str, str], dict[int, Episode]] = {}
    for e in episodes:
        if e.id in found:
            raise OptionError(f"The episode {e.id} stands twice.", "Take one of the two out.")
        found[e.id] = e
        by.setdefault((e.scenario, e.policy), {})[e.seed] = e
    seeds = episode_seeds(plan.seed, plan.episodes)
    runs = []
    for scenario in plan.scenarios:
        rows = {}
        for policy in plan.policies:
            have = by.get((scenario, policy), {})
            missing = [f"{scenario}/{s}/{policy}" for s in seeds if s not in have]
            if missing:
                raise OptionError(
                    f"{len(missing)} episodes are missing, first {missing[0]}.", "Play on, then report."
                )
            rows[policy] = [have[s] for s in seeds]
        runs.append(Run(scenario, seeds, rows))
    for policy in plan.policies:
        who = {(e.acted, e.model_hash) for run in runs for e in run.episodes[policy]}
        if len(who) > 1:
            shown = ", ".join(f"{acted} {model or ''}".strip() for acted, model in sorted(map(_pair, who)))
            raise OptionError(f"Several acted under the name {policy!r}: {shown}.", "Play it again with one.")
    return Evaluation(plan, runs)


def _pair(who: tuple[str, str | None]) -> tuple[str, str]:
    return who[0], who[1] or ""


def evaluate(
    plan: Plan,
    progress: Progress = lambda name, ticks: None,
    store: Store | None = None,
    receipts: int | None = None,
) -> Evaluation:
    """Play the plan; with a store, what it holds is not played again and what is finished is never lost.

    receipts: episodes of each scenario that come back from a store with their receipts; None for all.

    Results do not depend on threads, workers, backend or block, nor on how often a run was stopped.
    """
    tasks = plan.tasks()
    if store is None:
        played: list[Episode] = []
        for _, episodes in _played(plan, tasks, progress):
            played += episodes
        return assemble(plan, played)
    with store.begun(plan):
        todo = store.missing(tasks)
        waiting = set(todo)
        for task in tasks:
            if task not in waiting:
                progress(ALREADY, len(task.indices) * plan.ticks)
        for task, episodes in _played(plan, todo, progress):
            store.add(task, episodes)
        return assemble(plan, store.finish(plan, receipts))


def _played(plan: Plan, tasks: list[Task], progress: Progress) -> Iterable[Done]:
    return run_tasks(
        plan.city,
        plan.spec,
        tasks,
        progress,
        backend=plan.backend,
        threads=plan.threads,
        workers=plan.workers,
    )
