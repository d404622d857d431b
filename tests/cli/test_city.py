"""`evgrid city`."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from ev_grid_oracle.city.load import DATA


def test_list(evgrid: Callable) -> None:
    done = evgrid("city", "list", "--json")
    assert done.code == 0
    cities = {c["id"]: c for c in done.json}
    assert cities["bengaluru"]["stations"] == 25
    assert len(cities["bengaluru"]["scenarios"]) == 11
    assert evgrid("city", "list").out.startswith("bengaluru: ")


def test_info(evgrid: Callable) -> None:
    facts = evgrid("city", "info", "toy", "--json").json
    assert facts["id"] == "toy"
    assert len(facts["station_list"]) == facts["stations"]
    assert len(facts["sha256"]) == 64
    assert facts["station_list"][0]["id"] in evgrid("city", "info", "toy").out


def test_unknown_city_is_usage(evgrid: Callable) -> None:
    done = evgrid("city", "info", "atlantis")
    assert done.code == 2
    assert "E_CITY" in done.err and "bengaluru" in done.err


def test_validate(evgrid: Callable, tmp_path: Path) -> None:
    done = evgrid("city", "validate", DATA / "toy", "--json")
    assert (done.code, done.json["ok"], done.json["faults"]) == (0, True, [])
    pack = tmp_path / "pack"
    shutil.copytree(DATA / "toy", pack)
    text = (pack / "vehicles.csv").read_text().splitlines()
    (pack / "vehicles.csv").write_text("\n".join([*text, text[-1]]) + "\n")
    done = evgrid("city", "validate", pack, "--json")
    assert done.code == 1
    assert done.json["faults"][0]["table"] == "vehicles.csv"
    plain = evgrid("city", "validate", pack)
    assert plain.code == 1
    assert "vehicles.csv:" in plain.out


def test_validate_what_is_no_folder_is_bad_input(evgrid: Callable) -> None:
    done = evgrid("city", "validate", "nowhere")
    assert (done.code, done.out) == (3, "")
    assert "E_PACK" in done.err
