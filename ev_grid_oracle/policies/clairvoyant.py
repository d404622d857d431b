"""`clairvoyant`: an offline optimum by local search on the true future, an upper bound and nothing else.

`search` starts from recorded answers and re-assigns cars one at a time: tick by tick, every car routed in that tick
is tried at its other good stations and a tick or two later, each trial replayed to the end of the episode (settle
included) with the batch kernel on copies of the true world; the best is kept while the composite falls. Sweeps
follow each other until one gains less than a set share. A runner that holds the true world calls it explicitly;
`Clairvoyant` only plays back what was found, and refuses to play without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ev_grid_oracle.city.lookup import own_minutes
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.kpis import kpi_table
from ev_grid_oracle.episode.options import EpisodeOptions
from ev_grid_oracle.policies.base import F64, I32, PolicyContext
from ev_grid_oracle.policies.legal import MoveReader
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import RATE_KW, ActionKind
from ev_grid_oracle.schema.errors import OptionError

LATER_TICKS = (1, 2)
REPEATS = 3
"""How often a tick is gone through again while it still improves."""


@dataclass
class Plan:
    """Answers of a whole episode: rows (T, MD, 8) and counts (T,)."""

    rows: I32
    counts: I32

    def copy(self) -> Plan:
        return Plan(self.rows.copy(), self.counts.copy())

    def take(self, tick: int, k: int) -> I32:
        """Remove and return answer `k` of a tick."""
        row: I32 = self.rows[tick, k].copy()
        n = int(self.counts[tick])
        self.rows[tick, k : n - 1] = self.rows[tick, k + 1 : n]
        self.counts[tick] -= 1
        return row

    def add(self, tick: int, row: I32) -> bool:
        """Append an answer to a tick; False where it is full."""
        n = int(self.counts[tick])
        if n >= self.rows.shape[1]:
            return False
        self.rows[tick, n] = row
        self.counts[tick] += 1
        return True


@dataclass(frozen=True)
class Found:
    """A plan, and the composite after the start and after every sweep, car-minutes."""

    plan: Plan
    composite: tuple[float, ...]


class Searcher:
    """Local search on one episode's true future.

    Args:
        width: trials that are replayed side by side.
        stations: alternatives tried for each car.
    """

    def __init__(self, city: CityPack, options: EpisodeOptions, width: int = 24, stations: int = 5) -> None:
        self._city, self._options, self._stations = city, options.world, stations
        self._batch = Batch(city, width, max_answers=city.constants.max_pending)
        self._world = self._batch.world
        self._packed = self._world.city
        self._reader = MoveReader(self._packed)
        self._row = np.zeros(self._world.layout.sizes["o"])

    def record(self, play: Callable[[Batch, Plan], None]) -> Plan:
        """The answers that `play` gives on a fresh batch of one; deferrals are left out (waiting is the same)."""
        batch = Batch(self._city, 1, max_answers=self._batch.max_answers)
        batch.reset([self._options])
        ticks = self._options.ticks
        plan = Plan(np.zeros((ticks, batch.max_answers, r.N_DCOL), np.int32), np.zeros(ticks, np.int32))
        play(batch, plan)
        for t in range(ticks):
            keep = [row.copy() for row in plan.rows[t, : plan.counts[t]] if row[r.D_KIND] != ActionKind.DEFER]
            plan.counts[t] = len(keep)
            for k, row in enumerate(keep):
                row[r.D_CODE] = 0
                plan.rows[t, k] = row
        return plan

    def search(self, start: Plan, sweeps: int = 4, least_gain: float = 2e-4) -> Found:
        """Improve `start` until a sweep gains less than `least_gain` of the composite, or `sweeps` are done."""
        plan = start.copy()
        self._batch.reset([self._options] * self._batch.n)
        first = self._state(0)
        best = float(self._costs(first, 0, [plan])[0])
        trail = [best]
        for _ in range(sweeps):
            state = first
            for tick in range(self._options.ticks):
                for _ in range(REPEATS):
                    trials = self._trials(state, plan, tick)
                    if not trials:
                        break
                    costs = self._costs(state, tick, trials)
                    k = int(np.argmin(costs))
                    if costs[k] >= best - 1e-6:
                        break
                    plan, best = trials[k], float(costs[k])
                state = self._next(state, plan, tick)
            trail.append(best)
            if trail[-2] - trail[-1] < least_gain * trail[-2]:
                break
        return Found(plan, tuple(trail))

    # -- parts ------------------------------------------------------------------------------------
    def _state(self, e: int) -> tuple[F64, I32, np.ndarray]:
        w = self._world
        return w.f[e].copy(), w.i[e].copy(), w.u[e].copy()

    def _put(self, state: tuple[F64, I32, np.ndarray], envs: int) -> None:
        w = self._world
        w.f[:envs], w.i[:envs], w.u[:envs] = state

    def _costs(self, state: tuple[F64, I32, np.ndarray], tick: int, trials: list[Plan]) -> F64:
        """Composite of every trial, replayed from the state at `tick`."""
        b = self._batch
        out = np.zeros(len(trials))
        left = self._options.ticks - tick
        for first in range(0, len(trials), b.n):
            block = trials[first : first + b.n]
            padded = block + [block[-1]] * (b.n - len(block))
            self._put(state, b.n)
            rows = np.stack([p.rows[tick:] for p in padded], 1)
            counts = np.stack([p.counts[tick:] for p in padded], 1)
            counts[:, len(block) :] = 0
            done = self._world.layout.view(self._world.i, "Y")[len(block) :, r.Y_DONE]
            done[...] = 2  # the padding stands still
            b.run(rows, counts, np.zeros_like(counts), np.zeros((left, b.n)))
            accounts = np.array(self._world.view("EP"), np.float64)
            out[first : first + len(block)] = kpi_table(accounts, self._city)["composite_car_minutes"][: len(block)]
        return out

    def _next(self, state: tuple[F64, I32, np.ndarray], plan: Plan, tick: int) -> tuple[F64, I32, np.ndarray]:
        """The incumbent's state one tick later."""
        b = self._batch
        self._put(state, b.n)
        self._world.layout.view(self._world.i, "Y")[1:, r.Y_DONE] = 2
        rows = np.repeat(plan.rows[tick : tick + 1, None], b.n, 1)
        counts = np.zeros((1, b.n), np.int32)
        counts[0, 0] = plan.counts[tick]
        b.run(rows, counts, np.zeros_like(counts), np.zeros((1, b.n)))
        return self._state(0)

    def _trials(self, state: tuple[F64, I32, np.ndarray], plan: Plan, tick: int) -> list[Plan]:
        """Plans that differ from `plan` in one car routed in `tick`."""
        self._put(state, 1)
        o = self._world.observe(0, self._row)
        places = {int(c): k for k, c in enumerate(self._pending_seqs(o))}
        out = []
        for k in range(int(plan.counts[tick])):
            row = plan.rows[tick, k]
            place = places.get(int(row[r.D_SEQ]))
            if row[r.D_KIND] != ActionKind.ROUTE or place is None:
                continue
            for s in self._good_stations(o, place, int(row[r.D_STATION])):
                trial = plan.copy()
                trial.rows[tick, k, r.D_STATION] = s
                trial.rows[tick, k, r.D_RATE] = self._city.stations.rate[s]
                out.append(trial)
            for later in LATER_TICKS:
                if tick + later < self._options.ticks:
                    trial = plan.copy()
                    if trial.add(tick + later, trial.take(tick, k)):
                        out.append(trial)
        return out

    def _pending_seqs(self, o: F64) -> F64:
        n = self._reader.count(o)
        return self._world.layout.view(o, "O_PEND")[:n, r.P_SEQ]  # type: ignore[return-value]

    def _good_stations(self, o: F64, place: int, present: int) -> list[int]:
        """The nearest stations by travel and own minutes, without the present one."""
        moves = self._reader.moves(o, place)
        car = self._world.layout.view(o, "O_PEND")[place]
        c = self._packed
        v = int(car[r.P_VEHICLE])
        cost = {
            int(s): moves.travel_min[s]
            + own_minutes(c.cf, c.ci, c.layout.at, v, s, car[r.P_SOC], car[r.P_TGT], RATE_KW[2])
            for s in moves.stations
            if s != present
        }
        return sorted(cost, key=lambda s: (cost[s], s))[: self._stations]


