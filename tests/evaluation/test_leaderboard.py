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
from ev_grid_oracle.evaluation.leaderboard_split import SPLIT, Split
from ev_grid_oracle.evaluation.plan_evidence import survey
from ev_grid_oracle.evaluation.provenance import code_hash
from ev_grid_oracle.evaluation.receipts_read import read_claims
from ev_grid_oracle.evaluation.report import report
from ev_grid_oracle.evaluation.runner import Plan, evaluate
from ev_grid_oracle.evaluation.seeds import episode_seed, episode_seeds
from ev_grid_oracle.evaluation.writing import to_json
from ev_grid_oracle.interfaces.openenv.tasks import is_frozen
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
    assert SPLIT.seeds == episode_seeds(SPLIT.seed, SPLIT.episodes) and len(set(SPLIT.seeds)) == 20
    assert sorted(SPLIT.scenarios) == sorted(s.name for s in city_blr.scenarios)
    usual = {episode_seed(seed, k) for seed in (0, 1, 7) for k in range(200)}
    assert not set(SPLIT.seeds) & usual
    assert all(map(is_frozen, SPLIT.seeds)) and not is_frozen(7)


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
    together, dropped = lb.merged([base, worse], [planner], split)
    assert not dropped
    assert [e["policy"] for e in together].count("planner") == 1
    keys = [e["means"][lb.KEY] for e in together]  # type: ignore[index]
    assert keys == sorted(keys) and max(keys) < 1e9
    with pytest.raises(lb.EntryError, match="another city"):
        lb.merged([base], [{**planner, "city_sha256": "0"}], split)


def test_rows_of_another_code_never_stand_together(
    entries: list[lb.Entry], result: Path, split: Split, tmp_path: Path
) -> None:
    base, planner = entries
    older = {**planner, "policy": "mine", "code_sha256": "b" * 64}
    kept, dropped = lb.merged([older, {**base, "code_sha256": "b" * 64}], entries, split)
    assert {e["policy"] for e in kept} == {"baseline", "planner"} and kept == lb.merged([], entries, split)[0]
    assert dropped == [older]  # the old baseline was replaced, not dropped
    assert lb.told_of(dropped) == [
        f"Row 'mine' was dropped: it is of code {'b' * 12}. Play it again with this code."
    ]
    for old, new in (([older, base], []), ([], [older, base])):
        with pytest.raises(lb.EntryError, match="several codes"):
            lb.merged(old, new, split)
    document = json.loads(result.read_text(encoding="utf-8"))
    document["provenance"]["code_sha256"] = "c" * 64
    path = tmp_path / "older.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    with pytest.raises(lb.EntryError, match="played with code cccccccccccc, and this is"):
        lb.entries_of(read_claims(path), split)


def test_the_file_says_where_its_rows_come_from(
    entries: list[lb.Entry], city_toy: CityPack, split: Split, tmp_path: Path
) -> None:
    about = lb.origin(entries, split)
    told = json.loads(to_json({"entries": entries, "provenance": about}))
    assert told["provenance"]["city"] == {"id": "toy", "sha256": city_toy.sha256}
    assert about["command"] == entries[0]["command"] and about["commit"] == entries[0]["commit"]
    (tmp_path / "leaderboard.json").write_text(json.dumps(told), encoding="utf-8")
    hashes = {"toy": city_toy.sha256}
    assert [e.state for e in survey(tmp_path, code_hash(), hashes)] == ["current"]
    assert [e.state for e in survey(tmp_path, "0" * 64, hashes)] == ["stale"]
    mixed = lb.origin([entries[0], {**entries[1], "commit": "f" * 40, "command": "other"}], split)
    assert mixed["commit"] is None and str(mixed["command"]).endswith("; other")
    assert lb.origin([], split) == {}


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
