"""The figure of benchmarks/learn_gym.py says which code and city it was measured with."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("sb3_contrib", reason="the train extra is not installed")
pytest.importorskip("matplotlib", reason="figures need the extra viz")

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation.plan_evidence import claims_in, png_text
from ev_grid_oracle.evaluation.provenance import code_hash, provenance


def test_the_figure_carries_the_reports_provenance(
    monkeypatch: pytest.MonkeyPatch, city_toy: CityPack, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "benchmarks"))
    import learn_gym

    report = {
        "seed": 1, "steps": 20, "held_out_evenings": 40, "provenance": provenance(city_toy),
        "curve": [{"steps": 10, "exploring": -3.0, "held_out": -2.0}, {"steps": 20, "exploring": -2.5}],
        "mean_episode_reward": {"learned": -2.0, "random": -4.0, "baseline": -3.0, "greedy_counting": -1.0},
    }  # fmt: skip
    path = tmp_path / "gym_learning.png"
    learn_gym.draw(report, path)
    assert json.loads(png_text(path)["provenance"]) == json.loads(json.dumps(report["provenance"]))
    (claim,) = claims_in(path)
    assert (claim.code_sha256, claim.city_sha256) == (code_hash(), city_toy.sha256)
