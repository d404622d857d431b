"""The teacher of the small oracle: the planner's marginal costs as labels, for cars, deferrals and caps.

Costs are car-minutes for everybody, of the planner's own sampled futures; nothing here looks at the true one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ev_grid_oracle.policies.base import F64, I32
from ev_grid_oracle.policies.llm import small_words as w
from ev_grid_oracle.policies.llm.small_look import (
    CAP_MINUTES,
    LEAST_PATIENCE_MIN,
    MOST_CAPS,
    Eyes,
    ReliefQuestion,
)
from ev_grid_oracle.policies.local import draws as d
from ev_grid_oracle.policies.local.choose import (
    L_COST,
    L_FEEDER,
    L_HARM,
    L_OWN,
    L_STATION,
    L_TRAVEL,
    L_WAIT,
    prepare,
)
from ev_grid_oracle.policies.local.feeder import feeder_costs
from ev_grid_oracle.policies.planner import Planner
from ev_grid_oracle.policies.planner_settings import MOST_CANDIDATES, key_of
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.axes import STEP_MINUTES
from ev_grid_oracle.schema.enums import RATE_KW, ActionKind

NEVER_MIN = 10.0
"""What putting off a flexible car costs where the planner would not: there is no time left."""
UNSURE_MIN = 2.0
"""Least cost of a cap whose paired t is below the planner's: not taken without evidence."""
UNKNOWN_MIN = 5.0
"""Cost above the worst known one, of a line that the planner did not cost."""


@dataclass
class CarLabel:
    """(n,) `cost` of each line, `defer` of a deferral (inf where it is not among the answers), `why` REASON's number."""

    cost: F64
    defer: float
    why: int


@dataclass
class ReliefLabel:
    """A feeder's question, (n,) `cost` of each cap against none (0), and whether the planner takes the best."""

    question: ReliefQuestion
    cost: F64


