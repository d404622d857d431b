"""Measurements of the repository: sizes, tests, docstrings, repeated code, lint, slow tests, history of the headroom."""

from __future__ import annotations

import ast
import hashlib
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from statistics import median
from xml.etree import ElementTree

LIMIT_LINES = 500
WINDOW = 8
"""Lines, blanks and comments left out, that must be equal in two places to count as repeated."""
NOT_RUN = "not run"


def listed(root: Path) -> list[Path]:
    """Source files that git knows or would add: Python, and TypeScript of the command center."""
    done = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z", "*.py", "*.ts", "*.tsx"],
        capture_output=True,
    )
    if done.returncode == 0 and (root / ".git").exists():
        names = {n for n in done.stdout.decode().split("\0") if n}
        return sorted(root / n for n in names if (root / n).is_file())
    skip = {"node_modules", ".venv", "build", "dist", "__pycache__"}
    return sorted(p for e in ("*.py", "*.ts", "*.tsx") for p in root.rglob(e) if not skip & set(p.parts))


def room_of(path: Path, root: Path) -> str:
    """Folder that a file is counted under: a room of the package, else the first folder."""
    parts = path.relative_to(root).parts
    if len(parts) == 1:
        return "."
    if parts[0] == "ev_grid_oracle":
        return f"ev_grid_oracle/{parts[1]}" if len(parts) > 2 else "ev_grid_oracle"
    return parts[0]


def sizes(paths: Iterable[Path], root: Path) -> list[dict[str, object]]:
    """Files and lines by room, and the longest file of each."""
    rooms: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for path in paths:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        rooms[room_of(path, root)].append((lines, path.relative_to(root).as_posix()))
    return [
        {
            "room": room,
            "files": len(held),
            "lines": sum(n for n, _ in held),
            "median": int(median(n for n, _ in held)),
            "longest": max(held)[0],
            "longest_file": max(held)[1],
        }
        for room, held in sorted(rooms.items())
    ]


def tests_by_folder(paths: Iterable[Path], root: Path) -> dict[str, int]:
    """Functions named ``test_*`` by folder of `tests`; a parametrised one counts once."""
    count: dict[str, int] = defaultdict(int)
    for path in paths:
        parts = path.relative_to(root).parts
        if parts[0] != "tests" or not path.name.startswith("test_") or path.suffix != ".py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found = sum(
            isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef) and n.name.startswith("test_")
            for n in ast.walk(tree)
        )
        count["/".join(parts[:-1])] += found
    return dict(sorted(count.items()))


