"""The figures: all are drawn from a real evaluation, byte for byte alike, and say so where they cannot be."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("matplotlib", reason="figures need the extra viz")
pytest.importorskip("statsmodels", reason="the fair statistics need the extra viz")

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation.flat import flat
from ev_grid_oracle.evaluation.report import report
from ev_grid_oracle.evaluation.runner import Plan, evaluate
from ev_grid_oracle.evaluation.stats import fair
from ev_grid_oracle.evaluation.stats_read import ResultsError, read_document
from ev_grid_oracle.evaluation.writing import to_json
from ev_grid_oracle.viz.fig_kpis import change_forest
from ev_grid_oracle.viz.figures import FIGURES, draw, draw_all
from ev_grid_oracle.viz.figures_cli import call, fair_eval, make_plots
from ev_grid_oracle.viz.figures_data import Absent, FigureData, from_documents, label, unit
from ev_grid_oracle.viz.figures_style import CAPTION_CHARS, DPI, WIDTH_IN, colours, new_figure, png, style

Report = dict[str, object]


@pytest.fixture(scope="module")
def several(city_toy: CityPack) -> Report:
    """Two scenarios, three policies, six evenings of an hour and a half."""
    plan = Plan(
        city_toy, ("baseline", "greedy_counting", "nearest"), ("baseline", "station_outage"), 6, 7, 18
    )
    found: Report = json.loads(to_json(report(evaluate(plan))))
    return found


@pytest.fixture(scope="module")
def ties(city_toy: CityPack) -> Report:
    """The flat form with an oracle that is the baseline: every difference is exactly 0."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ORACLE_SKIP_LLM", "1")
        found: Report = json.loads(
            to_json(flat(evaluate(Plan(city_toy, ("baseline", "oracle"), ("baseline",), 5, 7, 12))))
        )
    return found


@pytest.fixture(scope="module")
def shown(several: Report) -> FigureData:
    return data_of(several, "station_outage")


def data_of(document: Report, scenario: str | None = None) -> FigureData:
    results = read_document(document, "results.json", "cafe")
    return from_documents(results, json.loads(to_json(fair(results, resamples=199))), scenario)


def size_of(data: bytes) -> tuple[int, int]:
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def test_equal_input_gives_equal_bytes(several: Report) -> None:
    """A second set of figures from files read anew, and from a user's own settings, is the same."""
    import matplotlib

    first, second = data_of(several), data_of(json.loads(json.dumps(several)))
    for name in ("eval_paired_deltas.png", "eval_stress_timeline.png", "eval_mcnemar_p.png"):
        before = draw(FIGURES[name], first)
        with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black"}):
            assert draw(FIGURES[name], second) == before, name
        assert b"Software" not in before and b"tIME" not in before


def test_ties_are_drawn_as_ties(ties: Report, tmp_path: Path) -> None:
    data = data_of(ties)
    risky = ("dashboard", "paired_deltas", "paired_scatter", "confidence_calibration", "reward_integrity")
    reasons = {d.path.name: d.reason for d in draw_all(data, tmp_path, [f"eval_{n}.png" for n in risky])}
    assert len(reasons) == len(risky)
    assert {n for n, reason in reasons.items() if reason} == {"eval_confidence_calibration.png"}
    assert "no policy stated a CONFIDENCE" in reasons["eval_confidence_calibration.png"]
    assert data.name("oracle") == "oracle (baseline, skipped 100 %)"
    with style():
        figure = FIGURES["eval_head_to_head.png"](data)
        widths = {p.get_facecolor(): p.get_width() for p in figure.axes[0].patches if p.get_width()}
        assert list(widths.values()) == [5.0]  # one colour only: five ties of five pairs
        titles = [ax.get_title(loc="left") for ax in FIGURES["eval_paired_deltas.png"](data).axes]
    assert all("0 better, 5 ties, 0 worse\np = 1: no difference shown" in t for t in titles if t)
    assert any(titles)


def test_what_is_missing_is_told_and_an_old_picture_goes(several: Report, tmp_path: Path) -> None:
    bare = json.loads(json.dumps(several))
    for run in bare["runs"]:
        del run["series"], run["confidence"]
    old = tmp_path / "eval_feeder_fan.png"
    old.write_bytes(b"of an earlier run")
    wanted = (
        "eval_stress_timeline.png", "eval_feeder_fan.png", "eval_energy_renewable.png",
        "eval_confidence_calibration.png", "eval_wilson_rates.png",
    )  # fmt: skip
    told = {d.path.name: str(d) for d in draw_all(data_of(bare), tmp_path, wanted) if d.reason}
    assert set(told) == set(wanted[:4])
    assert "no per-tick series" in told["eval_feeder_fan.png"]
    assert not old.exists()
    with pytest.raises(Absent):
        draw(FIGURES["eval_feeder_fan.png"], data_of(bare))


@pytest.mark.parametrize("name", [*FIGURES, "chart"])
def test_every_figure_of_a_real_evaluation(shown: FigureData, name: str) -> None:
    """n and seed in the caption, a unit on every axis, no text beyond the edge; a warning is an error here, so
    that a layout that gave up or a letter without a glyph fails too."""
    with style():
        made = FIGURES.get(name, change_forest)(shown)
        width, height = size_of(png(made))
        assert width == round(WIDTH_IN * DPI)
        assert 400 < height < 4000
        words = " ".join(t.get_text() for t in made.texts)
        assert "n = 6 paired episodes" in words
        assert "evaluation seed 7" in words
        assert max(len(line) for t in made.texts for line in t.get_text().split("\n")) <= CAPTION_CHARS
        assert all(ax.get_xlabel() or ax.get_ylabel() for ax in made.axes if ax.axison)
        page = made.bbox.padded(1.0)
        for text in _texts(made):
            box = text.get_window_extent()
            inside = box.x0 >= page.x0 and box.x1 <= page.x1 and box.y0 >= page.y0 and box.y1 <= page.y1
            assert inside, text.get_text()


