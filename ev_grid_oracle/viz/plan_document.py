"""Pages that are written from evidence: a template, the numbers, and whether a page still says what they say.

A template is Markdown with ``{{name}}`` for a number, ``{{table:name}}`` for a table and ``{{link:kind}}``,
``{{where:kind}}`` or ``{{links}}`` for quick links. The templates of `PAGES` come with the package; one's own is given by its path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.evaluation.writing import write_atomic
from ev_grid_oracle.schema.errors import EVGridError
from ev_grid_oracle.viz import plan_links as links_of
from ev_grid_oracle.viz.plan_numbers import numbers, read_all
from ev_grid_oracle.viz.plan_tables import TABLES

PAGES: dict[str, str] = {
    "technical-plan": "docs/technical-plan.md",
    "mini-blog": "docs/hf-mini-blog-ev-grid-oracle.md",
    "training-artifacts": "docs/submission/training-artifacts-and-logs.md",
    "video-outline": "docs/submission/youtube-under-2min-outline.md",
    "cycle-report": "CYCLE_1_REPORT.md",
}
"""Template that comes with the package, and the page it makes."""
HEADINGS = (
    "One-line pitch",
    "What we're building (2 layers)",
    "Architecture diagram (ASCII)",
    "Environment spec (state/action/reward/episodes)",
    "Verification & anti-hack rules",
    "Repo scaffold (tree + key files)",
    "Training plan (Colab T4)",
    "Demo plan (HF Spaces + judge screenplay)",
    "Metrics & evaluation",
    "Submission checklist",
    "20-hour build plan (hour-by-hour)",
    "Risks & mitigations",
)
"""The plan's headings under its title, in order; it has no others."""
_MARK = re.compile(r"\{\{([^{}]+)\}\}")


class TemplateError(EVGridError):
    """A template cannot be read, or asks for something that nobody knows."""

    code = "E_OPTION"
    exit_code = 3


def template(name: str) -> str:
    """Text of a template of `PAGES`, or of the file `name`."""
    if name in PAGES:
        return files("ev_grid_oracle.viz").joinpath("templates", f"{name}.md").read_text(encoding="utf-8")
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TemplateError(
            f"Template {name!r} cannot be read.", f"Known are {', '.join(PAGES)}; else give a file."
        ) from error


def fill(text: str, fields: Mapping[str, str]) -> str:
    """`text` with every mark filled; `TemplateError` names the first that is unknown."""

    def one(match: re.Match[str]) -> str:
        key = match.group(1).strip()
        if key not in fields:
            raise TemplateError(f"The template asks for {key!r}, which nobody knows.", "Correct its name.")
        return fields[key]

    return _MARK.sub(one, text)


def make_fields(
    text: str, root: Path = Path(), artifacts: Path | None = None, city: str = "bengaluru"
) -> dict[str, str]:
    """What the marks of `text` stand for: numbers of the folder `artifacts`, the pack, files and links of `root`."""
    pack = load_city(city)
    tables = read_all(artifacts or root / "artifacts")
    links = links_of.read_links(root / "docs" / "links.toml")
    fields = numbers(tables, pack) | {"links": links_of.line(links)}
    fields |= {f"link:{kind}": links_of.link(kind, links) for kind in links_of.KINDS}
    fields |= {f"where:{kind}": links_of.where(kind, links) for kind in links_of.KINDS}
    for key, maker in TABLES.items():
        if f"{{{{table:{key}}}}}" in text:
            fields[f"table:{key}"] = maker(tables, pack, root, links)
    return fields


def page(name: str, root: Path = Path(), artifacts: Path | None = None, city: str = "bengaluru") -> str:
    """The page of one template."""
    text = template(name)
    return fill(text, make_fields(text, root, artifacts, city))


def readme(root: Path) -> str | None:
    """README with its line of quick links made new; None where there is none or it has no marks for one."""
    path = root / "README.md"
    if not path.is_file():
        return None
    text = path.read_text(encoding="utf-8")
    if links_of.BEGIN not in text:
        return None
    return links_of.with_line(text, links_of.read_links(root / "docs" / "links.toml"))


def write(path: Path, text: str) -> None:
    """Put the page in place, whole."""
    write_atomic(path, text)


def differs(path: Path, text: str) -> str:
    """ "" where `path` holds `text`; else the first line that differs, in one sentence."""
    if not path.is_file():
        return f"{path}: is not there"
    have, want = path.read_text(encoding="utf-8").splitlines(), text.splitlines()
    for number, (old, new) in enumerate(zip(have, want, strict=False), start=1):
        if old != new:
            return f"{path}:{number}: says {old[:160]!r}, the evidence {new[:160]!r}"
    if len(have) != len(want):
        return f"{path}: has {len(have)} lines, the evidence gives {len(want)}"
    return ""
