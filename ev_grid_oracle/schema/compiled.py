"""One decorator for every compiled kernel, and one cache that cannot go stale.

numba caches by the file a kernel stands in and does not see that a callee in another file changed. So
the cache folder carries a digest of all files that hold kernels: edit one, and all are compiled again.
No fast-math, no fused multiply-add, IEEE division: results are equal on any CPU.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

_MARK = b"ev_grid_oracle.schema.compiled import"
_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])


def source_digest() -> str:
    """Digest over every file of the package that holds kernels, and the row layout."""
    root = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        text = path.read_bytes()
        if _MARK in text or path.name in ("rows.py", "compiled.py"):
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(text)
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """Where compiled code is kept; `EVGRID_CACHE_DIR` overrides, a temporary folder is the last resort."""
    named = os.environ.get("EVGRID_CACHE_DIR") or os.environ.get("NUMBA_CACHE_DIR")
    base = Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "ev-grid-oracle"
    folder = base / "kernels" / source_digest()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".write-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError:
        folder = Path(tempfile.gettempdir()) / f"ev-grid-oracle-{os.getuid()}" / folder.name
        folder.mkdir(parents=True, exist_ok=True)
    return folder


numba.config.CACHE_DIR = str(cache_folder())


_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": False,
    # Kernels allocate nothing and keep nothing: every array belongs to the caller. Without numba's
    # run-time they need no reference counts, which otherwise cost a third of a tick (atomic operations
    # on every array at every call).
    "_nrt": False,
}


def kernel(function: _Kernel) -> _Kernel:
    """Compile `function` on first use, release the interpreter lock while it runs, keep the code on disk."""
    compiled: _Kernel = numba.njit(**_OPTIONS, cache=True)(function)
    return compiled


def inlined(function: _Kernel) -> _Kernel:
    """A kernel small enough to be merged into its callers by the optimiser; compiled the same way."""
    compiled: _Kernel = numba.njit(**_OPTIONS)(function)
    return compiled
