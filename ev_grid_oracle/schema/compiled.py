"""One decorator for every compiled kernel, and one cache that cannot go stale.

numba caches by the file a kernel stands in and does not see that a callee in another file changed. So
the cache folder carries a digest of all files that hold kernels: edit one, and all are compiled again.
No fast-math, no fused multiply-add, IEEE division: results are equal on any CPU.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np import arrayobj

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


setattr(numba.config, "CACHE_DIR", str(cache_folder()))  # noqa: B010  numba builds its settings at run time


_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": False,
    # Kernels allocate nothing and keep nothing: every array belongs to the caller. Without numba's
    # run-time they need no reference counts, which otherwise cost a third of a tick (atomic operations
    # on every array at every call).
    "_nrt": False,
}


_compiling = threading.local()


def _plain_indices() -> None:
    """Let numba drop the wrap-around of negative indices inside our kernels, and only there.

    Offsets into rows are never negative, and the check costs several per cent of a tick. Elsewhere in the
    process numba keeps its rule. Where a future numba lacks the hook, kernels are slower and equal.
    """
    usual = getattr(arrayobj, "fix_integer_index", None)
    if usual is None or getattr(usual, "plain", False):
        return

    def fix_integer_index(context: Any, builder: Any, idxty: Any, idx: Any, size: Any) -> Any:
        if getattr(_compiling, "depth", 0) == 0:
            return usual(context, builder, idxty, idx, size)
        return context.cast(builder, idx, idxty, types.intp if idxty.signed else types.uintp)

    fix_integer_index.plain = True  # type: ignore[attr-defined]
    arrayobj.fix_integer_index = fix_integer_index


def _marked(dispatcher: Any) -> Any:
    """Count how deep we are in compiling our own kernels."""
    compile_ = dispatcher.compile

    def compile_marked(signature: Any) -> Any:
        _compiling.depth = getattr(_compiling, "depth", 0) + 1
        try:
            return compile_(signature)
        finally:
            _compiling.depth -= 1

    dispatcher.compile = compile_marked
    return dispatcher


_plain_indices()


def _steady_loads() -> None:
    """Tell the optimiser, inside our kernels, that elements of read-only arrays never change.

    Offsets (`at`) and city rows are read-only; without this every store into an environment's row makes
    it read them again. Where a future numba lacks the hook, kernels are slower and equal.
    """
    usual = getattr(arrayobj, "load_item", None)
    if usual is None or getattr(usual, "steady", False):
        return

    def load_item(context: Any, builder: Any, arrayty: Any, ptr: Any) -> Any:
        value = usual(context, builder, arrayty, ptr)
        ours = getattr(_compiling, "depth", 0) > 0 and not arrayty.mutable
        if ours and isinstance(value, ir.instructions.LoadInstr):
            value.set_metadata("invariant.load", builder.module.add_metadata([]))
        return value

    load_item.steady = True  # type: ignore[attr-defined]
    arrayobj.load_item = load_item


_steady_loads()


def kernel(function: _Kernel) -> _Kernel:
    """Compile `function` on first use, release the interpreter lock while it runs, keep the code on disk."""
    compiled: _Kernel = _marked(numba.njit(**_OPTIONS, cache=True)(function))
    return compiled


def inlined(function: _Kernel) -> _Kernel:
    """A kernel that is always merged into its callers: small ones, and large ones with a single caller.

    A call hands every array over as seven or more words, some forty stores and loads a call.
    """
    compiled: _Kernel = _marked(numba.njit(**_OPTIONS, forceinline=True)(function))
    return compiled


def part(function: _Kernel) -> _Kernel:
    """Merged into its callers like `inlined`, and kept on disk, since Python calls it too."""
    compiled: _Kernel = _marked(numba.njit(**_OPTIONS, cache=True, forceinline=True)(function))
    return compiled


@intrinsic
def _prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """``prefetch(array, k)``: ask the CPU for the cache line of flat element k; changes no value.

    For lines that will be read after some other work: travel tables, the next environment's rows.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        byte = ir.IntType(8).as_pointer()
        flag = ir.IntType(32)
        shape = ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag])
        call = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0")  # type: ignore[no-untyped-call]
        address = builder.bitcast(builder.gep(data, [args[1]]), byte)
        builder.call(call, [address, flag(0), flag(2), flag(1)])  # read, data, not into the first cache: it is small
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


def _on_stack(context: Any, builder: Any, count: Any, array: Any, element: Any) -> Any:
    """An uninitialised array on the stack of the running kernel, aligned to a cache line."""
    data = builder.alloca(element, count)
    data.align = 64
    made = context.make_array(array)(context, builder)
    size = context.get_constant(types.intp, 8)
    arrayobj.populate_array(  # type: ignore[no-untyped-call]
        made, data=data, shape=[count], strides=[size], itemsize=size, meminfo=None
    )
    return made._getvalue()


@intrinsic
def _stack(typingctx: Any, count: Any) -> Any:
    """``stack(n)``: a float64 array of `n` elements on the stack of the running kernel, not set to zero.

    The optimiser knows that nothing else points there, so loops over such arrays and an environment's
    row become vector code without a check at run time. Gone when the function that asked for it (after
    inlining: its merged body) is left; never hand it out.
    """
    array = types.Array(types.float64, 1, "C")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        n = context.cast(builder, args[0], signature.args[0], types.intp)
        return _on_stack(context, builder, n, array, ir.DoubleType())

    return array(types.intp), codegen


@intrinsic
def _counters(typingctx: Any, count: Any) -> Any:
    """``counters(n)``: the same for int64."""
    array = types.Array(types.int64, 1, "C")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        n = context.cast(builder, args[0], signature.args[0], types.intp)
        return _on_stack(context, builder, n, array, ir.IntType(64))

    return array(types.intp), codegen


stack: Any = _stack
counters: Any = _counters
prefetch: Any = _prefetch  # numba hides the typing context from callers, type checkers do not
