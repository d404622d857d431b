"""Write artifacts/eval_snapshot.json: a small paired evaluation without a language model."""

from __future__ import annotations

import sys

from ev_grid_oracle.evaluation.flat_command import snapshot

if __name__ == "__main__":
    sys.exit(snapshot())
