"""The fair-evaluation JSON: pairing, verdicts, Holm over scenarios, equal policies, files that do not hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("statsmodels", reason="the fair statistics need the extra viz")

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation.flat import flat
from ev_grid_oracle.evaluation.provenance import code_hash
from ev_grid_oracle.evaluation.report import report
from ev_grid_oracle.evaluation.runner import Plan, evaluate
from ev_grid_oracle.evaluation.stats import fair
from ev_grid_oracle.evaluation.stats_read import Results, ResultsError, read_document, read_results
from ev_grid_oracle.evaluation.stats_words import NO_DIFFERENCE, p_text, short
from ev_grid_oracle.evaluation.writing import to_json
from ev_grid_oracle.schema.errors import OptionError

Row = dict[str, object]


def episode(seed: int, values: dict[str, float | None], facts: dict[str, bool] | None = None) -> Row:
    """Policies a and b with one value `lost` and one fact `any_lost` each."""
    return {
        "episode_seed": seed,
        "values": {p: {"lost": v} for p, v in values.items()},
        "binary": {p: {"any_lost": v} for p, v in (facts or {}).items()},
    }


def document(*runs: tuple[str, list[Row]]) -> dict[str, object]:
    listed = [{"scenario": s, "policies": {"a": {}, "b": {}}, "per_episode": rows} for s, rows in runs]
    return {"seed": 1, "runs": listed, "policies": {}, "provenance": {}}


def fair_of(*runs: tuple[str, list[Row]]) -> dict[str, object]:
    return fair(read_document(document(*runs)), resamples=999)


def at(found: object, *path: str) -> object:
    for step in path:
        assert isinstance(found, dict)
        found = found[step]
    return found


def test_rows_are_joined_by_seed() -> None:
    """Case EVA-03: file order does not pair; a double seed is refused by name."""
    a = {1: 1.0, 2: 4.0, 3: 9.0, 4: 16.0}
    b = {1: 0.0, 2: 2.0, 3: 5.0, 4: 10.0}
    together = [episode(s, {"a": a[s], "b": b[s]}) for s in a]
    apart = [episode(s, {"a": a[s]}) for s in a] + [episode(s, {"b": b[s]}) for s in reversed(b)]
    assert fair_of(("x", apart))["paired_continuous"] == fair_of(("x", together))["paired_continuous"]
    doubled = [episode(s, {"a": a[s]}) for s in a] + [episode(s, {"b": 0.0}) for s in (1, 2, 2, 4)]
    with pytest.raises(OptionError, match=r"duplicate 2.*missing 3"):
        fair_of(("x", doubled))


def test_verdicts_know_the_better_side_and_holm() -> None:
    """Eight of eight pairs better: p = 2 / 256, which stands among three scenarios but not among seven."""
    less = [episode(s, {"a": 5.0, "b": 4.0 - 0.1 * s}, {"a": True, "b": False}) for s in range(8)]
    same = [episode(s, {"a": 5.0, "b": 5.0}, {"a": True, "b": True}) for s in range(8)]
    for others, corrected, word in ((2, 3 * 2 / 256, "better"), (6, 7 * 2 / 256, NO_DIFFERENCE)):
        found = fair_of(("x", less), *((f"y{n}", same) for n in range(others)))
        for section, key in (("paired_continuous", "lost"), ("paired_mcnemar", "any_lost")):
            entry = at(found, section, "x", key, "b")
            assert isinstance(entry, dict)
            assert entry["p"] == pytest.approx(2 / 256)
            assert entry["p_holm"] == pytest.approx(corrected)
            assert entry["verdict"] == word
            assert entry["n"] == 8
        assert at(found, "paired_continuous", "y0", "lost", "b", "verdict") == NO_DIFFERENCE
    holm = at(found, "holm", "continuous", "lost", "b", "x")
    assert holm == {"p": pytest.approx(2 / 256), "p_holm": pytest.approx(corrected), "reject": False}
    assert at(found, "wilson", "x", "any_lost", "a", "k") == 8


def test_worse_is_said_too_and_missing_data_is_no_data() -> None:
    more = [episode(s, {"a": 1.0, "b": 2.0 + s}) for s in range(8)]
    assert at(fair_of(("x", more)), "paired_continuous", "x", "lost", "b", "verdict") == "worse"
    gone = [episode(s, {"a": None, "b": 1.0}) for s in range(3)]
    entry = at(fair_of(("x", gone)), "paired_continuous", "x", "lost", "b")
    assert isinstance(entry, dict)
    assert (entry["n"], entry["p"], entry["verdict"]) == (0, None, "no data")


def test_the_reference_can_be_another() -> None:
    less = [episode(s, {"a": 5.0, "b": 4.0 - 0.1 * s}) for s in range(8)]
    found = fair(read_document(document(("x", less))), reference="b", resamples=999)
    assert at(found, "paired_continuous", "x", "lost", "a", "verdict") == "worse"
    with pytest.raises(OptionError, match="no policy 'c'"):
        fair(read_document(document(("x", less))), reference="c")


def test_real_evaluations_in_both_forms(plan_of: Callable[..., Plan]) -> None:
    evaluation = evaluate(plan_of(scenarios=("baseline", "station_outage")))
    found = fair(read_document(json.loads(to_json(report(evaluation)))), resamples=999)
    text = to_json(found)
    assert "NaN" not in text and "Infinity" not in text
    assert set(at(found, "wilson", "station_outage", "any_lost")) == {"baseline", "greedy_counting"}  # type: ignore[call-overload]
    assert at(found, "paired_continuous", "baseline", "requests", "greedy_counting", "ties") == 10
    assert at(found, "provenance", "evaluation", "city", "id") == "toy"
    for key in ("code_sha256", "policies_sha256", "city", "commit"):
        assert at(found, "provenance", key) == at(found, "provenance", "evaluation", key), key
    assert at(found, "provenance", "code_sha256") == code_hash()
    again = fair(read_document(json.loads(to_json(report(evaluation)))), resamples=999)
    assert to_json(again) == text


def test_without_a_model_every_test_says_no_difference(
    city_toy: CityPack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The harness's own check: ORACLE_SKIP_LLM=1 makes the oracle the baseline."""
    monkeypatch.setenv("ORACLE_SKIP_LLM", "1")
    evaluation = evaluate(Plan(city_toy, ("baseline", "oracle"), ("baseline",), 6, 7, 12))
    found = fair(read_document(json.loads(to_json(flat(evaluation)))), resamples=999)
    entries = [
        e["oracle"]
        for section in ("paired_continuous", "paired_mcnemar")
        for e in at(found, section, "baseline").values()  # type: ignore[attr-defined]
    ]
    assert len(entries) > 50
    assert {e["verdict"] for e in entries if e["n"]} == {NO_DIFFERENCE}
    assert {e["p"] for e in entries if e["n"]} == {1.0}
    assert {e["mean"] for e in entries if e.get("mean") is not None} == {0.0}
    assert any("every paired difference is exactly 0" in line for line in found["summary"])  # type: ignore[attr-defined]
    assert at(found, "policies", "oracle", "source_counts").keys() == {"skipped"}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no JSON"),
        ("[1]", "no JSON object"),
        ('{"runs": [], "policies": {}}', "holds no scenario"),
        ('{"a": NaN}', "no JSON"),
        ('{"x": 1}', "neither runs nor per_episode"),
        ('{"per_episode": [{"episode_seed": 1, "baseline": {"lost": "x"}, "oracle": {}}]}', "lost is no number"),
        ('{"per_episode": [{"baseline": {}, "oracle": {}}]}', "no episode_seed"),
        ('{"per_episode": [{"episode_seed": 1, "baseline": {}}]}', "oracle has no episode"),
        ('{"per_episode": [{"episode_seed": 1, "baseline": {}, "oracle": {}, "binary": {"oracle": {"f": 1}}}]}',
         "neither true nor false"),
    ],
)  # fmt: skip
def test_a_file_that_does_not_hold_is_refused(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(ResultsError, match=told) as refusal:
        read_results(path)
    assert refusal.value.exit_code == 3
    assert refusal.value.hint


def test_a_missing_file_and_one_policy_only(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="cannot be read"):
        read_results(tmp_path / "none.json")
    one: Results = read_document(
        {"runs": [{"scenario": "x", "policies": {"a": {}}, "per_episode": [episode(1, {"a": 1.0})]}]}
    )
    with pytest.raises(OptionError, match="one policy only"):
        fair(one)


def test_words() -> None:
    assert [p_text(p) for p in (None, 1e-9, 0.0124, 0.99999, 1.0)] == [
        "no p", "p < 0.001", "p = 0.012", "p = 1", "p = 1",
    ]  # fmt: skip
    assert [short(x) for x in (0.0, -0.0, 12.345, -999.9, 1234.5)] == ["0", "0", "12.3", "-1,000", "1,234"]
