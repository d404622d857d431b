"""The film of two phases: baseline, then oracle on the same evening, as numbered PNG frames.

Between ticks the cars drive on, minute by minute of their way; all else stands still, because the simulator says
nothing of it. Equal options give equal bytes; `film.json` holds the digest of all frames.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.evaluation.writing import OutputError, check_writable, to_json, write_atomic
from ev_grid_oracle.schema.axes import STEP_MINUTES
from ev_grid_oracle.schema.errors import OptionError
from ev_grid_oracle.viz import canvas as c
from ev_grid_oracle.viz import canvas_panels as p
from ev_grid_oracle.viz.canvas_scene import Scene, label_of
from ev_grid_oracle.viz.frames import LaneRun, verdicts

POLICIES = ("baseline", "oracle")
MOST_FRAMES = 36_000
PACKERS = 2
"""Threads that pack and write pictures; zlib lets them run beside the drawing."""


@dataclass(frozen=True)
class Film:
    """What is filmed.

    Attributes:
        seed, scenario, ticks: of both evenings.
        seconds, fps: length and frames a second.
        size: pixels.
    """

    seed: int = 123
    scenario: str = "baseline"
    city: str = "bengaluru"
    ticks: int = 48
    seconds: float = 120.0
    fps: int = 30
    size: tuple[int, int] = (c.WIDTH, c.HEIGHT)

    @property
    def frames(self) -> int:
        return round(self.seconds * self.fps)

    def parts(self) -> tuple[int, int, int, int, int]:
        """Frames of: title, one tick, hold at a phase's end, card between, end card."""
        if not 1 <= self.fps <= 120 or not 0.0 < self.seconds <= 3600.0 or self.frames > MOST_FRAMES:
            raise OptionError(
                f"A film of {self.seconds:g} s at {self.fps} frames a second is out of range.",
                f"Choose 1 to 120 frames a second, {MOST_FRAMES} frames at most.",
            )
        tick = int(self.frames * 0.88) // (2 * self.ticks)
        if tick < 1:
            raise OptionError(
                f"{self.frames} frames are too few for 2 x {self.ticks} ticks.",
                f"Choose more seconds, or at least {-(-2 * self.ticks * 100 // 88)} frames in all.",
            )
        rest = self.frames - 2 * self.ticks * tick
        title, hold, middle = rest // 5, rest // 10, rest * 3 // 20
        return title, tick, hold, middle, rest - title - 2 * hold - middle


@dataclass(frozen=True)
class Filmed:
    """What `record` left: frames written, digest over them, both lanes, the picture's place."""

    folder: Path
    frames: int
    sha256: str
    runs: tuple[LaneRun, LaneRun]


def play_both(film: Film) -> tuple[LaneRun, LaneRun]:
    """Both evenings, played to the end."""
    film.parts()
    pack = load_city(film.city)
    options = {"seed": film.seed, "scenario": film.scenario, "ticks": film.ticks}
    baseline, oracle = (LaneRun(pack, name, options) for name in POLICIES)
    baseline.play()
    oracle.play()
    return baseline, oracle


def pictures(film: Film, runs: tuple[LaneRun, LaneRun]) -> Iterator[tuple[Any, int]]:
    """Pictures of the film in the layout's size, each with the number of frames that it stands."""
    title, tick, hold, middle, end = film.parts()
    baseline, oracle = runs
    scene = Scene(baseline, film.seed)
    opening = scene.draw(baseline, 0, 0.0, None)
    p.card(opening, "Same evening, two dispatchers", [
        scene.about, baseline.scenario.sentence,
        f"First {baseline.asked}, then {oracle.badge}: the same cars, weather and jams.",
        "Watch the queues (orange dots), the red feeders, and the tiles below.",
    ], c.INK)  # fmt: skip
    yield opening, title
    yield from _phase(scene, baseline, None, tick, hold)
    between = scene.draw(baseline, film.ticks, float(STEP_MINUTES * film.ticks), None)
    p.card(between, "Once more, with the oracle", [
        f"{oracle.badge} answers the same evening.",
        "Small print under each tile: the baseline at the same tick.",
    ], c.ORACLE)  # fmt: skip
    yield between, middle
    yield from _phase(scene, oracle, baseline, tick, hold)
    last = scene.draw(oracle, film.ticks, float(STEP_MINUTES * film.ticks), baseline)
    p.end_card(last, verdicts(baseline.shots[-1], oracle.shots[-1]), (label_of(baseline), label_of(oracle)), [
        f"{scene.about}, {film.ticks} ticks of {STEP_MINUTES} minutes. Decided by: "
        + "; ".join(f"{run.asked} {_sources(run)}" for run in runs) + ".",
        "KPIs after the settle: cars still in the system at the end are played out, or count as lost.",
        "One evening is an example, not evidence; evgrid eval plays many and gives intervals.",
    ])  # fmt: skip
    yield last, end


