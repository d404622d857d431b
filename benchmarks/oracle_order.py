"""Does the order of stations and cars matter to the small oracle? The same city and observation, shuffled, asked again.

    python benchmarks/oracle_order.py

Stations are renumbered everywhere that a policy can see: the city's rows, the travel tables, the observation, the known
cars on the way; pending cars change places. The answers are compared car by car, stations by their ids.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from typing import Any, cast

import numpy as np

from ev_grid_oracle.city import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import PackedCity, packed
from ev_grid_oracle.city.travel import TravelBank
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.evaluation.seeds import episode_seed
from ev_grid_oracle.policies.base import F64, I32, PolicyContext
from ev_grid_oracle.policies.llm.small import SmallOracle
from ev_grid_oracle.schema import rows as r

SEED = 1
FIRST_EVENING = 700
STATION_AXES = ("S", "SP")


@dataclass(frozen=True)
class Bank:
    """The tables of a `TravelBank` that a policy reads."""

    minutes: Any
    km: Any


def _axes(shape: tuple[str | int, ...]) -> list[int]:
    return [k for k, n in enumerate(shape) if n in STATION_AXES]


def shuffled_city(city: PackedCity, order: I32) -> PackedCity:
    """The same city, its stations numbered anew: station `order[k]` is number k."""
    n = len(order)
    rows: dict[str, Any] = {"cf": city.cf.copy(), "ci": city.ci.copy()}
    for spec in r.FIELDS:
        if spec.row in rows:
            view = city.layout.view(rows[spec.row], spec.name)
            for axis in _axes(spec.shape):
                np.moveaxis(view, axis, 0)[:n] = np.moveaxis(view, axis, 0)[:n][order]
    stations = city.pack.stations
    moved: dict[str, Any] = {}
    for f in fields(stations):
        value = getattr(stations, f.name)
        if isinstance(value, np.ndarray) and value.shape[:1] == (n,):
            moved[f.name] = value[order]
        elif isinstance(value, tuple) and len(value) == n:
            moved[f.name] = tuple(value[k] for k in order)
    bank = Bank(
        np.ascontiguousarray(city.bank.minutes[:, :, order]), np.ascontiguousarray(city.bank.km[:, :, order])
    )
    pack = replace(city.pack, stations=replace(stations, **moved))
    return replace(city, pack=pack, cf=rows["cf"], ci=rows["ci"], bank=cast(TravelBank, bank))


def shuffled_row(city: PackedCity, o: F64, order: I32, cars: I32) -> F64:
    """The same observation: stations by `order`, pending cars by `cars`."""
    out, n = o.copy(), len(order)
    for spec in r.FIELDS:
        if spec.row == "o":
            view = city.layout.view(out, spec.name)
            for axis in _axes(spec.shape):
                np.moveaxis(view, axis, 0)[:n] = np.moveaxis(view, axis, 0)[:n][order]
    at = city.layout.at
    x = int(at[r.O_X])
    inbound = city.layout.view(out, "O_INBND")[: int(o[x + r.OX_NINB])]
    inbound[:, r.I_STATION] = np.argsort(order)[inbound[:, r.I_STATION].astype(np.int64)]
    pending = city.layout.view(out, "O_PEND")
    pending[: len(cars)] = pending[: len(cars)][cars]
    return out


def rows_of(city: CityPack, scenarios: int = 11, times: int = 6) -> list[F64]:
    """Observations of evenings under greedy_counting, every eighth tick, one evening a scenario."""
    pack = packed(city)
    names = [s.name for s in city.scenarios][:scenarios]
    batch = Batch(city, len(names), max_answers=pack.layout.dims["MP"])
    batch.reset(
        [
            resolve(city, seed=episode_seed(SEED, FIRST_EVENING + k), scenario=s).world
            for k, s in enumerate(names)
        ]
    )
    out = []
    for _ in range(times):
        batch.play("greedy_counting", 8)
        out += [batch.world.observe(e) for e in range(batch.n) if not batch.done[e]]
    return out


def answers(policy: SmallOracle, city: PackedCity, o: F64) -> dict[int, tuple[int, str, int, int]]:
    """Car number -> kind, station id, rate, minutes."""
    out = np.zeros((city.layout.dims["MP"], r.N_DCOL), np.int32)
    policy.begin(PolicyContext(city))
    n = policy.answer(o, out)
    ids = city.pack.stations.ids
    return {
        int(row[r.D_SEQ]): (
            int(row[r.D_KIND]), ids[int(row[r.D_STATION])] if row[r.D_STATION] >= 0 else "", int(row[r.D_RATE]),
            int(row[r.D_DEFER]),
        )
        for row in out[:n]
    }  # fmt: skip


def order_changes(
    city: CityPack, policy: SmallOracle, scenarios: int = 11, times: int = 6
) -> dict[str, float]:
    """Decisions compared, and the share of them that a shuffle of stations and cars changes."""
    rng = np.random.default_rng(np.random.SeedSequence(SEED, spawn_key=(10,)))
    rows, pack = rows_of(city, scenarios, times), packed(city)
    order = rng.permutation(len(city.stations.ids)).astype(np.int32)
    other = shuffled_city(pack, order)
    compared = changed = 0
    for o in rows:
        n = int(o[int(pack.layout.at[r.O_X]) + r.OX_NPEND])
        first = answers(policy, pack, o)
        second = answers(policy, other, shuffled_row(pack, o, order, rng.permutation(n).astype(np.int32)))
        cars = first.keys() | second.keys()
        compared += len(cars)
        changed += sum(first.get(car) != second.get(car) for car in cars)
    return {"decisions": compared, "changed_share": changed / compared}


if __name__ == "__main__":
    print(json.dumps(order_changes(load_city("bengaluru"), SmallOracle())))
