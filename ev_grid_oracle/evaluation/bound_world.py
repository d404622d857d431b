"""What no dispatcher can change about an evening: who comes, roads, usable slots. The input of the lower bound.

Draws never depend on actions (tests/sim/test_determinism.py), so one evening is played with any rule and read: every
request and walk-in as it was drawn, the travel tables and traffic of every tick, the slots that are up, the ticks in
which cars on the road look for another way, and the cars that are there at tick 0. A walk-in's choice may depend on
posted queues, so all stations that its draws can end at are kept, with the queue each needs (`Draws`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.axes import SETTLE_TICKS
from ev_grid_oracle.schema.enums import CarState
from ev_grid_oracle.sim.demand import CHOICE_TRIES, EVERYBODY, accept_walkins, arrivals, pick
from ev_grid_oracle.sim.rng import u01
from ev_grid_oracle.sim.world import World, WorldOptions

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Draws:
    """Where walk-in's draws can end.

    Attributes:
        station: stations in the order drawn, only draws that can be accepted, then the last one drawn.
        needs: before it ends at `station[k]`, each draw before k was refused: {station: cars queued there at the
            tick's start, at least}. Empty for the first.
    """

    station: tuple[int, ...]
    needs: tuple[dict[int, int], ...]


@dataclass(frozen=True)
class Roads:
    """Travel as the clock finds it, one row a tick (T + settle).

    Attributes:
        table: row of the bank's tables; traffic: factor on its minutes.
        reroute: True where cars on the road look for another way at the tick's start.
    """

    table: npt.NDArray[np.int64]
    traffic: F64
    reroute: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Evening:
    """Facts of one evening.

    Attributes:
        cars: (n, N_CAR) rows of the episode's requests and walk-ins, as they were drawn.
        draws: of each car; None for a request.
        early: (m, N_CAR) rows of the cars on the road, in queues or waiting at tick 0: they are not counted.
        busy_min: by station, least minutes for which each car plugged in at tick 0 stays.
        up: (S, ticks) usable slots at the start of each tick.
    """

    city: PackedCity
    options: WorldOptions
    cars: I32
    draws: tuple[Draws | None, ...]
    early: I32
    busy_min: tuple[tuple[int, ...], ...]
    up: I32
    roads: Roads

    @property
    def minutes(self) -> int:
        """Minutes until nobody can be left, settle included."""
        return 5 * (self.options.ticks + SETTLE_TICKS)


def read_evening(city: CityPack, options: WorldOptions) -> Evening:
    """Play the evening once with greedy_counting, on past its end, and read what is no dispatcher's doing."""
    ticks = options.ticks + SETTLE_TICKS
    batch = Batch(city, 1, max_answers=city.constants.max_pending)
    batch.reset([replace(options, ticks=ticks, settle=False)])
    world, probe = batch.world, World(city, 1)
    early, busy = _at_start(world)
    cars: list[I32] = []
    draws: list[Draws | None] = []
    table, traffic = np.zeros(ticks, np.int64), np.zeros(ticks)
    reroute, up = np.zeros(ticks, np.bool_), np.zeros((world.layout.dims["S"], ticks), np.int32)
    before = _links(world)
    for t in range(ticks):
        table[t], traffic[t] = world.scalar(0, r.Y_TRAVEL), world.view("X")[0, r.X_TRAFFIC]
        now = _links(world)
        reroute[t] = t > 0 and (now[0] != before[0] or (now[1] != before[1] and now[1] >= 0))
        before = now
        up[:, t] = world.view("ST_UP")[0, : len(up)]
        if t < options.ticks and options.open_demand:
            _arrivals(world, probe, cars, draws)
        batch.play("greedy_counting", 1)
    rows = np.array(cars, np.int32).reshape(-1, r.N_CAR)
    return Evening(world.city, options, rows, tuple(draws), early, busy, up, Roads(table, traffic, reroute))


def _links(world: World) -> tuple[int, int]:
    return world.scalar(0, r.Y_LINKSTATE), world.scalar(0, r.Y_JAM)


def _arrivals(world: World, probe: World, cars: list[I32], draws: list[Draws | None]) -> None:
    """Append the cars of the tick that is about to be played, from a copy of the world."""
    seq, walk_seq = world.scalar(0, r.Y_SEQ), world.scalar(0, r.Y_WSEQ)
    world.copy(0, 0, probe)
    f, i, u = probe.f[0], probe.i[0], probe.u[0]
    accept_walkins(f, i, probe.cf, probe.ci, probe.at)
    arrivals(
        f, i, u, probe.cf, probe.ci, probe.at, probe.bank.minutes, probe.bank.km, probe.scratch.own, probe.scratch.enter,
        EVERYBODY, f, i, np.full(1, -1),
    )  # fmt: skip
    rows = np.asarray(probe.view("CAR")[0], np.int32)
    walkin, early = rows[:, r.C_FLAGS] & r.B_WALKIN > 0, rows[:, r.C_FLAGS] & r.B_WARM > 0
    there = (rows[:, r.C_STATE] > 0) & ~early
    for c in np.flatnonzero(there & ~walkin & (rows[:, r.C_SEQ] >= seq)):
        cars.append(rows[c].copy())
        draws.append(None)
    for c in np.flatnonzero(there & walkin & (rows[:, r.C_SEQ] >= walk_seq)):
        cars.append(rows[c].copy())
        draws.append(_draws(probe, rows[c], int(rows[c, r.C_SEQ]) - walk_seq))


def _draws(probe: World, car: I32, n: int) -> Draws:
    """The stations walk-in number `n` of the tick can end at; as `sim.demand.choose_station`, for every queue.

    The queues of tick 0 are no dispatcher's doing, so its walk-ins have the one station that they chose.
    """
    lay, at, ci, cf = probe.layout, probe.at, probe.ci, probe.cf
    tick, key = probe.scalar(0, r.Y_TICK), probe.u[0, r.U_WALK]
    if tick == 0:
        return Draws((int(car[r.C_STATION]),), ({},))
    zone = int(lay.view(ci, "J_NZONE")[car[r.C_NODE]])
    plug = int(lay.view(cf, "K_VDC")[car[r.C_VEHICLE]] > 0.0)
    most, const = lay.dims["M"], lay.view(cf, "K_CONST")
    table, start = lay.view(ci, "J_CHST")[zone, plug], int(at[r.K_CHCUM]) + (zone * 2 + plug) * most
    dearer = np.maximum(probe.view("ST_PRICE")[0] - lay.view(cf, "K_PRICE"), 0.0) / const[r.Q_CHPRICE]
    slots = lay.view(ci, "J_SLOTS")
    found: list[tuple[int, dict[int, int]]] = []
    refused: dict[int, int] = {}
    last: tuple[int, dict[int, int]] | None = None
    for attempt in range(CHOICE_TRIES):
        s = int(table[pick(cf, start, most, u01(key, tick, n, 16 + 2 * attempt))])
        if s < 0:
            continue
        last = (s, dict(refused))
        u = u01(key, tick, n, 17 + 2 * attempt)
        if not _accepted(u, 0, slots[s], dearer[s], const[r.Q_CHQUEUE]):
            continue  # refused whatever the queue
        if s not in refused or _accepted(u, refused[s], slots[s], dearer[s], const[r.Q_CHQUEUE]):
            found.append((s, dict(refused)))
        refused[s] = max(refused.get(s, 0), _queue_to_refuse(u, slots[s], dearer[s], const[r.Q_CHQUEUE]))
    if last is None:
        return Draws((), ())
    if not found or found[-1] != last:
        found.append((last[0], dict(refused)))  # every draw refused: it goes to the last one all the same
    return Draws(tuple(s for s, _ in found), tuple(need for _, need in found))


def _accepted(u: float, queue: int, slots: int, dearer: float, weight: float) -> bool:
    """As ST_ACCEPT: is the draw `u` below the acceptance of a station with this queue?"""
    return bool(u < 1.0 / ((1.0 + weight * queue / slots) * (1.0 + dearer)))


def _queue_to_refuse(u: float, slots: int, dearer: float, weight: float) -> int:
    """Fewest cars queued at a station for which the draw `u` refuses it; at most 100,000."""
    if u <= 0.0:
        return 100_000
    queue = max(int((1.0 / (u * (1.0 + dearer)) - 1.0) * slots / weight) - 1, 0)
    while queue < 100_000 and _accepted(u, queue, slots, dearer, weight):
        queue += 1
    return min(queue, 100_000)


def _at_start(world: World) -> tuple[I32, tuple[tuple[int, ...], ...]]:
    """Rows of the uncounted cars without a plug at tick 0, and how long the plugged ones stay at least."""
    cars = np.asarray(world.view("CAR")[0], np.int32)
    free = (cars[:, r.C_STATE] > 0) & (cars[:, r.C_STATE] != CarState.CHARGING)
    lay, f = world.layout, world.f[0]
    names = ("SLOT_G", "SLOT_CAP", "SLOT_A", "SLOT_B")
    g, cap, a, b = (np.asarray(lay.view(f, name), np.float64) for name in names)
    on = np.asarray(world.view("SLOT_CAR")[0]) >= 0
    gain = float(lay.view(world.cf, "K_CONST")[r.Q_EFF]) / 60.0
    stay = least_minutes(g[on], cap[on], a[on], b[on], gain)
    where = np.nonzero(on)[1]
    busy = tuple(tuple(int(m) for m in stay[where == s]) for s in range(lay.dims["S"]))
    return cars[free].copy(), busy


def least_minutes(
    g_kwh: F64, cap_kw: F64, a: F64, b: F64, gain: float, most: int = 720
) -> npt.NDArray[np.int64]:
    """Whole minutes to charge `g_kwh` at min(cap, a + b g), the site's share and caps of demand response apart.

    The very steps of `sim.charge.charge_minute` with share 1; both can only lower the power, so no car is faster.
    """
    g = np.array(g_kwh, np.float64)
    out = np.zeros(g.shape, np.int64)
    going = np.ones(g.shape, np.bool_)
    for _ in range(most):
        if not going.any():
            break
        out[going] += 1
        gained = np.minimum(a + b * g, cap_kw) * gain
        done = gained >= g
        g = np.where(going & ~done, g - gained, g)
        going &= ~done
    out[going] = 100_000
    return out
