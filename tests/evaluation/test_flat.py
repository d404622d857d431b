"""`training/evaluate.py` and the snapshot: the flat form as the contract writes it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ev_grid_oracle.evaluation.flat_command import main, snapshot
from ev_grid_oracle.evaluation.seeds import episode_seeds
from ev_grid_oracle.reward.terms import TERM_NAMES

ROOT = Path(__file__).resolve().parent.parent.parent
SMALL = ("--city", "toy", "--episodes", "5", "--seed", "7", "--ticks", "8")
MEANS = (
    "avg_wait_minutes", "grid_stress_events", "peak_violations", "renewable_mean", "critical_deferred",
    "anti_cheat_steps", "total_reward", "episode_score", "requests", "walkins", "served", "lost", "stranded",
    "invalid_actions", "fallback_steps", "minutes_to_charged", "composite_car_minutes", "overload_kva_min",
)  # fmt: skip
BINARY = ("any_peak_violation", "any_anti_cheat", "any_critical_defer", "high_stress", "any_lost")


def test_the_keys_of_the_contract(tmp_path: Path) -> None:
    out = tmp_path / "training" / "eval_results.json"
    assert main([*SMALL, "--out", str(out)]) == 0
    found = json.loads(out.read_text())
    assert (found["episodes"], found["seed"], found["scenario"]) == (5, 7, "baseline")
    assert found["paired_same_world"] is True
    for policy in ("baseline", "oracle"):
        assert set(MEANS) <= set(found[policy])
        terms = found[f"{policy}_reward_breakdown_mean"]
        assert set(terms) == {*TERM_NAMES, "total"}
        assert (
            sum(terms[t] for t in TERM_NAMES)
            == pytest.approx(terms["total"])
            == found[policy]["total_reward"]
        )
    assert [row["episode_seed"] for row in found["per_episode"]] == list(episode_seeds(7, 5))
    for row in found["per_episode"]:
        assert row["baseline"]["requests"] == row["oracle"]["requests"]
        assert all(set(BINARY) <= set(row["binary"][p]) for p in ("baseline", "oracle"))
    mean = sum(row["oracle"]["total_reward"] for row in found["per_episode"]) / 5
    assert found["oracle"]["total_reward"] == pytest.approx(mean)
    assert set(found["provenance"]) >= {"command", "commit", "city", "versions", "code_sha256"}
    assert found["policies"]["oracle"]["acted"]
    assert found["policies"]["baseline"]["source_counts"].keys() == {"policy"}
    assert [row["episode_index"] for row in found["series"]] == [0, 1, 2, 3, 4]


def test_without_a_model_every_difference_is_exactly_zero(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORACLE_SKIP_LLM", "1")
    out = tmp_path / "x.json"
    assert main([*SMALL, "--out", str(out)]) == 0
    found = json.loads(out.read_text())
    assert found["policies"]["oracle"]["source_counts"].keys() == {"skipped"}
    assert found["policies"]["oracle"]["headline"] == "oracle (baseline)"
    for row in found["per_episode"]:
        assert row["baseline"] == row["oracle"]
        assert row["binary"]["baseline"] == row["binary"]["oracle"]
        assert row["end"]["baseline"] == row["end"]["oracle"]
    for d in found["differences"].values():
        assert d["mean"] in (0.0, None)
        assert d["wins"] == d["losses"] == 0


def test_the_script_runs_from_a_checkout_and_names_bad_input(tmp_path: Path) -> None:
    script = [sys.executable, str(ROOT / "training" / "evaluate.py"), *SMALL]
    done = subprocess.run(
        [*script, "--scenario", "nope", "--out", "x.json"], capture_output=True, text=True, cwd=tmp_path
    )
    assert done.returncode == 2
    assert done.stderr.startswith("E_SCENARIO: There is no scenario 'nope'")
    assert list(tmp_path.iterdir()) == []
    done = subprocess.run([*script, "--out", str(tmp_path)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 3
    assert "is a folder" in done.stderr


def test_a_snapshot_has_no_model_in_it(tmp_path: Path) -> None:
    out = tmp_path / "eval_snapshot.json"
    assert snapshot(["--episodes", "1", "--out", str(out)]) == 0
    found = json.loads(out.read_text())
    assert set(found["policies"]) == {"baseline", "greedy_counting", "planner"}
    assert all(
        about["llm_share"] == 0.0 and about["model_hash"] is None for about in found["policies"].values()
    )
    assert snapshot(["--episodes", "0", "--out", str(out)]) == 2


def test_the_stored_snapshot_is_one() -> None:
    found = json.loads((ROOT / "artifacts" / "eval_snapshot.json").read_text())
    assert found["schema"] == "evgrid.eval/1"
    assert all(run["paired_same_world"] for run in found["runs"])
    assert all("llm" not in about["source_counts"] for about in found["policies"].values())
