"""Where the project can be met: one setting, `docs/links.toml`, is the owner of every quick link.

A link that is empty there has not been published, and every page says so instead of pointing somewhere.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from ev_grid_oracle.schema.errors import EVGridError

KINDS: dict[str, str] = {
    "space": "Space (command center)",
    "colab": "Colab notebook",
    "adapter": "Adapter on the Hub",
    "video": "Video, under two minutes",
}
"""Key in the file and the words shown, in the order of the pages."""
NOT_PUBLISHED = "not published yet"
BEGIN, END = "<!-- links: docs/links.toml -->", "<!-- end of links -->"


class LinksError(EVGridError):
    """The file of links does not hold."""

    code = "E_OPTION"
    exit_code = 3


def read_links(path: Path) -> dict[str, str]:
    """Address by kind, "" where nothing is published; a missing file means that nothing is."""
    if not path.exists():
        return dict.fromkeys(KINDS, "")
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("links", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise LinksError(f"{str(path)!r} is no TOML: {error}.", "Mend the line it names.") from error
    if not isinstance(table, dict) or set(table) - set(KINDS):
        raise LinksError(f"{str(path)!r} has unknown links.", f"Known are {', '.join(KINDS)}.")
    for kind, address in table.items():
        if not isinstance(address, str) or (address and not address.startswith("https://")):
            raise LinksError(f"Link {kind!r} is {address!r}.", "Give an https address, or an empty string.")
    return {kind: table.get(kind, "") for kind in KINDS}


def link(kind: str, links: dict[str, str]) -> str:
    """One link as Markdown, or the words and that it is not published."""
    words = KINDS[kind]
    return f"[{words}]({links[kind]})" if links[kind] else f"{words}: {NOT_PUBLISHED}"


def where(kind: str, links: dict[str, str]) -> str:
    """The address alone, or that there is none yet."""
    return f"<{links[kind]}>" if links[kind] else NOT_PUBLISHED


def line(links: dict[str, str]) -> str:
    """All quick links in one line."""
    return " | ".join(link(kind, links) for kind in KINDS)


def with_line(text: str, links: dict[str, str]) -> str:
    """`text` with its line of links, between the two marks, made new; unchanged where the marks are not."""
    if BEGIN not in text or END not in text:
        return text
    head, rest = text.split(BEGIN, 1)
    return f"{head}{BEGIN}\n{line(links)}\n{END}{rest.split(END, 1)[1]}"