def test_sixteen_figures() -> None:
    assert len(FIGURES) == 16


def _texts(figure: Any) -> list[Any]:
    """What is written: the figure's and the axes' own texts, titles, names and the ticks within the limits."""
    found = list(figure.texts) + [t for legend in figure.legends for t in legend.get_texts()]
    for ax in figure.axes:
        if not ax.axison:
            continue
        found += [*ax.texts, ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label]
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            found += [t.label1 for t in axis.get_major_ticks() if low <= t.get_loc() <= high]
    return [t for t in found if t.get_visible() and t.get_text().strip()]


def test_the_page_lists_every_figure_in_its_order() -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "statistics.md"
    listed = re.findall(r"^\| `(eval_\w+\.png)` \| \w", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert listed == list(FIGURES)


def test_labels_and_units() -> None:
    assert label("overload_kva_min") == "overload kVA-min [kVA min]"
    assert label("walkin_lost", with_unit=False) == "walk-in lost"
    assert unit("reward/wait") == unit("total_reward") == "car-minutes / N0"
    assert unit("lost_share") == "share"


def test_colours_differ_and_are_of_okabe_and_ito() -> None:
    names = ("baseline", "greedy_counting", "planner", "oracle", "a", "b", "c")
    found = colours(names)
    assert len(set(found.values())) == len(names)
    assert found["baseline"] == "#E69F00"
    allowed = {"#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7"}
    assert set(found.values()) <= allowed


def test_a_long_legend_gets_rows_of_its_own() -> None:
    with style():
        short = new_figure(2.0, "Title", "caption", ("a", "b"))
        long = new_figure(2.0, "Title", "caption", tuple(f"a rather long policy name {n}" for n in range(8)))
    assert long.get_figheight() > short.get_figheight() + 0.3


def test_commands_write_what_they_say(
    several: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results, statistics, chart = (
        tmp_path / "r.json",
        tmp_path / "a" / "fair.json",
        tmp_path / "a" / "fair.png",
    )
    results.write_text(to_json(several))
    arguments = ["--eval-json", str(results), "--out-json", str(statistics), "--out-chart", str(chart)]
    assert call(fair_eval, [*arguments, "--resamples", "199"]) == 0
    told = capsys.readouterr().out
    assert "composite_car_minutes" in told and f"Chart: {chart}" in told
    written = json.loads(statistics.read_text())
    assert {"wilson", "paired_mcnemar", "paired_continuous", "holm"} <= set(written)
    first = statistics.read_bytes(), chart.read_bytes()
    assert call(fair_eval, [*arguments, "--resamples", "199"]) == 0
    assert (statistics.read_bytes(), chart.read_bytes()) == first
    capsys.readouterr()
    out = tmp_path / "figures"
    two = ["eval_mcnemar_p.png", "eval_wilson_rates.png"]
    command = ["--eval-json", str(results), "--fair-json", str(statistics), "--out-dir", str(out)]
    assert call(make_plots, [*command, "--only", ",".join(two)]) == 0
    assert "2 of 2 figures drawn." in capsys.readouterr().out
    assert sorted(p.name for p in out.iterdir()) == two


def test_commands_refuse_in_one_sentence(
    several: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results, other = tmp_path / "r.json", tmp_path / "other.json"
    results.write_text(to_json(several))
    other.write_text(to_json({**several, "seed": 8}))
    statistics = tmp_path / "fair.json"
    assert (
        call(fair_eval, ["--eval-json", str(results), "--out-json", str(statistics), "--resamples", "199"])
        == 0
    )
    cases: list[tuple[object, list[str], int, str]] = [
        (fair_eval, ["--eval-json", str(tmp_path / "none.json")], 3, "cannot be read"),
        (fair_eval, ["--eval-json", str(results), "--out-json", str(tmp_path)], 3, "is a folder"),
        (fair_eval, ["--eval-json", str(results), "--resamples", "3"], 2, "out of range"),
        (fair_eval, ["--eval-json", str(results), "--reference", "x"], 2, "no policy 'x'"),
        (fair_eval, [], 2, "Missing option"),
        (make_plots, ["--eval-json", str(other), "--fair-json", str(statistics)], 3, "was not made from other.json"),
        (make_plots, ["--eval-json", str(results), "--fair-json", str(results)], 3, "is no evgrid.fair/1"),
        (make_plots, ["--eval-json", str(results), "--fair-json", str(statistics), "--scenario", "x"], 2, "no scenario"),
        (make_plots, ["--eval-json", str(results), "--fair-json", str(statistics), "--only", "x"], 2, "no figure"),
    ]  # fmt: skip
    for command, arguments, code, told in cases:
        capsys.readouterr()
        assert call(command, [*arguments]) == code, told  # type: ignore[arg-type]
        error = capsys.readouterr().err
        assert told in error, error
        assert "Traceback" not in error


def test_statistics_of_other_results_are_refused(several: Report) -> None:
    results = read_document(several, "results.json", "cafe")
    statistics: Mapping[str, object] = fair(read_document(several, "other.json", "beef"), resamples=199)
    with pytest.raises(ResultsError, match="was not made from"):
        from_documents(results, statistics)