def docstrings(paths: Iterable[Path], root: Path) -> dict[str, dict[str, int]]:
    """Modules, classes and functions of the package that are public, and how many have a docstring."""
    out = {kind: {"public": 0, "documented": 0} for kind in ("modules", "classes", "functions")}

    def note(kind: str, node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        out[kind]["public"] += 1
        out[kind]["documented"] += ast.get_docstring(node) is not None

    for path in paths:
        if path.suffix != ".py" or path.relative_to(root).parts[0] != "ev_grid_oracle":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        note("modules", tree)
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                note("classes", node)
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_"):
                note("functions", node)
    return out


def repeated(paths: Iterable[Path], root: Path) -> list[dict[str, object]]:
    """Pairs of places with at least `WINDOW` equal lines, longest first; imports are left out."""
    seen: dict[bytes, tuple[str, int]] = {}
    runs: dict[tuple[str, str], list[tuple[int, int]]] = defaultdict(list)
    for path in paths:
        if path.suffix != ".py":
            continue
        name = path.relative_to(root).as_posix()
        kept = [
            (number, line.strip())
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
            if line.strip() and not line.strip().startswith(("#", "import ", "from "))
        ]
        for at in range(len(kept) - WINDOW + 1):
            text = "\n".join(line for _, line in kept[at : at + WINDOW])
            key = hashlib.blake2b(text.encode(), digest_size=12).digest()
            first = seen.setdefault(key, (name, kept[at][0]))
            if first != (name, kept[at][0]):
                runs[(first[0], name)].append((first[1], kept[at][0]))
    pairs = [
        {"files": list(pair), "lines": len(places) + WINDOW - 1, "at": list(places[0])}
        for pair, places in runs.items()
    ]
    return sorted(pairs, key=lambda p: (-int(str(p["lines"])), str(p["files"])))


def _last(command: list[str], root: Path, good: str) -> str:
    try:
        done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    except OSError:
        return f"not run: {command[0]} is not installed"
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return good if done.returncode == 0 else (lines[-1].strip() if lines else f"exit code {done.returncode}")


def lint(root: Path) -> dict[str, str]:
    """What ruff, mypy and import-linter say."""
    here = Path(sys.executable).parent
    return {
        "ruff": _last([str(here / "ruff"), "check", "."], root, "clean"),
        "mypy": _last([str(here / "mypy")], root, "clean"),
        "imports": _last([str(here / "lint-imports")], root, "kept"),
    }


def documented(root: Path) -> dict[str, dict[str, object]]:
    """Names that people meet (scenarios, policies, terms, flags, codes, commands) and which no page has."""
    import typer.main

    from ev_grid_oracle.city.load import load_city
    from ev_grid_oracle.cli.main import app
    from ev_grid_oracle.policies.registry import policy_names
    from ev_grid_oracle.reward.terms import FLAG_NAMES, TERM_NAMES
    from ev_grid_oracle.schema import codes

    text = "\n".join(p.read_text(encoding="utf-8") for p in sorted((root / "docs").rglob("*.md")))
    text += (root / "README.md").read_text(encoding="utf-8")
    source = Path(str(codes.__file__)).read_text(encoding="utf-8")
    commands = []
    for name, command in getattr(typer.main.get_command(app), "commands", {}).items():
        commands += [f"evgrid {name} {sub}" for sub in getattr(command, "commands", {})] or [f"evgrid {name}"]
    kinds = {
        "commands": commands,
        "scenarios": [s.name for s in load_city("bengaluru").scenarios],
        "policies": list(policy_names()),
        "terms": list(TERM_NAMES),
        "flags": list(FLAG_NAMES),
        "codes": sorted(set(re.findall(r'"(E_[A-Z_]+)"', source))),
    }
    return {
        kind: {"names": len(names), "missing": [n for n in names if f"`{n}`" not in text]}
        for kind, names in kinds.items()
    }


def slowest(junit: Path, most: int = 20) -> list[dict[str, object]]:
    """The slowest tests of a JUnit file, in seconds."""
    cases = [
        (float(case.get("time", "0")), f"{case.get('classname')}::{case.get('name')}")
        for case in ElementTree.parse(junit).iter("testcase")
    ]
    return [{"test": name, "seconds": seconds} for seconds, name in sorted(cases, reverse=True)[:most]]


def headroom_history(root: Path) -> list[dict[str, object]]:
    """Every committed version of artifacts/headroom.json, oldest first, with what its bars say."""
    path = "artifacts/headroom.json"
    log = subprocess.run(
        ["git", "-C", str(root), "log", "--reverse", "--format=%H\t%s", "--", path],
        capture_output=True,
        text=True,
    )
    keys = {
        "composite": "composite at least",
        "overload_kva_min": "overload kVA-minutes -50",
        "walkin_minutes": "walk-in minutes",
        "overload_vs_greedy": "no more overload",
        "ticks_per_s": "at least 25 ticks/s",
        "clairvoyant": "clairvoyant against greedy",
    }
    out = []
    for line in log.stdout.splitlines() if log.returncode == 0 else ():
        commit, subject = line.split("\t", 1)
        shown = subprocess.run(["git", "-C", str(root), "show", f"{commit}:{path}"], capture_output=True)
        if shown.returncode:
            continue  # the commit that took the file away
        found = json.loads(shown.stdout).get("bars", [])
        row: dict[str, object] = {"commit": commit, "subject": subject}
        for key, start in keys.items():
            row[key] = next((b["value"] for b in found if b["bar"].startswith(start)), None)
        minutes = next((b["detail"] for b in found if b["bar"].startswith("minutes_to_charged")), None)
        row["minutes_baseline_scenario"] = (minutes or {}).get("baseline")
        out.append(row)
    return out
