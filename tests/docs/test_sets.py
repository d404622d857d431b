"""What the code has, the pages name: commands, scenarios, terms, codes, variables, files, versions."""

from __future__ import annotations

import re

import pytest
from docs_cli import leaves, options_of
from docs_pages import ROOT, pages, tool

REFERENCE = ROOT / "docs" / "reference"
SOURCES = ("ev_grid_oracle", "server", "tools", "training", "benchmarks", "viz", "validation")


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def rows(name: str, heading: str) -> set[str]:
    """First cells of the tables below a heading of the second level."""
    part = page(name).split(f"\n## {heading}\n", 1)[1].split("\n## ", 1)[0]
    return set(re.findall(r"^\| `([^`]+)` \|", part, flags=re.MULTILINE))


def source() -> str:
    """All Python of the project, tests and examples apart."""
    files = [p for folder in SOURCES for p in sorted((ROOT / folder).rglob("*.py"))]
    return "\n".join(p.read_text(encoding="utf-8") for p in files)


def test_every_command_and_option_has_its_place() -> None:
    text = page("cli.md")
    assert set(re.findall(r"^## `(.+)`$", text, flags=re.MULTILINE)) == {name for name, _ in leaves()}
    for name, command in leaves():
        part = text.split(f"## `{name}`\n", 1)[1].split("\n## ", 1)[0]
        shown = set(
            re.findall(r"(--?[a-z][a-z-]*)", " ".join(re.findall(r"^\| `([^`]+)`", part, flags=re.M)))
        )
        assert shown == options_of(command) - {"--help", "-h"}, name


def test_every_command_is_used_on_a_page_that_people_write() -> None:
    generated = {REFERENCE / name for name in tool("gen_docs").PAGES}
    text = "\n".join(p.read_text(encoding="utf-8") for p in pages() if p not in generated)
    assert [name for name, _ in leaves() if not re.search(rf"\b{name}\b", text)] == []


def test_every_scenario_is_described_and_shown() -> None:
    from ev_grid_oracle.city.load import list_cities, load_city

    described = set(re.findall(r"^### `(.+)`$", page("names.md"), flags=re.MULTILINE))
    assert described == {s.name for city in list_cities() for s in load_city(city).scenarios}
    shown = re.findall(r"^## (\w+)$", page("gallery.md"), flags=re.MULTILINE)
    assert shown == [s.name for s in load_city("bengaluru").scenarios]


def test_every_policy_has_a_line() -> None:
    from ev_grid_oracle.policies.registry import MODEL_NAMES, policy_names

    known = {*policy_names(), *MODEL_NAMES}
    assert rows("names.md", "Policies") == known
    assert set(tool("docs_files").POLICIES) == known


def test_every_term_flag_and_kpi_is_described() -> None:
    from ev_grid_oracle.episode.kpis import KPIS
    from ev_grid_oracle.reward.terms import FLAG_NAMES, TERM_NAMES

    assert rows("terms.md", "Terms") == set(TERM_NAMES)
    assert rows("terms.md", "Flags") == set(FLAG_NAMES)
    assert rows("terms.md", "KPIs") == {k.name for k in KPIS}


def test_every_code_of_the_source_is_in_the_table_and_on_the_page() -> None:
    from ev_grid_oracle.schema.codes import CODES

    files = sorted((ROOT / "ev_grid_oracle").rglob("*.py"))
    used = {c for p in files for c in re.findall(r'"(E_[A-Z_]+)"', p.read_text(encoding="utf-8"))}
    assert used - set(CODES) == set()
    assert set(re.findall(r"^\| `(E_[A-Z_]+)` \|", page("errors.md"), flags=re.MULTILINE)) == set(CODES)


def test_every_fault_of_a_pack_is_listed_with_a_cure() -> None:
    files = sorted((ROOT / "ev_grid_oracle" / "city").glob("*.py"))
    used = {c for p in files for c in re.findall(r'"(P_[A-Z_]+)"', p.read_text(encoding="utf-8"))}
    assert rows("pack.md", "Faults") == used


