"""The film: frames that move, equal bytes twice, an end card from the KPIs, files whole or not there."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest

pytest.importorskip("pygame", reason="a film needs the extra viz")
pytest.importorskip("matplotlib", reason="the film takes its letters from matplotlib")

from ev_grid_oracle.evaluation.writing import OutputError
from ev_grid_oracle.schema.errors import OptionError
from ev_grid_oracle.viz import canvas as c
from ev_grid_oracle.viz import film as f
from ev_grid_oracle.viz import film_cli
from ev_grid_oracle.viz.frames_cli import call

SHORT = f.Film(seed=11, scenario="MonsoonStorm", ticks=3, seconds=3.0, fps=10, size=(640, 360))


@pytest.fixture(scope="module")
def filmed(tmp_path_factory: pytest.TempPathFactory) -> f.Filmed:
    return f.record(SHORT, tmp_path_factory.mktemp("film") / "frames")


def command(*argv: str) -> int:
    return call(film_cli.record_two_phase, "viz.record_two_phase", film_cli.EXAMPLE, argv)


def test_the_documented_film_has_3600_frames() -> None:
    title, tick, hold, middle, end = f.Film().parts()
    assert title + 2 * 48 * tick + 2 * hold + middle + end == 3600 == f.Film().frames
    assert tick >= 30 and min(title, middle, end) >= 60  # cards stand for two seconds


def test_frames(filmed: f.Filmed) -> None:
    names = sorted(path.name for path in filmed.folder.iterdir())
    assert names == ["film.json", *(f"frame_{n:06d}.png" for n in range(30))]
    digest = hashlib.sha256()
    different = set()
    for n in range(30):
        data = (filmed.folder / f"frame_{n:06d}.png").read_bytes()
        digest.update(hashlib.sha256(data).digest())
        image = c.pygame().image.load(str(filmed.folder / f"frame_{n:06d}.png"))
        assert image.get_size() == (640, 360) and len(set(c.rgb(image))) > 50
        different.add(data)
    assert digest.hexdigest() == filmed.sha256
    _, tick, *_ = SHORT.parts()
    assert (
        len(different) >= 2 * SHORT.ticks * tick
    )  # every frame of an evening differs: cars drive between ticks


def test_same_bytes_twice(filmed: f.Filmed, tmp_path: Path) -> None:
    again = f.record(SHORT, tmp_path / "again")
    assert again.sha256 == filmed.sha256
    assert (again.folder / "film.json").read_bytes() == (filmed.folder / "film.json").read_bytes()
    other = f.record(f.Film(**{**SHORT.__dict__, "seed": 12}), tmp_path / "again")  # an older film gives way
    assert other.sha256 != filmed.sha256


def test_numbers_are_the_sessions(filmed: f.Filmed) -> None:
    told = json.loads((filmed.folder / "film.json").read_text())
    for k, run in enumerate(filmed.runs):
        kpis = run.session.observation.info["kpis"]
        for row in told["kpis"]:
            assert row[("baseline", "oracle")[k]] == kpis[row["name"]]  # type: ignore[index]
        assert told["lanes"][run.asked]["digest"] == run.session.digest()
    assert told["frames_sha256"] == filmed.sha256 and told["seed"] == 11


def test_no_model_shows_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the model left out both evenings are the baseline's: every KPI is a tie, and the badge says skipped."""
    monkeypatch.setenv("ORACLE_SKIP_LLM", "1")
    runs = f.play_both(SHORT)
    assert runs[1].badge == "oracle = baseline · skipped"
    told = f.about(SHORT, runs, "")
    assert {row["ahead"] for row in told["kpis"]} == {"tie"}  # type: ignore[attr-defined]


def test_png_is_what_was_drawn() -> None:
    surface = c.blank((10, 20, 30))
    c.put_dot(surface, 100.3, 50.7, 4.0, c.SKY, c.GROUND)
    data = c.png(c.rgb(surface), c.WIDTH, c.HEIGHT)
    import io

    assert c.rgb(c.pygame().image.load(io.BytesIO(data), "x.png")) == c.rgb(surface)


def test_mp4_gif_and_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reader = pytest.importorskip("imageio_ffmpeg", reason="films need imageio-ffmpeg")
    out, gif, picture = tmp_path / "frames", tmp_path / "x.gif", tmp_path / "x.png"
    argv = ["--out", str(out), "--seconds", "2", "--fps", "8", "--ticks", "2", "--size", "320x180", "--mp4"]
    assert command(*argv, "--gif", str(gif), "--picture", str(picture)) == 0
    count, seconds = reader.count_frames_and_secs(str(tmp_path / "frames.mp4"))
    assert count == 16 and abs(seconds - 2.0) < 0.2
    assert gif.read_bytes()[:6] == b"GIF89a" and picture.read_bytes()[:4] == b"\x89PNG"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["frames", "frames.mp4", "x.gif", "x.png"]
    assert "16 in" in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv",
    [
        ("--size", "641x361"), ("--size", "big"), ("--seconds", "0"), ("--seconds", "1"), ("--fps", "0"),
        ("--ticks", "0"), ("--seconds", "nan"), ("--scenario", "nowhere"), ("--city", "nowhere"), ("--seed", "-1"),
    ],
)  # fmt: skip
def test_bad_input_leaves_nothing(
    argv: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--out", str(tmp_path / "frames"), *argv) == 2
    said = capsys.readouterr().err
    assert "E_" in said and said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_other_files_are_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(OutputError, match=r"letter\.txt"):
        f.record(SHORT, tmp_path)
    with pytest.raises(OutputError):
        f.record(SHORT, tmp_path / "letter.txt")
    assert (tmp_path / "letter.txt").read_text() == "mine"


def test_a_film_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    def stop(n: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        f.record(SHORT, tmp_path / "frames", stop)
    assert list(tmp_path.iterdir()) == []


def test_missing_extra_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    assert command("--out", str(tmp_path / "x"), "--mp4") == 4
    assert "[viz]" in capsys.readouterr().err


def test_too_few_frames_says_how_many_are_needed() -> None:
    with pytest.raises(OptionError, match="110 frames"):
        f.Film(seconds=3.0, fps=30).parts()
    assert f.Film(seconds=11.0, fps=10).parts()[1] == 1
