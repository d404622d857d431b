"""A city of 40 stations, made from `toy`: for what a trained policy does in a city that it never saw.

    python benchmarks/oracle_city.py runs/forty

Writes a pack: ten times toy's stations, feeders and demand on toy's roads, with other ids and places, twenty feeders
behind one substation. It stands for no place; it is a pack that `check_city` accepts.
"""

from __future__ import annotations

import argparse
import csv
import shutil
from pathlib import Path

from ev_grid_oracle.city.load import DATA
from ev_grid_oracle.testing.city import check_city

TIMES = 10
"""Copies of toy's four stations and two feeders."""
NODE_STEP = 11
"""Copied stations stand at every eleventh node in turn, so that they spread over the town."""
OFF_NODE_DEG = 0.0008
"""And this much (90 m) beside it."""
ID_COLUMNS = {
    "stations.csv": ("station_id", "slug", "name", "feeder", "bus"),
    "feeders.csv": ("feeder_id", "name"),
    "buses.csv": ("bus_id", "feeder", "parent"),
}
Rows = list[dict[str, str]]


def _read(path: Path) -> Rows:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _write(path: Path, rows: Rows) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _renamed(value: str, copy: int) -> str:
    """`value` in copy `copy`; the first keeps toy's names, which its scenarios use, and the source is one."""
    if copy == 0 or value == "SOURCE":
        return value
    head, dash, tail = value.partition("-")
    if value.startswith("T0"):  # T01, T01-B2
        return f"T{int(head[1:]) + 2 * copy:02d}{dash}{tail}"
    if value.startswith("TOY-"):
        return f"{value}{copy}"
    return f"{value}_{copy}" if value.islower() else f"{value} {copy}"


def write_city(folder: Path) -> Path:
    """Write the pack into `folder` (new or empty of a pack) and check it.

    Raises:
        PackError: toy has changed so much that the copies are no city.
    """
    shutil.copytree(DATA / "toy", folder, dirs_exist_ok=True)
    nodes = _read(folder / "nodes.csv")
    for file, columns in ID_COLUMNS.items():
        rows = _read(folder / file)
        made: Rows = []
        for copy in range(TIMES):
            for row in rows:
                other = {k: _renamed(v, copy) if k in columns else v for k, v in row.items()}
                if file == "stations.csv" and copy:
                    node = nodes[len(made) * NODE_STEP % len(nodes)]
                    for axis in ("lat", "lon"):
                        other[axis] = f"{float(node[axis]) + OFF_NODE_DEG:.4f}"
                made.append(other)
        _write(folder / file, made)
    substations = _read(folder / "substations.csv")
    for row in substations:
        row["mva"] = str(int(row["mva"]) * TIMES)
    _write(folder / "substations.csv", substations)
    path = folder / "manifest.toml"
    text = path.read_text(encoding="utf-8")
    for old, new in (
        ('id = "toy"', 'id = "forty"'),
        ('name = "Toytown"', 'name = "Fortytown"'),
        ("requests_per_tick = 0.8", f"requests_per_tick = {0.8 * TIMES:g}"),
        ("walkins_per_tick = 1.6", f"walkins_per_tick = {1.6 * TIMES:g}"),
        ("max_cars = 256", "max_cars = 2048"),
    ):
        if text.count(old) != 1:
            raise ValueError(f"toy's manifest no longer says {old!r} once.")
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    check_city(folder)
    return folder


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    print(write_city(parser.parse_args().folder))


if __name__ == "__main__":
    main()
