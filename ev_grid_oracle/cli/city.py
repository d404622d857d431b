"""`evgrid city`: which cities there are, what is in one, and whether a pack holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ev_grid_oracle.cli.options import Json, complete_city
from ev_grid_oracle.schema.errors import PackError

if TYPE_CHECKING:
    from ev_grid_oracle.city.model import CityPack

app = typer.Typer(help="Cities: list, look into, validate.", no_args_is_help=True)

Name = Annotated[
    str, typer.Argument(help="A city by name, or the folder of a pack.", autocompletion=complete_city)
]


def _facts(pack: CityPack) -> dict[str, object]:
    return {
        "id": pack.id,
        "name": pack.name,
        "discom": pack.discom,
        "sha256": pack.sha256,
        "stations": len(pack.stations.ids),
        "slots": int(pack.stations.slots.sum()),
        "feeders": len(pack.grid.feeder_ids),
        "buses": len(pack.grid.bus_ids),
        "road_nodes": len(pack.roads.node_lat),
        "road_links": len(pack.roads.link_from),
        "zones": len(pack.zones.ids),
        "scenarios": [s.name for s in pack.scenarios],
    }


@app.command("list", epilog="Example: evgrid city list --json")
def list_cities(json: Json = False) -> None:
    """The cities that come with the package."""
    from ev_grid_oracle.city import list_cities, load_city
    from ev_grid_oracle.evaluation.writing import to_json

    found = [_facts(load_city(name)) for name in list_cities()]
    if json:
        typer.echo(to_json(found), nl=False)
        return
    for city in found:
        typer.echo(
            f"{city['id']}: {city['name']}, {city['stations']} stations with {city['slots']} slots, "
            f"{city['feeders']} feeders, {len(city['scenarios'])} scenarios"  # type: ignore[arg-type]
        )


@app.command("info", epilog="Example: evgrid city info bengaluru")
def info(name: Name = "bengaluru", json: Json = False) -> None:
    """Stations, feeders and scenarios of a city."""
    from ev_grid_oracle.city import load_city
    from ev_grid_oracle.evaluation.writing import to_json

    pack = load_city(name)
    st = pack.stations
    facts = _facts(pack)
    if json:
        facts["scenarios"] = [
            {
                "name": s.name,
                "sentence": s.sentence,
                "start": s.start,
                "day_type": s.day_type,
                "season": s.season,
            }
            for s in pack.scenarios
        ]
        facts["station_list"] = [
            {
                "id": st.ids[s],
                "name": st.names[s],
                "lat": st.lat[s],
                "lon": st.lon[s],
                "slots": st.slots[s],
                "site_limit_kw": st.site_limit_kw[s],
                "feeder": pack.grid.feeder_ids[int(st.feeder[s])],
            }
            for s in range(len(st.ids))
        ]
        typer.echo(to_json(facts), nl=False)
        return
    for key, value in facts.items():
        if key != "scenarios":
            typer.echo(f"{key}: {value}")
    for s in range(len(st.ids)):
        feeder = pack.grid.feeder_ids[int(st.feeder[s])]
        typer.echo(f"  {st.ids[s]}  {st.names[s]}, {int(st.slots[s])} slots, feeder {feeder}")
    for scenario in pack.scenarios:
        typer.echo(f"  {scenario.name}: {scenario.sentence}")


@app.command("validate", epilog="Example: evgrid city validate my-pack")
def validate(path: Annotated[Path, typer.Argument(help="Folder of the pack.")], json: Json = False) -> None:
    """List every fault of a pack; exit code 1 if there is one."""
    from ev_grid_oracle.city.validate import validate_pack
    from ev_grid_oracle.evaluation.writing import to_json

    if not path.is_dir():
        raise PackError(f"There is no folder {str(path)!r}.", "A pack is a folder of tables.")
    faults = validate_pack(path)
    if json:
        keys = ("code", "table", "column", "row", "message", "cure")
        rows = [{key: getattr(fault, key) for key in keys} for fault in faults]
        typer.echo(to_json({"path": str(path), "ok": not faults, "faults": rows}), nl=False)
    else:
        for fault in faults:
            typer.echo(str(fault))
        typer.echo(f"{len(faults)} faults." if faults else f"{path} holds: no fault found.")
    if faults:
        raise typer.Exit(1)
