"""How exact the power flow is: our sweep against power-grid-model on every feeder of a city.

    python benchmarks/powerflow.py [--city bengaluru] [--loadings 1000] [--top 1.4] [--json]

Random loadings, each feeder between nothing and `--top` times its rating, spread at random over its buses.
Prints the worst voltage error in pu and exits 1 above 1e-6.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "sim"))

from referee import worst_error

from ev_grid_oracle.city import load_city

LIMIT_PU = 1e-6
CHUNK = 100


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--city", default="bengaluru")
    parser.add_argument("--loadings", type=int, default=1000)
    parser.add_argument("--top", type=float, default=1.4, help="largest load of a feeder over its rating")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    a = parser.parse_args()
    city = load_city(a.city)
    rng = np.random.default_rng(a.seed)
    worst, done, start = 0.0, 0, time.perf_counter()
    while done < a.loadings:
        n = min(CHUNK, a.loadings - done)
        worst = max(worst, worst_error(city, rng, n, a.top))
        done += n
    feeders = len(city.grid.feeder_ids)
    report = {
        "city": a.city,
        "loadings": done,
        "feeders": feeders,
        "buses": len(city.grid.bus_ids),
        "worst_error_pu": worst,
        "limit_pu": LIMIT_PU,
        "seconds": round(time.perf_counter() - start, 1),
    }
    if a.json:
        print(json.dumps(report))
    else:
        print(
            f"{done} loadings x {feeders} feeders of {a.city}: "
            f"worst voltage error {worst:.2e} pu (limit {LIMIT_PU:g})"
        )
    return int(worst > LIMIT_PU)


if __name__ == "__main__":
    raise SystemExit(main())
