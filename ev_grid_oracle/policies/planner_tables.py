"""What the planner samples from: cars as the city's tables describe them, and gaps between arrivals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ev_grid_oracle.city.lookup import own_minutes
from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.policies.base import F64
from ev_grid_oracle.schema.enums import RATE_KW

SAMPLES = 256
GAPS = 256
ROOT = 7919
"""Root of the samples' own draws; they describe the city, not an evening."""
TRIP_WH = 1200.0
"""Energy of a usual trip to the station, taken off the charge that a sampled car starts with."""
NO_PLUG_MIN = 1.0e5


@dataclass(frozen=True)
class Tables:
    """Tables of one city.

    Attributes:
        cars: (2, S, Q, 3) own minutes, patience minutes and kWh of walk-ins (0) and requests (1) by station.
        mean_own: (S,) mean own minutes of a walk-in.
        usual_kw: (S,) mean power of a walk-in's session.
        shares: (S,) part of all requests that would choose the station by themselves.
        gaps: (256,) quantiles of the unit exponential.
    """

    cars: F64
    mean_own: F64
    usual_kw: F64
    shares: F64
    gaps: F64


def log_series(x: float) -> float:
    """ln x for x in (0, 1] from + - * / alone: halvings, then the series of artanh."""
    halvings = 0
    while x < 0.75:
        x *= 2.0
        halvings += 1
    z = (x - 1.0) / (x + 1.0)
    term, total = z, 0.0
    for k in range(1, 40, 2):
        total += term / k
        term *= z * z
    return 2.0 * total - halvings * 0.6931471805599453


def exponential_gaps() -> F64:
    """(256,) quantiles of the unit exponential at (k + 1/2) / 256, scaled to mean 1."""
    out = np.array([-log_series(1.0 - (k + 0.5) / GAPS) for k in range(GAPS)])
    mean = sum(out.tolist()) / GAPS
    return np.asarray(out / mean, np.float64)


def _cars(city: PackedCity, share: F64, rng: np.random.Generator, s: int) -> F64:
    """(Q, 3) cars whose plug fits station `s`."""
    pack, p = city.pack, city.pack.personas
    shares = np.diff(p.vehicle_cum, axis=1, prepend=0.0)
    cut = np.cumsum(share / share.sum())
    out = np.zeros((SAMPLES, 3))
    n = 0
    while n < SAMPLES:
        k = min(int(np.searchsorted(cut, rng.random())), len(cut) - 1)
        v = min(int(np.searchsorted(np.cumsum(shares[k]), rng.random())), shares.shape[1] - 1)
        soc = rng.triangular(p.soc_lo[k], p.soc_mode[k], p.soc_hi[k])
        target = rng.uniform(p.target_lo[k], p.target_hi[k])
        if pack.vehicles.to_full[v] > 0.0:
            target = 1.0
        soc = max(soc - TRIP_WH / 1000.0 / pack.vehicles.battery_kwh[v], 0.01)
        own = own_minutes(city.cf, city.ci, city.layout.at, v, s, soc, target, RATE_KW[2])
        patience = rng.uniform(p.patience_lo_min[k], p.patience_hi_min[k])
        if own < NO_PLUG_MIN:
            out[n] = own, patience, (target - soc) * pack.vehicles.battery_kwh[v]
            n += 1
    return out


def _shares(city: PackedCity) -> F64:
    """(S,) where requests would go by themselves: the choice table of cars with a DC inlet."""
    pack = city.pack
    weight = pack.zones.request_weight / pack.zones.request_weight.sum()
    table, cum = pack.profiles.choice_station, pack.profiles.choice_cum
    out = np.zeros(len(pack.stations.ids))
    for z in range(len(weight)):
        parts = np.diff(cum[z, 1], prepend=0.0)
        for s, part in zip(table[z, 1], parts, strict=True):
            if s >= 0:
                out[s] += weight[z] * part
    return out


_MADE: dict[int, tuple[PackedCity, Tables]] = {}


def tables_of(city: PackedCity) -> Tables:
    """The tables of `city`, made once per process."""
    found = _MADE.get(id(city))
    if found is not None and found[0] is city:
        return found[1]
    p = city.pack.personas
    n_s = len(city.pack.stations.ids)
    cars = np.zeros((2, n_s, SAMPLES, 3))
    for kind, share in enumerate((p.walkin_share, p.request_share)):
        for s in range(n_s):
            rng = np.random.default_rng(np.random.SeedSequence(ROOT, spawn_key=(kind, s)))
            cars[kind, s] = _cars(city, share, rng, s)
    mean_own = cars[0, :, :, 0].mean(1)
    efficiency = city.pack.constants.battery_efficiency
    usual_kw = 60.0 * cars[0, :, :, 2].mean(1) / mean_own / efficiency
    made = Tables(cars, mean_own, usual_kw, _shares(city), exponential_gaps())
    _MADE[id(city)] = (city, made)
    return made
