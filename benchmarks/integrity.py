"""`evgrid bench integrity` from a checkout: see `ev_grid_oracle.evaluation.bench_integrity`."""

from __future__ import annotations

from ev_grid_oracle.evaluation.bench_integrity import main

if __name__ == "__main__":
    raise SystemExit(main())
