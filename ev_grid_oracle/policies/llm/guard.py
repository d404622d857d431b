"""A limit in time for work that cannot be trusted to end: a model that generates, a server that is silent.

The work runs in a thread of its own and is told its deadline; one that passes it is left to itself (a thread
cannot be stopped from outside) and the caller goes on. Until it has ended, the same guard starts nothing new.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from ev_grid_oracle.schema.errors import EVGridError, OptionError

T = TypeVar("T")

TIMEOUT_VARIABLE = "DEMO_ORACLE_INFERENCE_TIMEOUT_SEC"
USUAL_TIMEOUT_S = 120.0


class ModelError(EVGridError):
    """A language model cannot be had or cannot answer."""

    code = "E_POLICY"


class LateError(ModelError):
    """No answer within the time allowed."""


def timeout_s() -> float:
    """Seconds a model may take for one batch of prompts, from the environment.

    Raises:
        OptionError: the variable is no number from 0.001 to 3600.
    """
    text = os.environ.get(TIMEOUT_VARIABLE, "").strip()
    if not text:
        return USUAL_TIMEOUT_S
    try:
        seconds = float(text)
    except ValueError:
        seconds = float("nan")
    if not 0.001 <= seconds <= 3600.0:
        raise OptionError(f"{TIMEOUT_VARIABLE} is {text[:40]!r}.", "Give a number from 0.001 to 3600.")
    return seconds


class _Work(Generic[T]):
    """One call: its thread, and what came of it."""

    def __init__(self, call: Callable[[float], T], deadline: float) -> None:
        self.value: T | None = None
        self.error: BaseException | None = None
        self.ended = threading.Event()
        self._call, self._deadline = call, deadline
        # a daemon: a server that never answers must not keep the program from ending
        threading.Thread(target=self._run, name="evgrid-model", daemon=True).start()

    def _run(self) -> None:
        try:
            self.value = self._call(self._deadline)
        except BaseException as error:  # handed to the caller, who waits in another thread
            self.error = error
        finally:
            self.ended.set()


class Guard:
    """Calls one after another, each with a limit.

    Args:
        seconds: of one call.
        what: named in messages.
    """

    def __init__(self, seconds: float, what: str = "the model") -> None:
        self.seconds, self._what = seconds, what
        self._last: _Work[object] | None = None

    def call(self, work: Callable[[float], T]) -> T:
        """`work(deadline)` (on `time.monotonic`'s clock); its errors come back as they are.

        Raises:
            LateError: it took too long, or an earlier call that did has not ended yet.
        """
        if self._last is not None and not self._last.ended.is_set():
            raise LateError(f"{self._what} is still busy with an earlier call.")
        running = _Work(work, time.monotonic() + self.seconds)
        self._last = running  # type: ignore[assignment]  # only whether it has ended is read again
        if not running.ended.wait(self.seconds):
            raise LateError(f"{self._what} gave no answer within {self.seconds:g} s.")
        if running.error is not None:
            raise running.error
        return running.value  # type: ignore[return-value]  # set: there was no error


def within(seconds: float, what: str, work: Callable[[], T]) -> T:
    """`work()` with a limit, for a single call."""
    return Guard(seconds, what).call(lambda _deadline: work())