class Teacher(Planner):
    """A planner that tells what it found.

    Args:
        futures: sampled futures of a car's costs (the planner's own number is 64).
        others: weight of the harm to others.
    """

    def __init__(self, futures: int = 64, others: float = 1.0) -> None:
        most = float(min(w.MOST_LINES, MOST_CANDIDATES))
        super().__init__({"futures": float(futures), "candidates": most, "others": others})

    def labels(
        self, o: F64, out: I32, count: int, j: int, eyes: Eyes, stations: I32, may_defer: bool
    ) -> CarLabel:
        """Costs for the car of answer `j` of the last `answer(o, out)`, for the lines' `stations`."""
        pending = eyes.pending(o)
        place = int(np.flatnonzero(pending[:, r.P_SEQ] == out[j, r.D_SEQ])[0])
        n = int(self._scratch.n_labels[place])
        rows = self._scratch.labels[place, :n]
        known = {int(row[L_STATION]): row for row in rows}
        worst = float(rows[:, L_COST].max()) + UNKNOWN_MIN if n else 240.0
        cost = np.array([known[int(s)][L_COST] if int(s) in known else worst for s in stations])
        best = rows[int(rows[:, L_COST].argmin())]
        car = pending[place]
        defer = np.inf
        if may_defer:
            defer = self._defer_cost(car, best)
        return CarLabel(cost, defer, self._why(rows, best, defer))

    def _defer_cost(self, car: F64, best: F64) -> float:
        harm = float(best[L_HARM] + best[L_FEEDER])
        slack = car[r.P_READY] - best[L_TRAVEL] - best[L_OWN] - best[L_WAIT]
        if car[r.P_PAT] <= LEAST_PATIENCE_MIN or slack <= self.settings[d.S_FLEX_SLACK]:
            return float(best[L_COST]) + NEVER_MIN
        return float(best[L_COST]) - harm + float(self.settings[d.S_FLEX_HARM])

    @staticmethod
    def _why(rows: F64, best: F64, defer: float) -> int:
        """Which of `small_words.REASONS` says most of why `best` was chosen."""
        if defer < best[L_COST]:
            return 6
        alone = rows[:, L_TRAVEL] + rows[:, L_OWN] + rows[:, L_WAIT]
        selfish = rows[int(alone.argmin())]
        if selfish[L_STATION] == best[L_STATION]:
            if best[L_TRAVEL] <= rows[:, L_TRAVEL].min():
                return 1
            return 2 if best[L_WAIT] < 1.0 else 3
        harm, strain = selfish[L_HARM] - best[L_HARM], selfish[L_FEEDER] - best[L_FEEDER]
        if strain > harm and strain > 1.0:
            return 5
        return 4 if harm > 1.0 else 0

    def reliefs(self, o: F64, eyes: Eyes) -> list[ReliefLabel]:
        """Questions of every feeder near its limit, as the policy would ask them while the best caps are taken."""
        if self._city is None:
            raise RuntimeError("The teacher was asked before begin(): no episode is known.")
        near = eyes.near_feeders(o)
        if not len(near):
            return []
        c, t, s = self._city, self._tables, self._scratch
        at = c.layout.at
        key = key_of(self._seed, int(o[at[r.O_X] + r.OX_TICK]))
        s.ready[:] = 0
        futures = min(int(self.settings[d.S_DR_FUTURES]), s.costs.shape[1])
        left = o[int(at[r.O_DRLEFT]) : int(at[r.O_DRLEFT]) + eyes.n_s]
        s.caps[:, 0] = np.where(left > 0.0, o[int(at[r.O_DRCAP]) : int(at[r.O_DRCAP]) + eyes.n_s], 1.0e9)
        s.caps[:, 1] = left / STEP_MINUTES
        out: list[ReliefLabel] = []
        taken: frozenset[int] = frozenset()
        for feeder in near.tolist():
            capped: frozenset[int] = frozenset()
            while len(out) < 2 * MOST_CAPS:
                carries = eyes.carrier(o, taken)
                if carries < 0:
                    return out
                car = eyes.pending(o)[carries]
                flexible = bool(car[r.P_FLEX] > 0.0)
                question = eyes.relief(o, int(feeder), capped, flexible)
                if not len(question.stations):
                    break
                for here in np.flatnonzero(eyes._feeder == feeder):
                    prepare(
                        o, self._cf, at, here, key, self.settings, t.cars, t.shares, t.gaps, s.known, s.n_known,
                        s.found, s.counts, s.base, s.ready, t.mean_own, s.times, s.out,
                    )  # fmt: skip
                price = self.settings[d.S_DR_GAIN] + (0.5 if flexible else 5.0)
                cost = self._cap_costs(o, question, key, futures, float(price))
                out.append(ReliefLabel(question, cost))
                best = int(cost.argmin())
                if cost[best] >= 0.0:
                    break
                station, rate = int(question.stations[best]), int(question.rates[best])
                capped |= {station}
                taken |= {int(car[r.P_SEQ])}
                s.caps[station] = RATE_KW[rate], CAP_MINUTES / STEP_MINUTES
        return out

    def _cap_costs(self, o: F64, question: ReliefQuestion, key: np.uint64, futures: int, price: float) -> F64:
        now = self._feeder_costs(o, question.feeder, key, -1, 0, futures, 0)
        cost = np.empty(len(question.stations))
        for k, (station, rate) in enumerate(zip(question.stations, question.rates, strict=True)):
            trial = self._feeder_costs(o, question.feeder, key, int(station), int(rate), futures, 1)
            gain = now - trial
            mean = float(gain.mean())
            t = mean / np.sqrt(max(float(gain.var()), 1.0e-9) / (futures - 1))
            sure = t > self.settings[d.S_DR_T] and mean > price
            cost[k] = price - mean if sure else max(price - mean, UNSURE_MIN)
        return cost

    def _feeder_costs(
        self, o: F64, feeder: int, key: np.uint64, station: int, rate: int, futures: int, row: int
    ) -> F64:
        c, t, s = self._city, self._tables, self._scratch
        assert c is not None
        costs = s.costs[row, :futures]
        feeder_costs(
            o, self._cf, c.ci, c.layout.at, feeder, self.settings, key, station, RATE_KW[rate], int(self.settings[d.S_DR_TICKS]),
            s.caps, t.usual_kw, s.known, s.n_known, s.found, s.counts, s.slots, s.line, s.load, s.path, costs,
        )  # fmt: skip
        return costs.copy()


def routed(out: I32, j: int) -> I32:
    """The routes among the first `j` answers, for the candidate table."""
    rows = out[:j]
    return np.ascontiguousarray(rows[rows[:, r.D_KIND] == ActionKind.ROUTE])


__all__ = ["CarLabel", "ReliefLabel", "Teacher", "routed", "w"]
