"""`evgrid run`: one policy, one episode, one trace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ev_grid_oracle.cli.options import City, Json, Scenario, Seed, Ticks, complete_policy
from ev_grid_oracle.cli.waiting import Waiting, load_simulator

EXAMPLE = "Example: evgrid run --policy greedy_counting --seed 7 --scenario heatwave_peak --out run.evt"


def run(
    policy: Annotated[
        str, typer.Option("--policy", help="Who answers.", autocompletion=complete_policy)
    ] = "greedy_counting",
    seed: Seed = 0,
    scenario: Scenario = "baseline",
    ticks: Ticks = 48,
    city: City = "bengaluru",
    fleet_mode: Annotated[
        str, typer.Option("--fleet-mode", help="mixed, or the persona of every request.")
    ] = "mixed",
    start: Annotated[
        str | None, typer.Option("--start", help="HH:MM in city time, or ISO 8601 with a zone.")
    ] = None,
    day_type: Annotated[str | None, typer.Option("--day-type", help="weekday or sunday.")] = None,
    season: Annotated[
        str | None, typer.Option("--season", help="winter, summer, monsoon or post_monsoon.")
    ] = None,
    settle: Annotated[
        bool, typer.Option("--settle/--cut", help="Play the end out, or cut the episode.")
    ] = True,
    out: Annotated[Path, typer.Option("--out", help="The trace is written here.")] = Path("run.evt"),
    json: Json = False,
) -> None:
    """Play one episode and save its trace, a receipt that `evgrid verify` can check."""
    with Waiting("Playing") as wait:
        load_simulator(wait)
        from ev_grid_oracle.city import load_city
        from ev_grid_oracle.episode.options import resolve
        from ev_grid_oracle.episode.session import Session
        from ev_grid_oracle.evaluation.evening import play_evening
        from ev_grid_oracle.evaluation.values import trace_values
        from ev_grid_oracle.evaluation.writing import check_writable, to_json
        from ev_grid_oracle.policies.registry import make_policy

        pack = load_city(city)
        who = make_policy(policy)
        options: dict[str, object] = {
            "seed": seed,
            "scenario": scenario,
            "ticks": ticks,
            "fleet_mode": fleet_mode,
            "start": start,
            "day_type": day_type,
            "season": season,
            "settle": settle,
        }
        resolve(pack, **options)
        check_writable(out)
        wait.expect(ticks)
        session = Session(pack)
        play_evening(session, who, lambda done: wait.advance(done, policy), **options)
        trace = session.trace
        out.parent.mkdir(parents=True, exist_ok=True)
        trace.save(out)
    values = trace_values(trace, pack)
    if json:
        document = {
            "schema": "evgrid.run/1",
            "policy": who.name,
            "trace": str(out),
            "ticks": len(trace),
            "digest": session.digest(),
            "values": values,
            "header": trace.header,
        }
        typer.echo(to_json(document), nl=False)
        return
    from ev_grid_oracle.cli.show import console, values_table

    console().print(values_table(f"{policy}: {scenario}, seed {seed}, {len(trace)} ticks", values))
    typer.echo(f"Trace: {out}   digest {session.digest()}")
    typer.echo(f"Next: evgrid verify {out}   or: evgrid replay {out}")
