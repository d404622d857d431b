"""The kernels against plain Python and plain NumPy: the same minutes, the same energies."""

from __future__ import annotations

import numpy as np
import plain
import pytest
from inject import Rig, edited, silent
from referee import sweep

from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.evaluation.bench_tiled import tiled_city
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.sim.charge import TILE, charge_minute

TICKS = 60


def arrivals(city, rng, n, minutes):
    """`n` random cars: every vehicle, every station that has a plug for it."""
    cars = []
    v, st = city.vehicles, city.stations
    while len(cars) < n:
        k, s = int(rng.integers(len(v.names))), int(rng.integers(len(st.ids)))
        if st.rate[s] > 0 and v.dc_kw[k] == 0 and not st.ac_socket[s]:
            continue
        soc = int(rng.integers(500, 8000)) / 10000
        target = min(1.0, soc + int(rng.integers(300, 6000)) / 10000)
        car = plain.Car(
            seq=len(cars) + 1,
            arrive=int(rng.integers(0, minutes)),
            station=s,
            soc=soc,
            target=round(target, 4),
            battery_kwh=float(v.battery_kwh[k]),
            ac_kw=float(v.ac_kw[k]),
            dc_kw=float(v.dc_kw[k]),
            knee=float(v.taper_knee[k]),
            floor=float(v.taper_floor[k]),
            patience=int(rng.integers(1, 60)),
            rate=int(rng.integers(0, 3)),
            emergency=bool(rng.random() < 0.1),
            walkin=bool(rng.random() < 0.5),
        )
        car.vehicle = k  # type: ignore[attr-defined]
        cars.append(car)
    return cars


def inject(rig, cars):
    for c in cars:
        flags = (r.B_EMERG if c.emergency else 0) | (r.B_WALKIN if c.walkin else 0)
        seq = rig.car(
            vehicle=c.vehicle,
            soc=c.soc,
            target=c.target,
            station=c.station,
            arrive=c.arrive,
            patience=c.patience,
            rate=c.rate,
            flags=flags,
            asked=0,
        )
        assert seq == c.seq


def stays(car, end):
    """Is the car still in the system when minute `end` begins, before anything happens in it?"""
    return (car.finished is None or car.finished > end) and (car.lost is None or car.lost >= end)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("tight", [False, True])
def test_stations_play_like_plain_python(city_toy, seed, tight):
    """Who is where at the end of every tick, minutes, losses, car-minutes and energies are equal."""
    rng = np.random.default_rng([21, seed])
    city = edited(city_toy, "stations", slots=2, site_limit_kw=40.0) if tight else city_toy
    city = silent(city)
    cars = arrivals(city, rng, int(rng.integers(20, 100)), 5 * TICKS - 100)
    rig = Rig(city)
    inject(rig, cars)
    st = city.stations
    stations = [
        plain.Station(
            int(st.rate[s]),
            int(st.slots[s]),
            float(st.site_limit_kw[s]),
            bool(st.ac_socket[s]),
            float(st.ac_socket_kw[s]),
        )
        for s in range(len(st.ids))
    ]
    log = plain.play(stations, cars, 5 * TICKS, city.constants.battery_efficiency)
    for tick in range(TICKS):
        rig.step()
        end = 5 * tick + 5
        minutes = log[5 * tick : end]
        assert rig.present() == {c.seq for c in cars if stays(c, end)}
        assert rig.tk(r.T_WAIT) == sum(n for n, _ in minutes)
        assert rig.tk(r.T_KWH) == pytest.approx(sum(k for _, k in minutes), abs=1e-9)
        left = [c for c in cars if c.finished is not None and end - 5 < c.finished <= end]
        assert rig.tk(r.T_SERVED) == sum(not c.walkin for c in left)
        assert rig.tk(r.T_WSERVED) == sum(c.walkin for c in left)
        gone = [c for c in cars if c.lost is not None and end - 5 <= c.lost < end]
        assert rig.tk(r.T_LOST) == sum(not c.walkin for c in gone)
        assert rig.tk(r.T_WLOST) == sum(c.walkin for c in gone)
    assert sum(c.lost is not None for c in cars) >= (5 if tight else 0)
    asked = [c for c in cars if not c.walkin]
    minutes = [240 if c.lost is not None else min(c.finished, 240) for c in asked if not c.here]
    assert rig.ep(r.A_MTC) == sum(minutes)
    plugged = [c.plugged for c in asked if c.plugged is not None]
    assert rig.ep(r.A_MTP) == sum(plugged)
    assert rig.ep(r.A_PLUGGED) == len(plugged)
    assert rig.ep(r.A_WAITSUM) == sum(c.plugged - c.arrive for c in asked if c.plugged is not None)
    for s, station in enumerate(stations):
        assert rig.view("ST_OCC")[s] == len(station.plugs)
        assert rig.view("ST_QN")[s] == len(station.queue)
        for car in station.plugs:
            assert rig.soc(car.seq) == pytest.approx(car.soc, abs=1e-9)