class Clairvoyant:
    """Plays back a plan that `Searcher.search` found on the true future of this very episode."""

    name = "clairvoyant"
    source = "policy"

    def __init__(self, plan: Plan | None = None) -> None:
        self._plan = plan
        self._city: PackedCity | None = None

    def begin(self, context: PolicyContext) -> None:
        """A new episode.

        Raises:
            OptionError: no plan was given.
        """
        if self._plan is None:
            raise OptionError(
                "clairvoyant needs the true future, which no policy is given.",
                "Search a plan with policies.clairvoyant.Searcher, or run benchmarks/headroom.py.",
            )
        self._city = context.city

    def answer(self, o: F64, out: I32) -> int:
        """Decisions for observation row `o` into `out` (MD, 8); returns how many."""
        if self._plan is None or self._city is None:
            raise RuntimeError("clairvoyant was asked before begin().")
        tick = int(o[self._city.layout.at[r.O_X] + r.OX_TICK])
        n = min(int(self._plan.counts[tick]), len(out))
        out[:n] = self._plan.rows[tick, :n]
        return n


def make() -> Clairvoyant:
    """A clairvoyant without a plan: it names what it needs when an episode begins."""
    return Clairvoyant()


def greedy_plan(searcher: Searcher, rule: str = "greedy_counting") -> Plan:
    """The answers of a built-in rule."""

    def play(batch: Batch, plan: Plan) -> None:
        kept = np.zeros((len(plan.counts), 1, batch.max_answers, r.N_DCOL), np.int32)
        counts = np.zeros((len(plan.counts), 1), np.int32)
        batch.play(rule, len(plan.counts), (kept, counts))
        plan.rows[:], plan.counts[:] = kept[:, 0], counts[:, 0]

    return searcher.record(play)
