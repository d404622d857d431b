"""`evgrid demo`: table, report, traces, the next command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

SMALL = ("--city", "toy", "--episodes", "2", "--ticks", "6")


def test_demo_writes_what_it_names(evgrid: Callable, tmp_path: Path) -> None:
    done = evgrid("demo", *SMALL, "--policies", "baseline,greedy_counting", "--out", "here")
    assert done.code == 0, done.err
    assert "greedy_counting against baseline: baseline, 2 paired episodes" in done.out
    assert "w/t/l" in done.out
    report = json.loads((tmp_path / "here" / "report.json").read_text())
    assert report["schema"] == "evgrid.eval/1"
    for policy in ("baseline", "greedy_counting"):
        path = Path(report["traces"][policy])
        assert path.exists()
        assert evgrid("verify", path).code == 0
    assert "Next: evgrid verify here/greedy_counting.evt" in done.out


def test_demo_json_and_default_folder(evgrid: Callable, tmp_path: Path) -> None:
    done = evgrid("demo", *SMALL, "--policies", "baseline,nearest", "--scenario", "station_outage", "--json")
    assert done.code == 0, done.err
    document = done.json
    assert document["runs"][0]["scenario"] == "station_outage"
    assert set(document["runs"][0]["differences"]) == {"nearest"}
    (folder,) = (tmp_path / "runs").iterdir()
    assert folder.name.startswith("demo-")
    assert json.loads((folder / "report.json").read_text()) == document


def test_the_planner_is_in_the_demo(evgrid: Callable) -> None:
    done = evgrid("demo", "--city", "toy", "--episodes", "1", "--ticks", "3", "--json")
    assert done.code == 0, done.err
    document = done.json
    assert set(document["runs"][0]["policies"]) == {"baseline", "greedy_counting", "planner"}
    assert set(document["policies"]["planner"]["source_counts"]) == {"planner"}


def test_nothing_is_left_of_a_demo_that_cannot_be(evgrid: Callable, tmp_path: Path) -> None:
    assert evgrid("demo", *SMALL, "--scenario", "flood2").code == 2
    assert evgrid("demo", *SMALL, "--policies", "gredy").code == 2
    assert list(tmp_path.iterdir()) == []
