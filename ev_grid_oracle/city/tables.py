"""Strict reading of CSV tables: every fault with its line, no guess, no exception.

A table that cannot be read at all is `None`; one with bad cells is returned with NaN or "" in their
place, so that the checks that follow can still find what else is wrong. Nothing is built from a pack
with a fault.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ev_grid_oracle.city.faults import Sink
from ev_grid_oracle.city.files import read_text
from ev_grid_oracle.city.model import F64, I32
from ev_grid_oracle.city.spec import Column, TableSpec

MAX_TEXT = 300
MAX_ID = 64
NUMBER = re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,2})?")
INTEGER = re.compile(r"[+-]?[0-9]{1,9}")
IDENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
TIME = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]|24:00")
NOT_A_NUMBER = frozenset({"nan", "inf", "infinity", "null", "none", "na", "n/a"})


@dataclass(frozen=True)
class Table:
    """A parsed table: `lines` are file line numbers, `cols` raw cells, `nums` the numeric columns."""

    file: str
    lines: tuple[int, ...]
    header: tuple[str, ...]
    cols: dict[str, tuple[str, ...]]
    nums: dict[str, F64]

    def __len__(self) -> int:
        return len(self.lines)

    def has(self, *names: str) -> bool:
        """True if all these columns could be read."""
        return all(n in self.cols for n in names)

    def text(self, name: str) -> tuple[str, ...]:
        return self.cols[name]

    def num(self, name: str) -> F64:
        return self.nums[name]

    def ints(self, name: str) -> I32:
        """The column as int32; only for columns already checked."""
        return self.nums[name].astype(np.int32)

    def index(self, name: str) -> dict[str, int]:
        """Row of each value of a unique column (the first where it is not)."""
        out: dict[str, int] = {}
        for i, v in enumerate(self.cols[name]):
            out.setdefault(v, i)
        return out


def minutes(text: str) -> int:
    """Minute of the day of `HH:MM`; 24:00 is 1440."""
    return int(text[:2]) * 60 + int(text[3:])


def read_table(path: Path, spec: TableSpec, sink: Sink) -> Table | None:
    """One CSV table against its spec."""
    text = read_text(path, spec.file, sink)
    if text is None:
        return None
    head = text.lstrip().splitlines()[0]
    for sep, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if head.count(sep) > head.count(","):
            sink.add("P_SEPARATOR", spec.file, "", 1, f"Cells are separated by {name}.", "Use commas.")
            return None
    try:
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        rows = [(reader.line_num, r) for r in reader if r]
    except csv.Error as e:
        sink.add("P_CSV", spec.file, "", 0, f"Not valid CSV: {e}.", "Mend the quotes.")
        return None
    header = tuple(rows[0][1])
    if not _header_ok(header, spec, sink):
        return None
    body = []
    for line, cells in rows[1:]:
        if len(cells) != len(header):
            sink.add(
                "P_ROW_LENGTH",
                spec.file,
                "",
                line,
                f"{len(cells)} cells under {len(header)} headings.",
                "A decimal comma or a missing separator?",
            )
        else:
            body.append((line, cells))
    if not spec.min_rows <= len(rows) - 1 <= spec.max_rows:
        code = "P_EMPTY" if len(rows) - 1 < spec.min_rows else "P_TOO_MANY_ROWS"
        sink.add(
            code, spec.file, "", 0, f"{len(rows) - 1} rows.", f"{spec.min_rows} to {spec.max_rows} are legal."
        )
    lines = tuple(line for line, _ in body)
    cols = {n: tuple(r[i] for _, r in body) for i, n in enumerate(header)}
    nums: dict[str, F64] = {}
    for c in spec.columns:
        if c.name in cols:
            _column(c, cols[c.name], lines, nums, spec.file, sink)
    table = Table(spec.file, lines, header, cols, nums)
    _unique(table, spec.key, sink)
    return table


def _header_ok(header: tuple[str, ...], spec: TableSpec, sink: Sink) -> bool:
    """Report columns that are missing, unknown or doubled; False if the table is not usable."""
    want = {c.name for c in spec.columns}
    ok = True
    for n in sorted({h for h in header if header.count(h) > 1}):
        sink.add(
            "P_DOUBLE_COLUMN", spec.file, n[:MAX_ID], 1, f"Column {n[:MAX_ID]!r} stands twice.", "Keep one."
        )
        ok = False
    missing = [c.name for c in spec.columns if c.name not in header]
    for n in missing:
        sink.add("P_MISSING_COLUMN", spec.file, n, 1, f"Column {n!r} is missing.", "Add it.")
    for n in header:
        if n not in want:
            twin = next((m for m in missing if m.rsplit("_", 1)[0] == n.rsplit("_", 1)[0]), "")
            cure = f"Expected {twin!r}: another unit?" if twin else f"Known: {', '.join(sorted(want))}."
            sink.add(
                "P_UNKNOWN_COLUMN", spec.file, n[:MAX_ID], 1, f"Column {n[:MAX_ID]!r} is not known.", cure
            )
    return ok


def _column(
    c: Column, cells: tuple[str, ...], lines: tuple[int, ...], nums: dict[str, F64], file: str, sink: Sink
) -> None:
    """Check the cells of one column and store its numbers."""
    if c.kind in ("float", "int", "flag"):
        nums[c.name] = np.array(
            [_number(c, v, line, file, sink) for v, line in zip(cells, lines, strict=True)], dtype=np.float64
        )
        return
    for v, line in zip(cells, lines, strict=True):
        if v != v.strip():
            sink.add("P_BLANK", file, c.name, line, f"Blanks around {v[:40]!r}.", "Remove them.")
        elif not v:
            # a blank parent is an island, reported with its name by the grid checks
            if c.kind not in ("ref", "note"):
                sink.add("P_EMPTY_CELL", file, c.name, line, "The cell is empty.", "Fill it in.")
        elif c.kind == "choice":
            if v not in c.choices:
                sink.add(
                    "P_CHOICE",
                    file,
                    c.name,
                    line,
                    f"{v[:40]!r} is not known.",
                    f"One of {', '.join(c.choices)}.",
                )
        elif c.kind == "time":
            if not TIME.fullmatch(v):
                sink.add(
                    "P_TIME", file, c.name, line, f"{v[:40]!r} is not a time.", "HH:MM from 00:00 to 24:00."
                )
        elif len(v) > (MAX_ID if c.kind in ("id", "ref") else MAX_TEXT):
            sink.add("P_TOO_LONG", file, c.name, line, f"{len(v)} characters.", "Shorten it.")
        elif c.kind in ("id", "ref") and not IDENT.fullmatch(v):
            sink.add("P_BAD_ID", file, c.name, line, f"{v!r} is no id.", "Letters, digits, _ . and - only.")


def _number(c: Column, v: str, line: int, file: str, sink: Sink) -> float:
    """The cell as a number in its range, else NaN and a fault."""
    if v.strip().lstrip("+-").lower() in NOT_A_NUMBER:
        sink.add("P_NAN", file, c.name, line, f"{v[:40]!r} is not finite.", "Give a number.")
        return np.nan
    if not v:
        sink.add(
            "P_EMPTY_CELL", file, c.name, line, "The cell is empty.", "Give a number; nothing is assumed."
        )
        return np.nan
    if not NUMBER.fullmatch(v):
        sink.add(
            "P_NOT_NUMBER", file, c.name, line, f"{v[:40]!r} is not a number.", "Plain digits, decimal point."
        )
        return np.nan
    if c.kind != "float" and not INTEGER.fullmatch(v):
        sink.add("P_NOT_INTEGER", file, c.name, line, f"{v[:40]!r} is not whole.", "Give an integer.")
        return np.nan
    x = float(v)
    lo, hi = (0.0, 1.0) if c.kind == "flag" else (c.lo, c.hi)
    if not lo <= x <= hi:
        sink.add("P_RANGE", file, c.name, line, f"{v} is outside {lo:g} to {hi:g}.", "Wrong unit or a slip?")
        return np.nan
    return x


def _unique(table: Table, key: tuple[str, ...], sink: Sink) -> None:
    if not table.has(*key):
        return
    seen: dict[tuple[str, ...], int] = {}
    for k, line in zip(zip(*(table.cols[c] for c in key), strict=True), table.lines, strict=True):
        first = seen.setdefault(k, line)
        if first != line:
            sink.add(
                "P_DUPLICATE",
                table.file,
                key[-1],
                line,
                f"{'/'.join(k)[:80]!r} stands in line {first} too.",
                "Keep one row.",
            )
