"""Every column of every table and every key of the manifest says where it comes from."""

from __future__ import annotations

from collections.abc import Collection

from ev_grid_oracle.city.checks_common import Tables
from ev_grid_oracle.city.faults import Sink
from ev_grid_oracle.city.manifest import FILE as MANIFEST
from ev_grid_oracle.city.scalars import names
from ev_grid_oracle.city.spec import TABLES

PROVENANCE = "provenance.csv"
WHOLE_FILE = "*"  # a scenario is one statement: one row for the file


def check_provenance(tables: Tables, scenarios: Collection[str], sink: Sink) -> None:
    """`scenarios` are the stems of the files found."""
    p = tables.get(PROVENANCE)
    if p is None or not p.has("table", "column"):
        return
    have = dict.fromkeys(zip(p.text("table"), p.text("column"), strict=True))
    want = {(t.file, c) for t in tables.values() if t.file != PROVENANCE for c in t.header}
    want |= {(MANIFEST, k) for k in names()}
    want |= {(f"scenarios/{s}.toml", WHOLE_FILE) for s in scenarios}
    for table, column in sorted(want):
        if (table, column) not in have:
            sink.add(
                "P_NO_PROVENANCE",
                table,
                column[:64],
                0,
                "Nothing says where this comes from.",
                f"Add a row to {PROVENANCE}.",
            )
    legal = want | {(s.file, c.name) for s in TABLES.values() for c in s.columns}
    for (table, column), line in zip(
        zip(p.text("table"), p.text("column"), strict=True), p.lines, strict=True
    ):
        if (table, column) not in legal:
            sink.add(
                "P_STRAY_PROVENANCE",
                PROVENANCE,
                "column",
                line,
                f"There is no {table[:60]} {column[:60]}.",
                "Remove the row or mend the name.",
            )
