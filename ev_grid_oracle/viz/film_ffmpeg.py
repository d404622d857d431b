"""Frames to a film (mp4) or a short loop (GIF), by the ffmpeg that imageio-ffmpeg brings along."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from ev_grid_oracle.evaluation.writing import OutputError, check_writable
from ev_grid_oracle.schema.errors import MissingExtraError

FRAMES = "frame_%06d.png"


def ffmpeg() -> str:
    """Path of the program; `MissingExtraError` with the line to install it."""
    try:
        import imageio_ffmpeg
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "A film file needs imageio-ffmpeg.", 'pip install "openenv-ev-grid-oracle[viz]"'
        ) from error
    return str(imageio_ffmpeg.get_ffmpeg_exe())


def write_mp4(folder: Path, fps: int, path: Path) -> Path:
    """The frames of `folder` as H.264 that every player shows; a fixed number of threads, no date: equal frames, equal bytes."""
    options = ["-c:v", "libx264", "-preset", "veryfast", "-crf", "21", "-pix_fmt", "yuv420p", "-threads", "2"]
    return _run(
        ["-framerate", str(fps), "-i", str(folder / FRAMES), *options, "-movflags", "+faststart"], path
    )


def write_gif(folder: Path, fps: int, path: Path) -> Path:
    """The frames of `folder` as a loop, with a palette of its own."""
    palette = "split[a][b];[a]palettegen=max_colors=96:stats_mode=full[p];[b][p]paletteuse=dither=none:diff_mode=rectangle"
    return _run(["-framerate", str(fps), "-i", str(folder / FRAMES), "-filter_complex", palette], path)


def _run(arguments: list[str], path: Path) -> Path:
    """Run ffmpeg into a file beside `path`, then put that in place at once."""
    check_writable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as beside:
        part = Path(beside) / f"part{path.suffix}"
        line = [ffmpeg(), "-y", "-loglevel", "error", "-nostdin", *arguments]
        line += ["-fflags", "+bitexact", "-flags:v", "+bitexact", "-map_metadata", "-1", str(part)]
        done = subprocess.run(line, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = " ".join(done.stderr.split())[-300:] or f"exit code {done.returncode}"
            raise OutputError(f"ffmpeg could not write {str(path)!r}: {said}", "Look at the frames.")
        part.replace(path)
    return path
