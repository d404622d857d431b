"""The evenings on which the integrity search compares policies, and the space of policies that it searches.

A point of the space is greedy_counting with its constants drawn widely (silly values too) and habits laid over it
(cars left alone, put off, charged slowly, load_shifts at any time). The settle keeps the frozen constants.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.kpis import kpi_table
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.evaluation.players import policy_seed
from ev_grid_oracle.evaluation.seeds import episode_seed
from ev_grid_oracle.policies.base import Policy, PolicyContext
from ev_grid_oracle.policies.local.habits import habits
from ev_grid_oracle.policies.registry import make_policy
from ev_grid_oracle.reward.terms import ANTI_HACK
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.sim.dispatch.greedy import decide
from ev_grid_oracle.sim.world import World

F64 = npt.NDArray[np.float64]
Found = dict[str, F64]
"""`reward`, `reward_no_flags` and `composite` by scenario, means over the evenings."""
SEED = 3
"""Root of the evenings played here; neither an evaluation's nor the training's."""

# constant -> range of the search, silly values included
WIDE = {
    "wait_weight": (-1.0, 6.0), "scarcity_weight": (-2.0, 5.0), "scarcity_power": (1.0, 8.0),
    "feeder_weight_min": (-0.5, 4.0), "feeder_from_frac": (0.5, 1.2), "lost_min": (-100.0, 400.0),
    "dr_from_frac": (0.0, 1.2), "dr_heat_frac": (0.0, 1.1), "flex_busy_frac": (-0.1, 1.1), "flex_feeder_frac": (0.3, 1.3),
    "flex_slack_min": (-60.0, 240.0), "flex_defer_min": (0.0, 120.0), "dr_minutes": (0.0, 60.0),
    "site_share_weight": (0.0, 3.0), "price_weight_min": (-2.0, 3.0), "feeder_ramp_frac": (0.01, 0.5),
    "dr_ahead_ticks": (1.0, 12.0), "dr_most": (0.0, 8.0), "dr_queue_share": (-1.0, 3.0),
}  # fmt: skip
HABITS = {"drop": (0.0, 1.0), "defer": (0.0, 1.0), "defer_min": (5.0, 120.0), "lower_rate": (0.0, 1.0), "shift": (0.0, 1.0),
          "shift_min": (0.0, 60.0), "shift_rate": (0.0, 2.99), "shift_feeder": (0.0, 1.0)}  # fmt: skip
NAMES = (*WIDE, *HABITS)
LOW = np.array([v[0] for v in (*WIDE.values(), *HABITS.values())])
HIGH = np.array([v[1] for v in (*WIDE.values(), *HABITS.values())])


class Arena:
    """Evenings `first` to `first + evenings - 1` of every scenario, all in one batch."""

    def __init__(self, city: CityPack, evenings: int, scenarios: tuple[str, ...] = (), first: int = 0) -> None:
        self.city = city
        self.scenarios = scenarios or tuple(s.name for s in city.scenarios)
        self._options = [
            resolve(city, seed=episode_seed(SEED, k), scenario=s).world
            for s in self.scenarios
            for k in range(first, first + evenings)
        ]
        self._batch = Batch(city, len(self._options), max_answers=city.constants.max_pending)
        self._batch.reset(self._options)
        w = self._batch.world
        self._start = (w.f.copy(), w.i.copy(), w.u.copy())
        self._cf = w.cf.copy()
        self._row = np.zeros(w.layout.sizes["o"])

    def _again(self) -> World:
        w = self._batch.world
        w.f[:], w.i[:], w.u[:] = self._start
        return w

    def _result(self) -> Found:
        """Reward with and without flags and composite by scenario, (scenarios,) each."""
        w = self._batch.world
        terms = np.array(w.view("TSUM"), np.float64)
        table = kpi_table(np.array(w.view("EP"), np.float64), self.city)
        by = (len(self.scenarios), -1)
        return {
            "reward": terms.sum(1).reshape(by).mean(1),
            "reward_no_flags": (terms.sum(1) - terms[:, ANTI_HACK]).reshape(by).mean(1),
            "composite": table["composite_car_minutes"].reshape(by).mean(1),
        }

    def named(self, name: str) -> Found:
        """A policy of the registry."""
        world = self._again()
        policies: list[Policy] = []
        for option in self._options:
            policies.append(make_policy(name))
            policies[-1].begin(PolicyContext(world.city, policy_seed(option.seed)))
        b = self._batch
        for _ in range(self._options[0].ticks):
            b.answers[:] = 0
            for e, policy in enumerate(policies):
                b.counts[e] = policy.answer(world.observe(e, self._row), b.answers[e])
            b.step()
        return self._result()

    def point(self, x: F64) -> Found:
        """The parametrised rule at `x`, values in the order of `NAMES`."""
        world, b = self._again(), self._batch
        cf = self._cf.copy()
        constants = world.layout.view(cf, "K_GREEDY")
        for name, value in zip(WIDE, x, strict=False):
            constants[r.GREEDY_NAMES.index(name)] = value
        h = np.asarray(x[len(WIDE) :])
        s, bank = world.scratch, world.bank
        key = np.uint64(SEED)
        for tick in range(self._options[0].ticks):
            b.answers[:] = 0
            for e in range(b.n):
                o = world.observe(e, self._row)
                n = decide(
                    o, cf, world.ci, world.at, bank.minutes, bank.km, b.answers[e], s.codes, s.travel, s.extra, s.added,
                    s.times, s.out,
                )  # fmt: skip
                n = habits(o, world.ci, world.at, b.answers[e], n, key + np.uint64(4096 * tick + e), h)
                b.answers[e, n:] = 0
                b.counts[e] = n
            b.step()
        return self._result()


def tuned() -> F64:
    """The frozen constants with no habit at all."""
    constants = dict(zip(r.GREEDY_NAMES, r.GREEDY_TUNED, strict=True))
    return np.array([constants[n] for n in WIDE] + [0.0, 0.0, 30.0, 0.0, 0.0, 10.0, 0.0, 0.0])
