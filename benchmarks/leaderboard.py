"""The public leaderboard, made by one command.

    python benchmarks/leaderboard.py                     play the built-in policies on the frozen split, rewrite all rows
    python benchmarks/leaderboard.py --add result.json   add the policies of a result of evgrid eval, after a full check
    python benchmarks/leaderboard.py --page              only write docs/leaderboard.md again

Writes artifacts/leaderboard.json and docs/leaderboard.md. All rows are of one code: adding a result drops the rows of
an older code, and says so; a result of another code than the present one is refused.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path

from ev_grid_oracle.city import load_city
from ev_grid_oracle.evaluation.leaderboard import SCHEMA, EntryError, entries_of, merged, origin, told_of
from ev_grid_oracle.evaluation.leaderboard_page import page
from ev_grid_oracle.evaluation.leaderboard_split import SPLIT
from ev_grid_oracle.evaluation.receipts_read import read_claims
from ev_grid_oracle.evaluation.report import report
from ev_grid_oracle.evaluation.runner import Plan, evaluate
from ev_grid_oracle.evaluation.writing import to_json, write_atomic
from ev_grid_oracle.schema.errors import EVGridError

POLICIES = "baseline,greedy_counting,oracle,planner"


def play(policies: tuple[str, ...], work: Path, workers: int) -> Path:
    """A result of the split with all receipts, as `evgrid eval --receipts --out` writes it."""
    plan = Plan(
        load_city(SPLIT.city),
        policies,
        SPLIT.scenarios,
        SPLIT.episodes,
        SPLIT.seed,
        SPLIT.ticks,
        workers=workers,
        series=0,
    )
    last = [0]

    def told(name: str, ticks: int) -> None:
        last[0] += ticks
        if last[0] % 25_000 < ticks:
            print(f"{name}: {100 * last[0] // plan.total_ticks} %", flush=True)

    write_atomic(work, to_json(report(evaluate(plan, told, receipts=None), None)))
    return work


def stored(path: Path) -> list[Mapping[str, object]]:
    """Entries of the leaderboard's file; none without one."""
    if not path.exists():
        return []
    document = json.loads(path.read_text(encoding="utf-8"))
    if document.get("schema") != SCHEMA:
        raise EntryError(f"{str(path)!r} is no leaderboard.", "Name the file that this command wrote.")
    return list(document["entries"])


def run(args: argparse.Namespace) -> None:
    """Play or read, check, write."""
    old = stored(args.out) if args.add or args.page else []
    new = []
    if args.add or not args.page:
        result = args.add or play(tuple(args.policies.split(",")), args.work, args.workers)
        print(f"playing every episode of {result} again", flush=True)
        new = entries_of(read_claims(result))
    entries, dropped = merged(old, new)
    for sentence in told_of(dropped):
        print(sentence, flush=True)
    document = {
        "schema": SCHEMA, "split": SPLIT.__dict__, "entries": entries, "provenance": origin(entries),
    }  # fmt: skip
    write_atomic(args.out, to_json(document))
    write_atomic(args.doc, page(json.loads(args.out.read_text(encoding="utf-8"))["entries"]))
    print(args.doc.read_text(encoding="utf-8"))


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--add", type=Path, help="a result of evgrid eval on the split, with receipts")
    parser.add_argument("--page", action="store_true", help="only write the page")
    parser.add_argument(
        "--policies", default=POLICIES, help="built-in policies to play; the first is the baseline"
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument(
        "--work", type=Path, default=Path("runs/leaderboard.json"), help="where the played result goes"
    )
    parser.add_argument("--out", type=Path, default=Path("artifacts/leaderboard.json"))
    parser.add_argument("--doc", type=Path, default=Path("docs/leaderboard.md"))
    try:
        run(parser.parse_args())
    except EVGridError as error:
        sys.stderr.write(f"{error.code}: {error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
