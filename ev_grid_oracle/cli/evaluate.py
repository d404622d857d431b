"""`evgrid eval`: policies against each other on the same worlds."""

from __future__ import annotations

from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from ev_grid_oracle.cli.options import (
    City,
    Json,
    Seed,
    Threads,
    Ticks,
    complete_policy,
    complete_scenario,
    listed,
)
from ev_grid_oracle.cli.waiting import EVERY_S, Waiting, load_simulator
from ev_grid_oracle.schema.errors import OptionError

if TYPE_CHECKING:
    from ev_grid_oracle.evaluation.runner import Evaluation

EXAMPLE = (
    "Example: evgrid eval --policies baseline,planner --scenarios all --episodes 100 --store runs/x "
    "--out results.json"
)
_BACKENDS = ("local", "ray")


def evaluate(
    policies: Annotated[
        str,
        typer.Option(
            "--policies", help="Comma-separated; the first is the reference.", autocompletion=complete_policy
        ),
    ] = "baseline,greedy_counting",
    scenarios: Annotated[
        str,
        typer.Option("--scenarios", help="Comma-separated, or all.", autocompletion=complete_scenario),
    ] = "baseline",
    episodes: Annotated[int, typer.Option("--episodes", help="Episodes for each scenario and policy.")] = 20,
    seed: Seed = 1,
    ticks: Ticks = 48,
    city: City = "bengaluru",
    threads: Threads = 1,
    workers: Annotated[
        int,
        typer.Option(
            "--workers", help="Processes, or processors of a Ray cluster; results do not depend on it."
        ),
    ] = 1,
    backend: Annotated[
        str,
        typer.Option("--backend", help="local or ray.", autocompletion=lambda: list(_BACKENDS)),
    ] = "local",
    store: Annotated[
        Path | None,
        typer.Option("--store", help="Folder of Parquet files; a run that was stopped goes on from there."),
    ] = None,
    merge: Annotated[
        list[Path] | None,
        typer.Option(
            "--merge", help="Report what these stores hold together and play nothing; may be repeated."
        ),
    ] = None,
    receipts: Annotated[
        bool,
        typer.Option(
            "--receipts", help="Answers and digests of every episode in the JSON, not of two a scenario."
        ),
    ] = False,
    series: Annotated[
        int, typer.Option("--series", help="Episodes of each scenario whose state is kept tick by tick.")
    ] = 8,
    block: Annotated[
        int, typer.Option("--block", help="Episodes played side by side; one part of a store.")
    ] = 16,
    out: Annotated[Path | None, typer.Option("--out", help="Write the JSON report to this file.")] = None,
    json: Json = False,
) -> None:
    """Paired evaluation: every policy plays the same worlds; tables, and a JSON report with --out."""
    with _Progress("Evaluating") as wait:
        load_simulator(wait)
        from ev_grid_oracle.city import load_city
        from ev_grid_oracle.evaluation.report import RECEIPTS, report
        from ev_grid_oracle.evaluation.runner import Plan
        from ev_grid_oracle.evaluation.runner import evaluate as play
        from ev_grid_oracle.evaluation.writing import check_writable, to_json, write_atomic

        kept = None if receipts else RECEIPTS
        if out is not None:
            check_writable(out)
        if merge:
            if store is not None:
                raise OptionError("--merge plays nothing, so it takes no --store.", "Give one of the two.")
            from ev_grid_oracle.evaluation.store_merge import merged

            wait.say("reading the stores")
            result = merged(merge, None if city == "bengaluru" else city, kept)
        else:
            pack = load_city(city)
            everything = tuple(s.name for s in pack.scenarios)
            plan = Plan(
                pack, listed(policies), listed(scenarios, everything), episodes, seed, ticks, threads,
                workers=workers, backend=backend, block=block, series=series,
            )  # fmt: skip
            place = None
            if store is not None:
                from ev_grid_oracle.evaluation.store import Store

                place = Store(store)
            wait.expect(plan.total_ticks)
            result = play(plan, wait.told, place, kept)
        wait.say("writing the report")
        text = to_json(report(result, kept)) if out is not None or json else ""
        if out is not None:
            write_atomic(out, text)
    if json:
        typer.echo(text, nl=False)
        return
    _show(result)
    if store is not None:
        typer.echo(f"Store: {store}   next: evgrid verify {store}")
    if out is not None:
        typer.echo(f"Report: {out}")


def _show(result: Evaluation) -> None:
    """Tables, and what acted where that is not the policy that was asked for."""
    from ev_grid_oracle.cli.show import comparison, console, values_table

    screen, plan = console(), result.plan
    reference = plan.policies[0]
    for run in result.runs:
        if len(plan.policies) == 1:
            title = f"{reference}: {run.scenario}, mean of {plan.episodes} episodes"
            screen.print(values_table(title, run.means(reference)))
        for policy in plan.policies[1:]:
            screen.print(comparison(run, policy, reference))
    for policy, counts in result.sources.items():
        total = sum(counts.values())
        fell = sum(counts.get(s, 0) for s in ("fallback", "timeout"))
        if fell:
            typer.echo(f"{policy}: {fell} of {total} decisions by fallback ({100.0 * fell / total:.1f} %).")
        if result.acted[policy] != policy:
            typer.echo(f"{policy}: {result.acted[policy]} acted, source {', '.join(counts) or 'none'}.")


class _Progress(Waiting):
    """A wait that also says how long it will still take."""

    def __enter__(self) -> _Progress:
        super().__enter__()
        self._begun = monotonic()
        self._told = 0.0
        if self._bar is not None:
            from rich.progress import (
                BarColumn,
                SpinnerColumn,
                TaskProgressColumn,
                TextColumn,
                TimeElapsedColumn,
            )
            from rich.progress import TimeRemainingColumn as Remaining

            self._bar.columns = (
                SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(),
                TimeElapsedColumn(), TextColumn("ETA"), Remaining(),
            )  # fmt: skip
        return self

    def told(self, name: str, ticks: int) -> None:
        """Episode-ticks that `name` has played, or that a store already held: those are no work."""
        from ev_grid_oracle.evaluation.runner import ALREADY

        if name == ALREADY:
            self.expect((self.total or ticks) - ticks)
            return
        if self._told == 0.0:
            self._begun = monotonic()
        self._told += ticks
        self.advance(ticks, f"{name}{self._eta()}")

    def _eta(self) -> str:
        """Time left, in the lines of a log; a bar has a column of its own."""
        spent = monotonic() - self._begun
        if self._bar is not None or not self.total or spent < EVERY_S:
            return ""
        left = max(self.total - self._told, 0.0) * spent / self._told
        return f", ETA {int(left) // 60}:{int(left) % 60:02d}"
