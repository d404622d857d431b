"""The Dockerfile's own steps, carried out in an empty folder and virtual environment, and the service that comes out.

It installs the packages of npm and pip, builds the page and compiles the kernels: about four and a half minutes of
processor time and several hundred megabytes of downloads. So it runs only with the environment variable
EVGRID_TEST_IMAGE=1, which `./validate-submission.sh` sets; the default run skips it. It needs npm and a network.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from test_image import ROOT, tool


@pytest.fixture
def image(tmp_path: Path) -> object:
    """A stage with the folders of a small image."""
    stage = tool("image_steps").Stage(tmp_path / "image")
    package = stage.root / "venv" / "lib" / "python3.11" / "site-packages" / "ev_grid_oracle"
    for path in (package / "city" / "a.csv", stage.at("/app/README.md"), stage.at("/home/user/kernel.nbi")):
        path.parent.mkdir(parents=True)
        path.write_text("x")
    (package.parent / "numpy-2.0.dist-info").mkdir()
    return stage


def test_contents_are_listed(image: object) -> None:
    lines, junk = tool("image_steps").contents(image)
    assert [line.split(maxsplit=1)[1] for line in lines[:4]] == [
        "/app/README.md (1 files)",
        "site-packages/ev_grid_oracle/city/ (1 files)",
        "compiled kernels (1 files)",
        "site-packages (1 files)",
    ]
    assert lines[4] == "1 distributions: numpy"
    assert junk == []


@pytest.mark.parametrize(
    "name", ["tests/test_a.py", "artifacts/a.json", "node_modules/p/i.js", ".git/config"]
)
def test_junk_is_found(image: object, name: str) -> None:
    path = image.at(f"/app/{name}")  # type: ignore[attr-defined]
    path.parent.mkdir(parents=True)
    path.write_text("x")
    assert tool("image_steps").contents(image)[1] == [f"/app/{name}"]


@pytest.mark.slow
@pytest.mark.skipif(
    os.environ.get("EVGRID_TEST_IMAGE") != "1", reason="installs packages: set EVGRID_TEST_IMAGE=1"
)
def test_the_steps_make_a_service_that_plays(tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    command = [sys.executable, str(ROOT / "tools" / "image_steps.py"), str(tmp_path / "image"), "--probe"]
    done = subprocess.run(command, capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    found, _ = json.JSONDecoder().raw_decode(done.stdout[done.stdout.rindex('{\n  "healthy_s"') :])
    assert found["replies"] == {"/ui/": 200, "/reset": 200, "/step": 200}
    assert "healthy after" in done.stdout and "junk" not in done.stderr
    page = tmp_path / "image" / "web" / "src" / "ev_grid_oracle" / "server" / "static" / "ui"
    assert (page / "index.html").is_file() and (page / "licenses.txt").is_file()
