"""The range one step's reward can lie in, from the maxima of a city pack.

Nothing clips the reward, so the range is a bound that holds by construction, wide on purpose: every car the
city can hold waits, is critical and is lost, and so is every one that finds it full; every slot charges at
once; base load stands at the top of its season, noise and events. A last step also carries the settle: up to 72 more ticks without new cars. The
declared range of `openenv.yaml` is this one, rounded outwards.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.answers import MAX_ANSWERS
from ev_grid_oracle.reward import terms as t
from ev_grid_oracle.schema.axes import SETTLE_TICKS, STEP_MINUTES
from ev_grid_oracle.schema.enums import RATE_KW, EventKind
from ev_grid_oracle.sim.rng import MOST_DRAWN

F64 = npt.NDArray[np.float64]

LOST_MIN = 240.0
HOUR_SHARE = STEP_MINUTES / 60.0
LOWEST_PU = 0.75
"""Current drawn by a load rises as voltage falls; below this no feeder of a checked pack can be run."""
_NOISE_SD = math.sqrt(12.0)  # reach of the noise's draw, in its sd
_TICK_FLAGS = 4  # flags that name no car


def reward_range(city: CityPack) -> tuple[float, float]:
    """(low, high) of one step's reward, whatever the options, answers and seeds."""
    n0, cars = city.constants.n0_car_minutes, float(city.constants.max_cars)
    ticks = 1.0 + SETTLE_TICKS
    minutes = cars * STEP_MINUTES
    loads = _loads(city)
    kwh = _tick_kwh(city)
    per_tick = (
        minutes
        + t.W_URGENCY * minutes
        + t.W_STRESS * STEP_MINUTES * cars
        + t.W_PEAK * STEP_MINUTES * loads.peak
        + t.W_LIMIT * STEP_MINUTES * loads.over_kva
        + t.W_OVER_MIN * STEP_MINUTES * loads.elements
        + t.W_VOLT * STEP_MINUTES * len(city.grid.bus_ids)
        + t.W_RENEWABLE * kwh
    )
    once = (1.0 + t.W_URGENCY) * LOST_MIN * (cars + MOST_DRAWN) + LOST_MIN * MOST_DRAWN + t.PENALTY * (MAX_ANSWERS + _TICK_FLAGS + 1)
    gain = (t.W_BELOW + t.W_RENEWABLE) * min(ticks * kwh, _fleet_kwh(city) + kwh)
    return -(ticks * per_tick + once) / n0, gain / n0


def declared_range(city: CityPack) -> tuple[float, float]:
    """`reward_range` rounded outwards to two digits, as manifests declare it."""
    low, high = reward_range(city)
    return -_rounded_up(-low), _rounded_up(high)


def _rounded_up(value: float) -> float:
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return float(round(math.ceil(value / unit) * unit, 6))


def _station_kw(city: CityPack) -> F64:
    """(S,) most power of each station: every slot at its class's power, within the site's limit."""
    st = city.stations
    limit = st.site_limit_kw * max(1.0, _most(city, EventKind.SITE_LIMIT))
    power: F64 = np.minimum(st.slots * np.asarray(RATE_KW)[st.rate], limit)
    return power


def _tick_kwh(city: CityPack) -> float:
    """Most energy of a tick."""
    return float(_station_kw(city).sum()) * HOUR_SHARE


def _fleet_kwh(city: CityPack) -> float:
    """Energy from the slots that fills every car the city can hold."""
    c = city.constants
    return c.max_cars * float(city.vehicles.battery_kwh.max()) / c.battery_efficiency


class _Loads:
    """Sums over feeder heads and transformers that the grid terms can reach in a tick."""

    def __init__(self, peak: float, over_kva: float, elements: int) -> None:
        self.peak = peak
        self.over_kva = over_kva
        self.elements = elements


def _loads(city: CityPack) -> _Loads:
    """What charging can add on top of the most base load.

    Heads: u <= u_base + d with d = EV kVA over rating, so (u - 0.8)^2 - (u_base - 0.8)^2 <= d (d + 2 b), b
    what base load reaches above 0.8; equivalent loads are root mean squares of u, so q - q_base <= d too.
    """
    grid, st = city.grid, city.stations
    kw = _station_kw(city)
    added = np.bincount(st.feeder, weights=kw, minlength=len(grid.feeder_ids)) / grid.pf_charger / LOWEST_PU
    rating = grid.feeder_kva * _least_factor(city, EventKind.FEEDER_RATING)
    above = np.maximum(_base_frac(city) * grid.feeder_kva / LOWEST_PU / rating - t.PEAK_FROM, 0.0)
    d = added / rating
    peak = float((rating * d * (d + 2.0 * above)).sum())
    kva = st.transformer_kva * _least_factor(city, EventKind.TRANSFORMER_RATING)
    over = float(added.sum() + np.maximum(kw / grid.pf_charger - kva, 0.0).sum())
    return _Loads(peak, over, len(grid.feeder_ids) + len(st.ids))


def _base_frac(city: CityPack) -> F64:
    """(F,) most base load of each feeder over its nominal rating: shape, level, noise, events, heat."""
    grid, profiles, c = city.grid, city.profiles, city.constants
    shape = np.einsum("fm,dmt->fdt", grid.feeder_mix, profiles.base_shape).max(axis=(1, 2))
    rho = c.base_noise_rho
    reach = math.sqrt(1.0 - rho * rho) / (1.0 - rho) * _NOISE_SD
    noise = 1.0 + reach * (c.base_noise_common_sd + c.base_noise_feeder_sd)
    added = _most(city, EventKind.BASE_LOAD) + _most(city, EventKind.HEAT) * c.heat_load_per_deg
    total: F64 = grid.feeder_base_frac * shape * float(profiles.base_level.max()) * noise + added
    return total


def _most(city: CityPack, kind: EventKind) -> float:
    return max((e.value for s in city.scenarios for e in s.events if e.kind == kind), default=0.0)


def _least_factor(city: CityPack, kind: EventKind) -> float:
    return min([1.0, *(e.value for s in city.scenarios for e in s.events if e.kind == kind)])
