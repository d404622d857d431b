"""Every link of every page leads to a file, and to a heading of it where it names one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from docs_pages import ROOT, outside, pages

LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)|!\[[^\]\n]*\]\(([^)\s]+)\)")


def anchors(path: Path) -> set[str]:
    """Headings as GitHub and mkdocs name them."""
    found: set[str] = set()
    for heading in re.findall(
        r"^#{1,6} +(.+?) *$", outside(path.read_text(encoding="utf-8")), flags=re.MULTILINE
    ):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        found.add(re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-"))
    return found


MEASURED = {"sensitivity.md": "`artifacts/sensitivity.json`: not there yet"}
"""A page that a long measurement writes may be missing while the page that links to it says so in these words."""


@pytest.mark.parametrize("path", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    whole = outside(path.read_text(encoding="utf-8"))
    text = re.sub(r"`[^`\n]*`", "", whole)
    for found in LINK.finditer(text):
        target = found[1] or found[2]
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = path if not file else (path.parent / file).resolve()
        if not there.exists() and MEASURED.get(target, "never said") in whole:
            continue
        assert there.exists(), target
        assert there.is_relative_to(ROOT), target
        if anchor and there.suffix == ".md":
            assert anchor in anchors(there), target


def test_a_broken_anchor_would_be_found() -> None:
    assert "first-start" not in anchors(ROOT / "docs" / "index.md")
    assert "learn" in anchors(ROOT / "docs" / "index.md")


@pytest.mark.parametrize("path", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_page_has_one_title_and_no_leftovers(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if path.name == "README.md" and text.startswith("---\n"):
        text = text.split("\n---\n", 1)[1]  # front matter of a Space
    if path.name != "technical-plan.md":  # its form asks for twelve headings of the second level and no other
        assert len(re.findall(r"^# ", outside(text), flags=re.MULTILINE)) == 1
    assert not re.search(r"\b(TODO|FIXME|TBD)\b", text)


def test_pages_of_the_menu_exist_and_own_pages_stand_in_it() -> None:
    menu = re.findall(
        r": ([\w./-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    assert len(set(menu)) == len(menu) > 40
    assert [name for name in menu if not (ROOT / "docs" / name).is_file()] == []
    for folder in ("tutorials", "adr", "reference"):
        there = {f"{folder}/{p.name}" for p in (ROOT / "docs" / folder).glob("*.md")}
        assert there - set(menu) == set()


def test_the_site_builds(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs", reason="the site needs mkdocs: pip install 'mkdocs>=1.6,<2'")
    import subprocess
    import sys

    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-d", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    html = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert not re.search(r'<(?:script|link|img)[^>]+(?:src|href)="https?://', html)  # reads offline
