"""Text and TOML files of a pack: size, encoding and syntax, with a fault instead of an exception."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from ev_grid_oracle.city.faults import Sink

MAX_BYTES = 8 * 1024 * 1024
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def read_text(path: Path, table: str, sink: Sink) -> str | None:
    """The file's text, or `None` with a fault."""
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            sink.add("P_TOO_LARGE", table, "", 0, f"{size} bytes.", f"A table has at most {MAX_BYTES} bytes.")
            return None
        data = path.read_bytes()
    except OSError as e:
        sink.add(
            "P_MISSING_FILE", table, "", 0, f"Cannot be read ({e.strerror}).", "Every pack has this file."
        )
        return None
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        sink.add(
            "P_ENCODING", table, "", 1, "Looks like UTF-16.", "Save it as UTF-8 without a byte-order mark."
        )
        return None
    if data.startswith(b"\xef\xbb\xbf"):
        sink.add("P_BOM", table, "", 1, "Starts with a byte-order mark.", "Save it as UTF-8 without one.")
        data = data[3:]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as e:
        line = data[: e.start].count(b"\n") + 1
        sink.add("P_ENCODING", table, "", line, f"Byte {e.start} is not UTF-8.", "Save the file as UTF-8.")
        return None
    bad = CONTROL.search(text)
    if bad is not None:
        line = text[: bad.start()].count("\n") + 1
        sink.add("P_CONTROL", table, "", line, f"Control character {bad.group()!r}.", "Remove it.")
        return None
    if not text.strip():
        sink.add("P_EMPTY", table, "", 0, "The file is empty.", "It needs a header line and rows.")
        return None
    return text


def read_toml(path: Path, table: str, sink: Sink) -> tuple[dict[str, object], str] | None:
    """A TOML file as a plain dict, with its text for line numbers."""
    text = read_text(path, table, sink)
    if text is None:
        return None
    try:
        return dict(tomllib.loads(text)), text
    except (ValueError, RecursionError) as e:
        found = re.search(r"at line ([0-9]+)", str(e))
        line = int(found.group(1)) if found else 0
        sink.add("P_TOML", table, "", line, f"Not valid TOML: {str(e)[:120]}.", "Mend the syntax.")
        return None


def key_line(text: str, section: str, key: str) -> int:
    """Line of `key =` below `[section]` (tomllib tells no positions); 0 if not found."""
    here = ""
    for n, line in enumerate(text.splitlines(), 1):
        s = line.strip()
        if s.startswith("["):
            here = s.split("#", 1)[0].strip().strip("[]").strip()
        elif here == section and re.match(rf"{re.escape(key)}\s*=", s):
            return n
    return 0
