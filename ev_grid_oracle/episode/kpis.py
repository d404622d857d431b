"""The KPIs: one table, computed from the accounts of an episode (``EP``, see schema.rows) and nothing else.

Every table, plot and page reads them here. All are taken after the settle. Where nobody is there to average
over, a KPI is None: never NaN, never a number made up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.reward.terms import PENALTY, W_LIMIT, W_OVER_MIN
from ev_grid_oracle.schema import rows as r

F64 = npt.NDArray[np.float64]

MAX_ZONES = 32  # as many zones as the accounts hold
MAX_PERSONAS = 8


@dataclass(frozen=True)
class Kpi:
    """One number of an episode.

    Attributes:
        better: "lower", "higher" or "neither".
        of: accounts (.., N_EP) -> (..,), nan where undefined.
    """

    name: str
    unit: str
    better: str
    sentence: str
    of: Callable[[F64], F64]


def _sum(*index: int) -> Callable[[F64], F64]:
    def of(a: F64) -> F64:
        total: F64 = a[..., index[0]]
        for k in index[1:]:
            total = total + a[..., k]
        return total

    return of


def _ratio(top: Callable[[F64], F64], bottom: Callable[[F64], F64]) -> Callable[[F64], F64]:
    def of(a: F64) -> F64:
        below = bottom(a)
        return np.where(below > 0.0, top(a) / np.where(below > 0.0, below, 1.0), np.nan)

    return of


def _composite(a: F64) -> F64:
    """The KPIs' own cost, car-minutes; the sums of minutes are the means times their counts."""
    cars = a[..., r.A_MTC] + a[..., r.A_WMTC] + a[..., r.A_FLATE]
    over: F64 = W_LIMIT * a[..., r.T_OVER_KVA] + W_OVER_MIN * a[..., r.T_OVER_MIN]
    return cars + over


_NREQ, _NWALK, _NFLEX = _sum(r.A_NREQ), _sum(r.A_NWALK), _sum(r.A_NFLEX)

KPIS: tuple[Kpi, ...] = (
    Kpi("minutes_to_charged", "min", "lower",
        "Mean over requests, flexible ones apart, of min(minutes from request to target reached, 240); lost, "
        "stranded and unfinished cars count 240.", _ratio(_sum(r.A_MTC), _NREQ)),
    Kpi("walkin_minutes_to_charged", "min", "lower",
        "The same for walk-ins, from their setting out.", _ratio(_sum(r.A_WMTC), _NWALK)),
    Kpi("minutes_to_plug", "min", "lower",
        "Mean minutes from request to plug-in of the requests that plugged in, flexible ones apart.",
        _ratio(_sum(r.A_MTP), _sum(r.A_NPLUG))),
    Kpi("lost", "cars", "lower", "Requests, flexible ones apart, whose patience ran out.", _sum(r.A_LOST)),
    Kpi("lost_share", "1", "lower", "Lost over requests.", _ratio(_sum(r.A_LOST), _NREQ)),
    Kpi("stranded", "cars", "lower", "Requests whose battery was empty on the road.", _sum(r.A_STRANDED)),
    Kpi("stranded_share", "1", "lower", "Stranded over requests.", _ratio(_sum(r.A_STRANDED), _NREQ)),
    Kpi("walkin_lost", "cars", "lower", "Walk-ins that gave up or stranded.", _sum(r.A_WLOST)),
    Kpi("walkin_lost_share", "1", "lower", "Those over walk-ins.", _ratio(_sum(r.A_WLOST), _NWALK)),
    Kpi("flexible_missed", "cars", "lower", "Flexible cars that were not charged.", _sum(r.A_FMISS)),
    Kpi("flexible_missed_share", "1", "lower", "Those over flexible cars.", _ratio(_sum(r.A_FMISS), _NFLEX)),
    Kpi("flexible_late_minutes", "min", "lower",
        "Mean over flexible cars of minutes after ready_by, at most 240; missed counts 240.",
        _ratio(_sum(r.A_FLATE), _NFLEX)),
    Kpi("overload_minutes", "min", "lower",
        "Minutes x feeder heads and transformers over their limit where base load alone is not.",
        _sum(r.T_OVER_MIN)),
    Kpi("overload_kva_min", "kVA min", "lower",
        "Equivalent kVA-minutes above the limit that charging adds.", _sum(r.T_OVER_KVA)),
    Kpi("voltage_violation_minutes", "min", "lower",
        "Minutes x buses outside +6 / -9 % where base load alone is not.", _sum(r.T_VOLT_MIN)),
    Kpi("renewable_energy_share", "1", "higher", "Renewable kWh over kWh charged.",
        _ratio(_sum(r.T_RKWH), _sum(r.T_KWH))),
    Kpi("composite_car_minutes", "car-minutes", "lower",
        "Minutes to charged of requests and walk-ins, minutes late of flexible cars, 0.3 x overload "
        "kVA-minutes and 3 x overload minutes, summed.", _composite),
    Kpi("floor", "car-minutes", "neither", "The same cars without congestion.", _sum(r.A_FLOOR)),
    Kpi("avoidable_car_minutes", "car-minutes", "lower", "composite_car_minutes - floor.",
        lambda a: _composite(a) - a[..., r.A_FLOOR]),
    Kpi("requests", "cars", "neither", "Requests of the episode, flexible ones apart.", _NREQ),
    Kpi("flexible", "cars", "neither", "Flexible requests of the episode.", _NFLEX),
    Kpi("walkins", "cars", "neither", "Walk-ins of the episode.", _NWALK),
    Kpi("critical", "cars", "neither", "Requests with urgency above 0.8.", _sum(r.A_NCRIT)),
    Kpi("served", "cars", "higher", "Requests, flexible ones apart, that reached their target.",
        _sum(r.A_SERVED)),
    Kpi("walkin_served", "cars", "higher", "Walk-ins that reached their target.", _sum(r.A_WSERVED)),
    Kpi("flexible_served", "cars", "higher", "Flexible cars that reached their target.", _sum(r.A_FDONE)),
    Kpi("avg_wait_minutes", "min", "lower",
        "Mean minutes pending, deferred or queued of requests that plugged in, flexible ones too.",
        _ratio(_sum(r.A_WAITSUM), _sum(r.A_PLUGGED))),
    Kpi("energy_kwh", "kWh", "neither", "Energy drawn by all chargers.", _sum(r.T_KWH)),
    Kpi("unserved_kwh", "kWh", "lower", "Energy that lost and stranded requests went without.",
        _sum(r.A_UNSERVED_KWH)),
    Kpi("cost_inr", "INR", "neither", "What drivers paid.", _sum(r.T_INR)),
    Kpi("co2_kg", "kg", "neither", "Carbon of the energy charged.", _sum(r.T_KG)),
    Kpi("detour_km", "km", "lower", "Effective kilometres of all routes given.", _sum(r.T_DETOUR_KM)),
    Kpi("grid_stress_events", "station-ticks", "lower",
        "Station-ticks with (occupied + queued) / slots above 0.85.", _sum(r.T_STRESS_EV)),
    Kpi("peak_violations", "feeder-ticks", "lower",
        "Feeder-ticks above 80 % of rating that base load alone would not reach.", _sum(r.T_PEAK_EV)),
    Kpi("renewable_mean", "1", "higher", "kWh-weighted renewable share.",
        _ratio(_sum(r.T_RKWH), _sum(r.T_KWH))),
    Kpi("critical_deferred", "times", "lower",
        "Times a critical car was deferred or named in a load_shift.", _sum(r.T_CRITDEF)),
    Kpi("anti_cheat_steps", "ticks", "lower", "Ticks with a flag.", _sum(r.T_FLAGS)),
    Kpi("invalid_actions", "texts", "lower", "Texts that the parser refused.",
        lambda a: a[..., r.T_FORMAT] / PENALTY),
    Kpi("brier", "1", "lower", "Mean (CONFIDENCE - plugged in in time)^2 of routed requests.",
        _ratio(_sum(r.A_BRIER), _sum(r.A_NBRIER))),
)  # fmt: skip
"""The table. `kpis_of` adds ``wait_<persona>`` and ``wait_zone_<zone>``: minutes to charged by kind of driver
and by zone of the request, for fairness."""

