"""What is wrong with a pack, as data: one `Fault` per finding, collected by a `Sink`."""

from __future__ import annotations

from dataclasses import dataclass

MAX_PER_KIND = 25
"""Findings of one code in one column that are listed one by one; the rest is counted."""


@dataclass(frozen=True)
class Fault:
    """One finding.

    Attributes:
        code: stable identifier, for instance ``P_MISSING_COLUMN``.
        table: file inside the pack, for instance ``stations.csv``.
        column: column or ``section.key``; empty when the file as a whole is meant.
        row: line number in the file, counted from 1; 0 when no single line is meant.
        message: what was found, with the value.
        cure: what to do about it.
    """

    code: str
    table: str
    column: str
    row: int
    message: str
    cure: str

    def __str__(self) -> str:
        """`code table:row column: message cure`, the form people see."""
        where = f"{self.table}:{self.row}" if self.row else self.table
        column = f" [{self.column}]" if self.column else ""
        return f"{self.code} {where}{column}: {self.message} {self.cure}".strip()


class Sink:
    """Collects faults; a column that is wrong in every row does not flood the list."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._seen: dict[tuple[str, str, str], int] = {}

    def add(self, code: str, table: str, column: str, row: int, message: str, cure: str) -> None:
        key = (code, table, column)
        n = self._seen.get(key, 0)
        self._seen[key] = n + 1
        if n < MAX_PER_KIND:
            self._faults.append(Fault(code, table, column, row, message, cure))

    def result(self) -> tuple[Fault, ...]:
        """All faults in file order of their finding, with one line for each column that was cut short."""
        cut = [
            Fault(c, t, col, 0, f"{n - MAX_PER_KIND} more of this kind are not listed.", "")
            for (c, t, col), n in self._seen.items()
            if n > MAX_PER_KIND
        ]
        return (*self._faults, *cut)
