"""The leaderboard: a frozen split apart from all others, rows that are true, and a page that says what they say."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation import leaderboard as lb
from ev_grid_oracle.evaluation.leaderboard_page import change, page
from ev_grid_oracle.evaluation.leaderboard_split import SPLIT, Split, is_leaderboard
from ev_grid_oracle.evaluation.receipts_read import read_claims
from ev_grid_oracle.evaluation.report import report
from ev_grid_oracle.evaluation.runner import Plan, evaluate
from ev_grid_oracle.evaluation.seeds import episode_seed, episode_seeds
from ev_grid_oracle.evaluation.writing import to_json
from ev_grid_oracle.schema.errors import EVGridError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def split(city_toy: CityPack) -> Split:
    """A split of Toytown, small enough for a test."""
    return Split(
        "toy-test", "toy", 5, episode_seeds(5, 3), tuple(s.name for s in city_toy.scenarios), ticks=8
    )


@pytest.fixture(scope="module")
def result(city_toy: CityPack, split: Split, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A submission: planner and baseline, with all receipts."""
    plan = Plan(
        city_toy, ("baseline", "planner"), split.scenarios, split.episodes, split.seed, split.ticks, series=0
    )
    path = tmp_path_factory.mktemp("board") / "result.json"
    path.write_text(to_json(report(evaluate(plan), None)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def entries(result: Path, split: Split) -> list[lb.Entry]:
    return lb.entries_of(read_claims(result), split)


def test_the_split_is_frozen_and_apart_from_every_other(city_blr: CityPack) -> None:
    tasks = pytest.importorskip(
        "ev_grid_oracle.interfaces.openenv.tasks", reason="the task API comes with the server extra"
    )
    assert SPLIT.seeds == episode_seeds(SPLIT.seed, SPLIT.episodes) and len(set(SPLIT.seeds)) == 20
    assert sorted(SPLIT.scenarios) == sorted(s.name for s in city_blr.scenarios)
    for name in tasks.SPLITS:
        assert not set(SPLIT.seeds) & set(tasks.split_seeds(name)), name
    usual = {episode_seed(seed, k) for seed in (0, 1, 7) for k in range(200)}
    assert not set(SPLIT.seeds) & usual
    assert is_leaderboard(SPLIT.seeds[3]) and not is_leaderboard(7)


def test_a_true_result_becomes_rows(entries: list[lb.Entry], split: Split) -> None:
    base, planner = entries
    assert (base["policy"], planner["policy"]) == ("baseline", "planner")
    assert base["n"] == planner["n"] == 3 * len(split.scenarios) and planner["n_seeds"] == 3
    assert (
        planner["replayed_from_receipts"] == 6 * len(split.scenarios) and planner["replayed_by_policy"] == 0
    )
    found: Any = planner["differences"]
    assert found[lb.KEY]["mean"] == pytest.approx(planner["means"][lb.KEY] - base["means"][lb.KEY])  # type: ignore[index]
    assert base["differences"][lb.KEY]["mean"] == 0.0  # type: ignore[index]
    assert set(planner["source_counts"]) == {"planner"} and planner["llm_share"] == 0.0  # type: ignore[call-overload]


def _reward(document: Any) -> None:
    document["receipts"][0]["rewards"][2] += 0.5


def _kpi(document: Any) -> None:
    document["runs"][0]["per_episode"][0]["values"]["planner"]["composite_car_minutes"] -= 100.0


def _row(document: Any) -> None:
    del document["runs"][0]["per_episode"][0]["values"]["planner"]


def _seed(document: Any) -> None:
    document["seed"] = 6


def _renamed(document: Any) -> None:
    document["policies"]["baseline"]["acted"] = "always_defer"


@pytest.mark.parametrize("doctor", [_reward, _kpi, _row, _seed, _renamed])
def test_a_doctored_result_is_refused(
    doctor: Callable[[Any], None], result: Path, split: Split, tmp_path: Path
) -> None:
    document = json.loads(result.read_text(encoding="utf-8"))
    doctor(document)
    path = tmp_path / "doctored.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(EVGridError):
        lb.entries_of(read_claims(path), split)


def test_another_evaluation_is_no_entry(result: Path) -> None:
    with pytest.raises(lb.EntryError, match="city are not those of split bengaluru-1"):
        lb.entries_of(read_claims(result))


def test_merging_replaces_and_sorts(entries: list[lb.Entry], split: Split) -> None:
    base, planner = entries
    worse = {**planner, "means": {**planner["means"], lb.KEY: 1e9}}  # type: ignore[dict-item]
    together = lb.merged([base, worse], [planner], split)
    assert [e["policy"] for e in together].count("planner") == 1
    keys = [e["means"][lb.KEY] for e in together]  # type: ignore[index]
    assert keys == sorted(keys) and max(keys) < 1e9
    with pytest.raises(lb.EntryError, match="another city"):
        lb.merged([base], [{**planner, "city_sha256": "0"}], split)


def test_the_page_tells_the_rows(entries: list[lb.Entry], split: Split) -> None:
    text = page(entries, split)
    for e in entries:
        assert f"| `{e['policy']}` | {e['acted'][0]} | {e['n']} | {e['means'][lb.KEY]:.0f} |" in text  # type: ignore[index]
    assert "evgrid verify result.json --all" in text and str(split.seeds[0]) in text
    assert lb.command(split) in text
    tie = {"mean": -1.0, "low": -3.0, "high": 1.0, "change_pct": -2.0}
    assert change(tie) == "-2.00 [-6.00, +2.00] (no difference shown)"
    assert change({"mean": None, "low": None, "high": None, "change_pct": None}) == "-"


def test_the_stored_page_is_of_the_stored_rows() -> None:
    path = ROOT / "artifacts" / "leaderboard.json"
    if not path.exists():
        pytest.skip("no leaderboard in this checkout")
    entries = json.loads(path.read_text(encoding="utf-8"))["entries"]
    assert (ROOT / "docs" / "leaderboard.md").read_text(encoding="utf-8") == page(entries)