KPI_NAMES: tuple[str, ...] = tuple(k.name for k in KPIS)


def group_names(city: CityPack) -> tuple[str, ...]:
    """Names of the fairness values of a city, in the order of `group_values`."""
    zones = city.zones.ids[:MAX_ZONES]
    return tuple(f"wait_{k}" for k in city.personas.fleet_keys[:MAX_PERSONAS]) + tuple(
        f"wait_zone_{z}" for z in zones
    )


def group_values(accounts: F64, city: CityPack) -> F64:
    """(.., G) mean minutes to charged by persona, then by zone; nan where nobody asked."""
    p, z = min(len(city.personas.names), MAX_PERSONAS), min(len(city.zones.ids), MAX_ZONES)
    sums = np.concatenate(
        [accounts[..., r.EP_WAIT_P : r.EP_WAIT_P + p], accounts[..., r.EP_WAIT_Z : r.EP_WAIT_Z + z]], axis=-1
    )
    start_p, start_z = r.EP_WAIT_P + MAX_PERSONAS, r.EP_WAIT_Z + MAX_ZONES
    counts = np.concatenate(
        [accounts[..., start_p : start_p + p], accounts[..., start_z : start_z + z]], axis=-1
    )
    return np.where(counts > 0.0, sums / np.where(counts > 0.0, counts, 1.0), np.nan)


def kpi_table(accounts: F64, city: CityPack) -> dict[str, F64]:
    """Every KPI of a batch: accounts (E, N_EP) -> name -> (E,), nan where undefined."""
    out = {k.name: np.asarray(k.of(accounts), np.float64) for k in KPIS}
    groups = group_values(accounts, city)
    for n, name in enumerate(group_names(city)):
        out[name] = groups[..., n]
    return out


def kpis_of(accounts: F64, city: CityPack) -> dict[str, float | None]:
    """Every KPI of one episode: accounts (N_EP,) -> name -> number, None where undefined. JSON-safe."""
    return {
        name: float(value) if np.isfinite(value) else None
        for name, value in kpi_table(accounts, city).items()
    }
