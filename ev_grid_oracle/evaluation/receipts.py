"""Receipts as JSON and back; whether they are true is asked in `receipts_check`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ev_grid_oracle.evaluation.work import Episode, Receipt
from ev_grid_oracle.evaluation.writing import OutputError
from ev_grid_oracle.schema import rows as r


class ReceiptError(OutputError):
    """A file that should hold results or receipts does not."""


def ticks_of(receipt: Receipt) -> list[int]:
    """The tick of every answer of a receipt."""
    return [t for t, n in enumerate(receipt.counts.tolist()) for _ in range(n)]


def to_row(e: Episode, receipt: Receipt) -> dict[str, object]:
    """A receipt as JSON: answers as rows of tick, car, kind, station, rate, minutes, confidence, code."""
    return {
        "episode_id": e.id,
        "scenario": e.scenario,
        "policy": e.policy,
        "options": dict(e.options),
        "start": e.start,
        "sha256": receipt.sha256(),
        "answers": [
            [t, *row[:7]] for t, row in zip(ticks_of(receipt), receipt.answers.tolist(), strict=True)
        ],
        "refused": receipt.refused.tolist(),
        "rewards": receipt.rewards.tolist(),
        "digests": [bytes(d).hex() for d in receipt.digests],
    }


def from_row(row: Mapping[str, object]) -> Receipt:
    """The receipt that `to_row` wrote; `ReceiptError` names a field that is not as it should be."""
    try:
        rewards = np.array(row["rewards"], np.float64)
        ticks = len(rewards)
        told = np.array(row["answers"], np.int64).reshape(-1, 8)
        refused = np.array(row["refused"], np.int32)
        digests = np.array([list(bytes.fromhex(d)) for d in row["digests"]], np.uint8)  # type: ignore[attr-defined]
        if refused.shape != (ticks,) or digests.shape != (ticks, 16):
            raise ValueError("ticks")
        if len(told) and not (told[0, 0] >= 0 and told[-1, 0] < ticks and (np.diff(told[:, 0]) >= 0).all()):
            raise ValueError("answers")
        if (np.abs(told) > 2**31).any():
            raise ValueError("answers")
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as exc:
        raise ReceiptError(
            f"The receipt of {str(row.get('episode_id'))[:80]} cannot be read ({exc}).", "Take another file."
        ) from None
    rows = np.zeros((len(told), r.N_DCOL), np.int32)
    rows[:, :7] = told[:, 1:].astype(np.int32)
    counts = np.bincount(told[:, 0], minlength=ticks).astype(np.int32)
    return Receipt(rows, counts, refused, rewards, digests)
