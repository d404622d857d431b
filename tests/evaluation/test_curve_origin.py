"""Curves of training say which code and city trained: in the figure, and in a JSON beside it for the table."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("matplotlib", reason="figures need the extra viz")

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation import plan_evidence as ev
from ev_grid_oracle.evaluation.provenance import provenance

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def curves(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """benchmarks/oracle_curves.py as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import oracle_curves

    return oracle_curves


@pytest.fixture
def about(city_toy: CityPack) -> dict[str, Any]:
    return provenance(city_toy)


def run_of(folder: Path, seed: int, **more: object) -> Path:
    """A run's folder as training leaves it: two rows of log, two validations."""
    history = [
        {"step": s, "reward": -5.0 - seed + s, "entropy": 0.5, "frac_reward_zero_std": 0.1} for s in (1, 2)
    ]
    checks = [{"step": s, "regret_min": 4.0, "composite": 80_000.0, "kl": 0.1 if s else None} for s in (0, 2)]
    run = folder / f"grpo-{seed}"
    run.mkdir(parents=True)
    (run / "training.json").write_text(json.dumps({"history": history, "checks": checks, **more}))
    return run


def states(folder: Path, code: str, city: CityPack) -> dict[str, str]:
    return {e.name: e.state for e in ev.survey(folder, code, {city.id: city.sha256})}


def test_figure_table_and_json_carry_the_runs_origin(
    curves: ModuleType, about: dict[str, Any], city_toy: CityPack, tmp_path: Path
) -> None:
    runs = [run_of(tmp_path / name, k, provenance=about) for k, name in enumerate(("a", "b"))]
    out = tmp_path / "out"
    curves.draw(runs, out)
    names = ("oracle_grpo.csv", "oracle_grpo.json", "oracle_grpo.png")
    code = str(about["code_sha256"])
    assert states(out, code, city_toy) == dict.fromkeys(names, ev.CURRENT)
    assert states(out, "0" * 64, city_toy) == dict.fromkeys(names, ev.STALE)
    assert set(ev.read_object(out / "oracle_grpo.json")["runs"]) == {"grpo-0", "grpo-1"}  # type: ignore[call-overload]
    (out / "oracle_grpo.json").unlink()  # the picture speaks for itself, the table does not
    assert states(out, code, city_toy) == {"oracle_grpo.csv": ev.UNSIGNED, "oracle_grpo.png": ev.CURRENT}
    table = (out / "oracle_grpo.csv").read_text().splitlines()
    assert len(table) == 1 + 2 * 4 and len({line.count(",") for line in table}) == 1


def test_a_run_without_origin_takes_that_of_its_own_report_only(
    curves: ModuleType, about: dict[str, Any], tmp_path: Path
) -> None:
    run = run_of(tmp_path, 0)
    with pytest.raises(ev.EvidenceError, match="does not say which code"):
        curves.origin_of(run)
    history = json.loads((run / "training.json").read_text())["history"]
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"grpo": {"history": history[:1]}, "provenance": about}))
    with pytest.raises(ev.EvidenceError, match="does not say which code"):
        curves.origin_of(run)
    report.write_text(json.dumps({"grpo": {"history": history}, "provenance": about}))
    assert curves.origin_of(run) == about


@pytest.mark.parametrize("other", [{"code_sha256": "0" * 64}, {"city": {"id": "toy", "sha256": "0" * 64}}])
def test_runs_of_different_codes_or_cities_share_no_figure(
    other: dict[str, Any], curves: ModuleType, about: dict[str, Any], tmp_path: Path
) -> None:
    runs = [run_of(tmp_path, 0, provenance=about), run_of(tmp_path, 1, provenance={**about, **other})]
    with pytest.raises(ev.EvidenceError, match="different codes or cities"):
        curves.draw(runs, tmp_path / "out")
    assert not (tmp_path / "out").exists()
