"""The health report counts what is there: on a small tree made here, and on this checkout."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BLOCK = "".join(f"    value_{n} = value_{n - 1} + {n}\n" for n in range(1, 12))


@pytest.fixture(scope="module")
def measure() -> ModuleType:
    folder = str(ROOT / "tools")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module("health_measure")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A package of two rooms, tests, a repeated block."""
    files = {
        "ev_grid_oracle/sim/a.py": f'"""A."""\n\n\ndef f(value_0: int) -> None:\n    """F."""\n{BLOCK}',
        "ev_grid_oracle/city/b.py": f"class C:\n    pass\n\n\ndef g(value_0: int) -> None:\n{BLOCK}",
        "tests/sim/test_a.py": "def test_one() -> None:\n    pass\n\n\nclass TestB:\n    def test_two(self) -> None:\n        pass\n",
        "tests/sim/helper.py": "def test_not_counted() -> None:\n    pass\n",
        "node_modules/x.ts": "let x = 1\n",
        "web/src/y.ts": "let y = 1\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_counts_of_a_small_tree(measure: ModuleType, tree: Path) -> None:
    paths = measure.listed(tree)
    assert "x.ts" not in {p.name for p in paths} and "y.ts" in {p.name for p in paths}
    rooms = {r["room"]: r for r in measure.sizes(paths, tree)}
    assert rooms["ev_grid_oracle/sim"]["lines"] == 5 + 11
    assert rooms["tests"]["files"] == 2
    assert measure.tests_by_folder(paths, tree) == {"tests/sim": 2}
    docs = measure.docstrings(paths, tree)
    assert docs["modules"] == {"public": 2, "documented": 1}
    assert docs["functions"] == {"public": 2, "documented": 1}
    assert docs["classes"] == {"public": 1, "documented": 0}


def test_repeated_code_is_found_and_single_code_is_not(measure: ModuleType, tree: Path) -> None:
    (found,) = measure.repeated(measure.listed(tree), tree)
    assert found["files"] == ["ev_grid_oracle/city/b.py", "ev_grid_oracle/sim/a.py"]
    assert found["lines"] == 11
    (tree / "ev_grid_oracle/city/b.py").write_text('"""B."""\n')
    assert measure.repeated(measure.listed(tree), tree) == []


def test_slowest_tests_come_from_the_junit_file(measure: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "r.xml").write_text(
        '<testsuites><testsuite><testcase classname="t" name="a" time="0.5"/>'
        '<testcase classname="t" name="b" time="2.5"/></testsuite></testsuites>'
    )
    assert [s["test"] for s in measure.slowest(tmp_path / "r.xml")] == ["t::b", "t::a"]
    assert len(measure.slowest(tmp_path / "r.xml", most=1)) == 1


def test_names_that_people_meet_are_looked_up(measure: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("`CricketFinal` and `evgrid plan document`\n")
    (tmp_path / "README.md").write_text("`wait`\n")
    found = measure.documented(tmp_path)
    assert found["scenarios"]["names"] == 11 and len(found["scenarios"]["missing"]) == 10
    assert found["terms"]["names"] == 9 and "wait" not in found["terms"]["missing"]
    assert "evgrid plan document" not in found["commands"]["missing"]
    assert "evgrid demo" in found["commands"]["missing"]
    assert "E_FORMAT" in found["codes"]["missing"]


def test_page_is_that_of_the_stored_report(tmp_path: Path) -> None:
    for folder in ("artifacts", "docs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "artifacts" / "health.json").write_bytes((ROOT / "artifacts" / "health.json").read_bytes())
    line = [sys.executable, str(ROOT / "tools" / "health_report.py"), "--page", "--root", str(tmp_path)]
    assert subprocess.run(line, capture_output=True).returncode == 0
    assert (tmp_path / "docs" / "health.md").read_text() == (ROOT / "docs" / "health.md").read_text()
    (tmp_path / "artifacts" / "health.json").write_text("[]")
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 3 and "Traceback" not in done.stderr
    assert subprocess.run([*line[:2], "--junit", "none.xml"], capture_output=True).returncode == 2
