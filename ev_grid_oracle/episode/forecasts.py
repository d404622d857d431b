"""Forecasts of a text's <SIMULATE> block, scored against what the simulator itself makes of them.

Truth is the state five ticks later on a copy of the world with its true future: this text's answers in the
first tick, `greedy_counting` in the next four. The score is known at once and told only at T+5 (it would
give the future away); it is dropped where the episode ends before.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.protocol.predict import Reference, Truth, score_prediction
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.action import SimulationPrediction
from ev_grid_oracle.sim.world import World

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]

AHEAD_TICKS = 5


@dataclass(frozen=True)
class ScoredForecast:
    """One forecast: made at the start of `made_tick`, due at the start of `due_tick`."""

    made_tick: int
    due_tick: int
    scores: dict[str, float]

    def to_dict(self) -> dict[str, object]:
        return asdict(self)


class Forecasts:
    """The forecasts of one episode.

    Args:
        city: of the episode.
    """

    def __init__(self, city: CityPack) -> None:
        self._city = city
        self._twin: Batch | None = None
        self.made: list[ScoredForecast] = []

    def judge(self, world: World, row: F64, answers: I32, n: int, prediction: SimulationPrediction) -> None:
        """Score `prediction`, made on observation row `row` with the first `n` of `answers` (.., 8).

        `world` (environment 0) is read, not changed; its travel tables reach beyond five ticks.
        """
        if self._twin is None:
            self._twin = Batch(self._city, 1, max_answers=len(answers))
        twin = self._twin
        world.copy(0, 0, twin.world)
        made = world.scalar(0, r.Y_TICK)
        twin.answers[0, :n] = answers[:n]
        twin.counts[0], twin.invalid[0] = n, 0
        twin.step()
        twin.play("greedy_counting", AHEAD_TICKS - 1)
        if twin.world.scalar(0, r.Y_TICK) != made + AHEAD_TICKS:
            return  # the episode ends before
        end = twin.world.observe(0)
        load, renewable, occupied, queued = self._facts(world, end)
        truth = Truth(self._city.stations.ids, load, renewable, occupied, queued, self._city.stations.slots)
        self.made.append(
            ScoredForecast(
                made, made + AHEAD_TICKS, score_prediction(prediction, truth, self._reference(world, row))
            )
        )

    def known(self, tick: int) -> list[dict[str, object]]:
        """Scores whose five ticks are over at the start of `tick`."""
        return [f.to_dict() for f in self.made if f.due_tick <= tick]

    def _facts(self, world: World, row: F64) -> tuple[float, float, F64, F64]:
        """Grid load, renewable share, (S,) occupied and queued of an observation row."""
        x, n = int(world.at[r.O_X]), len(self._city.stations.ids)
        occupied, queued = (
            world.layout.view(row, name)[:n].astype(np.float64) for name in ("O_OCC", "O_QUEUE")
        )
        return float(row[x + r.OX_GRID]), float(row[x + r.OX_RENEW]), occupied, queued

    def _reference(self, world: World, row: F64) -> Reference:
        """Last value plus the slope of the hour's shape; stations as they are."""
        load, renewable, occupied, queued = self._facts(world, row)
        base = world.layout.view(row, "O_FNEXT").astype(np.float64)  # (F, 18) kVA
        sun = world.layout.view(row, "O_RNEXT").astype(np.float64)
        rise_kva = float((base[:, AHEAD_TICKS] - base[:, 0]).sum())
        return Reference(
            load + rise_kva / float(self._city.grid.feeder_kva.sum()),
            renewable + float(sun[AHEAD_TICKS] - sun[0]),
            occupied,
            queued,
        )
