"""The city in a window: python -m viz.city_map (SPACE plays a tick, A toggles policy, S scenario, Q quits)."""

from __future__ import annotations

import sys

from ev_grid_oracle.viz.pygame_map import main

if __name__ == "__main__":
    sys.exit(main())
