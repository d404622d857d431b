"""`evgrid bench world` and `evgrid doctor`: shapes and exit codes, never speeds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ev_grid_oracle.cli.doctor import OPTIONAL, WHAT_FOR

NUMBERS = (
    "ticks_per_s_1_thread", "ticks_per_s_all_threads", "session_ticks_per_s", "fork_us", "snapshot_us",
    "restore_us", "reset_us", "bytes_per_env", "warm_start_s", "occupancy",
)  # fmt: skip


def test_bench_world(evgrid: Callable, tmp_path: Path) -> None:
    out = tmp_path / "bench.json"
    done = evgrid(
        "bench",
        "world",
        "--city",
        "toy",
        "--envs",
        "2",
        "--repeats",
        "1",
        "--no-compile",
        "--json",
        "--out",
        out,
    )
    assert done.code == 0, done.err
    figures = done.json
    assert figures["schema"] == "evgrid.bench.world/1"
    for key in NUMBERS:
        assert figures[key] > 0, key
    assert figures["settle_us"] >= 0
    assert figures["compile_s"] is None
    assert figures["occupancy"] <= 1
    assert out.read_text() == done.out
    assert "Measuring: " in done.err


def test_scaling_points(monkeypatch: pytest.MonkeyPatch) -> None:
    from ev_grid_oracle.city import load_city
    from ev_grid_oracle.evaluation.bench_scaling import bench_scaling

    said: list[str] = []
    scaling = bench_scaling(load_city("toy"), envs=(1, 4), factors=(1, 2), repeats=1, say=said.append)
    assert [(p["envs"], p["stations"]) for p in scaling["points"]] == [(1, 4), (4, 4), (1, 8), (4, 8)]
    assert all(ratio >= 1.0 for ratio in scaling["worst_over_fastest"].values())
    assert len(said) == 6  # two cities recorded, four points in one round


def test_doctor(evgrid: Callable) -> None:
    done = evgrid("doctor", "--json")
    assert done.code == 0, done.out
    assert done.json["ok"] is True
    assert {"python", "numba", "city bengaluru", "simulation"} <= {c["check"] for c in done.json["checks"]}
    assert "All is well." in evgrid("doctor").out


def test_doctor_says_what_a_missing_extra_is_for(evgrid: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "ev_grid_oracle.cli.doctor.find_spec", lambda name: None if name == "gradio" else name
    )
    said = evgrid("doctor").out.splitlines()
    assert "      optional gradio: missing, comes with the extra 'viz'" in said
    assert [line for line in said if "pip install" in line] == [
        '      for figures, Gradio page, Pygame map and film: pip install "openenv-ev-grid-oracle[viz]"'
    ]
    assert set(WHAT_FOR) == set(OPTIONAL.values())


def test_doctor_finds_what_is_wrong(evgrid: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ev_grid_oracle.cli.doctor._self_test", lambda: (False, "two digests"))
    done = evgrid("doctor")
    assert done.code == 1
    assert "FAIL  simulation: two digests" in done.out
