"""Progress on standard error, within two seconds of every wait.

On a terminal a bar; elsewhere plain lines, at most one every two seconds. Standard output stays clean, so
that `--json` can be piped.
"""

from __future__ import annotations

import sys
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

EVERY_S = 2.0


class Waiting:
    """A wait with a known or unknown length.

        with Waiting("Playing", total=480) as wait:
            wait.say("compiling kernels")
            wait.advance(12, "baseline")

    Attributes:
        total: units of work, None while unknown.
    """

    def __init__(self, title: str, total: float | None = None) -> None:
        self.title = title
        self.total = total
        self._done = 0.0
        self._last = 0.0
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Waiting:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            self._bar = Progress(
                SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(),
                console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self._bar.start()
            self._task = self._bar.add_task(self.title, total=self.total)
        else:
            self._line(self.title)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, text: str) -> None:
        """What is being done now, shown at once."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=f"{self.title}: {text}")
        else:
            self._line(f"{self.title}: {text}")

    def expect(self, total: float) -> None:
        """The length is known now."""
        self.total = total
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, total=total)

    def advance(self, amount: float, text: str = "") -> None:
        """`amount` more units are done; `text` says on what."""
        self._done += amount
        if self._bar is not None and self._task is not None:
            description = f"{self.title}: {text}" if text else self.title
            self._bar.update(self._task, advance=amount, description=description)
        elif self.total and monotonic() - self._last >= EVERY_S:
            self._line(f"{self.title}: {100.0 * self._done / self.total:.0f} % {text}".rstrip())

    def _line(self, text: str) -> None:
        self._last = monotonic()
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def load_simulator(wait: Waiting) -> None:
    """Import the kernels, saying so; the first use on a machine compiles them."""
    wait.say("loading the simulator")
    from ev_grid_oracle.schema.compiled import cache_folder

    if not any(cache_folder().rglob("kernel.play_rule-*.nbi")):
        wait.say("compiling the simulator (once on this machine, one to two minutes)")
    import ev_grid_oracle.episode.batch  # noqa: F401
