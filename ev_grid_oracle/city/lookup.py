"""What the packed city answers inside kernels: plugs, charging time, travel."""

from __future__ import annotations

from ev_grid_oracle.schema.compiled import inlined, kernel, part
from ev_grid_oracle.schema.rows import (
    J_AC,
    J_RATE,
    K_ACKW,
    K_BATT,
    K_CONST,
    K_FLOOR,
    K_KNEE,
    K_SLOTKW,
    K_VAC,
    K_VDC,
    K_WHKM,
    Q_EFF,
    RING,
)

NO_ROUTE = 1.0e8


@inlined
def plug_limit_kw(cf, ci, at, vehicle, station):  # type: ignore[no-untyped-def]
    """What the vehicle itself can take at this station's plug, kW: (limit, socket kW); (0, 0): no plug fits."""
    if ci[at[J_RATE] + station] == 0:
        return cf[at[K_VAC] + vehicle], cf[at[K_SLOTKW] + station]
    if cf[at[K_VDC] + vehicle] > 0.0:
        return cf[at[K_VDC] + vehicle], cf[at[K_SLOTKW] + station]
    if ci[at[J_AC] + station] == 1:
        return cf[at[K_VAC] + vehicle], cf[at[K_ACKW] + station]
    return 0.0, 0.0


@inlined
def taper(cf, at, vehicle, target):  # type: ignore[no-untyped-def]
    """Coefficients (a, b) of power a + b g over energy to go g (kWh into the battery).

    The battery's own limit (the larger of the AC and DC one) falls from the knee on; constant power
    below it is the cap's business: min(cap, a + b g) is what flows.
    """
    limit_kw = max(cf[at[K_VDC] + vehicle], cf[at[K_VAC] + vehicle])
    knee = cf[at[K_KNEE] + vehicle]
    drop = 1.0 - cf[at[K_FLOOR] + vehicle]
    slope = limit_kw * drop / (1.0 - knee)
    return limit_kw - slope * (target - knee), slope / cf[at[K_BATT] + vehicle]


@kernel
def charge_minutes(g_kwh, cap_kw, a, b, efficiency):  # type: ignore[no-untyped-def]
    """Minutes to put `g_kwh` into the battery at min(cap, a + b g), without the site's share.

    The falling part is integrated by two Simpson panels (error below 1 % for floors from 0.2).
    """
    if g_kwh <= 0.0:
        return 0.0
    if cap_kw <= 0.0:
        return 1.0e6
    rest = g_kwh
    minutes = 0.0
    top = a + b * g_kwh
    if top > cap_kw:
        rest = 0.0
        if a < cap_kw and b > 0.0:
            rest = (cap_kw - a) / b
        minutes = (g_kwh - rest) / cap_kw
        top = cap_kw
    if rest > 0.0:
        low = max(a, 0.05 * cap_kw)
        q = 0.25 * (top - low)
        minutes += (
            rest
            / 12.0
            * (1.0 / low + 4.0 / (low + q) + 2.0 / (low + 2.0 * q) + 4.0 / (low + 3.0 * q) + 1.0 / top)
        )
    return minutes * 60.0 / efficiency


@part
def own_minutes(cf, ci, at, vehicle, station, soc, target, rate_kw):  # type: ignore[no-untyped-def]
    """Minutes at the plug of `station` from `soc` to `target` under a cap of `rate_kw`; 1e6: no plug fits."""
    limit, socket = plug_limit_kw(cf, ci, at, vehicle, station)
    if limit <= 0.0:
        return 1.0e6
    a, b = taper(cf, at, vehicle, target)
    cap = min(min(limit, socket), rate_kw)
    g = (target - soc) * cf[at[K_BATT] + vehicle]
    return charge_minutes(g, cap, a, b, cf[at[K_CONST] + Q_EFF])


@inlined
def travel_minutes(minutes, row, node, station, traffic):  # type: ignore[no-untyped-def]
    """Whole minutes from `node` to `station` in traffic table `row`; NO_ROUTE where there is none."""
    t = minutes[row, node, station] * traffic
    if t > RING - 8.0:
        return NO_ROUTE
    whole = float(int(t))
    if whole < t:
        whole += 1.0
    return max(whole, 1.0)


@inlined
def travel_wh(km, cf, at, row, node, station, vehicle):  # type: ignore[no-untyped-def]
    """Energy of that trip, whole Wh (congestion is in the table's effective kilometres)."""
    return float(int(km[row, node, station] * cf[at[K_WHKM] + vehicle]) + 1)
