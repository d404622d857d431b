"""`evgrid bench`: how fast the world is on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ev_grid_oracle.cli.options import City, Json
from ev_grid_oracle.cli.waiting import Waiting, load_simulator

app = typer.Typer(help="Measurements on this machine.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Measurements on this machine."""


@app.command("world", epilog="Example: evgrid bench world --json --no-compile")
def world(
    city: City = "bengaluru",
    envs: Annotated[int, typer.Option("--envs", min=1, max=4096, help="Environments of a batch.")] = 64,
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, max=100, help="Medians are over this many.")
    ] = 7,
    compile_too: Annotated[
        bool, typer.Option("--compile/--no-compile", help="Also time a first start, which takes a minute.")
    ] = True,
    scaling: Annotated[
        bool,
        typer.Option(
            "--scaling", help="Also 1 to 1,024 environments x 1 to 10 times the stations; takes some minutes."
        ),
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", help="Write the JSON to this file.")] = None,
    json: Json = False,
) -> None:
    """Ticks a second, copies, reset, settle, start: the reference evening under the baseline."""
    with Waiting("Measuring") as wait:
        load_simulator(wait)
        from ev_grid_oracle.city import load_city
        from ev_grid_oracle.evaluation.bench_scaling import bench_scaling
        from ev_grid_oracle.evaluation.bench_world import bench_world
        from ev_grid_oracle.evaluation.writing import check_writable, to_json, write_atomic

        pack = load_city(city)
        if out is not None:
            check_writable(out)
        figures = bench_world(pack, envs, repeats, compile_too, wait.say)
        if scaling:
            figures["scaling"] = bench_scaling(pack, say=wait.say)
        text = to_json(figures)
        if out is not None:
            write_atomic(out, text)
    if json:
        typer.echo(text, nl=False)
        return
    for key, value in figures.items():
        if isinstance(value, int | float):
            typer.echo(f"{key:36} {value:>14,.3f}".rstrip("0").rstrip("."))
    if scaling:
        _show_scaling(figures["scaling"])  # type: ignore[arg-type]
    if out is not None:
        typer.echo(f"Figures: {out}")


@app.command("integrity", epilog="Example: evgrid bench integrity --evaluations 60 --json")
def integrity(
    city: City = "bengaluru",
    evaluations: Annotated[
        int, typer.Option("--evaluations", min=1, max=20_000, help="Policies tried.")
    ] = 2000,
    evenings: Annotated[int, typer.Option("--evenings", min=1, max=100, help="Evenings a scenario.")] = 3,
    useless: Annotated[
        int,
        typer.Option(
            "--useless-evenings", min=0, max=1000, help="Evenings a scenario of the useless policies."
        ),
    ] = 60,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the search.")] = 0,
    seconds: Annotated[
        float, typer.Option("--seconds", min=1.0, help="Search at most about this long.")
    ] = 1e9,
    out: Annotated[Path | None, typer.Option("--out", help="Write the JSON to this file.")] = None,
    json: Json = False,
) -> None:
    """Can reward be had without merit? A search over policies, with and without the flags' penalty."""
    with Waiting("Searching") as wait:
        load_simulator(wait)
        from ev_grid_oracle.city import load_city
        from ev_grid_oracle.evaluation.bench_integrity import check
        from ev_grid_oracle.evaluation.provenance import provenance
        from ev_grid_oracle.evaluation.writing import check_writable, to_json, write_atomic

        pack = load_city(city)
        if out is not None:
            check_writable(out)
        wait.say("Playing policies")
        found = check(
            pack, evaluations, evenings, seed, seconds=seconds, say=wait.say, useless_evenings=useless
        )
        report = {"provenance": provenance(pack), **found}
        text = to_json(report)
        if out is not None:
            write_atomic(out, text)
    typer.echo(text if json else f"integrity {'holds' if report['passed'] else 'does not hold'}", nl=not json)
    if not report["passed"]:
        raise typer.Exit(1)


@app.command("server", epilog="Example: evgrid bench server --seconds 20 --json")
def server(
    sockets: Annotated[int, typer.Option("--sockets", min=1, max=1024, help="Clients on /ws.")] = 64,
    sessions: Annotated[int, typer.Option("--sessions", min=0, max=4096, help="HTTP sessions.")] = 200,
    seconds: Annotated[float, typer.Option("--seconds", min=1.0, max=3600.0, help="How long.")] = 120.0,
    out: Annotated[Path | None, typer.Option("--out", help="Write the JSON to this file.")] = None,
    json: Json = False,
) -> None:
    """A server of its own on this machine under load: latency, throughput, isolation, memory."""
    with Waiting("Loading the server") as wait:
        from ev_grid_oracle.evaluation.bench_server import bench_server
        from ev_grid_oracle.evaluation.writing import check_writable, to_json, write_atomic

        if out is not None:
            check_writable(out)
        figures = bench_server(sockets, sessions, seconds, say=wait.say)
        text = to_json(figures)
        if out is not None:
            write_atomic(out, text)
    typer.echo(text, nl=False)
    load = figures["load"]
    if load["errors"] or load["equal_to_twin"] != load["trajectories"]:  # type: ignore[index]
        raise typer.Exit(1)


def _show_scaling(scaling: dict[str, object]) -> None:
    typer.echo("envs  stations   us per env, station and tick: 48 at once, tick by tick")
    for point in scaling["points"]:  # type: ignore[attr-defined]
        typer.echo(
            f"{point['envs']:>4}  {point['stations']:>8}   {point['us_per_env_station_at_once']:.3f}  "
            f"{point['us_per_env_station_tick_by_tick']:.3f}"
        )
    for order, ratio in scaling["worst_over_fastest"].items():  # type: ignore[attr-defined]
        typer.echo(f"worst over fastest, {order}: {ratio:.2f}")
