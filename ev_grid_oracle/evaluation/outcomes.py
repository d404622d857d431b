"""What became of every CONFIDENCE that a policy stated: was the car plugged in before its patience was used up?

The world books a Brier sum and forgets the car. This follows each routed car from tick to tick by its mark
(`B_CONF`): the mark goes when the car is plugged in (then it stands at a slot) or lost (then it is gone). A car
that is plugged in and finished within one tick is gone too; there the world's own Brier sum decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.axes import SETTLE_TICKS
from ev_grid_oracle.schema.enums import ActionKind, CarState

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]

_MOST = 12  # cars gone in one tick whose fates are tried in all combinations
_NEAR = 1e-7  # of a sum of squares of numbers with four digits


@dataclass
class Stated:
    """One answer with a CONFIDENCE.

    Attributes:
        tick: when it was given; `seq` the car's number (`episode.ids.car_id` names it).
        confidence_bp: stated probability, 1/10,000.
        in_time: plugged in before its patience was used up; None where the car was answered again, or where a
            cut episode ended before it was known.
    """

    tick: int
    seq: int
    confidence_bp: int
    in_time: bool | None = None


class Outcomes:
    """Follows the routed cars of every environment of `batch`.

    Attributes:
        stated: for each environment, its answers in the order in which they were given.
        booked: for each environment, (sum of squares, number) over the policy's answers resolved, in the settle
            too: equal to the world's accounts, which is how a test checks this.
    """

    def __init__(self, batch: Batch) -> None:
        self._batch = batch
        self.stated: list[list[Stated]] = [[] for _ in range(batch.n)]
        self.booked = [[0.0, 0] for _ in range(batch.n)]
        self._open, _ = self._look()
        self._following: dict[tuple[int, int], Stated] = {}
        self._sums = self._brier()
        self._late: list[tuple[int, int]] = []
        self._settles: set[tuple[int, int]] = set()  # cars whose last answer is the settle's: nobody's claim

    def _brier(self) -> F64:
        accounts: F64 = self._batch.world.view("EP")[:, r.A_BRIER].astype(np.float64)
        return accounts

    def _look(self) -> tuple[dict[tuple[int, int], int], set[tuple[int, int]]]:
        """Marked cars with their confidence, and the requests at a slot, both by (environment, number)."""
        cars: I32 = self._batch.world.view("CAR").astype(np.int32, copy=False)
        state, flags = cars[:, :, r.C_STATE], cars[:, :, r.C_FLAGS]
        alive = state > int(CarState.ABSENT)
        e, c = np.nonzero(alive & ((flags & r.B_CONF) != 0))
        marked = dict(
            zip(
                zip(e.tolist(), cars[e, c, r.C_SEQ].tolist(), strict=True),
                cars[e, c, r.C_CONF_BP].tolist(),
                strict=True,
            )
        )
        e, c = np.nonzero((state == int(CarState.CHARGING)) & ((flags & r.B_WALKIN) == 0))
        return marked, set(zip(e.tolist(), cars[e, c, r.C_SEQ].tolist(), strict=True))

    def after(self, tick: int, answers: I32, counts: I32, *, ours: bool = True, last: bool = False) -> None:
        """The tick `tick` was played with answers (E, MD, 8), counts (E,).

        ours: False for answers that are not the policy's (the settle's). last: the accounts already hold the
        settle, so that they say nothing of this tick alone.
        """
        for e in range(self._batch.n):
            for row in answers[e, : counts[e]].tolist():
                if row[r.D_KIND] != int(ActionKind.ROUTE) or row[r.D_CODE] != 0:
                    continue
                key = (e, row[r.D_SEQ])
                self._following.pop(key, None)
                self._open[key] = row[r.D_CONF]
                if not ours:
                    self._settles.add(key)
                else:
                    said = Stated(tick, key[1], row[r.D_CONF])
                    self.stated[e].append(said)
                    self._following[key] = said
        marked, charging = self._look()
        sums = self._brier()
        gone: dict[int, list[tuple[int, int]]] = {}
        for key in self._open:
            if key not in marked:
                gone.setdefault(key[0], []).append(key)
        for e, keys in gone.items():
            unsure = [k for k in keys if k not in charging]
            for key in keys:
                if key in charging:
                    self._book(key, True)
            if last:
                self._late += unsure
                continue
            seen = sum((self._open[k] / 10000.0 - 1.0) ** 2 for k in keys if k in charging)
            self._decide(unsure, float(sums[e] - self._sums[e]) - seen)
        self._open = {**{k: self._open[k] for k in self._late}, **marked}
        self._sums = sums

    def _decide(self, unsure: list[tuple[int, int]], rest: float) -> None:
        """Cars that are gone: lost, unless the booked sum of squares says that some were plugged in."""
        told = [self._open[k] / 10000.0 for k in unsure]
        fates: tuple[bool, ...] = (False,) * len(unsure)
        if len(unsure) <= _MOST:
            for choice in product((False, True), repeat=len(unsure)):
                if abs(sum((c - y) ** 2 for c, y in zip(told, choice, strict=True)) - rest) < _NEAR:
                    fates = choice
                    break
        for key, fate in zip(unsure, fates, strict=True):
            self._book(key, fate)

    def _book(self, key: tuple[int, int], fate: bool) -> None:
        if key in self._settles:
            return
        booked = self.booked[key[0]]
        booked[0] += (self._open[key] / 10000.0 - fate) ** 2
        booked[1] += 1
        said = self._following.pop(key, None)
        if said is not None:
            said.in_time = fate

    def settle(self, settles: npt.NDArray[np.bool_]) -> None:
        """Play the end out on a copy, as the world did, for environments where `settles`; the rest stay open."""
        world, total = self._batch.world, self._brier()
        twin = Batch(world.city.pack, self._batch.n, max_answers=self._batch.max_answers)
        for e in range(twin.n):
            world.copy(e, e, twin.world)
        y = twin.world.i[:, int(world.at[r.Y]) :]
        y[:, r.Y_OPEN] = y[:, r.Y_SETTLE] = 0
        y[:, r.Y_DONE] = np.where(settles, 0, 1)
        y[:, r.Y_TICKS] += SETTLE_TICKS + 1
        self._batch, self._sums = twin, self._brier()
        answers = np.zeros((1, twin.n, twin.max_answers, r.N_DCOL), np.int32)
        counts = np.zeros((1, twin.n), np.int32)
        late, self._late = self._late, []
        told = {key: self._open.pop(key) for key in late}
        for _ in range(SETTLE_TICKS):
            if twin.done.all():
                break
            counts[:] = 0
            twin.play("greedy_counting", 1, (answers, counts))
            self.after(-1, answers[0], counts[0], ours=False)
        for key in [k for k in self._open if settles[k[0]]]:
            self._book(key, False)
        self._open = told
        for e in sorted({key[0] for key in late}):
            keys = [k for k in late if k[0] == e]
            if settles[e]:
                self._decide(keys, float(total[e]) - self.booked[e][0])
            else:
                self._decide(keys, float("nan"))
