"""`evgrid eval`: the JSON that other tools read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

SMALL = ("--city", "toy", "--episodes", "3", "--ticks", "6", "--seed", "7")


def test_json_schema(evgrid: Callable) -> None:
    done = evgrid("eval", *SMALL, "--policies", "baseline,greedy_counting", "--scenarios", "all", "--json")
    assert done.code == 0, done.err
    report = done.json
    assert report["schema"] == "evgrid.eval/1"
    assert [run["scenario"] for run in report["runs"]] == ["baseline", "station_outage"]
    run = report["runs"][0]
    assert run["paired_same_world"] is True
    assert set(run["policies"]) == {"baseline", "greedy_counting"}
    seeds = [e["episode_seed"] for e in run["per_episode"]]
    assert seeds == [int(np.random.SeedSequence(7, spawn_key=(n,)).generate_state(1)[0]) for n in range(3)]
    first = run["per_episode"][0]
    assert first["episode_index"] == 0
    for policy in ("baseline", "greedy_counting"):
        values = first["values"][policy]
        terms = [v for k, v in values.items() if k.startswith("reward/")]
        assert len(terms) == 9
        assert values["total_reward"] == pytest.approx(sum(terms), rel=1e-12)
        assert set(first["binary"][policy]) >= {
            "any_peak_violation", "any_anti_cheat", "any_critical_defer", "high_stress", "any_lost",
        }  # fmt: skip
        about = report["policies"][policy]
        assert about["acted"] == policy
        assert about["model_hash"] is None
        assert sum(about["source_counts"].values()) > 0
    requests = [
        e["values"][p]["requests"] for e in run["per_episode"] for p in ("baseline", "greedy_counting")
    ]
    assert requests[0::2] == requests[1::2]
    mean = run["policies"]["baseline"]["total_reward"]
    assert mean == pytest.approx(
        np.mean([e["values"]["baseline"]["total_reward"] for e in run["per_episode"]])
    )
    assert set(report["provenance"]) >= {"command", "commit", "city", "versions", "machine"}


def test_a_policy_against_itself_is_all_ties(evgrid: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORACLE_SKIP_LLM", "1")
    report = evgrid("eval", *SMALL, "--policies", "baseline,oracle", "--json").json
    assert report["policies"]["oracle"]["acted"] == "baseline"
    assert set(report["policies"]["oracle"]["source_counts"]) == {"skipped"}
    for difference in report["runs"][0]["differences"]["oracle"].values():
        assert difference["mean"] in (0.0, None)
        assert difference["wins"] == difference["losses"] == 0


def test_results_do_not_depend_on_threads_or_on_who_answers(evgrid: Callable) -> None:
    """Ten episodes are two blocks; random is played from observations, the rule inside the kernels."""
    argv = (
        "eval",
        "--city",
        "toy",
        "--episodes",
        "10",
        "--ticks",
        "4",
        "--policies",
        "random,greedy_counting",
        "--json",
    )
    one = evgrid(*argv).json
    two = evgrid(*argv, "--threads", "2").json
    assert one["runs"] == two["runs"]
    assert one["policies"] == two["policies"]


def test_report_file_and_table(evgrid: Callable, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "results.json"
    done = evgrid("eval", *SMALL, "--policies", "baseline,greedy_counting", "--out", out)
    assert done.code == 0, done.err
    assert "greedy_counting against baseline: scenario baseline, 3 paired episodes" in done.out
    assert "minutes_to_charged" in done.out
    assert json.loads(out.read_text())["episodes"] == 3
    alone = evgrid("eval", *SMALL, "--policies", "baseline")
    assert "mean of 3 episodes" in alone.out


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["--city", "atlantis"], "E_CITY"),
        (["--policies", "gredy"], "E_POLICY"),
        (["--policies", "baseline,baseline"], "E_OPTION"),
        (["--policies", ""], "E_OPTION"),
        (["--scenarios", "flood2"], "E_SCENARIO"),
        (["--seed", "-1"], "E_OPTION"),
        (["--episodes", "0"], "E_OPTION"),
        (["--ticks", "0"], "E_OPTION"),
        (["--threads", "0"], "E_OPTION"),
        (["--workers", "0"], "E_OPTION"),
        (["--block", "0"], "E_OPTION"),
        (["--series", "-1"], "E_OPTION"),
        (["--backend", "moon"], "E_OPTION"),
        (["--merge", "a", "--store", "b"], "E_OPTION"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_bad_options_are_usage(argv: list[str], code: str, evgrid: Callable, tmp_path: Path) -> None:
    out = tmp_path / "never.json"
    done = evgrid("eval", *SMALL, *argv, "--out", out, "--json")
    assert (done.code, done.out) == (2, "")
    assert code in done.err.splitlines()[-1]
    assert not out.exists()


def test_an_unwritable_place_is_named_before_the_work(evgrid: Callable, tmp_path: Path) -> None:
    done = evgrid("eval", *SMALL, "--out", tmp_path)
    assert done.code == 3
    assert "folder" in done.err


def test_store_merge_and_verify(evgrid: Callable, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="stores need the extra `scale`")
    for policy in ("baseline", "greedy_counting"):
        done = evgrid("eval", *SMALL, "--policies", policy, "--store", tmp_path / policy)
        assert done.code == 0, done.err
        assert f"evgrid verify {tmp_path / policy}" in done.out
    out = tmp_path / "both.json"
    done = evgrid(
        "eval", "--merge", tmp_path / "baseline", "--merge", tmp_path / "greedy_counting", "--out", out
    )
    assert done.code == 0, done.err
    assert "greedy_counting against baseline: scenario baseline, 3 paired episodes" in done.out
    together = evgrid("eval", *SMALL, "--policies", "baseline,greedy_counting", "--json").json
    merged = json.loads(out.read_text())
    for key in ("runs", "policies", "manifest", "receipts"):
        assert merged[key] == together[key], key
    true = evgrid("verify", out, "--all")
    assert true.code == 0, true.out
    assert "true; 6 of 6 rows there, 6 episodes played again" in true.out
    store = evgrid("verify", tmp_path / "baseline", "--sample", "2", "--json").json
    assert (store["ok"], store["rows"], store["by_receipt"], store["unchecked"]) == (True, 3, 2, 1)
    seed = merged["runs"][0]["per_episode"].pop(1)["episode_seed"]
    out.write_text(json.dumps(merged))
    false = evgrid("verify", out)
    assert false.code == 1
    assert f"The row baseline/{seed}/baseline is missing although the manifest has it." in false.out
    again = evgrid("eval", *SMALL, "--seed", "8", "--policies", "baseline", "--store", tmp_path / "baseline")
    assert (again.code, again.out) == (3, "")
    assert "other seed" in again.err


def test_verify_of_bad_input(evgrid: Callable, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    for argv in (["x.json"], [tmp_path], ["nothing.json"]):
        done = evgrid("verify", *argv)
        assert (done.code, done.out) == (3, "")
    assert evgrid("verify", "x.json", "--all", "--sample", "3").code == 2


def test_receipts_of_all_in_the_json(evgrid: Callable) -> None:
    some = evgrid("eval", *SMALL, "--policies", "baseline", "--json").json
    every = evgrid("eval", *SMALL, "--policies", "baseline", "--json", "--receipts", "--series", "1").json
    assert (len(some["receipts"]), len(every["receipts"])) == (2, 3)
    assert (len(some["runs"][0]["series"]), len(every["runs"][0]["series"])) == (3, 1)


def test_progress_says_how_long(evgrid: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 10**6, 3))
    monkeypatch.setattr("ev_grid_oracle.cli.evaluate.monotonic", lambda: float(next(clock)))
    monkeypatch.setattr("ev_grid_oracle.cli.waiting.monotonic", lambda: float(next(clock)))
    done = evgrid("eval", *SMALL, "--policies", "random")
    assert "ETA 0:" in done.err
