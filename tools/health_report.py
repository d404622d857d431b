"""Health of the repository, measured: writes artifacts/health.json and docs/health.md.

python tools/health_report.py                     everything; ruff, mypy and import-linter run once
python tools/health_report.py --skip-lint         without them
python tools/health_report.py --junit report.xml  and the slowest tests of a run (pytest --junitxml=report.xml)
python tools/health_report.py --page              only docs/health.md again, from artifacts/health.json
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

import health_measure as measure  # noqa: E402  # the folder is no package: tools are scripts

from ev_grid_oracle.evaluation.plan_evidence import read_object  # noqa: E402
from ev_grid_oracle.evaluation.writing import to_json, write_atomic  # noqa: E402
from ev_grid_oracle.schema.errors import EVGridError  # noqa: E402
from ev_grid_oracle.viz.plan_numbers import markdown  # noqa: E402

ROOT = HERE.parent
SHOWN = 15
"""Repeated places and slow tests that the page lists."""


def _git(root: Path, *args: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *args], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def commit(root: Path) -> str:
    """The commit that is checked out, short; "no checkout" where there is none."""
    return _git(root, "rev-parse", "--short=10", "HEAD") or "no checkout"


def report(root: Path, junit: Path | None = None, with_lint: bool = True) -> dict[str, Any]:
    """All measurements as one JSON object; nothing in it depends on the clock."""
    paths = measure.listed(root)
    python = [p for p in paths if p.suffix == ".py"]
    rooms = measure.sizes(paths, root)
    lines = [(len(p.read_text(encoding="utf-8").splitlines()), p) for p in python]
    tests = measure.tests_by_folder(paths, root)
    longest = max(lines, key=lambda pair: pair[0])
    nothing = dict.fromkeys(("ruff", "mypy", "imports"), measure.NOT_RUN)
    return {
        "schema": "evgrid.health.1",
        "commit": commit(root),
        "modified": bool(_git(root, "status", "--porcelain", "--untracked-files=no")),
        "totals": {
            "files": len(python),
            "lines": sum(n for n, _ in lines),
            "median_lines": sorted(n for n, _ in lines)[len(lines) // 2],
            "longest_lines": longest[0],
            "longest_file": longest[1].relative_to(root).as_posix(),
            "over_limit": sum(n > measure.LIMIT_LINES for n, _ in lines),
            "tests": sum(tests.values()),
        },
        "rooms": rooms,
        "tests": tests,
        "docstrings": measure.docstrings(python, root),
        "documented": measure.documented(root),
        "repeated": measure.repeated(python, root)[:100],
        "lint": measure.lint(root) if with_lint else nothing,
        "slowest": measure.slowest(junit) if junit else [],
        "headroom_history": measure.headroom_history(root),
    }


def page(data: dict[str, Any]) -> str:
    """docs/health.md."""
    total = data["totals"]
    text = "# Health of the repository\n\n"
    text += "<!-- Written by tools/health_report.py from artifacts/health.json. -->\n\n"
    text += f"Commit {data['commit']}{' with changes' if data['modified'] else ''}. {total['files']:,} Python files, {total['lines']:,} lines; median {total['median_lines']}, longest\n"
    text += f"{total['longest_lines']:,} (`{total['longest_file']}`), {total['over_limit']} above {measure.LIMIT_LINES}. {total['tests']:,} test functions.\n\n"
    text += "## Rooms\n\n"
    head = ("room", "files", "lines", "median", "longest", "longest file")
    text += markdown(head, [
        (f"`{r['room']}`", r["files"], f"{r['lines']:,}", r["median"], r["longest"], f"`{r['longest_file']}`")
        for r in data["rooms"]
    ]) + "\n\n"  # fmt: skip
    text += "## Tests\n\nFunctions; a parametrised one counts once.\n\n"
    text += markdown(("folder", "tests"), [(f"`{k}`", n) for k, n in data["tests"].items()]) + "\n\n"
    text += "## Lint, types, imports\n\n"
    text += markdown(("tool", "says"), list(data["lint"].items()), right=2) + "\n\n"
    text += "## Documents\n\nPublic names of the package with a docstring:\n\n"
    text += markdown(("kind", "public", "documented"), [
        (kind, v["public"], v["documented"]) for kind, v in data["docstrings"].items()
    ]) + "\n\n"  # fmt: skip
    text += "Names that people meet, and those that no page under `docs/` nor the README has:\n\n"
    text += markdown(("kind", "names", "missing"), [
        (kind, v["names"], ", ".join(f"`{n}`" for n in v["missing"]) or "none")
        for kind, v in data["documented"].items()
    ]) + "\n\n"  # fmt: skip
    text += f"## Repeated code\n\nPairs of places with at least {measure.WINDOW} equal lines: {len(data['repeated'])}"
    text += " (the list ends at 100).\n\n" if len(data["repeated"]) == 100 else ".\n\n"
    if data["repeated"]:
        text += markdown(("lines", "first", "second"), [
            (r["lines"], f"`{r['files'][0]}:{r['at'][0]}`", f"`{r['files'][1]}:{r['at'][1]}`")
            for r in data["repeated"][:SHOWN]
        ], right=3) + "\n\n"  # fmt: skip
    text += "## Slowest tests\n\n"
    if not data["slowest"]:
        return text + "Not measured in this report: give it a JUnit file (`--junit`).\n"
    rows = [(f"`{s['test']}`", f"{s['seconds']:.1f}") for s in data["slowest"][:SHOWN]]
    return text + markdown(("test", "seconds"), rows) + "\n"


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--skip-lint", action="store_true", help="ruff, mypy and import-linter are not run")
    parser.add_argument("--junit", type=Path, help="JUnit file of a test run")
    parser.add_argument("--page", action="store_true", help="only the page, from artifacts/health.json")
    parser.add_argument("--root", type=Path, default=ROOT, help="the checkout")
    args = parser.parse_args(argv)
    out = args.root / "artifacts" / "health.json"
    try:
        if args.junit is not None and not args.junit.is_file():
            print(f"{args.junit} is not there: run pytest --junitxml={args.junit} first.", file=sys.stderr)
            return 2
        data = read_object(out) if args.page else report(args.root, args.junit, not args.skip_lint)
        if not args.page:
            write_atomic(out, to_json(data))
        write_atomic(args.root / "docs" / "health.md", page(data))
    except EVGridError as error:
        print(f"{error.code}: {error}", file=sys.stderr)
        return error.exit_code
    print(args.root / "docs" / "health.md")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
