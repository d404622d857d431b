"""`evgrid verify` over evaluations: an untouched one is true, each way of doctoring one is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ev_grid_oracle.evaluation.flat import flat
from ev_grid_oracle.evaluation.receipts import from_row, to_row
from ev_grid_oracle.evaluation.receipts_check import Verdict, check_claims
from ev_grid_oracle.evaluation.receipts_read import read_claims
from ev_grid_oracle.evaluation.report import report
from ev_grid_oracle.evaluation.runner import Evaluation, Plan, evaluate
from ev_grid_oracle.evaluation.work import Episode, row_sha256
from ev_grid_oracle.evaluation.writing import OutputError, to_json

Made = Callable[..., Plan]
Document = dict[str, Any]


@pytest.fixture
def played(plan_of: Made) -> Evaluation:
    return evaluate(plan_of(episodes=6, scenarios=("baseline", "station_outage"), ticks=10))


def verdict_of(document: Document, folder: Path, sample: int | None = None) -> Verdict:
    path = folder / "results.json"
    path.write_text(to_json(document))
    return check_claims(read_claims(path), sample)


def rehash(document: Document) -> None:
    """What a careful forger does: digests of rows and manifest that hold again."""
    receipts = {r["episode_id"]: r for r in document["receipts"]}
    rows = {}
    for run in document["runs"]:
        for row in run["per_episode"]:
            for policy in row["values"]:
                name = f"{run['scenario']}/{row['episode_seed']}/{policy}"
                if name in receipts:
                    receipts[name]["sha256"] = from_row(receipts[name]).sha256()
                    row["receipt_sha256"][policy] = receipts[name]["sha256"]
                about = document["policies"][policy]
                row["sha256"][policy] = rows[name] = row_sha256(
                    name, about["acted"], about["model_hash"], row["start"], row["end"][policy], row["values"][policy],
                    row["binary"][policy], row["sources"][policy], row["receipt_sha256"][policy],
                )  # fmt: skip
    document["manifest"] = {
        "episodes": len(rows),
        "sha256": row_sha256(rows),
        "rows": dict(sorted(rows.items())),
    }


@pytest.mark.parametrize("receipts", [None, 2, 0])
def test_a_result_is_true(played: Evaluation, tmp_path: Path, receipts: int | None) -> None:
    verdict = verdict_of(report(played, receipts), tmp_path)
    assert verdict.findings == []
    assert (verdict.rows, verdict.expected, verdict.unchecked) == (24, 24, 0)
    with_receipt = {None: 24, 2: 8, 0: 0}[receipts]
    assert (verdict.by_receipt, verdict.by_policy) == (with_receipt, 24 - with_receipt)
    some = verdict_of(report(played, receipts), tmp_path, 5)
    assert some.ok and some.by_receipt + some.by_policy == 5 and some.unchecked == 19


def test_a_flat_result_is_true_and_its_rows_too(plan_of: Made, tmp_path: Path) -> None:
    document: Document = flat(evaluate(plan_of(policies=("baseline", "oracle"), episodes=4, ticks=6)))
    assert verdict_of(document, tmp_path).findings == []
    document["oracle"]["lost"] += 1.0
    assert [f.field for f in verdict_of(document, tmp_path, 0).findings] == ["oracle"]


def test_a_removed_row_is_named(played: Evaluation, tmp_path: Path) -> None:
    document: Document = report(played)
    row = document["runs"][1]["per_episode"].pop(3)
    gone = {f"station_outage/{row['episode_seed']}/{p}" for p in ("baseline", "greedy_counting")}
    for careful in (False, True):
        if careful:
            rehash(document)
        found = verdict_of(document, tmp_path, 0).findings
        assert {f.episode_id for f in found if "is missing" in f.message} == gone
        assert any("although the manifest has it" in f.message for f in found) is not careful


def test_a_doubled_and_an_invented_row_are_named(played: Evaluation, tmp_path: Path) -> None:
    document: Document = report(played)
    rows = document["runs"][0]["per_episode"]
    rows.append(rows[0])
    messages = [f.message for f in verdict_of(document, tmp_path, 0).findings]
    assert any("stands 2 times" in m for m in messages)
    rows[-1] = {**rows[0], "episode_seed": 12345}
    messages = [f.message for f in verdict_of(document, tmp_path, 0).findings]
    assert any("baseline/12345/baseline is of no episode of the plan" in m for m in messages)


def test_a_doctored_reward_is_named(played: Evaluation, tmp_path: Path) -> None:
    document: Document = report(played, None)
    row = document["runs"][0]["per_episode"][4]
    row["values"]["greedy_counting"]["total_reward"] += 1.0
    name = f"baseline/{row['episode_seed']}/greedy_counting"
    found = verdict_of(document, tmp_path).findings
    assert {(f.episode_id, f.field) for f in found if f.episode_id == name} == {
        (name, "sha256"), (name, "values.total_reward"),
    }  # fmt: skip
    assert "policies" in {f.field for f in found}, "the mean is not that of the rows"
    rehash(document)
    found = verdict_of(document, tmp_path).findings
    assert (name, "values.total_reward") in {(f.episode_id, f.field) for f in found}
    assert (name, "sha256") not in {(f.episode_id, f.field) for f in found}


def test_a_doctored_reward_of_one_tick_is_named_with_its_tick(played: Evaluation, tmp_path: Path) -> None:
    document: Document = report(played, None)
    receipt = document["receipts"][5]
    receipt["rewards"][7] += 0.25
    rehash(document)
    (found,) = verdict_of(document, tmp_path).findings
    assert (found.episode_id, found.tick, found.field) == (receipt["episode_id"], 7, "reward")
    assert f"{receipt['episode_id']}, tick 7: reward" in found.message


@pytest.mark.parametrize("column", [3, 4, 6], ids=["station", "rate", "confidence"])
def test_a_doctored_action_is_named_with_its_tick(played: Evaluation, tmp_path: Path, column: int) -> None:
    document: Document = report(played, None)
    receipt = next(r for r in document["receipts"] if any(a[2] == 0 for a in r["answers"]))
    answer = next(a for a in receipt["answers"] if a[2] == 0)
    answer[column] = {3: (answer[3] + 1) % 4, 4: (answer[4] + 1) % 3, 6: 1234}[column]
    careless = verdict_of(document, tmp_path).findings
    assert any(f.field == "receipt" and f.episode_id == receipt["episode_id"] for f in careless)
    rehash(document)
    (found,) = verdict_of(document, tmp_path).findings
    assert found.episode_id == receipt["episode_id"]
    assert found.tick == answer[0]
    assert found.field in ("reward", "answers", "digest")


def test_a_removed_action_and_one_out_of_range_are_named(played: Evaluation, tmp_path: Path) -> None:
    document: Document = report(played, None)
    receipt = next(r for r in document["receipts"] if r["answers"])
    answer = receipt["answers"].pop(0)
    rehash(document)
    (found,) = verdict_of(document, tmp_path).findings
    assert (found.episode_id, found.tick) == (receipt["episode_id"], answer[0])
    receipt["answers"].insert(0, [answer[0], answer[1], 0, 999, *answer[4:]])
    rehash(document)
    (found,) = verdict_of(document, tmp_path).findings
    assert (found.tick, found.field) == (answer[0], "answers")


def test_doctored_summaries_are_named(played: Evaluation, tmp_path: Path) -> None:
    document: Document = report(played)
    document["runs"][0]["differences"]["greedy_counting"]["lost"]["wins"] += 1
    document["runs"][1]["breakdown"]["baseline"]["wait"] = 0.0
    document["policies"]["baseline"]["source_counts"] = {"llm": 3}
    found = verdict_of(document, tmp_path, 0).findings
    assert [(f.episode_id, f.field) for f in found] == [
        ("baseline", "differences"), ("station_outage", "breakdown"), ("baseline", "policies"),
    ]  # fmt: skip


def test_a_row_without_a_receipt_is_played_by_its_policy(played: Evaluation, tmp_path: Path) -> None:
    document: Document = report(played, 0)
    row = document["runs"][0]["per_episode"][2]
    row["binary"]["baseline"]["any_lost"] = not row["binary"]["baseline"]["any_lost"]
    rehash(document)
    (found,) = verdict_of(document, tmp_path).findings
    assert found.field == "binary.any_lost"


def test_what_a_model_answered_needs_its_receipt(played: Evaluation, tmp_path: Path) -> None:
    document: Document = report(played, 1)
    document["policies"]["greedy_counting"]["model_hash"] = "abc"
    rehash(document)
    verdict = verdict_of(document, tmp_path)
    assert verdict.unchecked == 10
    assert any("10 episodes have no receipt" in note for note in verdict.notes)


def test_receipts_survive_json(played: Evaluation) -> None:
    episode: Episode = played.runs[0].episodes["baseline"][0]
    assert episode.receipt is not None
    assert from_row(json.loads(to_json(to_row(episode, episode.receipt)))).sha256() == episode.receipt_sha256


def test_files_that_are_no_results(played: Evaluation, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    good: Document = report(played)
    bad = [
        "{", "[]", '{"schema": "other"}', '{"schema": "evgrid.eval/1"}', to_json({**good, "runs": [{}]}),
        to_json({**good, "receipts": [{**good["receipts"][0], "digests": ["zz"]}]}),
        to_json({**good, "receipts": [{**good["receipts"][0], "answers": [[99] * 8]}]}),
        to_json({**good, "provenance": {"city": {"id": "toy", "sha256": "0"}}}),
    ]  # fmt: skip
    for text in bad:
        path.write_text(text)
        with pytest.raises(OutputError):
            read_claims(path)


def test_a_store_is_true_and_a_doctored_one_is_named(plan_of: Made, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="stores need the extra `scale`")
    from ev_grid_oracle.evaluation.store import Store

    evaluate(plan_of(episodes=8), store=Store(tmp_path / "s"))
    good = check_claims(read_claims(tmp_path / "s"))
    assert good.ok and good.by_receipt == good.rows == good.expected == 16
    part = tmp_path / "s" / "parts" / "baseline--baseline--00001.parquet"
    table = pa.parquet.read_table(part)
    for name, change in (("total_reward", lambda v: v + 1.0), ("rewards", lambda v: [v[0] - 1.0, *v[1:]])):
        column = table[name].to_pylist()
        column[2] = change(column[2])
        told = table.set_column(table.column_names.index(name), name, pa.array(column, table[name].type))
        pa.parquet.write_table(told, part)
        row = table["episode_id"].to_pylist()[2]
        found = check_claims(read_claims(tmp_path / "s")).findings
        assert {f.episode_id for f in found} == {row}, name
    pa.parquet.write_table(table.slice(0, 3), part)
    gone = table["episode_id"].to_pylist()[3]
    assert [f.message for f in check_claims(read_claims(tmp_path / "s")).findings] == [
        f"The row {gone} is missing although the manifest has it."
    ]
    part.unlink()
    assert len(check_claims(read_claims(tmp_path / "s")).findings) == 4
