"""Makes training/train_grpo.ipynb from training/train_grpo.py; `--check` exits 1 where they differ.

Cells carry no outputs and ids that depend on their place only, so equal sources give equal bytes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jupytext
import nbformat

ROOT = Path(__file__).resolve().parent.parent
SOURCE, NOTEBOOK = ROOT / "training" / "train_grpo.py", ROOT / "training" / "train_grpo.ipynb"


def build(source: Path = SOURCE) -> str:
    """The notebook as JSON text."""
    notebook = jupytext.read(source, fmt="py:percent")
    for place, cell in enumerate(notebook.cells):
        cell["id"] = f"cell-{place:02d}"
        cell["metadata"] = {}
    notebook.metadata = {
        "accelerator": "GPU",
        "colab": {"gpuType": "T4", "provenance": []},
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    nbformat.validate(notebook)
    return nbformat.writes(notebook) + "\n"


def main() -> int:
    text = build()
    if "--check" in sys.argv[1:]:
        if NOTEBOOK.is_file() and NOTEBOOK.read_text(encoding="utf-8") == text:
            return 0
        print(f"{NOTEBOOK.name} is not what {SOURCE.name} makes. Run: python tools/build_notebook.py")
        return 1
    NOTEBOOK.write_text(text, encoding="utf-8")
    print(NOTEBOOK)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
