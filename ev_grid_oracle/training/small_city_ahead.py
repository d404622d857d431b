"""What a line costs by whole-city look-ahead: play the city on, once for each line, on one sampled future.

An alternative to the station-local marginal cost of `small_teacher`, for the ablation that compares the two. It sees
everything that an answer does to the city, with the noise of everything else that happens in it.
"""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.policies.base import F64, I32
from ev_grid_oracle.policies.llm.small_look import CarQuestion
from ev_grid_oracle.policies.llm.small_words import MOST_LINES
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.axes import MAX_TICKS
from ev_grid_oracle.schema.enums import ActionKind
from ev_grid_oracle.sim.world import World

FUTURES = 8
"""Different futures of a run: every one needs travel tables of its own, so questions share them in turn."""


class CityAhead:
    """Costs of the lines of a question by playing the whole city on.

    Args:
        city: the pack.
        ticks: H, ticks that are played with `greedy_counting` answering after the tick in question.
    """

    def __init__(self, city: CityPack, ticks: int) -> None:
        self.ticks = ticks
        self._batch = Batch(city, MOST_LINES)
        self._n0 = float(city.constants.n0_car_minutes)
        self._asked = 0

    def costs(self, world: World, e: int, plan: I32, count: int, j: int, question: CarQuestion) -> F64:
        """(n,) car-minutes of the whole city within H ticks for each line of the car that `plan[j]` answers.

        The other answers of the tick are those of `plan` (`count` rows); all lines meet one and the same sampled
        future, so their differences are the line's.
        """
        batch, n = self._batch, len(question.stations)
        twins = batch.world
        world.copy(e, 0, twins)
        self._asked += 1
        twins.redraw(0, 1 + self._asked % FUTURES, self.ticks)
        y = twins.view("Y")
        y[0, r.Y_TICKS] = MAX_TICKS + self.ticks  # the episode's end is not the question
        for k in range(1, n):
            twins.copy(0, k)
        y[n:, r.Y_DONE] = 2
        batch.answers[:n, :count] = plan[:count]
        batch.counts[:n] = count
        batch.invalid[:] = 0
        batch.answers[:n, j, r.D_KIND] = ActionKind.ROUTE
        batch.answers[:n, j, r.D_STATION] = question.stations
        batch.answers[:n, j, r.D_RATE] = question.rates
        total = batch.step()[:n].copy()
        if self.ticks > 1:
            total += batch.play("greedy_counting", self.ticks - 1)[:, :n].sum(0)
        out: F64 = -total * self._n0
        return np.asarray(out, np.float64)
