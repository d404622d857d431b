"""The small oracle's network on onnxruntime: tokens in, logits at asked places out. No torch, no download.

The graph takes ``ids`` (B, T) and ``at`` (B, P), places in each row, and gives ``logits`` (B, P, V). Attention looks
back only, so what stands behind the last place asked for (padding) changes nothing.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.policies.base import I32
from ev_grid_oracle.policies.llm.guard import ModelError
from ev_grid_oracle.schema.errors import MissingExtraError, OptionError

F32 = npt.NDArray[np.float32]

FOLDER = Path(__file__).resolve().parent / "model"
GRAPH = "model.onnx"
THREADS_VARIABLE = "ORACLE_THREADS"
MOST_THREADS = 64


class Net:
    """One network.

    Args:
        folder: with `model.onnx`.
        threads: of one call; answers are the same for any number.

    Attributes:
        model_hash: 16 hex digits of the graph's SHA-256.
    """

    def __init__(self, folder: Path = FOLDER, threads: int = 1) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise MissingExtraError(
                "The small oracle needs onnxruntime.", 'pip install "openenv-ev-grid-oracle[oracle]"'
            ) from error
        self.folder = folder
        path = folder / GRAPH
        if not path.is_file():
            raise ModelError(
                f"There is no model at {str(path)!r}.", "Train one: evgrid train --profile cpu-small."
            )
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        options.use_deterministic_compute = True
        data = path.read_bytes()
        self.model_hash = hashlib.sha256(data).hexdigest()[:16]
        try:
            self._session: Any = onnxruntime.InferenceSession(
                data, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime raises classes of its own for each kind of damage
            raise ModelError(
                f"{str(path)!r} cannot be read: it is damaged.", "Train or download it again."
            ) from error
        names = {i.name for i in self._session.get_inputs()}
        if names != {"ids", "at"}:
            raise ModelError(
                f"{str(path)!r} is another model: its inputs are {sorted(names)}.", "Train it again."
            )
        self.vocabulary = int(self._session.get_outputs()[0].shape[-1])

    def logits(self, rows: Sequence[I32], at: npt.NDArray[np.int64]) -> F32:
        """(B, P, V) for token rows of any lengths and places `at` (B, P)."""
        ids = np.zeros((len(rows), max(len(row) for row in rows)), np.int64)
        for k, row in enumerate(rows):
            ids[k, : len(row)] = row
        out: F32 = self._session.run(["logits"], {"ids": ids, "at": at})[0]
        return out

    def last(self, rows: Sequence[I32]) -> F32:
        """(B, V) after the last token of each row."""
        at = np.array([[len(row) - 1] for row in rows], np.int64)
        return self.logits(rows, at)[:, 0]


def threads_asked() -> int:
    """Threads of one call by ``ORACLE_THREADS`` (1 without)."""
    text = os.environ.get(THREADS_VARIABLE, "").strip() or "1"
    if not text.isdigit() or not 1 <= int(text) <= MOST_THREADS:
        raise OptionError(f"{THREADS_VARIABLE} is {text[:20]!r}.", f"Choose 1 to {MOST_THREADS}.")
    return int(text)


@lru_cache(maxsize=4)
def load_net(folder: Path = FOLDER, threads: int = 1) -> Net:
    """The network of a folder, loaded once a process and safe to share between threads."""
    return Net(folder, threads)
