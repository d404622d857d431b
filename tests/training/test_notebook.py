"""The notebook is what its source makes, and runs from top to bottom with the tiny profile."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import pytest

pytest.importorskip("jupytext", reason="jupytext is not installed")
pytest.importorskip("nbclient", reason="nbclient is not installed")
pytest.importorskip("ipykernel", reason="ipykernel is not installed")
pytest.importorskip("trl", reason="the train extra is not installed")
pytest.importorskip("llguidance", reason="the train extra is not installed")

import nbformat
from nbclient import NotebookClient

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_notebook", ROOT / "tools" / "build_notebook.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_notebook_is_what_its_source_makes(tool: ModuleType) -> None:
    assert tool.build() == tool.build() == tool.NOTEBOOK.read_text(encoding="utf-8")
    notebook = json.loads(tool.build())
    assert all(not cell.get("outputs") for cell in notebook["cells"])


def test_it_runs_from_top_to_bottom(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVGRID_NOTEBOOK_PROFILE", "tiny")
    monkeypatch.setenv("EVGRID_NOTEBOOK_OUT", str(tmp_path / "run"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.reads(tool.build(), as_version=4)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(ROOT / "training")}}).execute()
    said = "".join(o.get("text", "") for cell in notebook.cells for o in cell.get("outputs", []))
    assert "dry run" in said and "steps 2 | stopped: no" in said
    assert sum("image/png" in o.get("data", {}) for c in notebook.cells for o in c.get("outputs", [])) == 2
    report = json.loads((tmp_path / "run" / "report.json").read_text())
    assert report["profile"]["name"] == "t4-qwen3b (dry run)"
    runs = json.loads((tmp_path / "run" / "eval.json").read_text())
    counts = runs["policies"][f"llm:{tmp_path / 'run' / 'adapter'}"]["source_counts"]
    assert set(counts) == {"llm"} and counts["llm"] > 0
