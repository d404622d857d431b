"""Feeders solved by power-grid-model, an independent Newton-Raphson solver, to judge our sweep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from inject import edited

from ev_grid_oracle.city.model import CityPack, Grid
from ev_grid_oracle.city.packed import PackedCity, packed
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.sim.flow import flat_start
from ev_grid_oracle.sim.sweep import solve

VA_PER_MVA = 1.0e6


def random_trees(city: CityPack, rng: np.random.Generator, buses: int, feeders: int) -> CityPack:
    """`city` with another grid: `feeders` random radial trees of `buses` buses each, laterals and all."""
    n = buses * feeders
    parent = np.concatenate(
        [[-1, *(k * buses + int(rng.integers(0, b)) for b in range(1, buses))] for k in range(feeders)]
    ).astype(np.int32)
    km = rng.uniform(0.2, 1.5, n)
    old = city.grid
    grid = replace(
        old,
        feeder_ids=tuple(f"R{k}" for k in range(feeders)),
        feeder_kva=np.full(feeders, 4000.0),
        feeder_base_frac=np.full(feeders, 0.6),
        feeder_mix=np.tile(old.feeder_mix[:1], (feeders, 1)),
        feeder_start=np.arange(0, n + 1, buses, dtype=np.int32),
        bus_ids=tuple(f"R{b}" for b in range(n)),
        bus_feeder=np.repeat(np.arange(feeders, dtype=np.int32), buses),
        bus_parent=parent,
        bus_base_share=np.full(n, 1.0 / buses),
        line_r_ohm=0.5449 * km,
        line_x_ohm=0.36 * km,
    )
    return edited(replace(city, grid=grid), "stations", feeder=0, bus=0)


def sweep(city: PackedCity, p: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """Our solution from a flat start for loads (D, FL) in pu.

    Returns complex voltages (D, FL) pu, complex currents of the line to each bus (D, FL) pu, sweeps.
    """
    layout = city.layout
    f = np.zeros(layout.sizes["f"])
    flat_start(f, city.cf, layout.at)
    w = np.zeros((6, p.size))
    w[0], w[1] = p.reshape(-1), q.reshape(-1)
    none_ahead = np.zeros(layout.sizes["i"], np.int32)
    sweeps = solve(f, city.cf, city.ci, layout.at, w, f, none_ahead, np.array([-1]))
    amps = (w[2] + 1j * w[3]).reshape(p.shape)
    return layout.view(f, "V_RE") + 1j * layout.view(f, "V_IM"), amps, int(sweeps)


def newton(grid: Grid, p_kw: np.ndarray, q_kvar: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every feeder with loads (cases, B), solved to 1e-12 by power-grid-model.

    Returns voltages (cases, B) pu and active power at the source (cases,) kW, all feeders together.
    """
    from power_grid_model import (
        CalculationMethod,
        ComponentType,
        LoadGenType,
        PowerGridModel,
        initialize_array,
    )

    n = len(grid.bus_ids)
    volt = grid.vn_kv * 1000.0
    node = initialize_array("input", "node", n + 1)
    node["id"], node["u_rated"] = np.arange(n + 1), volt
    line = initialize_array("input", "line", n)
    line["id"] = 10_000 + np.arange(n)
    line["from_node"] = np.where(grid.bus_parent < 0, n, grid.bus_parent)
    line["to_node"] = np.arange(n)
    line["from_status"] = line["to_status"] = 1
    line["r1"], line["x1"], line["c1"], line["tan1"] = grid.line_r_ohm, grid.line_x_ohm, 0.0, 0.0
    load = initialize_array("input", "sym_load", n)
    load["id"], load["node"], load["status"] = 20_000 + np.arange(n), np.arange(n), 1
    load["type"] = LoadGenType.const_power
    load["p_specified"] = load["q_specified"] = 0.0
    source = initialize_array("input", "source", 1)
    # a stiff bar: the feeder hangs on a fixed voltage, as in the sweep
    source["id"], source["node"], source["status"] = [30_000], [n], 1
    source["u_ref"], source["sk"], source["rx_ratio"] = grid.source_pu, 1e18, 0.1
    model = PowerGridModel(
        {
            ComponentType.node: node,
            ComponentType.line: line,
            ComponentType.sym_load: load,
            ComponentType.source: source,
        }
    )
    update = initialize_array("update", "sym_load", (len(p_kw), n))
    update["id"] = load["id"]
    update["p_specified"], update["q_specified"] = p_kw * 1000.0, q_kvar * 1000.0
    out = model.calculate_power_flow(
        update_data={ComponentType.sym_load: update},
        calculation_method=CalculationMethod.newton_raphson,
        error_tolerance=1e-12,
        max_iterations=50,
        threading=-1,
    )
    return out[ComponentType.node]["u_pu"][:, :n], out[ComponentType.source]["p"][:, 0] / 1000.0


def worst_error(city: CityPack, rng: np.random.Generator, cases: int, top: float) -> float:
    """Largest |voltage| difference in pu over `cases` random loadings of all feeders.

    Every feeder draws 0 to `top` x its rating, spread at random over its buses, power factor 0.85 to 1.
    """
    pc, grid = packed(city), city.grid
    n, d, lanes = len(grid.bus_ids), pc.layout.dims["D"], pc.layout.dims["FL"]
    n_f = len(grid.feeder_ids)
    weight = rng.exponential(1.0, (cases, n))
    total = np.stack([weight[:, grid.bus_feeder == k].sum(1) for k in range(n_f)], 1)
    level = rng.uniform(0.0, top, (cases, n_f)) * grid.feeder_kva
    kva = weight / total[:, grid.bus_feeder] * level[:, grid.bus_feeder]
    factor = rng.uniform(0.85, 1.0, (cases, n))
    p_kw, q_kvar = kva * factor, kva * np.sqrt(1.0 - factor**2)
    truth, _head = newton(grid, p_kw, q_kvar)
    base_kva = float(pc.layout.view(pc.cf, "K_CONST")[r.Q_SBASE])
    worst = 0.0
    for case in range(cases):
        p, q = np.zeros((d, lanes)), np.zeros((d, lanes))
        for half in (0, n_f):
            p[pc.bus_position, half + grid.bus_feeder] = p_kw[case] / base_kva
            q[pc.bus_position, half + grid.bus_feeder] = q_kvar[case] / base_kva
        volts, _currents, _sweeps = sweep(pc, p, q)
        for half in (0, n_f):
            ours = np.abs(volts[pc.bus_position, half + grid.bus_feeder])
            worst = max(worst, float(np.abs(ours - truth[case]).max()))
    return worst
