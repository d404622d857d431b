"""The demo page: python -m viz.gradio_demo (PORT is read; no GPU, no telemetry)."""

from __future__ import annotations

import sys

from ev_grid_oracle.viz.gradio_cli import main

if __name__ == "__main__":
    sys.exit(main())
