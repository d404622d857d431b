"""The figures of an evaluation; `--help` shows the options."""

import sys

from ev_grid_oracle.viz.figures_cli import call, make_plots

if __name__ == "__main__":
    sys.exit(call(make_plots))