def _sources(run: LaneRun) -> str:
    return ", ".join(f"{name} {n} ticks" for name, n in run.sources.items())


def _phase(
    scene: Scene, run: LaneRun, other: LaneRun | None, tick: int, hold: int
) -> Iterator[tuple[Any, int]]:
    """One evening: every tick's state, its cars moving through `tick` pictures; then its end, held."""
    caption = f"Phase {1 if other is None else 2} of 2 · {run.asked} decides"
    for t in range(len(run.shots) - 1):
        for k in range(tick):
            yield scene.draw(run, t, STEP_MINUTES * (t + k / tick), other, caption), 1
    last = len(run.shots) - 1
    yield scene.draw(run, last, float(STEP_MINUTES * last), other, "The evening is over"), hold


def record(film: Film, out: Path, advance: Callable[[int], None] | None = None) -> Filmed:
    """Write ``frame_%06d.png`` and ``film.json`` into `out`, whole or not at all; old frames there give way.

    Raises:
        OutputError: `out` is a file, cannot be written, or holds something else than an older film.
    """
    check_folder(out)
    runs = play_both(film)
    out.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}."))
    try:
        frames, digest = _write(film, runs, partial, advance or (lambda n: None))
        write_atomic(partial / "film.json", to_json(about(film, runs, digest)))
        partial.chmod(0o755)
        if out.exists():
            shutil.rmtree(out)
        partial.replace(out)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return Filmed(out, frames, digest, runs)


def check_folder(out: Path) -> None:
    """Raise `OutputError` where a film must not be written: nothing but an older film is ever replaced."""
    check_writable(out / "film.json")
    if out.is_dir():
        for there in out.iterdir():
            if there.name != "film.json" and not (there.name.startswith("frame_") and there.suffix == ".png"):
                raise OutputError(
                    f"{str(out)!r} holds {there.name!r}, which is no frame.", "Choose a new or empty folder."
                )


def about(film: Film, runs: tuple[LaneRun, LaneRun], digest: str) -> dict[str, object]:
    """What the film shows, as numbers; no date, so that equal films have equal files."""
    return {
        "schema": "evgrid-film-1",
        **asdict(film),
        "frames": film.frames,
        "frames_sha256": digest,
        "city_sha256": runs[0].session.city.sha256,
        "lanes": {
            run.asked: {"acted": run.acts, "ticks_by_source": run.sources, "digest": run.session.digest()}
            for run in runs
        },
        "kpis": [asdict(v) for v in verdicts(runs[0].shots[-1], runs[1].shots[-1])],
    }


def _write(
    film: Film, runs: tuple[LaneRun, LaneRun], folder: Path, advance: Callable[[int], None]
) -> tuple[int, str]:
    """All frames of the film; returns their number and the SHA-256 over the digests of the files in order."""
    width, height = film.size
    digest, done = hashlib.sha256(), 0
    waiting: deque[Future[list[bytes]]] = deque()

    def pack(pixels: bytes, first: int, times: int) -> list[bytes]:
        data = c.png(pixels, width, height)
        for n in range(first, first + times):
            (folder / f"frame_{n:06d}.png").write_bytes(data)
        return [hashlib.sha256(data).digest()] * times

    def collect() -> None:
        for part in waiting.popleft().result():
            digest.update(part)

    with ThreadPoolExecutor(PACKERS, thread_name_prefix="evgrid-film") as pool:
        for picture, times in pictures(film, runs):
            if not times:
                continue
            waiting.append(pool.submit(pack, c.rgb(c.scaled(picture, film.size)), done, times))
            done += times
            if len(waiting) > 2 * PACKERS:
                collect()
            advance(times)
        while waiting:
            collect()
    return done, digest.hexdigest()
