"""Hand-made worlds: a city in which nothing happens by itself, and cars put into it one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ev_grid_oracle.city.model import CityPack, Scenario, ScenarioEvent
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import CarState
from ev_grid_oracle.sim.cars import begin_route, new_car, to_pending
from ev_grid_oracle.sim.world import WorldOptions

SILENT = {
    "requests_per_tick": 0.0,
    "walkins_per_tick": 0.0,
    "day_factor_sd": 0.0,
    "warmup_ticks": 0,
    "base_noise_common_sd": 0.0,
    "base_noise_feeder_sd": 0.0,
    "traffic_day_sd": 0.0,
    "traffic_noise_sd": 0.0,
    "incident_slot_per_station_day": 0.0,
    "incident_jam_per_corridor_day": 0.0,
}


def edited(city: CityPack, part: str, **values: object) -> CityPack:
    """A copy of `city` with fields of one part (``stations``, ``vehicles``, ...) replaced.

    A scalar fills the whole array; a dict of index -> value changes single entries.
    """
    old = getattr(city, part)
    new = {}
    for name, value in values.items():
        before = getattr(old, name)
        if isinstance(before, np.ndarray):
            array = before.copy()
            if isinstance(value, dict):
                for k, v in value.items():
                    array[k] = v
            else:
                array[...] = value
            new[name] = array
        else:
            new[name] = value
    return replace(city, **{part: replace(old, **new)})


def silent(city: CityPack, **constants: object) -> CityPack:
    """No demand, no noise, no incidents, no warm-up: only what a test puts in happens."""
    quiet = replace(city, constants=replace(city.constants, **{**SILENT, **constants}))
    return edited(quiet, "profiles", start_occupancy=0.0)


def story(city: CityPack, *events: tuple[int, int, Sequence[int], float]) -> Scenario:
    """A scenario of (tick, kind, targets, value); nothing is announced."""
    rows = tuple(ScenarioEvent(t, int(k), tuple(g), v, -1, 0.0, "test") for t, k, g, v in events)
    return replace(city.scenario("baseline"), name="test", events=rows)


def persona_of(cars: np.ndarray) -> np.ndarray:
    """Persona of each car row."""
    return cars[..., r.C_FLAGS] >> r.S_PERSONA & 255


class Rig:
    """One environment of a silent city, and hands to put cars into it.

    Attributes:
        batch: the batch of one; `f`, `i` its rows.
    """

    def __init__(
        self,
        city: CityPack,
        *,
        scenario: Scenario | None = None,
        start_min: int = 17 * 60,
        ticks: int = 2000,
        settle: bool = False,
        seed: int = 1,
    ) -> None:
        self.city = city
        self.batch = Batch(city, 1)
        self.world = self.batch.world
        story_ = scenario or city.scenario("baseline")
        self.batch.reset([WorldOptions(seed, story_, start_min, ticks=ticks, settle=settle)])
        self.f, self.i = self.world.f[0], self.world.i[0]
        self._seq = 0

    def view(self, name: str) -> np.ndarray:
        """A field of the environment, writable."""
        return self.world.view(name)[0]

    def y(self, index: int) -> int:
        return self.world.scalar(0, index)

    @property
    def tick(self) -> int:
        return self.y(r.Y_TICK)

    def car(
        self,
        *,
        vehicle: int = 0,
        soc: float = 0.5,
        target: float = 0.8,
        node: int = 0,
        persona: int = 3,
        patience: int = 60,
        asked: int | None = None,
        flags: int = 0,
        ready: int | None = None,
        rate: int = 2,
        station: int = -1,
        arrive: int | None = None,
        own: int = 0,
    ) -> int:
        """Put a car in; returns its number. Pending now, or enroute to `station` for minute `arrive`."""
        y, now = self.view("Y"), 5 * self.tick
        c = int(new_car(self.i, self.world.at))
        assert c >= 0, "the city is full"
        row = self.view("CAR")[c]
        b = int(self.world.at[r.CAR]) + c * r.N_CAR
        self._seq += 1
        row[:] = 0
        for column, value in (
            (r.C_SEQ, self._seq),
            (r.C_FLAGS, flags | persona << r.S_PERSONA),
            (r.C_VEHICLE, vehicle),
            (r.C_SOC_BP, round(soc * 10000)),
            (r.C_TGT_BP, round(target * 10000)),
            (r.C_NODE, node),
            (r.C_PAT, patience),
            (r.C_TREQ, now if asked is None else asked),
            (r.C_RATE, rate),
            (r.C_READY, -r.NEVER if ready is None else ready),
            (r.C_OWN, own),
            (r.C_BANK, y[r.Y_KEY]),
            (r.C_URG_BP, 9000 if flags & r.B_CRIT else 5000),
        ):
            row[column] = value
        if arrive is None:
            to_pending(self.i, self.world.at, b, c, now, False)
        else:
            assert arrive >= now, "a car arrives now or later"
            begin_route(self.i, self.world.at, b, c, station, now, arrive - now, 0)
        if flags & r.B_FLEX:
            y[r.Y_FDUE] = min(int(y[r.Y_FDUE]), int(row[r.C_READY]))
        y[r.Y_FLEX if flags & r.B_FLEX and now < row[r.C_READY] else r.Y_NORM] += 1
        if flags & r.B_CRIT:
            y[r.Y_CRIT] += 1
        return self._seq

    def row(self, seq: int) -> np.ndarray:
        """The row of car `seq` (it must still be there)."""
        cars = self.view("CAR")
        (found,) = np.flatnonzero((cars[:, r.C_STATE] > 0) & (cars[:, r.C_SEQ] == seq))
        return cars[found]

    def present(self) -> set[int]:
        """Numbers of the cars in the system."""
        cars = self.view("CAR")
        return {int(n) for n in cars[cars[:, r.C_STATE] > 0, r.C_SEQ]}

    def step(self, answers: Iterable[tuple[int, ...]] = (), invalid: int = 0) -> float:
        """One tick; answers are (seq, kind, station, rate, defer minutes). Returns the reward."""
        n = 0
        for answer in answers:
            self.batch.answers[0, n] = 0
            self.batch.answers[0, n, : len(answer)] = answer
            n += 1
        self.batch.counts[0], self.batch.invalid[0] = n, invalid
        return float(self.batch.step()[0])

    def codes(self, n: int) -> list[int]:
        """The verifier's codes of the last step's first `n` answers."""
        return self.batch.answers[0, :n, r.D_CODE].tolist()

    def tk(self, index: int) -> float:
        """A fact T_* of the tick just played."""
        return float(self.view("TK")[index])

    def ep(self, index: int) -> float:
        """An account T_* or A_* of the episode."""
        return float(self.view("EP")[index])

    def soc(self, seq: int) -> float:
        """State of charge of a car at a plug."""
        car = self.row(seq)
        assert car[r.C_STATE] == CarState.CHARGING
        cars = self.view("CAR")
        (c,) = np.flatnonzero((cars[:, r.C_STATE] > 0) & (cars[:, r.C_SEQ] == seq))
        left = float(self.view("SLOT_G")[self.view("SLOT_CAR") == c][0])
        return car[r.C_TGT_BP] / 10000 - left / self.city.vehicles.battery_kwh[car[r.C_VEHICLE]]
