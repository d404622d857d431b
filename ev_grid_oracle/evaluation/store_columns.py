"""Episodes as rows of a Parquet table and back: one name for each column, the one that the JSON uses.

Plain columns first (who, where, values, binary facts, decisions by source), then nested ones: the receipt
(`answers`, `refused`, `rewards`, `digests`), `series` and `confidence`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.episode.trace import SOURCES
from ev_grid_oracle.evaluation.receipts import ticks_of
from ev_grid_oracle.evaluation.work import Episode, Receipt
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.errors import MissingExtraError

ANSWER = ("tick", "car", "kind", "station", "rate", "defer_minutes", "confidence_bp", "code")
"""Fields of an answer; the last seven are columns D_* of a decision row."""
HEAD = ("episode_id", "scenario", "policy", "acted", "model_hash", "episode_index", "episode_seed", "ticks",
        "options", "start", "end", "receipt_sha256", "sha256")  # fmt: skip
RECEIPT_COLUMNS = ("answers", "refused", "rewards", "digests")
NESTED = (*RECEIPT_COLUMNS, "series", "confidence")
DECISIONS = "decisions_"


def arrow() -> Any:  # pyarrow carries no types
    """pyarrow, or the error that names the extra."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as exc:
        raise MissingExtraError(
            "A store of episodes needs pyarrow.", "pip install 'openenv-ev-grid-oracle[scale]'"
        ) from exc
    return pyarrow


def table_of(episodes: Sequence[Episode]) -> Any:
    """An Arrow table, one row an episode, in the order given."""
    pa = arrow()
    n = len(episodes)
    columns: dict[str, Any] = {
        "episode_id": pa.array([e.id for e in episodes], pa.string()),
        "scenario": pa.array([e.scenario for e in episodes], pa.string()),
        "policy": pa.array([e.policy for e in episodes], pa.string()),
        "acted": pa.array([e.acted for e in episodes], pa.string()),
        "model_hash": pa.array([e.model_hash for e in episodes], pa.string()),
        "episode_index": pa.array([e.index for e in episodes], pa.int32()),
        "episode_seed": pa.array([e.seed for e in episodes], pa.int64()),
        "ticks": pa.array([e.ticks for e in episodes], pa.int32()),
        "options": pa.array([json.dumps(dict(e.options), sort_keys=True) for e in episodes], pa.string()),
        "start": pa.array([e.start for e in episodes], pa.string()),
        "end": pa.array([e.end for e in episodes], pa.string()),
        "receipt_sha256": pa.array([e.receipt_sha256 for e in episodes], pa.string()),
        "sha256": pa.array([e.row_sha256() for e in episodes], pa.string()),
    }
    for name in episodes[0].values:
        columns[name] = pa.array([e.values[name] for e in episodes], pa.float64())
    for name in episodes[0].binary:
        columns[name] = pa.array([e.binary[name] for e in episodes], pa.bool_())
    for source in SOURCES:
        columns[f"{DECISIONS}{source}"] = pa.array([e.sources.get(source, 0) for e in episodes], pa.int32())
    receipts = [e.receipt for e in episodes]
    if any(receipt is None for receipt in receipts):
        raise ValueError("a store keeps the receipt of every episode")
    columns["answers"] = _answers(pa, [receipt for receipt in receipts if receipt is not None])
    columns["refused"] = pa.array([x.refused.tolist() for x in receipts if x], pa.list_(pa.int32()))
    columns["rewards"] = pa.array([x.rewards.tolist() for x in receipts if x], pa.list_(pa.float64()))
    columns["digests"] = pa.array([x.digests.tobytes() for x in receipts if x], pa.binary())
    columns["series"] = pa.array(
        [None if e.series is None else list(e.series.items()) for e in episodes],
        pa.map_(pa.string(), pa.list_(pa.float64())),
    )
    stated = pa.struct(
        [
            ("tick", pa.int32()),
            ("car", pa.int32()),
            ("confidence", pa.float64()),
            ("plugged_in_time", pa.bool_()),
        ]
    )
    columns["confidence"] = pa.array(
        [[dict(zip(("tick", "car", "confidence", "plugged_in_time"), s, strict=True)) for s in e.stated]
         for e in episodes],
        pa.list_(stated),
    )  # fmt: skip
    assert all(len(c) == n for c in columns.values())
    return pa.table(columns)