# --- one minute of charging ------------------------------------------------------------------------
def minute_twin(g, cap, a, b, limit, dr, efficiency):
    """(energy to go, kWh drawn by station, cars finished by station) after one minute, plain NumPy."""
    wish = np.minimum(np.minimum(cap, dr[None, :]), a + b * g)
    total = wish.sum(0)
    share = np.ones_like(total)
    np.divide(limit, total, out=share, where=total > limit)
    gain = np.minimum(wish * share[None, :] * efficiency / 60.0, g)
    left = g - gain
    return left, gain.sum(0) / efficiency, ((left <= 0.0) & (g > 0.0)).sum(0)


@pytest.mark.parametrize(("name", "factor"), [("toy", 1), ("blr", 1), ("blr", 4)])
def test_charge_minute_is_its_numpy_twin(request, name, factor):
    city = packed(tiled_city(request.getfixturevalue(f"city_{name}"), factor))
    assert (city.layout.dims["SP"] > TILE) == (factor > 1)  # one tile, and several with a narrower last one
    layout, k, sp = city.layout, city.layout.dims["K"], city.layout.dims["SP"]
    eff = city.pack.constants.battery_efficiency
    rng = np.random.default_rng(22)
    f, i = np.zeros(layout.sizes["f"]), np.zeros(layout.sizes["i"], np.int32)
    mask = layout.view(i, "ST_MASK")
    view = {
        n: layout.view(f, n)
        for n in ("SLOT_G", "SLOT_CAP", "SLOT_A", "SLOT_B", "ST_LIMIT", "ST_DRCAP", "ST_KWH")
    }
    for _ in range(200):
        used = rng.random((k, sp)) < 0.7
        cap = rng.uniform(3.0, 150.0, (k, sp)) * used
        view["SLOT_CAP"][:] = cap
        view["SLOT_A"][:] = cap * rng.uniform(0.2, 1.2, (k, sp))
        view["SLOT_B"][:] = rng.uniform(0.0, 20.0, (k, sp)) * used
        view["SLOT_G"][:] = rng.exponential(3.0, (k, sp)) * used
        view["ST_LIMIT"][:] = rng.choice([0.0, 20.0, 100.0, 1e9], sp)
        view["ST_DRCAP"][:] = rng.choice([0.0, 7.0, 30.0, 1e9], sp)
        view["ST_KWH"][:] = 0.0
        args = [view[n].copy() for n in ("SLOT_G", "SLOT_CAP", "SLOT_A", "SLOT_B", "ST_LIMIT", "ST_DRCAP")]
        left, kwh, done = minute_twin(*args, eff)
        wp = np.zeros((k + 3, sp))
        mask[:] = (used * 2 ** np.arange(k)[:, None]).sum(0)
        stations_done = charge_minute(f, i, city.cf, layout.at, wp, f, i, np.array([-1]))
        np.testing.assert_allclose(view["SLOT_G"], left, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(view["ST_KWH"], kwh, rtol=1e-12, atol=1e-12)
        assert (view["SLOT_G"] >= 0.0).all()
        assert wp[k + 2].tolist() == done.tolist()
        assert stations_done == (done > 0).sum()
        assert (view["ST_KWH"] * 60.0 <= np.maximum(args[4], 0.0) * (1 + 1e-12)).all()


# --- the sweep --------------------------------------------------------------------------------------
def sweep_twin(parent, z, load, source, sweeps):
    """Backward/forward sweep of one feeder, plain complex NumPy: voltages after `sweeps` sweeps."""
    v = np.full(len(parent), complex(source))
    for _ in range(sweeps):
        m = np.maximum(np.abs(v) ** 2, 0.25)
        current = np.conj(load) * v / m
        for bus in range(len(parent) - 1, 0, -1):
            if parent[bus] >= 0:
                current[parent[bus]] += current[bus]
        for bus in range(len(parent)):
            up = source if parent[bus] < 0 else v[parent[bus]]
            v[bus] = up - z[bus] * current[bus]
    return v, current


@pytest.mark.parametrize("name", ["toy", "blr"])
@pytest.mark.parametrize("level", [0.3, 1.0, 5.0])
def test_solve_is_its_numpy_twin(request, name, level):
    city = packed(request.getfixturevalue(f"city_{name}"))
    layout, grid = city.layout, city.pack.grid
    rng = np.random.default_rng(23)
    shape = (layout.dims["D"], layout.dims["FL"])
    n_f = len(grid.feeder_ids)
    for _ in range(5):
        p, q = np.zeros(shape), np.zeros(shape)
        for half in (0, n_f):
            p[city.bus_position, half + grid.bus_feeder] = rng.uniform(0, level, len(grid.bus_ids))
            q[city.bus_position, half + grid.bus_feeder] = rng.uniform(0, 0.4 * level, len(grid.bus_ids))
        volts, amps, sweeps = sweep(city, p, q)
        for k in range(n_f):
            mine = np.flatnonzero(grid.bus_feeder == k)
            parent = np.where(grid.bus_parent[mine] < 0, -1, grid.bus_parent[mine] - mine[0])
            z = (grid.line_r_ohm[mine] + 1j * grid.line_x_ohm[mine]) / grid.vn_kv**2
            row = city.bus_position[mine]
            for lane in (k, n_f + k):
                load = (p + 1j * q)[row, lane]
                v, current = sweep_twin(parent, z, load, grid.source_pu, sweeps)
                np.testing.assert_allclose(volts[row, lane], v, rtol=0, atol=1e-9)
                np.testing.assert_allclose(amps[row, lane], current, rtol=0, atol=1e-8)
