"""A lower bound of the cost of an evening that holds for any dispatcher, by Lagrangian relaxation.

The cost is `composite_car_minutes`; overload costs nothing less than 0, so the bound is one of its car-minutes. Cars
choose among their options (`bound_options`, where every step is argued) under two kinds of rows:

- slots: in every minute, the cars at a station that were plugged in since it last had more slots than now number at
  most its usable slots. In the simulator a car is plugged in only while the occupied slots are fewer than the usable
  ones, so at the last plug-in of that span the count held, and since then cars have only left.
- choice: a walk-in ends at a later draw only if every earlier draw was refused, which takes that many cars queued at
  the refused station when its tick begins (`ST_ACCEPT`). Cars of before tick 0 can be queued there too.
- full: and a queue is there only where every usable slot was taken in the minute before (queues are served at once).
  For these rows a car may stay at the plug longer than it must, at the cost of its time (a site limit, demand response
  or a low rate can do that), and a car that is lost may have taken a slot for any time (it came too late to count).

Every play of the simulator, by whatever dispatcher, is a feasible choice of options at no higher cost. With prices
>= 0 on the rows each car minimises by itself, and the sum of minima less the priced capacities is at most the cost of
any feasible choice (weak duality): so the bound is valid for every vector of prices, found well or badly, and needs no
solver to be trusted. Prices are searched by projected subgradients with the step lengths of Adam (Kingma, Ba 2015). Prices on slots are one per
station and tick, which sums the rows of five minutes.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation.bound_options import Options, options_of
from ev_grid_oracle.evaluation.bound_world import F64, Draws, Evening, read_evening
from ev_grid_oracle.sim.world import WorldOptions

I64 = npt.NDArray[np.int64]
STEPS = 240
SLOT_STEP = 0.06
CHOICE_STEP = 10.0
"""Steps of the search, and their first length: car-minutes a minute at a slot, and car-minutes."""


@dataclass(frozen=True)
class Bound:
    """A lower bound of an evening.

    Attributes:
        car_minutes: no dispatcher's composite is lower.
        free_car_minutes: the bound without any price (every car alone in the city). steps: of the search.
        cars: counted cars.
    """

    car_minutes: float
    free_car_minutes: float
    steps: int
    cars: int


def lower_bound(city: CityPack, options: WorldOptions, steps: int = STEPS) -> Bound:
    """The bound of the evening that `options` start; more `steps` of the search can only raise it."""
    evening = read_evening(city, options)
    return Relaxation(evening, options_of(evening)).search(steps)


def first_choices(evening: Evening) -> Evening:
    """The evening with every walk-in held to the station it takes when no queue turns it away.

    Not a relaxation: it shows how much of a bound's gap comes from walk-ins that a dispatcher might turn away.
    """
    held = (None if d is None else Draws(d.station[:1], d.needs[:1]) for d in evening.draws)
    return replace(evening, draws=tuple(held))


class Relaxation:
    """The priced problem of one evening: `value(prices)` is a bound for any prices >= 0.

    Attributes:
        car, option, cost, start, to, joins, leaves: (rows,) what can become of each car, see `_entries`; `rank` the
            car's number among those that have rows.
        pays: (tables, ticks) 1 where a car of the table counts against the slots; station_of (tables,).
        capacity: (S, ticks) slot-minutes. use, use_row, use_option: the choice rows, `place` = station x ticks + tick,
            `full` True for rows of full stations, `scale` what one car at the station is worth.
    """

    def __init__(self, evening: Evening, options: Options) -> None:
        self.evening, self.options = evening, options
        self.n_s, self.ticks = evening.up.shape
        self.end = 5 * self.ticks
        self._regimes()
        self._entries()
        self._choice_rows()

    # -- what is fixed ----------------------------------------------------------------------------
    def _regimes(self) -> None:
        """Tables of ticks that a car pays for: by station and by the span in which it was plugged in, and one by
        station for those plugged in at tick 0 (`_begun`)."""
        up = self.evening.up
        self._table = np.zeros((self.n_s, self.ticks), np.int64)
        self._begun = np.zeros(self.n_s, np.int64)
        flags: list[npt.NDArray[np.bool_]] = []
        stations: list[int] = []
        for s in range(self.n_s):
            starts = [0, *(np.flatnonzero(np.diff(up[s])) + 1).tolist()]
            for first, end in zip(starts, [*starts[1:], self.ticks], strict=True):
                pays = np.zeros(self.ticks, np.bool_)
                pays[first:] = up[s, first:] >= np.maximum.accumulate(up[s, first:])
                self._table[s, first:end] = len(flags)
                flags.append(pays)
            self._begun[s] = len(flags)
            flags.append(up[s] >= np.maximum.accumulate(np.maximum(up[s], len(self.evening.busy_min[s]))))
            stations += [s] * (len(starts) + 1)
        self.pays = np.array(flags, np.float64)  # (tables, ticks)
        self.station_of = np.array(stations)
        self.capacity = 5.0 * up

    def _entries(self) -> None:
        """One row for every (option, minute of plug-in), every option in vain, every car that goes nowhere, and every
        car that is plugged in at tick 0. The cheapest leaving time of a row is looked up in one of four tables."""
        q, width = self.options, self.end + 1
        block = len(self.pays) * width
        self.blocks = (0, block, 2 * block, 2 * block + self.n_s * width)
        first, last = np.maximum(q.first, 0), np.minimum(q.last, self.end - 1)
        n = np.maximum(last - first + 1, 0)
        every, none = np.arange(len(n)), len(n)
        o = np.repeat(every, n)
        p = first[o] + np.arange(len(o)) - np.repeat(np.cumsum(n) - n, n)
        done = np.minimum(p + q.minutes[o], self.end)
        timed = (q.lost[o] > 0.0) & (q.base[o] + done >= 0.0)
        table = self._table[q.station[o], p // 5] * width
        column = self.ticks + 1
        begin = q.station * column + np.clip(q.first // 5 + 1, 0, self.ticks)
        stop = np.where(
            q.until < q.first, begin, q.station * column + np.clip(q.until // 5 + 1, 0, self.ticks)
        )
        vain = np.where(
            q.until < q.first,
            self.blocks[3],
            self.blocks[2] + q.station * width + np.clip(q.first, 0, self.end),
        )
        where = np.flatnonzero(np.isfinite(q.nowhere))
        busy = np.array(
            [(s, m) for s, stay in enumerate(self.evening.busy_min) for m in stay], np.int64
        ).reshape(-1, 2)
        held = self._begun[busy[:, 0]] * width
        lone, zeros, out = (
            np.zeros(len(where) + len(busy), np.int64),
            np.zeros(len(n), np.int64),
            np.full(len(where), self.blocks[3]),
        )
        plugged = len(q.nowhere) + np.arange(len(busy))
        cat = np.concatenate
        car = cat([q.car[o], q.car, where, plugged])
        order = np.argsort(car, kind="stable")
        self.car = car[order]
        self.option = cat([o, every, np.full(len(lone), none)])[order]
        self.cost = cat([np.where(timed, q.base[o], 0.0), q.lost, q.nowhere[where], np.zeros(len(busy))])[
            order
        ]
        self.start = cat([table + p, zeros, lone[: len(where)], held])[order]
        self.to = cat(
            [
                table + done + np.where(timed, 0, block),
                vain,
                out,
                held + np.minimum(busy[:, 1], self.end) + block,
            ]
        )[order]
        self.joins = cat([begin[o], begin, lone])[order]
        leaves = np.maximum(q.station[o] * column + np.minimum(p // 5 + 1, self.ticks), begin[o])
        self.leaves = cat([leaves, stop, lone])[order]
        self.heads = np.flatnonzero(np.diff(self.car, prepend=-1))
        self.rank = np.searchsorted(self.car[self.heads], self.car)

    def _choice_rows(self) -> None:
        """Rows (walk-in, refused station): the queue it needs, and that the station was full (from tick 1 on)."""
        uses: dict[tuple[int, int, int], list[tuple[int, int]]] = defaultdict(list)
        for option, needs in self.options.needs.items():
            for (station, tick), queue in needs.items():
                uses[int(self.options.car[option]), station, tick].append((option, queue))
        parts: list[tuple[int, int, float]] = []
        scale: list[float] = []
        place: list[int] = []
        full: list[bool] = []
        for (_, station, tick), found in uses.items():
            most = max(queue for _, queue in found)
            for kind in ("queue", "full"):
                up = int(self.evening.up[station, max(tick - 1, 0)])
                if kind == "full" and (tick == 0 or up == 0):
                    continue
                parts += [(len(scale), o, queue / most if kind == "queue" else 1.0) for o, queue in found]
                scale.append(1.0 / most if kind == "queue" else 1.0 / up)
                place.append(station * self.ticks + tick)
                full.append(kind == "full")
        self.scale, self.place, self.full = (
            np.array(scale),
            np.array(place, np.int64),
            np.array(full, np.bool_),
        )
        self.use_row, self.use_option = (np.array([x[k] for x in parts], np.int64) for k in (0, 1))
        self.use = np.array([x[2] for x in parts])

    @property
    def shape(self) -> tuple[int, int]:
        """(prices on slots, prices on choices)."""
        return self.n_s * self.ticks, len(self.scale)

    # -- the priced problem -----------------------------------------------------------------------
    def value(self, slots: F64, choices: F64) -> tuple[float, F64, F64]:
        """The bound at these prices, and how far each row is violated by the cars' own choices.

        Args:
            slots: (S x ticks,) car-minutes a minute at a slot. choices: (rows,) car-minutes.
        """
        paid, won = self._paid(slots, choices)
        minute = np.arange(self.end + 1)
        leave = [np.minimum.accumulate(x[:, ::-1], axis=1)[:, ::-1] for x in (paid + minute, paid)]
        vain = np.zeros((self.n_s, self.end + 1))
        np.minimum.at(vain, self.station_of, leave[1] - paid)
        vain = np.minimum.accumulate(vain[:, ::-1], axis=1)[:, ::-1]
        looked = np.concatenate([leave[0].ravel(), leave[1].ravel(), vain.ravel(), [0.0]])
        extra = np.zeros(len(self.options.car) + 1)
        extra[:-1] = np.bincount(self.use_option, self.use * choices[self.use_row], len(extra) - 1)
        queue = won.ravel()
        cost = self.cost + looked[self.to] - paid.ravel()[self.start] - queue[self.leaves] + queue[self.joins]
        cost += extra[self.option]
        least = np.minimum.reduceat(cost, self.heads)
        at_least = np.flatnonzero(cost == least[self.rank])
        chosen = at_least[np.unique(self.car[at_least], return_index=True)[1]]
        total = float(least.sum() - slots @ self.capacity.ravel())
        taken = self._stays(chosen, paid, leave, vain)
        return total, self._overuse(taken), self._missing(chosen, taken)

    def _paid(self, slots: F64, choices: F64) -> tuple[F64, F64]:
        """(tables, minutes + 1) price of slots less what a full station is worth, and (S, ticks + 1) what waiting is
        worth; both summed from minute 0."""
        cells = self.n_s * self.ticks
        worth = [
            np.bincount(self.place[k], (choices * self.scale)[k], cells).reshape(self.n_s, -1)
            for k in (~self.full, self.full)
        ]
        price = np.repeat(slots.reshape(self.n_s, -1)[self.station_of] * self.pays, 5, axis=1)
        price[:, 4:-1:5] -= worth[1][self.station_of, 1:]  # the minute before each tick
        paid, won = np.zeros((len(price), self.end + 1)), np.zeros((self.n_s, self.ticks + 1))
        np.cumsum(price, axis=1, out=paid[:, 1:])
        np.cumsum(worth[0], axis=1, out=won[:, 1:])
        return paid, won

    def _stays(self, chosen: I64, paid: F64, leave: list[F64], vain: F64) -> tuple[I64, I64, I64]:
        """(table, from, to) minutes at a slot of the chosen rows."""
        width, minute = self.end + 1, np.arange(self.end + 1)
        tables, begins, ends = [], [], []
        for kind, value in ((0, paid + minute), (1, paid)):
            mine = chosen[(self.to[chosen] >= self.blocks[kind]) & (self.to[chosen] < self.blocks[kind + 1])]
            table, at = np.divmod(self.to[mine] - self.blocks[kind], width)
            ready = (value[table] == leave[kind][table, at][:, None]) & (minute >= at[:, None])
            tables.append(table)
            begins.append(self.start[mine] % width)
            ends.append(ready.argmax(1))
        for k in chosen[(self.to[chosen] >= self.blocks[2]) & (self.to[chosen] < self.blocks[3])]:
            s, at = divmod(int(self.to[k]) - self.blocks[2], width)
            if vain[s, at] < 0.0:
                mine = np.flatnonzero(self.station_of == s)
                gain = (leave[1] - paid)[mine, at:]
                row, begin = np.unravel_index(int(gain.argmin()), gain.shape)
                tables.append(mine[row : row + 1])
                begins.append(np.array([at + begin]))
                ends.append(np.array([at + begin + int(paid[mine[row], at + begin :].argmin())]))
        return np.concatenate(tables), np.concatenate(begins), np.concatenate(ends)

    def _present(self, taken: tuple[I64, I64, I64]) -> F64:
        """(tables, minutes) cars at slots."""
        table, begin, end = taken
        at_plug = np.zeros((len(self.pays), self.end + 1))
        np.add.at(at_plug, (table, begin), 1.0)
        np.subtract.at(at_plug, (table, end), 1.0)
        return np.cumsum(at_plug, axis=1)[:, :-1]

    def _overuse(self, taken: tuple[I64, I64, I64]) -> F64:
        by_tick = self._present(taken).reshape(len(self.pays), self.ticks, 5).sum(2) * self.pays
        total = np.zeros((self.n_s, self.ticks))
        np.add.at(total, self.station_of, by_tick)
        return np.asarray((total - self.capacity).ravel(), np.float64)

    def _missing(self, chosen: I64, taken: tuple[I64, I64, I64]) -> F64:
        queued = np.zeros(self.n_s * (self.ticks + 1))
        np.add.at(queued, self.joins[chosen], 1.0)
        np.subtract.at(queued, self.leaves[chosen], 1.0)
        there = np.cumsum(queued.reshape(self.n_s, -1), axis=1)[:, :-1]
        present = np.zeros((self.n_s, self.ticks))
        np.add.at(present[:, 1:], self.station_of, self._present(taken)[:, 4:-1:5])
        uses = np.zeros(len(self.options.car) + 1)
        np.add.at(uses, self.option[chosen], 1.0)
        used = np.bincount(self.use_row, self.use * uses[self.use_option], len(self.scale))
        have = np.where(self.full, present.ravel()[self.place], there.ravel()[self.place])
        return np.asarray(used - have * self.scale, np.float64)

    def search(self, steps: int = STEPS) -> Bound:
        """Climb from prices 0; the best value met is the bound."""
        n, m = self.shape
        length = np.concatenate([np.full(n, SLOT_STEP), np.full(m, CHOICE_STEP)])
        x, mean, square = np.zeros(n + m), np.zeros(n + m), np.zeros(n + m)
        best = free = -np.inf
        for step in range(1, steps + 1):
            value, slots, choices = self.value(x[:n], x[n:])
            free = value if step == 1 else free
            best = max(best, value)
            slope = np.concatenate([slots / 5.0, choices])
            slope[(x <= 0.0) & (slope < 0.0)] = 0.0
            mean = 0.9 * mean + 0.1 * slope
            square = 0.99 * square + 0.01 * slope * slope
            move = mean / (1.0 - 0.9**step) / (np.sqrt(square / (1.0 - 0.99**step)) + 1e-6)
            x = np.maximum(x + length / (1.0 + 4.0 * step / steps) * move, 0.0)
        return Bound(float(best), float(free), steps, len(self.evening.cars))
