"""Who was plugged in, served or lost in a tick: read from the car rows of a world, request by request.

Host side: car rows are not part of any observation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import CarState
from ev_grid_oracle.sim.world import World

I32 = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Seen:
    """One request as it stood after a tick."""

    state: int
    persona: int
    flexible: bool
    warm: bool
    patience_min: int


@dataclass(frozen=True, slots=True)
class Happened:
    """Requests by number: plugged in during the tick, and those that left without being served."""

    plugged: tuple[int, ...]
    lost: tuple[tuple[int, Seen], ...]


class CarWatch:
    """Follows the requests of environment 0 of a world.

    Attributes:
        cars: number -> the request as last seen.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self.cars = self._look()

    def _look(self) -> dict[int, Seen]:
        rows: I32 = self._world.view("CAR")[0].astype(np.int32)
        flags = rows[:, r.C_FLAGS]
        live = rows[(rows[:, r.C_STATE] > 0) & ((flags & r.B_WALKIN) == 0)]
        return {
            row[r.C_SEQ]: Seen(
                row[r.C_STATE],
                row[r.C_FLAGS] >> r.S_PERSONA & 7,
                bool(row[r.C_FLAGS] & r.B_FLEX),
                bool(row[r.C_FLAGS] & r.B_WARM),
                row[r.C_PAT],
            )
            for row in live.tolist()
        }

    def update(self) -> Happened:
        """What the tick just played did to them."""
        before, self.cars = self.cars, self._look()
        gone = [(seq, car) for seq, car in before.items() if seq not in self.cars]
        plugged = [
            seq
            for seq, car in self.cars.items()
            if car.state == CarState.CHARGING
            and (seq not in before or before[seq].state != CarState.CHARGING)
        ]
        lost = [(seq, car) for seq, car in gone if car.state != CarState.CHARGING]
        # a car can plug in and leave within five minutes: the tick's own count says how many were lost,
        # and who had the most patience was not among them
        facts = self._world.view("TK")[0]
        count = int(facts[r.T_LOST] + facts[r.T_STRANDED])
        if count < len(lost):
            lost.sort(key=lambda item: (item[1].patience_min, item[0]))
            plugged += [seq for seq, _car in lost[count:]]
            lost = lost[:count]
        return Happened(tuple(sorted(plugged)), tuple(lost))
