"""Baseline against oracle on the same worlds: python training/evaluate.py --episodes 72 --seed 7 --scenario baseline."""

from __future__ import annotations

import sys

from ev_grid_oracle.evaluation.flat_command import main

if __name__ == "__main__":
    sys.exit(main())
