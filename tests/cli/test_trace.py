"""`evgrid run`, `verify` and `replay`: a run is a receipt."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest

from ev_grid_oracle.cli.replay import screen
from ev_grid_oracle.episode.trace import Trace

SMALL = ("--city", "toy", "--ticks", "6", "--seed", "8", "--policy", "baseline")


@pytest.fixture
def trace(evgrid: Callable, tmp_path: Path) -> Path:
    path = tmp_path / "run.evt"
    done = evgrid("run", *SMALL, "--out", path)
    assert done.code == 0, done.err
    return path


def test_run_json(evgrid: Callable, tmp_path: Path) -> None:
    done = evgrid("run", *SMALL, "--scenario", "station_outage", "--json")
    assert done.code == 0, done.err
    found = done.json
    assert found["schema"] == "evgrid.run/1"
    assert (found["policy"], found["ticks"], found["trace"]) == ("baseline", 6, "run.evt")
    assert (found["header"]["scenario"], found["header"]["seed"]) == ("station_outage", 8)
    assert len(found["digest"]) == 32
    assert found["values"]["requests"] > 0
    assert (tmp_path / "run.evt").exists()


def test_run_gives_the_values_of_an_evaluation(evgrid: Callable) -> None:
    report = evgrid(
        "eval",
        "--city",
        "toy",
        "--ticks",
        "6",
        "--seed",
        "7",
        "--episodes",
        "1",
        "--policies",
        "baseline",
        "--json",
    ).json
    episode = report["runs"][0]["per_episode"][0]
    argv = ("run", "--city", "toy", "--ticks", "6", "--policy", "baseline", "--json")
    run = evgrid(*argv, "--seed", episode["episode_seed"]).json
    expected = episode["values"]["baseline"]
    assert set(run["values"]) == set(expected)
    for key, value in run["values"].items():
        assert value == (None if expected[key] is None else pytest.approx(expected[key], rel=1e-12)), key


def test_run_names_the_next_command(evgrid: Callable) -> None:
    done = evgrid("run", *SMALL)
    assert "Next: evgrid verify run.evt" in done.out
    assert "minutes_to_charged" in done.out


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["--policy", "gredy"], "E_POLICY"),
        (["--city", "atlantis"], "E_CITY"),
        (["--scenario", "flood2"], "E_SCENARIO"),
        (["--seed", "4294967296"], "E_OPTION"),
        (["--ticks", "2017"], "E_OPTION"),
        (["--start", "25:00"], "E_OPTION"),
        (["--season", "spring"], "E_OPTION"),
        (["--day-type", "monday"], "E_OPTION"),
        (["--fleet-mode", "boats"], "E_OPTION"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_bad_options_are_usage_and_leave_no_file(
    argv: list[str], code: str, evgrid: Callable, tmp_path: Path
) -> None:
    done = evgrid("run", *SMALL, *argv, "--json")
    assert (done.code, done.out) == (2, "")
    assert code in done.err.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_verify_accepts_a_true_trace(trace: Path, evgrid: Callable) -> None:
    done = evgrid("verify", trace, "--json")
    assert done.code == 0, done.out
    assert done.json["ok"] is True
    assert evgrid("verify", trace).code == 0


def test_verify_finds_a_doctored_reward(trace: Path, evgrid: Callable, tmp_path: Path) -> None:
    true = Trace.load(trace)
    numbers = true.numbers.copy()
    numbers[3, 0] += 0.5
    doctored = dataclasses.replace(true, numbers=numbers).save(tmp_path / "doctored.evt")
    done = evgrid("verify", doctored, "--json")
    assert done.code == 1
    assert done.json["ok"] is False
    assert evgrid("verify", doctored).code == 1


@pytest.mark.parametrize("command", ["verify", "replay"])
def test_files_that_are_no_whole_trace_are_bad_input(command: str, trace: Path, evgrid: Callable) -> None:
    data = trace.read_bytes()
    for name, content in (("cut", data[: len(data) // 2]), ("empty", b""), ("text", b"hello\n")):
        path = trace.with_name(name)
        path.write_bytes(content)
        done = evgrid(command, path, "--json")
        assert (done.code, done.out) == (3, ""), name
        assert "E_TRACE" in done.err
    assert evgrid(command, trace.with_name("missing")).code == 3
    assert evgrid(command, trace.parent).code == 3


def test_replay_prints_a_line_a_tick(trace: Path, evgrid: Callable) -> None:
    done = evgrid("replay", trace, "--no-tty")
    assert done.code == 0
    lines = done.out.splitlines()
    assert "baseline" in lines[0]
    assert [line.split()[:2] for line in lines[2:8]] == [[str(n), f"17:{5 * n:02d}"] for n in range(6)]
    assert lines[-1].startswith("6 ticks, total reward ")


def test_replay_json(trace: Path, evgrid: Callable) -> None:
    found = evgrid("replay", trace, "--json").json
    assert len(found["frames"]) == 6
    assert found["header"]["city"]["id"] == "toy"


def test_screen_shows_every_station(trace: Path) -> None:
    from rich.console import Console

    loaded = Trace.load(trace)
    console = Console(width=100, record=True, file=StringIO())
    console.print(screen(loaded, loaded.frame(2)))
    text = console.export_text()
    assert "tick 3/6" in text
    for station in loaded.header["stations"]:
        assert station in text