def _answers(pa: Any, receipts: Sequence[Receipt]) -> Any:
    """list<struct> of all answers, made column by column."""
    rows = np.concatenate([x.answers for x in receipts])
    ends = np.concatenate([[0], np.cumsum([len(x.answers) for x in receipts])])
    ticks = np.concatenate([np.asarray(ticks_of(x), np.int32) for x in receipts])
    fields = [pa.array(ticks, pa.int32())]
    fields += [pa.array(np.ascontiguousarray(rows[:, k]), pa.int32()) for k in range(len(ANSWER) - 1)]
    struct = pa.StructArray.from_arrays(fields, names=list(ANSWER))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), struct)


def plain_columns(names: Sequence[str]) -> list[str]:
    """Those of `names` that are not nested."""
    return [name for name in names if name not in NESTED]


def episodes_of(table: Any) -> list[Episode]:
    """Episodes of an Arrow table; receipts, series and statements only where their columns were read."""
    names = table.column_names
    rows = table.select(plain_columns(names)).to_pylist()
    binary = [f.name for f in table.schema if str(f.type) == "bool"]
    values = [f.name for f in table.schema if str(f.type) == "double"]
    receipts = _receipts(table, names) if "answers" in names else [None] * len(rows)
    series = _column(table, names, "series")
    stated = _column(table, names, "confidence")
    out = []
    for n, row in enumerate(rows):
        kept = series[n]
        out.append(
            Episode(
                row["scenario"], row["policy"], row["acted"], row["model_hash"], row["episode_index"],
                row["episode_seed"], row["ticks"], json.loads(row["options"]), row["start"], row["end"],
                {name: row[name] for name in values}, {name: row[name] for name in binary},
                {s: row[f"{DECISIONS}{s}"] for s in sorted(SOURCES) if row[f"{DECISIONS}{s}"]},
                row["receipt_sha256"], receipts[n], None if kept is None else dict(kept),
                [(s["tick"], s["car"], s["confidence"], s["plugged_in_time"]) for s in stated[n] or ()],
                row["sha256"],
            )
        )  # fmt: skip
    return out


def _column(table: Any, names: Sequence[str], name: str) -> list[Any]:
    return table[name].to_pylist() if name in names else [None] * table.num_rows


def _receipts(table: Any, names: Sequence[str]) -> list[Receipt | None]:
    out: list[Receipt | None] = []
    answers = table["answers"].combine_chunks()
    columns = [np.asarray(answers.values.field(k)) for k in range(len(ANSWER))]
    ends = np.asarray(answers.offsets)
    rewards, refused, digests = (table[k].to_pylist() for k in ("rewards", "refused", "digests"))
    for n in range(table.num_rows):
        first, last = int(ends[n]), int(ends[n + 1])
        out.append(receipt_of([c[first:last] for c in columns], refused[n], rewards[n], digests[n]))
    return out


def receipt_of(
    answers: Sequence[npt.NDArray[np.int32]], refused: Sequence[int], rewards: Sequence[float], digests: bytes
) -> Receipt:
    """A receipt from the columns of its answers (tick first) and what was kept by tick."""
    ticks = len(rewards)
    rows = np.zeros((len(answers[0]), r.N_DCOL), np.int32)
    for k, column in enumerate(answers[1:]):
        rows[:, k] = column
    counts = np.bincount(answers[0], minlength=ticks).astype(np.int32)
    words = np.frombuffer(digests, np.uint8).reshape(-1, 16).copy()
    return Receipt(rows, counts, np.asarray(refused, np.int32), np.asarray(rewards, np.float64), words)


def identity_of(metadata: Mapping[bytes, bytes] | None) -> dict[str, object]:
    """What a part says it was made with; empty for a file that is none of ours."""
    try:
        found = json.loads((metadata or {})[b"evgrid"])
    except (KeyError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
