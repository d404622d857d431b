"""The lines of one answer, a place in them, and the faults found so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ev_grid_oracle.protocol.grammar import MAX_ISSUES
from ev_grid_oracle.schema.action import ParseIssue

_SHOWN = 40


class AnswerContext(Protocol):
    """What the parser needs to know; every `Observation` is one."""

    @property
    def station_ids(self) -> Sequence[str]: ...
    @property
    def pending_ids(self) -> Sequence[str]: ...


def shown(value: str) -> str:
    """`value` quoted for a message, at most 40 characters: a refused number must not fill a log."""
    text = repr(value[:_SHOWN])
    if len(value) > _SHOWN or len(text) > _SHOWN:
        return f"{text[: _SHOWN - 4]}...'"
    return text


class Cursor:
    """Walks over trimmed lines and collects issues with their place in the whole text.

    A line ends with LF or CRLF; ASCII blanks and tabs at its end do not count. A CR anywhere else stays
    and is judged by the field it stands in, because it is no line end of the protocol.
    """

    __slots__ = ("_first_column", "_first_line", "at", "issues", "lines")

    def __init__(self, text: str, offset: int = 0) -> None:
        raw = text[offset:].split("\n")
        last = raw.pop()
        if "\r" in text:
            raw = [line[:-1] if line.endswith("\r") else line for line in raw]
        raw.append(last)
        self.lines = [line.rstrip(" \t") for line in raw]
        self.at = 0
        self.issues: list[ParseIssue] = []
        self._first_line = 1 + text.count("\n", 0, offset)
        self._first_column = offset - (text.rfind("\n", 0, offset) + 1)
        if offset:  # the rest of a line that something else began
            head = self.lines[0].lstrip(" \t")
            self._first_column += len(self.lines[0]) - len(head)
            self.lines[0] = head

    @property
    def line(self) -> str | None:
        """The present line, None at the end."""
        return self.lines[self.at] if self.at < len(self.lines) else None

    @property
    def full(self) -> bool:
        """Enough has been found; going on would only cost time."""
        return len(self.issues) >= MAX_ISSUES

    def skip_blank(self) -> str | None:
        """Moves to the next line that is not blank and gives it."""
        lines, n = self.lines, len(self.lines)
        at = self.at
        while at < n and not lines[at]:
            at += 1
        self.at = at
        return lines[at] if at < n else None

    def issue(
        self, code: str, message: str, *, field: str = "", at: int | None = None, column: int = 1
    ) -> None:
        """Notes a fault at line index `at` (the present one if None), 1-based `column`."""
        index = self.at if at is None else at
        shift = self._first_column if index == 0 else 0
        self.issues.append(ParseIssue(code, self._first_line + index, column + shift, field, message))
