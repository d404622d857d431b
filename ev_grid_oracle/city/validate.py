"""`validate_pack`: all faults of a pack at once, never an exception."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ev_grid_oracle.city.checks_demand import check_demand
from ev_grid_oracle.city.checks_fleet import check_fleet
from ev_grid_oracle.city.checks_grid import check_grid
from ev_grid_oracle.city.checks_provenance import check_provenance
from ev_grid_oracle.city.checks_roads import check_roads
from ev_grid_oracle.city.checks_scenarios import Raw, read_scenarios
from ev_grid_oracle.city.checks_stations import check_stations
from ev_grid_oracle.city.faults import Fault, Sink
from ev_grid_oracle.city.manifest import Manifest, read_manifest
from ev_grid_oracle.city.spec import TABLES
from ev_grid_oracle.city.tables import Table, read_table
from ev_grid_oracle.city.targets import TargetIndex, build_index


@dataclass(frozen=True)
class PackTables:
    """A pack as read: what the builders assemble once there is no fault."""

    folder: Path
    manifest: Manifest | None
    tables: dict[str, Table]
    scenarios: dict[str, Raw]
    targets: TargetIndex


def read_pack(folder: Path) -> tuple[PackTables, tuple[Fault, ...]]:
    """Read every file of the pack and check it, alone and against the others."""
    sink = Sink()
    if not folder.is_dir():
        sink.add(
            "P_MISSING_FILE", folder.name, "", 0, "There is no such folder.", "A pack is a folder of tables."
        )
        return PackTables(folder, None, {}, {}, TargetIndex()), sink.result()
    manifest = read_manifest(folder, sink)
    tables: dict[str, Table] = {}
    for spec in TABLES.values():
        path = folder / spec.file
        if spec.optional and not path.exists():
            continue
        t = read_table(path, spec, sink)
        if t is not None:
            tables[spec.file] = t
    for path in sorted(folder.glob("*")):
        if path.suffix in (".csv", ".toml") and path.name not in TABLES and path.name != "manifest.toml":
            sink.add(
                "P_UNKNOWN_TABLE", path.name, "", 0, "This table is not known.", "Remove it or mend its name."
            )
    check_stations(tables, manifest, sink)
    check_fleet(tables, sink)
    check_grid(tables, manifest, sink)
    check_roads(tables, manifest, sink)
    check_demand(tables, sink)
    targets = build_index(tables)
    scenarios = read_scenarios(folder, targets, sink)
    check_provenance(tables, scenarios, sink)
    return PackTables(folder, manifest, tables, scenarios, targets), sink.result()


def validate_pack(path: str | Path) -> tuple[Fault, ...]:
    """Every fault of the pack in folder `path`; an empty tuple means that it loads."""
    return read_pack(Path(path))[1]
