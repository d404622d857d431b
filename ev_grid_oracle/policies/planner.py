"""`planner`: marginal cost on sampled futures of each station, and of each feeder.

Cars: for the best few stations by greedy's cost, what one more car there costs everybody: the mean over sampled
futures of that station alone (walk-ins at their usual rate times today's ratio, a share of the usual requests, the
same futures for all candidates) of all cars' minutes with the car less those without it, plus its travel and what
its energy costs the feeder. Feeders: a cap on one station, tried on sampled futures of the feeder, taken only where
the paired t is clear. Reads the observation row, the city and its own seeded draws, nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.policies.base import F64, I32, PolicyContext
from ev_grid_oracle.policies.local import draws as d
from ev_grid_oracle.policies.local.choose import L_COST, L_STATION, N_LABEL, choose
from ev_grid_oracle.policies.local.shift import correct
from ev_grid_oracle.policies.planner_settings import MOST_CANDIDATES, Scratch, key_of, settings_of
from ev_grid_oracle.policies.planner_tables import Tables, tables_of
from ev_grid_oracle.schema import rows as r


@dataclass(frozen=True)
class MarginalCosts:
    """What the planner found for the pending cars of one observation: labels for a learner.

    Attributes:
        seq: (n,) numbers of the cars, in the observation's order; cars that carry a load_shift have no candidates.
        station: (n, C) candidate stations by greedy's cost, -1 none.
        cost: (n, C) car-minutes that routing the car there costs everybody, nan none.
        rows: (n, C, N_LABEL) all that was computed, see `policies.local.choose` L_*.
    """

    seq: I32
    station: I32
    cost: F64
    rows: F64


class Observer(Protocol):
    """A world that can be looked at (`sim.world.World`)."""

    def observe(self, e: int, out: F64 | None = None) -> F64: ...


class Planner:
    """The planning policy.

    Args:
        changes: settings that differ from `planner_settings.SETTINGS` and `RULE`, by name.
    """

    name = "planner"
    source = "planner"

    def __init__(self, changes: Mapping[str, float] | None = None) -> None:
        self.settings, self.rule = settings_of(changes or {})
        self._city: PackedCity | None = None
        self._seed = 0

    def begin(self, context: PolicyContext) -> None:
        """A new episode of `context.city`."""
        self._seed = context.seed
        if self._city is context.city:
            return
        self._city = context.city
        self._tables: Tables = tables_of(context.city)
        self._scratch = Scratch.of(context.city, int(self.settings[d.S_FUTURES]))
        self._cf: F64 = context.city.cf.copy()
        constants = context.city.layout.view(self._cf, "K_GREEDY")
        for name, value in self.rule.items():
            constants[r.GREEDY_NAMES.index(name)] = value
        self._own_rows: I32 = np.zeros((context.city.layout.dims["MP"], r.N_DCOL), np.int32)

    def answer(self, o: F64, out: I32) -> int:
        """Decisions for observation row `o` into `out` (MD, 8); returns how many."""
        return self._plan(o, out, self._seed)

    def _plan(self, o: F64, out: I32, seed: int) -> int:
        if self._city is None:
            raise RuntimeError("planner was asked before begin(): no episode is known.")
        c, t, s = self._city, self._tables, self._scratch
        at, minutes, km = c.layout.at, c.bank.minutes, c.bank.km
        key = key_of(seed, int(o[at[r.O_X] + r.OX_TICK]))
        s.ready[:] = 0
        n = correct(
            o, self._cf, c.ci, at, out, 0, key, self.settings, t.cars, t.shares, t.usual_kw, t.mean_own, t.gaps, s.times,
            s.out, s.known, s.n_known, s.found, s.counts, s.base, s.ready, s.caps, s.slots, s.line, s.load, s.path,
            s.costs,
        )  # fmt: skip
        n = choose(
            o, self._cf, c.ci, at, minutes, km, out, n, key, self.settings, t.cars, t.shares, t.mean_own, t.gaps, s.codes,
            s.travel, s.extra, s.added, s.times, s.out, s.known, s.n_known, s.found, s.counts, s.base, s.ready, s.labels,
            s.n_labels,
        )  # fmt: skip
        return int(n)

    def marginal_costs(self, o: F64) -> MarginalCosts:
        """Candidates and their marginal costs for every pending car, as `answer` weighs them."""
        self.answer(o, self._own_rows)
        if self._city is None:
            raise RuntimeError("planner was asked before begin(): no episode is known.")
        layout, s = self._city.layout, self._scratch
        n = int(o[layout.at[r.O_X] + r.OX_NPEND])
        rows = s.labels[:n].copy()
        none = np.arange(MOST_CANDIDATES)[None, :] >= s.n_labels[:n, None]
        rows[none] = np.nan
        station = np.where(none, -1.0, rows[:, :, L_STATION]).astype(np.int32)
        seq = layout.view(o, "O_PEND")[:n, r.P_SEQ].astype(np.int32)
        return MarginalCosts(seq, station, rows[:, :, L_COST].copy(), rows)

    def plan_batch(self, world: Observer, seeds: Sequence[int], answers: I32, counts: I32, row: F64) -> None:
        """Answers for environments 0 to len(seeds) - 1 of `world`, one planner for all of them.

        answers (E, MD, 8) and counts (E,) are filled; `seeds` are the policy seeds of the episodes, `row` scratch for
        an observation. Equal to a planner of its own for every environment.
        """
        for e, seed in enumerate(seeds):
            counts[e] = self._plan(world.observe(e, row), answers[e], seed)


def make() -> Planner:
    """A new planner."""
    return Planner()


__all__ = ["N_LABEL", "MarginalCosts", "Planner", "make"]
