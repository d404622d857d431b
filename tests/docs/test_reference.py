"""The generated pages say what the code does, and the README stays short."""

from __future__ import annotations

from pathlib import Path

import pytest
from docs_pages import ROOT, tool

NAMES = ("world.md", "terms.md", "errors.md", "cli.md", "environment.md", "protocol.md", "trace.md", "pack.md",
         "names.md", "gallery.md")  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_reference_page_is_current(name: str) -> None:
    assert tool("gen_docs").stale(names=[name]) == []


def test_the_page_of_routes_is_current() -> None:
    pytest.importorskip("openenv", reason="the routes need the server extra")
    assert tool("gen_docs").stale(names=["routes.md"]) == []


def test_every_generated_page_is_checked_and_a_changed_one_is_found(tmp_path: Path) -> None:
    generator = tool("gen_docs")
    assert {*NAMES, "routes.md"} == set(generator.PAGES)
    (tmp_path / "terms.md").write_text(generator.PAGES["terms.md"]().replace("lower", "higher", 1))
    assert generator.stale(tmp_path, ["terms.md", "errors.md"]) == ["terms.md", "errors.md"]


def test_readme_begins_with_two_commands_and_is_short() -> None:
    text = (ROOT / "README.md").read_text()
    block = text.split("```")[1].strip().splitlines()
    assert [line.split("#")[0].strip() for line in block] == ["make demo", "make test"]
    assert len(text.splitlines()) <= 150
