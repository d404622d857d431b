"""Wheel and sdist: what is in them, how large they are, whose licences they carry, what the base install pulls in."""

from __future__ import annotations

import importlib.metadata as installed
import json
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_image import ROOT, tool

PACKAGE = ROOT / "ev_grid_oracle"
UI = PACKAGE / "server" / "static" / "ui"
JUNK = (
    "__pycache__",
    "node_modules",
    "tests",
    ".git",
    "artifacts",
    "runs",
    ".venv",
    ".DS_Store",
    ".mypy_cache",
)
WHEEL_MB, SDIST_MB = 8, 25
CORE = {"numba", "numpy", "rich", "scipy", "typer"}
BELOW_CORE = {
    "annotated-doc", "click", "colorama", "llvmlite", "markdown-it-py", "mdurl", "pygments", "shellingham",
    "typing-extensions", "annotated-types", "pydantic", "pydantic-core", "typing-inspection",
}  # fmt: skip
"""What the five need themselves (newer releases of typer bring pydantic); nothing here belongs to an extra of ours."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wheel and an sdist, built without a network."""
    pytest.importorskip("hatchling", reason="building needs the dev extra")
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as file:
        return {n for n in file.namelist() if not n.endswith("/")}


def test_the_wheel_is_the_package_and_nothing_else(names: set[str]) -> None:
    here = {
        p.relative_to(ROOT).as_posix()
        for p in PACKAGE.rglob("*")
        if p.is_file() and "__pycache__" not in p.parts
    }
    inside = {n for n in names if ".dist-info/" not in n}
    assert inside == here | {"ev_grid_oracle/openenv.yaml"}
    assert [n for n in names if set(Path(n).parts) & set(JUNK)] == []
    assert {Path(n).suffix for n in inside} <= {
        ".py", ".typed", ".yaml", ".csv", ".toml", ".json", ".md", ".onnx", ".safetensors", ".html", ".js", ".css",
        ".svg", ".woff2", ".txt",
    }  # fmt: skip


def test_the_wheel_holds_data_model_page_and_licences(names: set[str]) -> None:
    assert {
        "ev_grid_oracle/city/data/bengaluru/manifest.toml",
        "ev_grid_oracle/city/data/bengaluru/provenance.csv",
        "ev_grid_oracle/city/data/toy/manifest.toml",
        "ev_grid_oracle/policies/llm/model/model.onnx",
        "ev_grid_oracle/policies/llm/model/tokenizer.json",
        "ev_grid_oracle/server/static/ui/index.html",
        "ev_grid_oracle/server/static/ui/licenses.txt",
        "ev_grid_oracle/openenv.yaml",
        "ev_grid_oracle/py.typed",
    } <= names
    kept = {n.partition(".dist-info/")[2] for n in names if ".dist-info/" in n}
    assert {"licenses/LICENSE", "licenses/NOTICE", "entry_points.txt", "METADATA"} <= kept


def test_wheel_and_sdist_stay_small(built: Path, wheel: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    assert wheel.stat().st_size < WHEEL_MB * 1e6
    assert sdist.stat().st_size < SDIST_MB * 1e6
    with zipfile.ZipFile(wheel) as file:
        assert {i.filename for i in file.infolist() if i.file_size > 3e6} == set()


def test_the_sdist_holds_what_the_image_and_the_tests_need(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as file:
        inside = {m.name.partition("/")[2] for m in file.getmembers() if m.isfile()}
    assert [n for n in inside if set(Path(n).parts) & (set(JUNK) - {"tests", "artifacts"})] == []
    copies = [
        word
        for name, rest in tool("image_steps").instructions((ROOT / "Dockerfile").read_text())
        if name == "COPY" and "--from=" not in rest
        for word in rest.split()[:-1]
        if not word.startswith("--")
    ]
    assert len(copies) > 8
    for source in copies:
        assert any(n == source or n.startswith(f"{source}/") for n in inside), source
    assert {
        "Dockerfile",
        ".dockerignore",
        "validate-submission.sh",
        "CITATION.cff",
        "tests/conftest.py",
    } <= inside


def test_the_page_names_the_licence_of_every_package_it_may_hold() -> None:
    packages = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    text = (UI / "licenses.txt").read_text(encoding="utf-8")
    for path, facts in packages.items():
        name = path.rpartition("node_modules/")[2]
        left_out = any(facts.get(k) for k in ("dev", "optional", "devOptional"))
        if not path or left_out or name.startswith("@types/") or name in ("@webgpu/types", "undici-types"):
            continue
        title = f"{'=' * 100}\n{name} {facts['version']} ({facts['license']})\n{'=' * 100}\n\n"
        assert title in text, f"{title}is not in licenses.txt: npm --prefix web run build"
        assert len(text.split(title, 1)[1].split("=" * 100, 1)[0]) > 200, name  # a text, not only a name
    assert "SIL OPEN FONT LICENSE" in text
    notice = (ROOT / "NOTICE").read_text(encoding="utf-8")
    for said in ("licenses.txt", "ODbL", "CC BY 4.0"):
        assert said in notice


def below(name: str, seen: set[str]) -> Iterator[str]:
    """Names of all that a distribution needs on this machine, extras not asked for left out."""
    from packaging.requirements import Requirement

    for line in installed.requires(name) or ():
        need = Requirement(line)
        key = tool("lock")._name(need.name)
        if (need.marker is None or need.marker.evaluate({"extra": ""})) and key not in seen:
            seen.add(key)
            yield key
            yield from below(key, seen)


def test_the_base_install_pulls_in_no_extra(wheel: Path) -> None:
    from email.parser import HeaderParser

    from packaging.requirements import Requirement

    with zipfile.ZipFile(wheel) as file:
        (meta,) = (n for n in file.namelist() if n.endswith(".dist-info/METADATA"))
        head = HeaderParser().parsestr(file.read(meta).decode())
    needs = [Requirement(line) for line in head.get_all("Requires-Dist", [])]
    direct = {n.name for n in needs if n.marker is None}
    assert direct == CORE
    assert all("extra ==" in str(n.marker) for n in needs if n.marker is not None)
    everything = {key for name in direct for key in below(name, set())} | direct
    assert everything - CORE - BELOW_CORE == set()
