"""Write requirements/image.lock: the exact versions of the base, the server and the oracle extra.

    python tools/lock.py [--check]

Installs them into an empty virtual environment and writes down what came. `--check` compares names only: a
dependency that pyproject.toml names and the lock lacks is a fault; newer versions on the index are not.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements" / "image.lock"
EXTRAS = ("server", "oracle")
HEAD = (
    "# What the image installs: the base, the server and the oracle extra, pinned. Made by tools/lock.py on Python "
    f"{sys.version_info.major}.{sys.version_info.minor}; every release also offers 3.12 and 3.13.\n"
)


def _name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    if found is None:
        raise SystemExit(f"cannot read the requirement {requirement!r}")
    return re.sub(r"[-_.]+", "-", found.group()).lower()


def asked() -> set[str]:
    """Names of the direct dependencies of the image."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for extra in EXTRAS for line in project["optional-dependencies"][extra]]
    return {_name(line) for line in [*project["dependencies"], *extras]}


def locked() -> dict[str, str]:
    """Version by name in the lock file."""
    lines = [line for line in LOCK.read_text().splitlines() if line and not line.startswith("#")]
    return {_name(line): line.partition("==")[2] for line in lines}


def write() -> None:
    """Install into an empty environment and freeze it."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        pip = [str(Path(folder) / "bin" / "python"), "-m", "pip"]
        subprocess.run([*pip, "install", "--quiet", f"{ROOT}[{','.join(EXTRAS)}]"], check=True)
        frozen = subprocess.run(
            [*pip, "freeze", "--exclude", "openenv-ev-grid-oracle"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    LOCK.write_text(HEAD + frozen)


def main() -> int:
    """Exit code 1 when `--check` finds a dependency that is not locked."""
    if sys.argv[1:] == ["--check"]:
        missing = sorted(asked() - set(locked()))
        if missing:
            print(f"{LOCK.relative_to(ROOT)} lacks {', '.join(missing)}: run python tools/lock.py")
        return int(bool(missing))
    write()
    print(f"{LOCK.relative_to(ROOT)}: {len(locked())} packages")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
