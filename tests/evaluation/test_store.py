"""Stores: whole parts, nothing lost to kill -9, nothing mixed, readable by DuckDB."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation.report import report
from ev_grid_oracle.evaluation.runner import ALREADY, Plan, evaluate
from ev_grid_oracle.schema.errors import MissingExtraError, OptionError

pa = pytest.importorskip("pyarrow", reason="stores need the extra `scale`")

from ev_grid_oracle.evaluation.store import Store, StoreError, part_name  # noqa: E402
from ev_grid_oracle.evaluation.store_merge import merged  # noqa: E402
from ev_grid_oracle.evaluation.work import Task  # noqa: E402

Made = Callable[..., Plan]


def told(plan: Plan, folder: Path | None) -> dict[str, object]:
    """The report without what says when and how it was made."""
    result = evaluate(plan, store=None if folder is None else Store(folder))
    full = report(result, None)
    del full["provenance"]
    return full


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted((folder / "parts").iterdir())}


def test_what_comes_back_is_what_was_played(plan_of: Made, tmp_path: Path) -> None:
    plan = plan_of(policies=("greedy_counting", "random"), scenarios=("baseline", "station_outage"))
    assert told(plan, tmp_path / "s") == told(plan, None)
    store = Store(tmp_path / "s")
    assert [p.name for p in store.files()][:2] == [
        "baseline--greedy_counting--00000.parquet",
        "baseline--greedy_counting--00001.parquet",
    ]
    manifest = json.loads((tmp_path / "s" / "manifest.json").read_text())
    assert manifest["episodes"] == 40 == len(manifest["rows"])
    assert all(e.told_sha256 == e.row_sha256() == manifest["rows"][e.id] for e in store.episodes())
    assert [e.receipt is None for e in store.episodes(receipts=0)] == [True] * 40
    first = store.episodes(receipts=4)
    assert all((e.receipt is not None) == (e.index < 4) for e in first)


def test_equal_plans_are_equal_files(plan_of: Made, tmp_path: Path) -> None:
    told(plan_of(), tmp_path / "a")
    told(plan_of(threads=3), tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_a_stopped_run_goes_on_and_plays_nothing_twice(plan_of: Made, tmp_path: Path) -> None:
    plan = plan_of()
    seen: list[tuple[str, int]] = []

    def stop(name: str, ticks: int) -> None:
        seen.append((name, ticks))
        if len(seen) == 30:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        evaluate(plan, stop, Store(tmp_path / "s"))
    kept = contents(tmp_path / "s")
    assert 0 < len(kept) < 6
    again: list[tuple[str, int]] = []
    evaluate(plan, lambda name, ticks: again.append((name, ticks)), Store(tmp_path / "s"))
    there = sum(ticks for name, ticks in again if name == ALREADY)
    assert there > 0
    assert sum(ticks for _, ticks in again) == plan.total_ticks
    told(plan, tmp_path / "whole")
    assert contents(tmp_path / "s") == contents(tmp_path / "whole")
    assert all(contents(tmp_path / "s")[name] == data for name, data in kept.items())


def test_a_plan_may_grow(plan_of: Made, tmp_path: Path) -> None:
    told(plan_of(policies=("baseline",), episodes=6), tmp_path / "s")
    grown = plan_of(episodes=11, scenarios=("baseline", "station_outage"))
    assert told(grown, tmp_path / "s") == told(grown, None)


def test_kill_9_and_go_on_equals_an_undisturbed_run(city_toy: CityPack, tmp_path: Path) -> None:
    plan = Plan(city_toy, ("random", "nearest"), ("baseline",), 40, 3, 24, block=2, series=1)
    folder = tmp_path / "s"
    words = ("eval", "--city", "toy", "--episodes", 40, "--ticks", 24, "--block", 2, "--series", 1, "--policies",
             "random,nearest", "--seed", 3, "--store", folder)  # fmt: skip
    run = subprocess.Popen(
        [sys.executable, "-m", "ev_grid_oracle.cli.main", *map(str, words)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while run.poll() is None and len(list(folder.glob("parts/[!.]*.parquet"))) < 3:
        time.sleep(0.002)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    kept = {name: data for name, data in contents(folder).items() if not name.startswith(".")}
    assert 3 <= len(kept) < 40, "it was killed in mid-run"
    assert not (folder / "manifest.json").exists()
    assert told(plan, folder) == told(plan, tmp_path / "whole")
    assert contents(folder) == contents(tmp_path / "whole")
    assert all(contents(folder)[name] == data for name, data in kept.items())
    for name in ("plan.json", "manifest.json"):
        assert (folder / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_other_kinds_are_refused(plan_of: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(policies=("baseline",), episodes=4)
    told(plan, tmp_path / "s")
    for changes, word in (
        ({"seed": 8}, "other seed"),
        ({"ticks": 9}, "other ticks"),
        ({"options": {"settle": False}}, "other options"),
        ({"block": 3}, "in blocks of 4, this is 3"),
    ):
        with pytest.raises(StoreError, match=word):
            evaluate(dataclasses.replace(plan, **changes), store=Store(tmp_path / "s"))  # type: ignore[arg-type]
    city = dataclasses.replace(plan.city, sha256="0" * 64)
    with pytest.raises(StoreError, match="other city"):
        evaluate(dataclasses.replace(plan, city=city), store=Store(tmp_path / "s"))
    with monkeypatch.context() as m:
        m.setattr("ev_grid_oracle.evaluation.provenance.code_hash", lambda rooms=(): "1" * 64)
        with pytest.raises(StoreError, match="other code"):
            evaluate(plan, store=Store(tmp_path / "s"))
    with monkeypatch.context() as m:
        m.setattr("ev_grid_oracle.evaluation.provenance.__version__", "9.9.9")
        with pytest.raises(StoreError, match="other versions"):
            evaluate(plan, store=Store(tmp_path / "s"))
    assert told(plan, tmp_path / "s") == told(plan, None)


def test_a_part_of_another_kind_among_the_parts_is_named(plan_of: Made, tmp_path: Path) -> None:
    plan = plan_of(policies=("baseline",), episodes=4)
    told(plan, tmp_path / "a")
    told(dataclasses.replace(plan, ticks=9), tmp_path / "b")
    source = tmp_path / "b" / "parts" / part_name(Task("baseline", "baseline", 0, ()))
    (tmp_path / "a" / "parts" / "other.parquet").write_bytes(source.read_bytes())
    with pytest.raises(StoreError, match=r"other\.parquet.*other ticks"):
        Store(tmp_path / "a").episodes()


def test_a_double_episode_is_named_with_both_files(plan_of: Made, tmp_path: Path) -> None:
    plan = plan_of(policies=("baseline",), episodes=4)
    told(plan, tmp_path / "s")
    parts = tmp_path / "s" / "parts"
    (parts / "copy.parquet").write_bytes((parts / "baseline--baseline--00000.parquet").read_bytes())
    with pytest.raises(StoreError, match=r"stands twice: in baseline--baseline--00000\.parquet and in copy"):
        evaluate(plan, store=Store(tmp_path / "s"))


def test_damaged_and_altered_parts_are_named(plan_of: Made, tmp_path: Path) -> None:
    plan = plan_of(policies=("baseline",), episodes=4)
    told(plan, tmp_path / "s")
    part = tmp_path / "s" / "parts" / "baseline--baseline--00000.parquet"
    whole = part.read_bytes()
    part.write_bytes(whole[:-100])
    with pytest.raises(StoreError, match=r"00000\.parquet.*damaged"):
        evaluate(plan, store=Store(tmp_path / "s"))
    part.write_bytes(whole)
    table = pa.parquet.read_table(part)
    column = table.column_names.index("lost")
    changed = table.set_column(
        column, "lost", pa.array([v + 1 for v in table["lost"].to_pylist()], pa.float64())
    )
    pa.parquet.write_table(changed, part)
    with pytest.raises(StoreError, match="was altered"):
        evaluate(plan, store=Store(tmp_path / "s"))


def test_one_writer_at_a_time(plan_of: Made, tmp_path: Path) -> None:
    plan = plan_of(policies=("baseline",), episodes=4)
    with Store(tmp_path / "s").begun(plan), pytest.raises(StoreError, match="Another process"):
        evaluate(plan, store=Store(tmp_path / "s"))
    evaluate(plan, store=Store(tmp_path / "s"))


def test_a_file_in_the_way_and_a_missing_extra(
    plan_of: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="is a file"):
        evaluate(plan_of(), store=Store(tmp_path / "file"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match="scale"):
        Store(tmp_path / "s")


def test_names_that_no_file_can_carry() -> None:
    a = part_name(Task("baseline", "openai:http://x/v1#m", 3, ()))
    b = part_name(Task("baseline", "openai:http://x/v2#m", 3, ()))
    assert a != b
    assert "/" not in a and ":" not in a and a.endswith("--00003.parquet")


def test_stores_of_two_machines_are_one_evaluation(plan_of: Made, tmp_path: Path) -> None:
    both = plan_of(policies=("baseline", "nearest"))
    told(plan_of(policies=("baseline",)), tmp_path / "a")
    told(plan_of(policies=("nearest",)), tmp_path / "b")
    one = report(merged([tmp_path / "a", tmp_path / "b"]), None)
    del one["provenance"]
    assert one == told(both, None)
    with pytest.raises(OptionError, match="stands twice"):
        merged([tmp_path / "a", tmp_path / "a"])
    told(plan_of(policies=("random",), ticks=9), tmp_path / "c")
    with pytest.raises(StoreError, match="other ticks"):
        merged([tmp_path / "a", tmp_path / "c"])
    with pytest.raises(StoreError, match="no store"):
        merged([tmp_path / "nothing"])
    told(plan_of(policies=("random",), episodes=4), tmp_path / "d")
    with pytest.raises(OptionError, match="missing"):
        merged([tmp_path / "a", tmp_path / "d"])


def test_duckdb_reads_it(plan_of: Made, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb", reason="queries need the extra `scale`")
    plan = plan_of(ticks=12)
    full = told(plan, tmp_path / "s")
    files = f"'{tmp_path / 's' / 'parts' / '*.parquet'}'"
    found = duckdb.sql(
        f'SELECT policy, avg(minutes_to_charged), avg("reward/wait"), count(*) FROM {files} '
        "GROUP BY policy ORDER BY policy"
    ).fetchall()
    means = full["runs"][0]["policies"]  # type: ignore[index]
    for policy, minutes, wait, n in found:
        assert n == 10
        assert minutes == pytest.approx(means[policy]["minutes_to_charged"])
        assert wait == pytest.approx(means[policy]["reward/wait"])
    answers = duckdb.sql(
        f"SELECT count(*), sum(CAST(a.kind = 0 AS INT)) FROM (SELECT unnest(answers) AS a FROM {files})"
    ).fetchall()[0]
    counts = full["policies"]
    assert answers[0] == sum(p["decisions"] for p in counts.values())  # type: ignore[attr-defined]
    assert 0 < answers[1] <= answers[0]
    rows = duckdb.sql(
        f"SELECT series['waiting_cars'][1] FROM {files} WHERE episode_index = 0 AND policy = 'baseline'"
    ).fetchall()
    kept = full["runs"][0]["series"][0]["policies"]["baseline"]["waiting_cars"]  # type: ignore[index]
    assert rows == [(kept[0],)]
