"""How exact the power flow is: our sweep against two independent solvers.

    python benchmarks/powerflow.py [--city bengaluru] [--loadings 1000] [--top 1.4] [--out artifacts/powerflow.json]

Random loadings, each feeder between nothing and `--top` times its rating, spread at random over its buses at power
factors of 0.85 to 1. Judges: power-grid-model (Newton-Raphson) on every feeder and every loading, and pandapower
(Newton-Raphson of its own) on a handful of feeders and loadings. Writes the artifact, prints the worst voltage error
in pu and exits 1 above 1e-6. Extra: ``pip install -e ".[grid]"``.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import numpy as np
import numpy.typing as npt

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "sim"))

from pandapower_referee import newton_volts
from referee import sweep, worst_error

from ev_grid_oracle.city import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.evaluation.provenance import provenance
from ev_grid_oracle.evaluation.writing import to_json, write_atomic
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.errors import EVGridError, MissingExtraError

F64 = npt.NDArray[np.float64]
LIMIT_PU = 1e-6
CHUNK = 100


def feeder_errors(city: CityPack, feeder: int, rng: np.random.Generator, cases: int, top: float) -> F64:
    """(cases,) worst |voltage| difference to pandapower in pu on one feeder under random loadings."""
    pc, grid = packed(city), city.grid
    buses = np.flatnonzero(grid.bus_feeder == feeder)
    weight = rng.exponential(1.0, (cases, len(buses)))
    kva = weight / weight.sum(1, keepdims=True) * (rng.uniform(0.0, top, (cases, 1)) * grid.feeder_kva[feeder])
    factor = rng.uniform(0.85, 1.0, kva.shape)
    p_kw, q_kvar = kva * factor, kva * np.sqrt(1.0 - factor**2)
    truth = newton_volts(grid, feeder, p_kw, q_kvar)
    base_kva = float(pc.layout.view(pc.cf, "K_CONST")[r.Q_SBASE])
    worst = np.zeros(cases)
    for case in range(cases):
        p, q = np.zeros((2, pc.layout.dims["D"], pc.layout.dims["FL"]))
        p[pc.bus_position[buses], feeder] = p_kw[case] / base_kva
        q[pc.bus_position[buses], feeder] = q_kvar[case] / base_kva
        volts, _currents, _sweeps = sweep(pc, p, q)
        worst[case] = np.abs(np.abs(volts[pc.bus_position[buses], feeder]) - truth[case]).max()
    return worst


def against_power_grid_model(city: CityPack, loadings: int, top: float, seed: int) -> dict[str, object]:
    """Every feeder under every loading."""
    rng = np.random.default_rng([seed, 1])
    worst, done, start = 0.0, 0, time.perf_counter()
    while done < loadings:
        n = min(CHUNK, loadings - done)
        worst = max(worst, worst_error(city, rng, n, top))
        done += n
    return {
        "version": version("power-grid-model"), "feeders": len(city.grid.feeder_ids), "buses": len(city.grid.bus_ids),
        "loadings": done, "worst_error_pu": worst, "seconds": round(time.perf_counter() - start, 1),
    }  # fmt: skip


def against_pandapower(city: CityPack, feeders: Sequence[int], loadings: int, top: float, seed: int) -> dict[str, object]:
    """Some feeders under some loadings."""
    rng = np.random.default_rng([seed, 2])
    start = time.perf_counter()
    worst = {city.grid.feeder_ids[f]: float(feeder_errors(city, f, rng, loadings, top).max()) for f in feeders}
    return {
        "version": version("pandapower"), "loadings": loadings, "worst_error_pu_by_feeder": worst,
        "worst_error_pu": max(worst.values()), "seconds": round(time.perf_counter() - start, 1),
    }  # fmt: skip


def handful(city: CityPack, n: int) -> tuple[int, ...]:
    """Feeders spread over the city, the one with the most buses among them."""
    count = len(city.grid.feeder_ids)
    largest = int(np.argmax(np.bincount(city.grid.bus_feeder, minlength=count)))
    spread = np.linspace(0, count - 1, min(n, count)).astype(int).tolist()
    return tuple(dict.fromkeys([largest, *spread]))[: max(n, 1)]


def main(argv: list[str] | None = None) -> int:
    """Command line; 1 above the limit, 4 without the solvers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--city", default="bengaluru")
    parser.add_argument("--loadings", type=int, default=1000)
    parser.add_argument("--pandapower-loadings", type=int, default=40)
    parser.add_argument("--pandapower-feeders", type=int, default=4)
    parser.add_argument("--top", type=float, default=1.4, help="largest load of a feeder over its rating")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--out", type=Path, default=Path("artifacts/powerflow.json"))
    a = parser.parse_args(argv)
    try:
        city = load_city(a.city)
        judges = {
            "power_grid_model": against_power_grid_model(city, a.loadings, a.top, a.seed),
            "pandapower": against_pandapower(
                city, handful(city, a.pandapower_feeders), a.pandapower_loadings, a.top, a.seed
            ),
        }
    except ImportError as error:
        missing = MissingExtraError(f"The power flow's judges are not installed ({error.name}).", 'pip install -e ".[grid]"')
        sys.stderr.write(f"{missing.code}: {missing}\n")
        return missing.exit_code
    except EVGridError as error:
        sys.stderr.write(f"{error.code}: {error}\n")
        return error.exit_code
    worst = max(float(str(judge["worst_error_pu"])) for judge in judges.values())
    report = {
        "schema": "evgrid.powerflow.1", "city": a.city, "seed": a.seed, "top_of_rating": a.top, "limit_pu": LIMIT_PU,
        "worst_error_pu": worst, "passed": worst <= LIMIT_PU, "judges": judges, "provenance": provenance(city),
    }  # fmt: skip
    write_atomic(a.out, to_json(report))
    if a.json:
        print(json.dumps(judges))
    else:
        for name, judge in judges.items():
            print(f"{name}: worst voltage error {judge['worst_error_pu']:.2e} pu (limit {LIMIT_PU:g})")
    return int(worst > LIMIT_PU)


if __name__ == "__main__":
    raise SystemExit(main())
