"""One file about the runs behind the small oracle: losses, checks, seconds, what was tried and rejected.

    python benchmarks/oracle_training.py --run "seed 0=runs/oracle-e2e" --rejected "reward hacked=runs/oracle/grpo-0-hack"

Reads ``report.json`` of each run (or a report itself) and ``checks.json`` of each rejected one; writes
artifacts/oracle_training.json. What the file holds under other names stays.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from ev_grid_oracle.evaluation.writing import to_json, write_atomic

SCHEMA = "evgrid.oracle_training.1"


def split(text: str) -> tuple[str, Path]:
    """``name=path``."""
    name, equals, path = text.rpartition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not name=path")
    return name, Path(path)


def read(path: Path, name: str) -> Any:
    """The JSON of a file, or of `name` in a folder."""
    return json.loads((path / name if path.is_dir() else path).read_text(encoding="utf-8"))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run", type=split, action="append", default=[], metavar="NAME=PATH")
    parser.add_argument("--rejected", type=split, action="append", default=[], metavar="NAME=PATH")
    parser.add_argument(
        "--forget", action="append", default=[], metavar="NAME", help="drop a run of the file"
    )
    parser.add_argument("--out", type=Path, default=Path("artifacts/oracle_training.json"))
    args = parser.parse_args()
    had = read(args.out, "") if args.out.exists() else {}
    runs = {name: read(path, "report.json") for name, path in args.run}
    runs |= {k: v for k, v in had.get("runs", {}).items() if k not in runs and k not in args.forget}
    rejected = dict(had.get("rejected", {}))
    rejected |= {name: read(path, "checks.json") for name, path in args.rejected}
    write_atomic(args.out, to_json({"schema": SCHEMA, "runs": runs, "rejected": rejected}))
    for name, run in runs.items():
        checks = run.get("grpo", {}).get("checks", [])
        print(f"{name}: {run['seconds']} s, {len(checks)} checks")


if __name__ == "__main__":
    main()
