"""One feeder of a city in pandapower, solved by its Newton-Raphson: a second judge of our sweep."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import Grid

F64 = npt.NDArray[np.float64]
TOLERANCE_MVA = 1e-11


def newton_volts(grid: Grid, feeder: int, p_kw: F64, q_kvar: F64) -> F64:
    """Voltages in pu (cases, buses of the feeder) under loads (cases, buses of the feeder).

    Lines are series impedances without shunts, loads constant power, and the source a fixed voltage: the feeder
    that the simulator solves.
    """
    import pandapower as pp

    buses = np.flatnonzero(grid.bus_feeder == feeder)
    at = {int(b): k for k, b in enumerate(buses)}
    net = pp.create_empty_network(sn_mva=1.0)
    source = pp.create_bus(net, vn_kv=grid.vn_kv)
    pp.create_ext_grid(net, source, vm_pu=grid.source_pu)
    nodes = [pp.create_bus(net, vn_kv=grid.vn_kv) for _ in buses]
    for bus in buses.tolist():
        parent = int(grid.bus_parent[bus])
        pp.create_line_from_parameters(
            net, source if parent < 0 else nodes[at[parent]], nodes[at[bus]], length_km=1.0,
            r_ohm_per_km=float(grid.line_r_ohm[bus]), x_ohm_per_km=float(grid.line_x_ohm[bus]), c_nf_per_km=0.0, max_i_ka=1.0,
        )  # fmt: skip
    for node in nodes:
        pp.create_load(net, node, p_mw=0.0, q_mvar=0.0)
    out = np.zeros((len(p_kw), len(buses)))
    for case in range(len(p_kw)):
        net.load["p_mw"] = p_kw[case] / 1000.0
        net.load["q_mvar"] = q_kvar[case] / 1000.0
        pp.runpp(net, algorithm="nr", init="flat", tolerance_mva=TOLERANCE_MVA, max_iteration=50, numba=False)
        out[case] = net.res_bus.vm_pu.to_numpy()[nodes]
    return out
