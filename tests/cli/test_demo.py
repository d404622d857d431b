"""`evgrid demo`: table, report, traces, the next command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ev_grid_oracle.cli.demo import new_folder

SMALL = ("--city", "toy", "--episodes", "2", "--ticks", "6")


def test_demo_writes_what_it_names(evgrid: Callable, tmp_path: Path) -> None:
    done = evgrid("demo", *SMALL, "--policies", "baseline,greedy_counting", "--out", "here")
    assert done.code == 0, done.err
    assert "greedy_counting against baseline: scenario baseline, 2 paired episodes" in done.out
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


def test_demos_of_one_second_take_folders_of_their_own(tmp_path: Path) -> None:
    with new_folder(tmp_path / "runs") as first, new_folder(tmp_path / "runs") as second:
        assert first != second
        (second / "report.json").write_text("{}")
    assert list((tmp_path / "runs").iterdir()) == [second]


def test_a_stopped_demo_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "runs"):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_the_planner_is_in_the_demo(evgrid: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORACLE_SKIP_LLM", "1")  # no model: oracle would repeat the baseline's column
    done = evgrid("demo", "--city", "toy", "--episodes", "1", "--ticks", "3", "--json")
    assert done.code == 0, done.err
    document = done.json
    assert set(document["runs"][0]["policies"]) == {"baseline", "greedy_counting", "planner"}
    assert set(document["policies"]["planner"]["source_counts"]) == {"planner"}


def test_the_oracle_stands_in_the_first_table_with_its_badge(
    evgrid: Callable, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("onnxruntime", "tokenizers"):
        pytest.importorskip(name, reason="needs the extra `oracle`")
    for name in ("ORACLE_SKIP_LLM", "ORACLE_LORA_REPO"):
        monkeypatch.delenv(name, raising=False)
    done = evgrid("demo", "--city", "toy", "--episodes", "2", "--ticks", "12", "--out", "here")
    assert done.code == 0, done.err
    report = json.loads((tmp_path / "here" / "report.json").read_text())
    assert list(report["runs"][0]["policies"]) == ["baseline", "greedy_counting", "oracle", "planner"]
    ours = report["policies"]["oracle"]
    assert ours["acted"] == ours["headline"] == "oracle" and ours["fallback_decisions"] == 0
    assert set(ours["source_counts"]) == {"llm"} and ours["source_counts"]["llm"] > 10
    assert "oracle against baseline: scenario baseline, 2 paired episodes" in done.out
    badge = f"oracle: decisions {ours['source_counts']['llm']} by llm; model {ours['model_hash']}"
    assert badge in done.out
    assert evgrid("verify", Path(report["traces"]["oracle"])).code == 0


def test_a_policy_that_another_one_plays_says_so(evgrid: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORACLE_SKIP_LLM", "1")
    done = evgrid("demo", *SMALL, "--policies", "baseline,oracle", "--out", "here")
    assert done.code == 0, done.err
    (badge,) = (line for line in done.out.splitlines() if line.startswith("oracle (baseline): "))
    assert badge.endswith(" by skipped")


def test_nothing_is_left_of_a_demo_that_cannot_be(evgrid: Callable, tmp_path: Path) -> None:
    assert evgrid("demo", *SMALL, "--scenario", "flood2").code == 2
    assert evgrid("demo", *SMALL, "--policies", "gredy").code == 2
    assert list(tmp_path.iterdir()) == []
