"""`load_city`: a checked, hashed, immutable city by name or by folder."""

from __future__ import annotations

from dataclasses import fields
from functools import lru_cache
from pathlib import Path

from ev_grid_oracle.city.build_demand import build_profiles
from ev_grid_oracle.city.build_fleet import build_personas, build_vehicles
from ev_grid_oracle.city.build_grid import build_grid
from ev_grid_oracle.city.build_roads import build_roads, build_zones
from ev_grid_oracle.city.build_scenarios import build_scenarios
from ev_grid_oracle.city.build_stations import build_stations
from ev_grid_oracle.city.hash import pack_hash
from ev_grid_oracle.city.manifest import Manifest
from ev_grid_oracle.city.model import CityPack, Constants
from ev_grid_oracle.city.validate import PackTables, read_pack
from ev_grid_oracle.schema.errors import PackError, UnknownCityError

DATA = Path(__file__).parent / "data"


def list_cities() -> tuple[str, ...]:
    """Names of the packs that come with the package."""
    return tuple(sorted(p.parent.name for p in DATA.glob("*/manifest.toml")))


def load_city(name_or_path: str | Path = "bengaluru") -> CityPack:
    """The city called `name_or_path`, or the one in that folder; loaded once per process.

    Raises:
        UnknownCityError: neither a known name nor a folder.
        PackError: the pack does not hold; the message lists every fault.
    """
    known = list_cities()
    if str(name_or_path) in known:
        return _load(str(DATA / str(name_or_path)))
    folder = Path(name_or_path)
    if not folder.is_dir():
        raise UnknownCityError(
            f"There is no city {str(name_or_path)!r}.", f"Known: {', '.join(known)}, or a folder."
        )
    return _load(str(folder.resolve()))


@lru_cache(maxsize=16)
def _load(folder: str) -> CityPack:
    parts, faults = read_pack(Path(folder))
    if faults:
        lines = "\n".join(f"  {f}" for f in faults)
        raise PackError(f"The city pack {Path(folder).name!r} has {len(faults)} faults:\n{lines}")
    return assemble(parts)


def _constants(m: Manifest) -> Constants:
    """Every field of `Constants` is a key of the manifest of the same name."""
    values: dict[str, object] = {}
    for f in fields(Constants):
        if f.type == "int":
            values[f.name] = m.i(f.name)
        elif f.type == "float":
            values[f.name] = m.f(f.name)
        else:
            values[f.name] = m.ints(f.name)
    return Constants(**values)  # type: ignore[arg-type]


def assemble(parts: PackTables) -> CityPack:
    """Arrays from tables without a fault."""
    t, m = parts.tables, parts.manifest
    assert m is not None
    zones = build_zones(t["zones.csv"], t["nodes.csv"])
    roads = build_roads(
        *(t[f"{n}.csv"] for n in ("zones", "nodes", "links", "corridors", "congestion", "speeds"))
    )
    grid = build_grid(m, *(t[f"{n}.csv"] for n in ("substations", "conductors", "feeders", "buses")))
    stations = build_stations(t["stations.csv"], roads, grid)
    vehicles = build_vehicles(t["vehicles.csv"])
    personas = build_personas(t["personas.csv"], t["persona_vehicles.csv"], t["vehicles.csv"])
    return CityPack(
        id=m.s("id"),
        name=m.s("name"),
        discom=m.s("discom"),
        timezone=m.s("timezone"),
        timezone_offset_min=m.i("timezone_offset_min"),
        default_start=m.s("start"),
        default_day_type=m.s("day_type"),
        default_season=m.s("season"),
        bbox=(m.f("lat_min"), m.f("lat_max"), m.f("lon_min"), m.f("lon_max")),
        path=parts.folder,
        sha256=pack_hash(parts.folder),
        stations=stations,
        vehicles=vehicles,
        personas=personas,
        zones=zones,
        roads=roads,
        grid=grid,
        profiles=build_profiles(t, m, roads, zones, stations, personas, vehicles),
        constants=_constants(m),
        scenarios=build_scenarios(parts.scenarios, parts.targets),
    )
