"""A pack in a scratch folder that tests break cell by cell."""

from __future__ import annotations

import csv
from pathlib import Path


class Editable:
    """A pack in a scratch folder. Rows are counted from 0 below the header."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def rows(self, file: str) -> list[list[str]]:
        with (self.path / file).open(newline="", encoding="utf-8") as f:
            return list(csv.reader(f))

    def write(self, file: str, rows: list[list[str]]) -> None:
        with (self.path / file).open("w", newline="", encoding="utf-8") as f:
            csv.writer(f, lineterminator="\n").writerows(rows)

    def set(self, file: str, row: int, column: str, value: str) -> None:
        rows = self.rows(file)
        rows[row + 1][rows[0].index(column)] = value
        self.write(file, rows)

    def get(self, file: str, row: int, column: str) -> str:
        rows = self.rows(file)
        return rows[row + 1][rows[0].index(column)]

    def drop_column(self, file: str, column: str) -> None:
        rows = self.rows(file)
        at = rows[0].index(column)
        self.write(file, [r[:at] + r[at + 1 :] for r in rows])

    def drop_row(self, file: str, row: int) -> None:
        rows = self.rows(file)
        self.write(file, rows[: row + 1] + rows[row + 2 :])

    def text(self, file: str, old: str, new: str) -> None:
        path = self.path / file
        before = path.read_text(encoding="utf-8")
        assert old in before, (file, old)
        path.write_text(before.replace(old, new, 1), encoding="utf-8", newline="\n")
