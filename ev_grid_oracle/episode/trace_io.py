"""Traces as files: ``EVGRID-TRACE <version> <sha256>``, a JSON line, then the columns, compressed.

The digest in the first line covers everything after it, so a file that was cut or altered is refused before
anything of it is believed. The JSON line is the trace's header and a list of the columns (name, type, shape);
the columns are little-endian, one after the other, in one gzip stream without a time stamp: equal traces are
equal files.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.episode import capture as k
from ev_grid_oracle.episode.interventions import Intervention
from ev_grid_oracle.episode.trace import TRACE_VERSION, Trace
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.errors import TraceError

MAGIC = b"EVGRID-TRACE"
_CURE = "Record it again, or take another file."
_COLUMNS = (("heads", "<i4"), ("numbers", "<f8"), ("words", "<u8"), ("answers", "<i4"), ("cars", "<i4"),
            ("accounts", "<f8"), ("settle", "<f8"), ("texts", "|u1"), ("start", "|u1"),
            ("interventions", "|u1"))  # fmt: skip
_FIRST_COLUMNS = _COLUMNS[:-1]  # of version 1
_MAX_BYTES = 2**31


def save(trace: Trace, path: Path) -> Path:
    """Write beside `path`, then put in place: a reader never sees half a file."""
    columns = []
    payload = []
    as_bytes = {
        "texts": _json({str(t): text for t, text in sorted(trace.texts.items())}),
        "start": trace.start,
        "interventions": _json([done.to_dict() for done in trace.interventions]),
    }
    for name, kind in _COLUMNS:
        if name in as_bytes:
            values = np.frombuffer(as_bytes[name], np.uint8)
        else:
            values = getattr(trace, name)
        values = np.ascontiguousarray(values, dtype=kind)
        columns.append({"name": name, "dtype": kind, "shape": list(values.shape)})
        payload.append(values.tobytes())
    head = {**trace.header, "frames": len(trace), "columns": columns}
    line = json.dumps(head, sort_keys=True, allow_nan=False, separators=(",", ":")).encode() + b"\n"
    body = line + gzip.compress(b"".join(payload), 6, mtime=0)
    first = MAGIC + b" %d %s\n" % (TRACE_VERSION, hashlib.sha256(body).hexdigest().encode())
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with beside.open("wb") as out:
            out.write(first + body)
            out.flush()
            os.fsync(out.fileno())
        beside.replace(path)
    except OSError as exc:
        beside.unlink(missing_ok=True)
        raise TraceError(
            f"The trace could not be written to {path}: {exc.strerror}.", "Choose another path."
        ) from exc
    return path


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=True, allow_nan=False).encode()


def load(path: Path) -> Trace:
    """Read and check a file."""
    try:
        data = path.read_bytes()
    except OSError as exc:
        raise TraceError(f"{path} could not be read: {exc.strerror}.", "Check the path.") from exc
    first, newline, body = data.partition(b"\n")
    words = first.split(b" ")
    if not newline or words[0] != MAGIC or len(words) != 3:
        raise TraceError(f"{path} is no trace.", _CURE)
    known = {b"1": _FIRST_COLUMNS, b"%d" % TRACE_VERSION: _COLUMNS}.get(words[1])
    if known is None:
        version = words[1][:20].decode("ascii", "replace")
        raise TraceError(
            f"The trace is of version {version}, this library reads 1 to {TRACE_VERSION}.",
            "Record it again.",
        )
    if hashlib.sha256(body).hexdigest().encode() != words[2]:
        raise TraceError("The trace was cut or altered: its checksum does not hold.", _CURE)
    line, newline, packed = body.partition(b"\n")
    try:
        head = json.loads(line)
        columns = {c["name"]: (c["dtype"], tuple(int(n) for n in c["shape"])) for c in head.pop("columns")}
        frames = int(head.pop("frames"))
        if {(n, d) for n, (d, _) in columns.items()} != set(known) or any(
            n < 0 for _, s in columns.values() for n in s
        ):
            raise ValueError("columns")
        sizes = {n: int(np.prod(s, dtype=np.int64)) * np.dtype(d).itemsize for n, (d, s) in columns.items()}
        total = sum(sizes.values())
        if total > _MAX_BYTES:
            raise ValueError("size")
        raw = zlib.decompressobj(wbits=31).decompress(packed, total + 1)
        if len(raw) != total:
            raise ValueError("length")
    except (ValueError, KeyError, TypeError, AttributeError, zlib.error):
        raise TraceError("The trace's header and columns do not fit together.", _CURE) from None
    arrays: dict[str, npt.NDArray[np.generic]] = {}
    at = 0
    for name, kind in known:
        shape = columns[name][1]
        arrays[name] = (
            np.frombuffer(raw, kind, sizes[name] // np.dtype(kind).itemsize, at).reshape(shape).copy()
        )
        at += sizes[name]
    return _checked(head, frames, arrays)


def _checked(head: dict[str, object], frames: int, a: dict[str, npt.NDArray[np.generic]]) -> Trace:
    """The trace, if its columns have the shapes of one."""
    try:
        texts = {int(t): str(text) for t, text in json.loads(a["texts"].tobytes()).items()}
        done = json.loads(a["interventions"].tobytes()) if "interventions" in a else []
        if not isinstance(done, list):
            raise TypeError("interventions")
        interventions = tuple(Intervention.read(one) for one in done)
        n_s, n_f = len(head["stations"]), len(head["feeders"])  # type: ignore[arg-type]  # a TypeError is caught
    except (ValueError, KeyError, TypeError, AttributeError):
        raise TraceError("The trace's header and columns do not fit together.", _CURE) from None
    heads = a["heads"].astype(np.int32)
    wanted = {
        "heads": (frames, k.N_HEAD + r.N_FLAGS + 2 * n_s),
        "numbers": (frames, k.N_GRID + r.N_TERMS + r.N_TK + n_s + k.N_FEEDER * n_f),
        "words": (frames, 2),
        "accounts": (r.N_EP,),
        "settle": (r.N_TERMS,),
    }
    if any(a[name].shape != shape for name, shape in wanted.items()):
        raise TraceError("The trace's columns have other lengths than its header says.", _CURE)
    for name, width, column in (("answers", r.N_DCOL, k.H_ANSWERS), ("cars", k.N_ROAD, k.H_CARS)):
        counts = heads[:, column]
        if (counts < 0).any() or a[name].shape != (int(counts.sum(dtype=np.int64)), width):
            raise TraceError(f"The trace's {name} do not add up to what its frames count.", _CURE)
    return Trace(
        head,
        heads,
        a["numbers"].astype(np.float64),
        a["words"].astype(np.uint64),
        a["answers"].astype(np.int32),
        a["cars"].astype(np.int32),
        texts,
        a["accounts"].astype(np.float64),
        a["settle"].astype(np.float64),
        a["start"].tobytes(),
        interventions,
    )
