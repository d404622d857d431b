"""Policies that do nothing useful, played from the observation row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.sim.world import World, WorldOptions

Answer = tuple[int, int, int, int, int]
"""seq, kind, station, rate, defer minutes"""
Rule = Callable[[World, np.ndarray, np.random.Generator], list[Answer]]


def pending(world: World, o: np.ndarray) -> np.ndarray:
    """(n, columns) pending cars of an observation row."""
    return world.layout.view(o, "O_PEND")[: int(world.layout.view(o, "O_X")[r.OX_NPEND])]


def legal(world: World, o: np.ndarray, car: np.ndarray) -> np.ndarray:
    """Travel minutes to each station the car may use; inf where it may not."""
    pack, x = world.city.pack, world.layout.view(o, "O_X")
    n_s = len(pack.stations.ids)
    row, node, v = int(x[r.OX_TRAVEL]), int(car[r.P_NODE]), int(car[r.P_VEHICLE])
    t = np.maximum(np.ceil(world.bank.minutes[row, node, :n_s] * x[r.OX_TRAFFIC]), 1.0)
    plug = (pack.stations.rate == 0) | (pack.vehicles.dc_kw[v] > 0) | (pack.stations.ac_socket == 1)
    up = (world.layout.view(o, "O_UP")[:n_s] > 0) & (world.layout.view(o, "O_SUP")[:n_s] > 0)
    km = world.bank.km[row, node]
    full = car[r.P_SOC] * pack.vehicles.battery_kwh[v] * 1000.0
    ok = plug & up & np.isfinite(t) & (km * pack.vehicles.wh_km[v] + 1.0 <= full)
    t = np.where(ok, t, np.inf)
    slack = max(float(car[r.P_PAT]), float(pack.constants.detour_floor_min))
    return np.where(t - t.min() <= slack, t, np.inf) if ok.any() else t


def silent(world: World, o: np.ndarray, rng: np.random.Generator) -> list[Answer]:
    """Never answers."""
    return []


def always_defer(world: World, o: np.ndarray, rng: np.random.Generator) -> list[Answer]:
    """Defers everyone by 60 minutes, or as long as patience allows."""
    out = []
    for car in pending(world, o):
        minutes = min(60, int(car[r.P_PAT]) // 5 * 5)
        if minutes >= 5:
            out.append((int(car[r.P_SEQ]), 1, -1, 1, minutes))
    return out


def always_defer_60(world: World, o: np.ndarray, rng: np.random.Generator) -> list[Answer]:
    """Defers everyone by 60 minutes, refused or not."""
    return [(int(car[r.P_SEQ]), 1, -1, 1, 60) for car in pending(world, o)]


def always_load_shift(world: World, o: np.ndarray, rng: np.random.Generator) -> list[Answer]:
    """Caps the tightest feeder at 7 kW for half an hour, in everyone's name."""
    return [(int(car[r.P_SEQ]), 2, -1, 0, 30) for car in pending(world, o)]


def same_station(world: World, o: np.ndarray, rng: np.random.Generator) -> list[Answer]:
    """Sends everyone to the first station that may be used, in the pack's order."""
    out = []
    for car in pending(world, o):
        usable = np.flatnonzero(np.isfinite(legal(world, o, car)))
        if len(usable):
            out.append((int(car[r.P_SEQ]), 0, int(usable[0]), 2, 0))
    return out


def nearest(world: World, o: np.ndarray, rng: np.random.Generator) -> list[Answer]:
    """Sends everyone to the nearest station, full or not."""
    out = []
    for car in pending(world, o):
        t = legal(world, o, car)
        if np.isfinite(t).any():
            out.append((int(car[r.P_SEQ]), 0, int(t.argmin()), 2, 0))
    return out


def random_legal(world: World, o: np.ndarray, rng: np.random.Generator) -> list[Answer]:
    """Any of the legal choices of the Gymnasium space alike: leave, station x rate, defer, load_shift."""
    out = []
    pack, view = world.city.pack, world.layout.view
    n_s, n_f = len(pack.stations.ids), len(pack.grid.feeder_ids)
    margin = 1.0 - view(o, "O_FS")[:n_f] / view(o, "O_FKVA")[:n_f]
    kw = np.where(pack.stations.feeder == int(margin.argmin()), view(o, "O_KW")[:n_s], -1.0)
    largest = int(kw.argmax())
    live = view(o, "O_UP")[largest] > 0 and view(o, "O_SUP")[largest] > 0
    for car in pending(world, o):
        seq = int(car[r.P_SEQ])
        usable = np.flatnonzero(np.isfinite(legal(world, o, car)))
        choices: list[Answer | None] = [None]
        choices += [(seq, 0, int(s), rate, 0) for s in usable for rate in range(3)]
        choices += [(seq, 1, -1, 1, m) for m in (5, 15, 30, 60, 120) if m <= car[r.P_PAT]]
        choices += [(seq, 2, largest, rate, 10) for rate in range(pack.stations.rate[largest] + 1) if live]
        chosen = choices[int(rng.integers(len(choices)))]
        if chosen is not None:
            out.append(chosen)
    return out


RULES: dict[str, Rule] = {
    f.__name__: f
    for f in (silent, always_defer, always_defer_60, always_load_shift, same_station, nearest, random_legal)
}


def totals(
    city: CityPack, scenario: str, rule: str, seeds: range, ticks: int = 48
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Play `rule`: totals, totals without `anti_hack` (both (n,)), ticks with the idle flag (n,)."""
    n = len(seeds)
    batch = Batch(city, n, max_answers=city.constants.max_pending)
    world = batch.world
    batch.reset([WorldOptions(s, city.scenario(scenario), 17 * 60, ticks=ticks) for s in seeds])
    rngs = [np.random.default_rng([61, s]) for s in seeds]
    idle = np.zeros(n)
    o = np.zeros(world.layout.sizes["o"])
    for _ in range(ticks):
        if rule in RULES:
            for e in range(n):
                given = RULES[rule](world, world.observe(e, o), rngs[e])
                for k, answer in enumerate(given):
                    batch.answers[e, k, :5] = answer
                batch.counts[e] = len(given)
            batch.step()
        else:
            batch.play(rule, 1)
        idle += world.view("FLAG")[:, 9]
    terms = world.view("TSUM")
    return terms.sum(1), terms.sum(1) - terms[:, 7], idle
