"""What `training/evaluate.py` and `tools/write_eval_snapshot.py` do: baseline against oracle, in the flat form."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ev_grid_oracle.schema.errors import EVGridError

STOPPED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Command line of the flat evaluation; returns the exit code."""
    parser = argparse.ArgumentParser(
        description="Paired evaluation of baseline and oracle on the same worlds, as one flat JSON.",
        epilog="Example: python training/evaluate.py --episodes 72 --seed 7 --scenario baseline "
        "--out training/eval_results.json",
    )
    parser.add_argument("--episodes", type=int, default=72)
    parser.add_argument("--seed", type=int, default=7, help="of the evaluation, 0 to 4294967295")
    parser.add_argument("--scenario", default="baseline")
    parser.add_argument("--ticks", type=int, default=48, help="length of an episode, in ticks of 5 minutes")
    parser.add_argument("--city", default="bengaluru")
    parser.add_argument(
        "--threads", type=int, default=0, help="results do not depend on it; 0: all processors"
    )
    parser.add_argument("--workers", type=int, default=1, help="processes; results do not depend on it")
    parser.add_argument(
        "--store", type=Path, help="folder of finished episodes; a stopped run goes on from there"
    )
    parser.add_argument(
        "--receipts", action="store_true", help="answers and digests of every episode, not of two"
    )
    parser.add_argument("--out", type=Path, default=Path("training/eval_results.json"))
    args = parser.parse_args(argv)
    return guarded(lambda: evaluate_flat(args))


def guarded(work: Callable[[], None]) -> int:
    """Call `work`; an error of the library is one line and its exit code, never a traceback."""
    try:
        work()
    except EVGridError as error:
        sys.stderr.write(f"{error.code}: {error}\n")
        return error.exit_code
    except KeyboardInterrupt:
        sys.stderr.write("stopped.\n")
        return STOPPED
    return 0


def evaluate_flat(args: argparse.Namespace) -> None:
    """Play what `args` say, write the flat form and print what came of it."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from ev_grid_oracle.city import load_city
    from ev_grid_oracle.evaluation.flat import POLICIES, write_flat
    from ev_grid_oracle.evaluation.provenance import cores
    from ev_grid_oracle.evaluation.report import RECEIPTS, policies_of
    from ev_grid_oracle.evaluation.runner import Plan, evaluate
    from ev_grid_oracle.evaluation.store import Store
    from ev_grid_oracle.evaluation.writing import check_writable

    check_writable(args.out)
    plan = Plan(
        load_city(args.city), POLICIES, (args.scenario,), args.episodes, args.seed, args.ticks,
        args.threads or cores(), workers=args.workers,
    )  # fmt: skip
    receipts = None if args.receipts else RECEIPTS
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(),
               TextColumn("ETA"), TimeRemainingColumn())  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("evaluating", total=plan.total_ticks)
        result = evaluate(
            plan,
            lambda name, ticks: bar.update(task, advance=ticks, description=name),
            None if args.store is None else Store(args.store),
            receipts,
        )
    write_flat(result, args.out, receipts)
    for name, about in policies_of(result).items():
        print(f"{name}: {about['acted']} acted, decisions {about['source_counts']}")
    run = result.runs[0]
    for key in ("minutes_to_charged", "lost", "overload_kva_min", "composite_car_minutes", "total_reward"):
        d = run.differences("oracle", "baseline")[key]
        if d.mean is not None:
            span = "" if d.low is None else f" [{d.low:.4g}, {d.high:.4g}]"
            print(
                f"{key}: oracle - baseline {d.mean:.4g}{span}, wins/ties/losses {d.wins}/{d.ties}/{d.losses}"
            )
    print(f"{args.out}: {plan.episodes} paired episodes, paired_same_world {run.paired_same_world}")


def snapshot(argv: Sequence[str] | None = None) -> int:
    """A small evaluation without a language model, from fixed seeds, for people who look before they install."""
    parser = argparse.ArgumentParser(
        description="Write artifacts/eval_snapshot.json without a language model."
    )
    parser.add_argument("--episodes", type=int, default=24)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path("artifacts/eval_snapshot.json"))
    args = parser.parse_args(argv)
    return guarded(lambda: _snapshot(args))


def _snapshot(args: argparse.Namespace) -> None:
    from ev_grid_oracle.city import load_city
    from ev_grid_oracle.evaluation.provenance import cores
    from ev_grid_oracle.evaluation.report import report
    from ev_grid_oracle.evaluation.runner import Plan, evaluate
    from ev_grid_oracle.evaluation.writing import check_writable, to_json, write_atomic

    check_writable(args.out)
    names = ("baseline", "greedy_counting", "planner")
    plan = Plan(
        load_city("bengaluru"), names, ("baseline",), args.episodes, args.seed, threads=cores(), series=2
    )
    result = evaluate(plan)
    write_atomic(args.out, to_json(report(result, 1)))
    print(f"{args.out}: {', '.join(names)}, {args.episodes} paired evenings, no language model")
