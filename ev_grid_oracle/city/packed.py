"""The city as two rows of numbers that kernels read, made once from a `CityPack`."""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.detmath import exp_det
from ev_grid_oracle.city.lookup import own_minutes
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.travel import TravelBank
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import RATE_KW

MAX_EVENTS = 48
MAX_INBOUND = 256
BASE_MVA = 1.0
NO_PLUG_MIN = 1.0e5


@dataclass(frozen=True, eq=False)
class PackedCity:
    """Read-only rows of a city.

    Attributes:
        cf, ci: float64 and int32 rows.
        layout: offsets for this city's dimensions.
        bank: travel tables.
        bus_position: (B,) row of each bus in its feeder's column.
    """

    pack: CityPack
    layout: r.Layout
    cf: npt.NDArray[np.float64]
    ci: npt.NDArray[np.int32]
    bank: TravelBank
    bus_position: npt.NDArray[np.int32]


def dimensions(pack: CityPack) -> dict[str, int]:
    """Sizes of every axis, padded where the vector unit wants it."""
    s, f = len(pack.stations.ids), len(pack.grid.feeder_ids)
    buses = np.diff(pack.grid.feeder_start)
    return {
        "S": s,
        "SP": -(-s // 8) * 8,
        "K": int(pack.stations.slots.max()),
        "C": pack.constants.max_cars,
        "F": f,
        "FL": -(-2 * f // 4) * 4,
        "D": int(buses.max()),
        "Z": len(pack.zones.ids),
        "N": len(pack.roads.node_lat),
        "V": len(pack.vehicles.names),
        "P": len(pack.personas.names),
        "M": pack.profiles.choice_cum.shape[2],
        "MP": pack.constants.max_pending,
        "ME": MAX_EVENTS,
        "MI": MAX_INBOUND,
        "MIX": len(pack.grid.feeder_mixes),
        "G": len(pack.zones.ids) + 1,
        "L": len(pack.roads.link_from),
    }


def _pack(pack: CityPack) -> PackedCity:
    layout = r.Layout.of(dimensions(pack))
    cf = np.zeros(layout.sizes["cf"])
    ci = np.zeros(layout.sizes["ci"], np.int32)
    _stations(pack, layout, cf, ci)
    _fleet(pack, layout, cf, ci)
    _demand(pack, layout, cf, ci)
    position = _grid(pack, layout, cf, ci)
    _profiles(pack, layout, cf)
    _scalars(pack, layout, cf)
    _usual_minutes(pack, layout, cf, ci)
    cf.flags.writeable = ci.flags.writeable = False
    return PackedCity(pack, layout, cf, ci, TravelBank(pack), position)


_PACKED: dict[int, PackedCity] = {}
_PACKING = Lock()  # two threads that pack at once would number their travel tables apart


def packed(pack: CityPack) -> PackedCity:
    """Rows of `pack`, made once per process."""
    with _PACKING:
        found = _PACKED.get(id(pack))
        if found is None or found.pack is not pack:
            found = _PACKED[id(pack)] = _pack(pack)
    return found


def _put(layout: r.Layout, row: npt.NDArray[np.generic], name: str, value: npt.ArrayLike) -> None:
    """Copy `value` into the leading part of a field (the padding keeps its zeros)."""
    view = layout.view(row, name)
    data = np.asarray(value)
    view[tuple(slice(0, n) for n in data.shape)] = data


def _stations(
    pack: CityPack, layout: r.Layout, cf: npt.NDArray[np.float64], ci: npt.NDArray[np.int32]
) -> None:
    st = pack.stations
    layout.view(cf, "K_LIMIT")[:] = r.NONE_KW
    layout.view(cf, "K_TRKVA")[:] = 1.0
    _put(layout, cf, "K_LIMIT", st.site_limit_kw)
    _put(layout, cf, "K_TRKVA", st.transformer_kva)
    _put(layout, cf, "K_PRICE", st.price_inr_kwh)
    _put(layout, cf, "K_ACKW", st.ac_socket_kw)
    _put(layout, cf, "K_SLOTKW", np.array(RATE_KW)[st.rate])
    _put(layout, ci, "J_SLOTS", st.slots)
    _put(layout, ci, "J_RATE", st.rate)
    _put(layout, ci, "J_AC", st.ac_socket)
    _put(layout, ci, "J_FEEDER", st.feeder)


def _fleet(pack: CityPack, layout: r.Layout, cf: npt.NDArray[np.float64], ci: npt.NDArray[np.int32]) -> None:
    v, p = pack.vehicles, pack.personas
    for name, value in (
        ("K_BATT", v.battery_kwh),
        ("K_VAC", v.ac_kw),
        ("K_VDC", v.dc_kw),
        ("K_WHKM", v.wh_km),
        ("K_KNEE", v.taper_knee),
        ("K_FLOOR", v.taper_floor),
        ("K_FULL", v.to_full),
        ("K_UBIAS", p.urgency_bias),
        ("K_SOC3", np.stack([p.soc_lo, p.soc_mode, p.soc_hi], 1)),
        ("K_TGT2", np.stack([p.target_lo, p.target_hi], 1)),
        ("K_FLEX", p.flexible_share),
        ("K_REQCUM", np.cumsum(p.request_share)),
        ("K_WALKCUM", np.cumsum(p.walkin_share)),
        ("K_VEHCUM", p.vehicle_cum),
    ):
        _put(layout, cf, name, value)
    _put(layout, ci, "J_PAT2", np.stack([p.patience_lo_min, p.patience_hi_min], 1))
    _put(layout, ci, "J_EMERG", p.emergency)


def _demand(pack: CityPack, layout: r.Layout, cf: npt.NDArray[np.float64], ci: npt.NDArray[np.int32]) -> None:
    z, profiles = pack.zones, pack.profiles
    _put(layout, cf, "K_ZREQ", z.request_weight / z.request_weight.sum())
    _put(layout, cf, "K_ZWALK", z.walkin_weight / z.walkin_weight.sum())
    _put(layout, cf, "K_DEMSHAPE", profiles.demand_shape)
    _put(layout, cf, "K_USUAL", profiles.usual_walkins)
    _put(layout, cf, "K_CHCUM", profiles.choice_cum)
    _put(layout, ci, "J_CHST", profiles.choice_station)
    _put(layout, ci, "J_ZSTART", z.node_start)
    _put(layout, ci, "J_ZNODE", z.node_list)
    _put(layout, ci, "J_NZONE", pack.roads.node_zone)


def _usual_minutes(
    pack: CityPack, layout: r.Layout, cf: npt.NDArray[np.float64], ci: npt.NDArray[np.int32]
) -> None:
    """K_WSLOT: minutes that the mean walk-in whose plug fits holds a slot of each station, fleet mix applied."""
    p = pack.personas
    vehicle_share = np.diff(p.vehicle_cum, axis=1, prepend=0.0)
    kinds: dict[tuple[int, int, float], float] = {}
    for s in range(len(pack.stations.ids)):
        kind = (int(pack.stations.rate[s]), int(pack.stations.ac_socket[s]), float(pack.stations.ac_socket_kw[s]))
        if kind not in kinds:
            total = weight = 0.0
            for k in range(len(p.names)):
                soc = (p.soc_lo[k] + p.soc_mode[k] + p.soc_hi[k]) / 3.0
                target = (p.target_lo[k] + p.target_hi[k]) / 2.0
                for v in np.flatnonzero(vehicle_share[k] > 0.0):
                    full = 1.0 if pack.vehicles.to_full[v] > 0.0 else target
                    minutes = own_minutes(cf, ci, layout.at, v, s, soc, full, RATE_KW[2])
                    if minutes < NO_PLUG_MIN:
                        share = p.walkin_share[k] * vehicle_share[k, v]
                        total += share * minutes
                        weight += share
            kinds[kind] = total / weight if weight > 0.0 else 0.0
        layout.view(cf, "K_WSLOT")[s] = kinds[kind]


def _grid(
    pack: CityPack, layout: r.Layout, cf: npt.NDArray[np.float64], ci: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    g = pack.grid
    f, d = layout.dims["F"], layout.dims["D"]
    z_base = g.vn_kv**2 / BASE_MVA  # ohm
    position = np.zeros(len(g.bus_ids), np.int32)
    par = np.tile(np.arange(-1, d - 1, dtype=np.int32)[:, None], (1, f))
    res, rea, share = (np.zeros((d, 2 * f)) for _ in range(3))
    for k in range(f):
        order = _sweep_order(g.bus_parent, int(g.feeder_start[k]), int(g.feeder_start[k + 1]))
        position[order] = np.arange(len(order))
        for row, b in enumerate(order):
            parent = int(g.bus_parent[b])
            par[row, k] = -1 if parent < 0 else position[parent]
            for lane in (k, f + k):
                res[row, lane] = g.line_r_ohm[b] / z_base
                rea[row, lane] = g.line_x_ohm[b] / z_base
                share[row, lane] = g.bus_base_share[b]
    _put(layout, cf, "K_R", res)
    _put(layout, cf, "K_X", rea)
    _put(layout, cf, "K_SHARE", share)
    _put(layout, cf, "K_FKVA", g.feeder_kva)
    _put(layout, cf, "K_FBASE", g.feeder_base_frac)
    _put(layout, ci, "J_PAR", par)
    up, here = np.full((d, d), -1), np.zeros((d, d, layout.dims["FL"]))
    for row in range(d):
        rows = np.unique(par[row])[::-1]  # the row above first, the source last
        layout.view(ci, "J_UPS")[row] = len(rows)
        up[row, : len(rows)] = rows
        for n, above in enumerate(rows):
            here[row, n, : 2 * f] = np.tile(par[row] == above, 2)
    _put(layout, ci, "J_UP", up)
    _put(layout, cf, "K_UP", here)
    _put(layout, ci, "J_BUSES", np.diff(g.feeder_start))
    _put(layout, ci, "J_POS", position[pack.stations.bus])
    return position


def _feeder_shape(pack: CityPack) -> npt.NDArray[np.float64]:
    """(2, F, 288) base load over the feeder's own weekday evening peak (17 to 22 h)."""
    mix, shape = pack.grid.feeder_mix, pack.profiles.base_shape
    total = np.zeros((2, len(mix), shape.shape[2]))
    for m in range(mix.shape[1]):  # summed in this order on every CPU
        total += mix[None, :, m, None] * shape[:, None, m, :]
    peak: npt.NDArray[np.float64] = total[0, :, 17 * 12 : 22 * 12].max(1)
    scaled: npt.NDArray[np.float64] = total / peak[None, :, None]
    return scaled


def _sweep_order(parent: npt.NDArray[np.int32], first: int, last: int) -> list[int]:
    """Buses of a feeder so that a parent comes before its children, right before one wherever possible.

    Deepest branch first: most rows of the sweep then lie below the row of their parents, side by side.
    """
    children: dict[int, list[int]] = {}
    for b in range(first, last):
        children.setdefault(int(parent[b]), []).append(b)
    height: dict[int, int] = {}
    for b in reversed(range(first, last)):
        height[b] = 1 + max((height[c] for c in children.get(b, [])), default=0)
    order: list[int] = []
    stack = sorted(children.get(-1, []), key=lambda c: (height[c], -c))
    while stack:
        b = stack.pop()
        order.append(b)
        stack.extend(sorted(children.get(b, []), key=lambda c: (height[c], -c)))
    return order


def _profiles(pack: CityPack, layout: r.Layout, cf: npt.NDArray[np.float64]) -> None:
    p = pack.profiles
    _put(layout, cf, "K_FSHAPE", _feeder_shape(pack))
    _put(layout, cf, "K_LEVEL", p.base_level)
    _put(layout, cf, "K_SOLAR", p.solar_share)
    _put(layout, cf, "K_OTHERRE", p.other_re_share)
    _put(layout, cf, "K_MEANREN", (p.solar_share + p.other_re_share).sum(1) / p.solar_share.shape[1])
    _put(layout, cf, "K_TARIFF", p.tariff_factor)
    _put(layout, cf, "K_STARTOCC", p.start_occupancy)
    _put(layout, cf, "K_CLOUDSD", p.weather_sd)


def _scalars(pack: CityPack, layout: r.Layout, cf: npt.NDArray[np.float64]) -> None:
    c, g = pack.constants, pack.grid
    row = layout.view(cf, "K_CONST")
    _put(layout, cf, "K_GREEDY", r.GREEDY_TUNED)
    alpha = 1.0 - exp_det(-5.0 / g.thermal_tau_min)
    for index, value in (
        (r.Q_REQ, c.requests_per_tick), (r.Q_WALK, c.walkins_per_tick), (r.Q_PART, c.participation),
        (r.Q_DAYSD, c.day_factor_sd), (r.Q_ANN, c.announced_share), (r.Q_FLEXLO, c.flex_ready_lo_min),
        (r.Q_FLEXHI, c.flex_ready_hi_min), (r.Q_FLEXSLACK, c.flex_slack_min), (r.Q_CRIT, c.critical_urgency),
        (r.Q_EFF, c.battery_efficiency), (r.Q_WARM, c.warmup_ticks),
        (r.Q_NCOM, c.base_noise_common_sd), (r.Q_NFEED, c.base_noise_feeder_sd), (r.Q_NRHO, c.base_noise_rho),
        (r.Q_TDAY, c.traffic_day_sd), (r.Q_TNOISE, c.traffic_noise_sd),
        (r.Q_ISLOT, c.incident_slot_per_station_day / 288.0), (r.Q_ISLOTMIN, c.incident_slot_minutes),
        (r.Q_IJAM, c.incident_jam_per_corridor_day / 288.0), (r.Q_IJAMMIN, c.incident_jam_minutes),
        (r.Q_HEAT, c.heat_load_per_deg), (r.Q_RAINSUN, c.rain_solar_factor), (r.Q_RAINROAD, c.rain_road_factor),
        (r.Q_CHPRICE, c.choice_price_inr), (r.Q_CHQUEUE, c.choice_queue), (r.Q_DETOUR, c.detour_floor_min),
        (r.Q_REROUTE, c.incident_reroute_max), (r.Q_N0, c.n0_car_minutes), (r.Q_PFB, g.pf_base),
        (r.Q_PFC, g.pf_charger), (r.Q_VSRC, g.source_pu), (r.Q_TAU, g.thermal_tau_min), (r.Q_PROT, g.protection_pu),
        (r.Q_VMIN, g.v_min_pu), (r.Q_VMAX, g.v_max_pu), (r.Q_CO2, pack.profiles.carbon_thermal_g_kwh),
        (r.Q_SBASE, BASE_MVA * 1000.0), (r.Q_NCORR, len(pack.roads.corridor_ids)), (r.Q_ALPHA, alpha),
    ):  # fmt: skip
        row[index] = value
