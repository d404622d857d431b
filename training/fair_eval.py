"""Fair statistics of an evaluation; `--help` shows the options, docs/explanation/statistics.md the reasons."""

import sys

from ev_grid_oracle.viz.figures_cli import call, fair_eval

if __name__ == "__main__":
    sys.exit(call(fair_eval))