READS = (
    r'environ(?:\.get)?[(\[]\s*"([A-Z][A-Z0-9_]+)"\s*[,)\]](?!\s*=[^=])',
    r'getenv\(\s*"([A-Z][A-Z0-9_]+)"',
    r'\benv\.get\(\s*"([A-Z][A-Z0-9_]+)"',
    r'_number\(env, "([A-Z][A-Z0-9_]+)"',
    r'\b(?:[A-Z]+_)?VARIABLE\s*=\s*"([A-Z][A-Z0-9_]+)"',
)  # fmt: skip


def test_every_environment_variable_is_listed() -> None:
    text = source()
    read = {name for pattern in READS for name in re.findall(pattern, text)} - {"PATH"}
    listed = {v.name for v in tool("docs_environment").VARIABLES}
    assert read == listed
    assert {n for h in tool("docs_environment").GROUPS for n in rows("environment.md", h)} == listed
    mentioned = {n for p in pages() for n in re.findall(r"\bEVGRID_[A-Z_]+\b", p.read_text(encoding="utf-8"))}
    assert mentioned - listed - {"EVGRID_UI_SHOTS"} == set()  # a switch of the tests in tests/web


def test_tables_of_a_pack_and_columns_of_a_trace_are_listed() -> None:
    from ev_grid_oracle.city.spec import TABLES
    from ev_grid_oracle.episode import trace_io
    from ev_grid_oracle.schema.enums import EventKind

    headings = set(re.findall(r"^## `(.+\.csv)`$", page("pack.md"), flags=re.MULTILINE))
    assert headings == set(TABLES)
    for name, spec in TABLES.items():
        assert rows("pack.md", f"`{name}`") == {c.name for c in spec.columns}, name
    assert rows("pack.md", "`scenarios/NAME.toml`") == {k.name.lower() for k in EventKind}
    assert rows("trace.md", "File") == {name for name, _ in trace_io._COLUMNS}


def test_every_route_and_socket_is_listed() -> None:
    pytest.importorskip("openenv", reason="the routes need the server extra")
    from fastapi import APIRouter

    from ev_grid_oracle.server.app import app

    listed = set(re.findall(r"^\| `[A-Z]+ (/[^`]*)` \|", page("routes.md"), flags=re.MULTILINE))
    assert listed == set(app.openapi()["paths"])
    from ev_grid_oracle.server.demo import demo_routes
    from ev_grid_oracle.server.settings import Settings

    demo: APIRouter = demo_routes(Settings(city="toy"))[0]
    found = {r.path for r in (*app.routes, *demo.routes) if "WebSocket" in type(r).__name__}
    road = next(r for r in app.routes if getattr(r, "path", "") == "/road")
    found |= {f"/road{r.path}" for r in road.routes if "WebSocket" in type(r).__name__ and r.path == "/ws"}
    assert found == set(tool("docs_http").SOCKETS)


def test_the_page_on_compatibility_names_the_present_versions() -> None:
    from ev_grid_oracle.city.scalars import SCHEMA_VERSION
    from ev_grid_oracle.episode import snapshot
    from ev_grid_oracle.episode.trace import TRACE_VERSION
    from ev_grid_oracle.protocol import PROTOCOL_VERSION
    from ev_grid_oracle.sim.world import SIM_VERSION, SNAPSHOT_VERSION

    text = (ROOT / "docs" / "explanation" / "compatibility.md").read_text(encoding="utf-8")
    said = {
        cells[0].strip(): cells[1].strip()
        for line in text.splitlines()
        if line.startswith("| ")
        for cells in [line.split("|")[1:]]
    }
    assert said["physics and reward"] == f"`SIM_VERSION` {SIM_VERSION}"
    assert said["trace"] == f"`TRACE_VERSION` {TRACE_VERSION}"
    assert said["session snapshot"] == str(snapshot.VERSION)
    assert said["world snapshot"] == str(SNAPSHOT_VERSION)
    assert said["city pack"] == f"`schema_version` {SCHEMA_VERSION}"
    assert said["text protocol"] == f"`PROTOCOL_VERSION` {PROTOCOL_VERSION}"
