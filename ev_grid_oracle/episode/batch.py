"""A batch of environments that are stepped together, on as many threads as asked for.

Results do not depend on the number of threads or on where an environment stands in the batch: each is
computed alone, in the same order of operations, into its own rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.kernel import play_rule, run
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.sim.world import Scratch, World, WorldOptions

I32 = npt.NDArray[np.int32]
F64 = npt.NDArray[np.float64]

RULES = {"baseline": 0, "greedy_counting": 1}
TILE = 32
"""Environments a thread plays before it takes the next tile; keeps their rows in cache."""


class Batch:
    """`n` environments and the scratch of `threads` threads.

    Attributes:
        world: the rows.
        answers: (n, MD, 8) int32 decisions of the next step, `counts` (n,) how many, `invalid` (n,) texts
            refused; caller-owned between steps.
        rewards: (n,) float64 of the last step.
    """

    def __init__(self, pack: CityPack, n: int = 1, threads: int = 1, max_answers: int = 64) -> None:
        self.world = World(pack, n)
        self.n = n
        self.threads = threads
        self.max_answers = max_answers
        self._scratch = [self.world.scratch] + [Scratch.of(self.world.layout) for _ in range(threads - 1)]
        self._pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self.answers = np.zeros((n, max_answers, r.N_DCOL), np.int32)
        self.counts = np.zeros(n, np.int32)
        self.invalid = np.zeros(n, np.int32)
        self.rewards = np.zeros(n)

    def reset(self, options: Sequence[WorldOptions], envs: Sequence[int] | None = None) -> None:
        """Start episodes in `envs` (default: all)."""
        self.world.reset(range(self.n) if envs is None else envs, options)

    @property
    def done(self) -> I32:
        """(n,) 0 running, 1 terminated, 2 truncated."""
        return self.world.i[:, int(self.world.at[r.Y]) + r.Y_DONE].copy()

    def step(self) -> F64:
        """One tick with the answers in place; returns `rewards` (n,)."""
        self.run(self.answers[None], self.counts[None], self.invalid[None], self.rewards[None])
        return self.rewards

    def run(self, answers: I32, counts: I32, invalid: I32, rewards: F64) -> None:
        """Several ticks with recorded answers: arrays with a leading tick axis, `rewards` is filled."""
        w = self.world
        ticks = len(answers)

        def part(scratch: Scratch, first: int, last: int) -> None:
            s = scratch
            run(  # type: ignore[call-arg]  # the number of travel arrays is not in their type
                w.f, w.i, w.u, first, last, ticks, w.cf, w.ci, w.at, *w.bank_arrays(), w.link_to, answers, counts,
                invalid, rewards, s.o, s.dec, s.w, s.wp, s.own, s.enter, s.codes, s.travel, s.extra, s.added, s.times, s.out,
                s.due, s.sf, s.si,
            )  # fmt: skip

        self._spread(part)

    def play(self, rule: str, ticks: int, record: tuple[I32, I32] | None = None) -> F64:
        """Let a built-in rule answer for `ticks` ticks; returns rewards (ticks, n).

        `record` = (answers (ticks, n, MD, 8), counts (ticks, n)) gets what it answered.
        """
        w = self.world
        rewards = np.zeros((ticks, self.n))
        keep = record or (np.zeros((1, 1, self.max_answers, r.N_DCOL), np.int32), np.zeros((1, 1), np.int32))

        def part(scratch: Scratch, first: int, last: int) -> None:
            s = scratch
            play_rule(  # type: ignore[call-arg]
                w.f, w.i, w.u, first, last, ticks, RULES[rule], w.cf, w.ci, w.at, *w.bank_arrays(), w.link_to,
                keep[0], keep[1], int(record is not None), rewards, s.o, s.dec, s.w, s.wp, s.own, s.enter, s.codes, s.travel,
                s.extra, s.added, s.times, s.out, s.due, s.sf, s.si,
            )  # fmt: skip

        self._spread(part)
        return rewards

    def _spread(self, part: Callable[[Scratch, int, int], None]) -> None:
        if self._pool is None:
            part(self._scratch[0], 0, self.n)
            return
        bounds = np.linspace(0, self.n, self.threads + 1).astype(int)
        jobs = [
            self._pool.submit(part, s, int(a), int(b))
            for s, a, b in zip(self._scratch, bounds[:-1], bounds[1:], strict=True)
        ]
        for job in jobs:
            job.result()
