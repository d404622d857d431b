"""Write the reference pages from the code they describe; with --check only say whether they are current.

python tools/gen_docs.py            writes docs/reference/*.md
python tools/gen_docs.py --check    exit code 1 and the names of stale pages
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

import docs_code  # noqa: E402  # the folder is no package: tools are scripts
import docs_environment  # noqa: E402
import docs_files  # noqa: E402
import docs_gallery  # noqa: E402
import docs_http  # noqa: E402

FOLDER = HERE.parent / "docs" / "reference"

PAGES: dict[str, Callable[[], str]] = {
    "world.md": docs_code.world_page,
    "terms.md": docs_code.terms_page,
    "errors.md": docs_code.errors_page,
    "cli.md": docs_code.cli_page,
    "environment.md": docs_environment.environment_page,
    "protocol.md": docs_files.protocol_page,
    "trace.md": docs_files.trace_page,
    "pack.md": docs_files.pack_page,
    "names.md": docs_files.names_page,
    "routes.md": docs_http.routes_page,
    "gallery.md": docs_gallery.gallery_page,
}


def stale(folder: Path = FOLDER, names: Sequence[str] = tuple(PAGES)) -> list[str]:
    """Names of pages that differ from what the code says."""
    found = []
    for name in names:
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != PAGES[name]():
            found.append(name)
    return found


def main(argv: Sequence[str]) -> int:
    from ev_grid_oracle.schema.errors import EVGridError

    try:
        if "--check" in argv:
            old = stale()
            for name in old:
                print(f"docs/reference/{name} is stale: run python tools/gen_docs.py")
            return 1 if old else 0
        pages = {name: make() for name, make in PAGES.items()}
    except EVGridError as error:
        print(f"{error.code}: {error}", file=sys.stderr)
        return error.exit_code
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"docs/reference/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
