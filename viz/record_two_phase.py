"""Film one evening under baseline and oracle: python -m viz.record_two_phase --seed 123 --out artifacts/frames_2min."""

from __future__ import annotations

import sys

from ev_grid_oracle.viz.film_cli import main

if __name__ == "__main__":
    sys.exit(main())
