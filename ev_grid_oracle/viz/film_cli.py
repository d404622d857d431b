"""``python -m viz.record_two_phase``: baseline, then oracle on the same evening, as frames or as a film."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from ev_grid_oracle.schema.errors import OptionError
from ev_grid_oracle.viz.frames_cli import call, say

EXAMPLE = "python -m viz.record_two_phase --seed 123 --out artifacts/frames_2min --mp4"


def record_two_phase(
    out: Annotated[
        Path, typer.Option("--out", help="Folder of the frames; an older film there gives way.")
    ] = Path("artifacts/frames_2min"),
    seed: Annotated[int, typer.Option("--seed", help="Of both evenings.")] = 123,
    scenario: Annotated[str, typer.Option("--scenario", help="Scenario of both evenings.")] = "baseline",
    city: Annotated[str, typer.Option("--city", help="City.")] = "bengaluru",
    ticks: Annotated[
        int, typer.Option("--ticks", help="Ticks of five minutes in each evening, 1 to 288.")
    ] = 48,
    seconds: Annotated[float, typer.Option("--seconds", help="Length of the film.")] = 120.0,
    fps: Annotated[int, typer.Option("--fps", help="Frames a second.")] = 30,
    size: Annotated[str, typer.Option("--size", help="Pixels, even numbers.")] = "1280x720",
    mp4: Annotated[bool, typer.Option("--mp4", help="Make <out>.mp4 of the frames.")] = False,
    gif: Annotated[Path | None, typer.Option("--gif", help="Make a GIF of the frames (choose few).")] = None,
    picture: Annotated[
        Path | None,
        typer.Option("--picture", help="Copy one frame, from the middle of the oracle's evening."),
    ] = None,
) -> None:
    """Film one evening twice: first the baseline decides, then the oracle; an end card says what differed."""
    from ev_grid_oracle.evaluation.writing import check_writable
    from ev_grid_oracle.viz.canvas import size_of
    from ev_grid_oracle.viz.figures_style import write_png
    from ev_grid_oracle.viz.film import Film, record
    from ev_grid_oracle.viz.film_ffmpeg import ffmpeg, write_gif, write_mp4

    if not 1 <= ticks <= 288:
        raise OptionError(f"{ticks} ticks are out of range.", "Choose 1 to 288.")
    film = Film(seed, scenario, city, ticks, seconds, fps, size_of(size))
    title, tick, hold, middle, _ = film.parts()
    movie = out.parent / f"{out.name}.mp4"
    for path in (movie if mp4 else None, gif, picture):
        if path is not None:
            check_writable(path)
    if mp4 or gif is not None:
        ffmpeg()  # said now, not after minutes
    started, done, told = time.monotonic(), 0, 0

    def advance(n: int) -> None:
        nonlocal done, told
        done += n
        if done * 10 // film.frames > told:
            told = done * 10 // film.frames
            say(f"{done} of {film.frames} frames, {time.monotonic() - started:.0f} s")

    filmed = record(film, out, advance)
    typer.echo(f"Frames: {filmed.frames} in {out}, sha256 {filmed.sha256}")
    for run in filmed.runs:
        typer.echo(f"{run.asked}: acted {run.acts}, ticks by source {run.sources}")
    if picture is not None:
        n = title + tick * ticks + hold + middle + int(tick * ticks * 0.62)
        write_png(picture, (out / f"frame_{n:06d}.png").read_bytes())
        typer.echo(f"Picture: {picture}")
    if mp4:
        typer.echo(f"Film: {write_mp4(out, fps, movie)}")
    if gif is not None:
        typer.echo(f"GIF: {write_gif(out, fps, gif)}")
    if not mp4:
        typer.echo(
            f"Next: ffmpeg -framerate {fps} -i {out}/frame_%06d.png -c:v libx264 -pix_fmt yuv420p {movie}"
        )


def main() -> int:
    """The command; returns its exit code."""
    return call(record_two_phase, "viz.record_two_phase", EXAMPLE)
