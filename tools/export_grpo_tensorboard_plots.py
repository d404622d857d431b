"""Loss and reward of a GRPO run as PNGs, and all its scalars as CSV, from its TensorBoard logs.

python tools/export_grpo_tensorboard_plots.py --logdir ev_oracle_grpo_road --out-dir artifacts
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ev_grid_oracle.schema.errors import EVGridError
from ev_grid_oracle.training.big_curves import export_curves


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--logdir", type=Path, required=True, help="Folder with event files, at any depth.")
    parser.add_argument("--out-dir", type=Path, default=Path("artifacts"), help="The files are written here.")
    args = parser.parse_args()
    try:
        for path in export_curves(args.logdir, args.out_dir):
            print(path)
    except EVGridError as error:
        sys.stderr.write(f"{error.code}: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
