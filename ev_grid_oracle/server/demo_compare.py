"""Which lane is ahead in each number, said once by the server: a page shows it and judges nothing itself.

Numbers as equal as the paired evaluation takes for equal are a tie, whatever side is better; where neither side is better, nobody is ahead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ev_grid_oracle.episode.kpis import KPIS
from ev_grid_oracle.evaluation.paired import TIE as TIE_UP_TO

TIE, NOBODY, UNKNOWN = "tie", "neither", "unknown"


@dataclass(frozen=True)
class RoleKpi:
    """A number that one role looks at, so far in the episode."""

    name: str
    unit: str
    better: str
    sentence: str


ROLE_KPIS: tuple[RoleKpi, ...] = (
    RoleKpi("discom.overload_kva_min", "kVA min", "lower",
            "Grid company: equivalent kVA-minutes above the limit that charging adds."),
    RoleKpi("discom.overload_minutes", "min", "lower",
            "Grid company: minutes x feeder heads and transformers over their limit."),
    RoleKpi("discom.min_voltage_pu", "pu", "higher", "Grid company: the lowest bus voltage so far."),
    RoleKpi("cpo.energy_kwh", "kWh", "neither", "Charging company: energy drawn by all chargers."),
    RoleKpi("cpo.revenue_inr", "INR", "neither", "Charging company: what drivers paid."),
    RoleKpi("cpo.utilisation_frac", "1", "neither", "Charging company: slots in use over usable slots."),
    RoleKpi("fleet.minutes_to_charged", "min", "lower",
            "Fleets: mean minutes from request to charged of the requests that have ended."),
    RoleKpi("fleet.lost", "cars", "lower", "Fleets: requests lost or stranded."),
    RoleKpi("driver.minutes_to_charged", "min", "lower",
            "Drivers: the same of private cars and walk-ins."),
    RoleKpi("driver.lost", "cars", "lower", "Drivers: cars lost, stranded or turned away."),
    RoleKpi("driver.inr_per_kwh", "INR/kWh", "neither", "Drivers: what a kWh cost."),
    RoleKpi("reward.total", "car-minutes / N0", "higher", "Sum of the reward so far; a tick of the baseline costs about 1."),
)  # fmt: skip
"""Numbers of an episode that still runs; at its end the KPIs of `episode.kpis` stand beside them."""

_BETTER = {k.name: k.better for k in ROLE_KPIS} | {k.name: k.better for k in KPIS}


def role_values(kpis: Mapping[str, Mapping[str, float | None]], total: float) -> dict[str, float | None]:
    """`RoleAccounts.kpis` under the names of `ROLE_KPIS`."""
    flat = {f"{role}.{name}": value for role, group in kpis.items() for name, value in group.items()}
    return {**flat, "reward.total": total}


def compare(
    baseline: Mapping[str, float | None], oracle: Mapping[str, float | None]
) -> dict[str, dict[str, object]]:
    """Name -> both values, oracle minus baseline, and who is ahead."""
    out: dict[str, dict[str, object]] = {}
    for name in baseline:
        a, b = baseline[name], oracle.get(name)
        delta = None if a is None or b is None else b - a
        out[name] = {"baseline": a, "oracle": b, "delta": delta, "ahead": ahead(delta, _BETTER.get(name))}
    return out


def ahead(delta: float | None, better: str | None) -> str:
    """`baseline`, `oracle`, `tie`, `neither` or `unknown`."""
    if delta is None:
        return UNKNOWN
    if abs(delta) <= TIE_UP_TO:
        return TIE
    if better not in ("lower", "higher"):
        return NOBODY
    return "oracle" if (delta < 0.0) == (better == "lower") else "baseline"
