"""Sessions by id: least recently used ones go first, unused ones after a while.

What is kept of a session is its environment, and through it the recipe (city hash, options, actions) and a
snapshot: `stored` gives both as plain values, so keeping sessions on disk later is another implementation of
this class, not another server.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ev_grid_oracle.interfaces.openenv.environment import EVGridEnvironment
from ev_grid_oracle.schema.errors import NoEpisodeError, OptionError

T = TypeVar("T")

DEFAULT = "default"
_NAME = re.compile(r"[A-Za-z0-9._:-]{1,128}", re.ASCII)


@dataclass
class Kept(Generic[T]):
    """One session.

    Attributes:
        lock: held while a request is worked on, so that two requests of one session never overlap.
        used: clock of the last use.
    """

    value: T
    used: float
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True)
class Stored:
    """A session as plain values: enough to have it again on another machine."""

    session_id: str
    recipe: dict[str, object]
    snapshot: bytes


class SessionStore(Generic[T]):
    """Sessions of one kind.

    Args:
        make: a new value for a session that is opened.
        cap: most sessions kept.
        idle_s: a session unused for this long is dropped.
        clock: seconds; another one in tests.
    """

    def __init__(
        self, make: Callable[[], T], cap: int, idle_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._make = make
        self._cap = cap
        self._idle_s = idle_s
        self._clock = clock
        self._kept: OrderedDict[str, Kept[T]] = OrderedDict()

    def __len__(self) -> int:
        self._drop_idle()
        return len(self._kept)

    @property
    def cap(self) -> int:
        return self._cap

    def find(self, session_id: str) -> Kept[T] | None:
        """The session of that id, now the most recently used; None where there is none (any more)."""
        self._drop_idle()
        kept = self._kept.get(session_id)
        if kept is not None:
            kept.used = self._clock()
            self._kept.move_to_end(session_id)
        return kept

    def open(self, session_id: str) -> Kept[T]:
        """The session of that id, made where there is none; the least recently used one makes room."""
        kept = self.find(session_id)
        if kept is None:
            kept = self.put(session_id, self._make())
        return kept

    def put(self, session_id: str, value: T) -> Kept[T]:
        """Keep `value` under a new id."""
        while len(self._kept) >= self._cap:
            idle = (name for name, kept in self._kept.items() if not kept.lock.locked())
            self._kept.pop(next(idle, next(iter(self._kept))))
        kept = self._kept[session_id] = Kept(value, self._clock())
        return kept

    def drop(self, session_id: str) -> None:
        self._kept.pop(session_id, None)

    def _drop_idle(self) -> None:
        until = self._clock() - self._idle_s
        while self._kept:
            name, oldest = next(iter(self._kept.items()))
            if oldest.used > until or oldest.lock.locked():
                return
            del self._kept[name]


def stored(store: SessionStore[EVGridEnvironment], session_id: str) -> Stored:
    """A session as its recipe and a snapshot; `NoEpisodeError` where there is none."""
    kept = store.find(session_id)
    if kept is None or not kept.value.started:
        raise NoEpisodeError(f"Session {session_id!r} has no episode.", "Call reset first.")
    return Stored(session_id, kept.value.recipe.to_dict(), kept.value.snapshot())


def session_name(given: str | None) -> str:
    """The id a request names, checked; without one the session that all such requests share."""
    if given is None:
        return DEFAULT
    if _NAME.fullmatch(given) is None:
        raise OptionError(
            "The session id is not 1 to 128 letters, digits or ._:- characters.", "Choose another id."
        )
    return given
