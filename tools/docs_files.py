"""Pages of texts and files: the protocol, the trace, the tables of a pack, the scenarios and policies."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

from docs_tables import NOTE, block, table


def protocol_page() -> str:
    """Grammar, limits, forecast block, messages of two agents."""
    from ev_grid_oracle.protocol import grammar as g
    from ev_grid_oracle.protocol import predict, road, statements
    from ev_grid_oracle.schema.enums import RATE_KW

    text = "# Text protocol\n\n" + NOTE
    text += f"Version {g.PROTOCOL_VERSION}. One parser, `ev_grid_oracle/protocol/parse.py`, serves every door. An answer for one\n"
    text += "car is six lines, in this order:\n\n"
    lines = {
        "ACTION": " | ".join(g.ACTIONS),
        "STATION": f"an id of the loaded city, or {g.NO_STATION}",
        "CHARGE_RATE": " | ".join(g.RATES),
        "DEFER_MINUTES": f"0 to {g.MAX_DEFER_MINUTES}, plain digits",
        "REASON": f"1 to {g.MAX_REASON_WORDS} words, at most {g.MAX_REASON_CHARS} characters",
        "CONFIDENCE": "0 to 1, at most four decimals",
    }
    text += block("".join(f"{key}: {lines[key]}\n" for key in g.KEYS))
    text += "- One block answers the first pending car. To answer several cars, put a blank line between blocks and a line\n"
    text += f"  `{g.ID_KEY}: <id>` before each; ids are distinct.\n"
    text += f"- A closed `{g.THINK_OPEN}` part may stand first, a Markdown fence around the answer, and the forecast block\n"
    text += "  before the first block. Nothing else may stand before or after.\n"
    text += "- `route` names a station and DEFER_MINUTES 0. `defer` names NONE and at least 1 minute, rounded up to whole\n"
    text += "  ticks. `load_shift` caps the slots of a station (NONE: of the tightest feeder); the car stays pending.\n"
    kw = ", ".join(f"{rate} {power:g} kW" for rate, power in zip(g.RATES, RATE_KW, strict=True))
    text += f"- CHARGE_RATE is a cap: {kw}.\n"
    text += "- Nothing pending: an empty text is legal. With a car pending it is `E_EMPTY`.\n"
    text += "- A refused text or answer leaves the world as if nobody had answered. Codes: [errors](errors.md).\n\n"
    text += "## Grammar\n\n"
    text += "For a city with the stations A1 and A2, in the GBNF dialect (`grammar_ebnf`). It produces a subset of what the\n"
    text += "parser accepts, so a decoder that is held to it writes legal texts.\n\n"
    text += block(g.grammar_ebnf(("A1", "A2")), "text")
    text += "## Limits\n\n"
    limits = (
        ("MAX_BYTES", g.MAX_BYTES, "bytes of UTF-8 in a text"),
        ("MAX_DEFER_MINUTES", g.MAX_DEFER_MINUTES, "minutes"),
        ("MAX_REASON_WORDS", g.MAX_REASON_WORDS, "words"),
        ("MAX_REASON_CHARS", g.MAX_REASON_CHARS, "characters"),
        ("MAX_ID_CHARS", g.MAX_ID_CHARS, "characters of an id"),
        ("MAX_ISSUES", g.MAX_ISSUES, "faults that are listed"),
        ("MAX_TOP_STATIONS", g.MAX_TOP_STATIONS, "stations in a forecast"),
    )
    text += table(("limit", "value", "of"), ((f"`{name}`", value, of) for name, value, of in limits))
    text += "## Forecast block\n\n"
    load, renewable, top = g.SIMULATE_KEYS
    text += block(
        f"{g.SIMULATE_OPEN}\n{load}: 0.00-9.99\n{renewable}: 0.00-1.00\n"
        f"{top}: id:occupancy:queue | id:occupancy:queue\n{g.SIMULATE_CLOSE}"
    )
    text += inspect.cleandoc(predict.__doc__ or "") + "\n\n"
    text += "## Road task\n\n" + block((road.__doc__ or "").split("\n\n")[1].replace("    ", ""))
    text += "See [road](road.md).\n\n"
    text += "## Messages of two agents\n\n"
    text += table(
        ("statement", "form", "words"),
        (
            (f"`{statements.CLAIM}`", "CLAIM quantity id op number", ", ".join(statements.QUANTITIES)),
            (
                f"`{statements.PROMISE}`",
                "PROMISE verb id [number] FOR ticks",
                ", ".join(statements.VERBS),
            ),
        ),
    )
    text += f"At most {statements.MAX_STATEMENTS} statements and {statements.MAX_MESSAGE_CHARS} characters a message; a promise holds\n"
    return text + f"for at most {statements.MAX_PROMISE_TICKS} ticks. See [two agents](two-agents.md).\n"


def trace_page() -> str:
    """The trace as a file and as frames."""
    from ev_grid_oracle.episode import capture as k
    from ev_grid_oracle.episode import trace_io
    from ev_grid_oracle.episode.frame import Frame
    from ev_grid_oracle.episode.interventions import KINDS
    from ev_grid_oracle.episode.trace import SOURCES, TRACE_VERSION, Trace
    from ev_grid_oracle.schema import rows as r

    text = "# Trace\n\n" + NOTE
    text += f"Version {TRACE_VERSION}. A trace is the record of one episode and the receipt that `evgrid verify` plays again.\n"
    text += "It belongs to the host: it holds the seed and what is hidden from an agent.\n\n"
    text += "## File\n\n" + inspect.cleandoc(trace_io.__doc__ or "") + "\n\n"
    text += table(("column", "type"), ((f"`{name}`", f"`{kind}`") for name, kind in trace_io._COLUMNS))
    doc = inspect.cleandoc(Trace.__doc__ or "")
    text += "## Columns\n\n" + block(inspect.cleandoc("\n" + doc.split("Attributes:")[1]), "text")
    for title, prefix, count in (
        ("Whole numbers of a frame (`heads`), before flags and stations", "H_", k.N_HEAD),
        ("Numbers of a frame (`numbers`), before terms, facts, stations and feeders", "G_", k.N_GRID),
        ("A car on the road (`cars`)", "R_", k.N_ROAD),
    ):
        names = {v: n for n, v in vars(k).items() if n.startswith(prefix) and isinstance(v, int)}
        text += f"## {title}\n\n"
        text += table(("column", "name"), ((n, f"`{names.get(n, '-')}`") for n in range(count)))
    text += "A column without a name holds what another module writes there (9: interventions before the tick) or zeros.\n\n"
    text += "## A frame in Python\n\n"
    text += "`Trace.load(path)`, then `for frame in trace`. Properties of a frame:\n\n"
    members = [n for n, v in inspect.getmembers(Frame) if isinstance(v, property)]
    text += ", ".join(f"`{n}`" for n in sorted(members)) + ".\n\n"
    text += "## Words\n\n"
    text += table(
        ("list", "values"),
        (
            ("`source`: what acted", ", ".join(SOURCES)),
            ("interventions of a host", ", ".join(KINDS)),
            ("codes of a verdict", ", ".join(c for c in r.VERDICT_CODES if c)),
        ),
    )
    return text + "Which versions are read: [compatibility](../explanation/compatibility.md).\n"


def pack_page() -> str:
    """Tables and scalars of a city pack."""
    from ev_grid_oracle.city.checks_scenarios import EVENT, HEAD, MAX_ANNOUNCE, VALUE_RANGE
    from ev_grid_oracle.city.scalars import SCALARS, SCHEMA_VERSION
    from ev_grid_oracle.city.spec import TABLES
    from ev_grid_oracle.city.targets import SELECTORS
    from ev_grid_oracle.schema.enums import EVENT_NEUTRAL

    text = "# City pack\n\n" + NOTE
    text += f"Version {SCHEMA_VERSION}. A pack is a folder: `manifest.toml`, the tables below as UTF-8 CSV, and `scenarios/*.toml`.\n"
    text += "How to write one: [your own city](../how-to/city-pack.md).\n\n"
    text += "## `manifest.toml`\n\n"
    text += table(
        ("section", "key", "kind", "range or pattern"),
        (
            (
                s.section or "-",
                f"`{s.key}`",
                s.kind,
                f"`{s.pattern}`" if s.kind == "text" else _range(s.lo, s.hi),
            )
            for s in SCALARS
        ),
    )
    for spec in TABLES.values():
        text += f"## `{spec.file}`\n\n"
        text += f"Unique: {', '.join(spec.key)}. Rows: {spec.min_rows} to {spec.max_rows}{'; may be missing' if spec.optional else ''}.\n\n"
        text += table(
            ("column", "kind", "range or values"),
            (
                (
                    f"`{c.name}`",
                    c.kind,
                    ", ".join(c.choices) if c.choices else _range(c.lo, c.hi) if c.hi > c.lo else "",
                )
                for c in spec.columns
            ),
        )
    text += "## `scenarios/NAME.toml`\n\n"
    text += f"Keys: {', '.join(f'`{n}`' for n in HEAD)}; then `[[event]]` tables with {', '.join(f'`{n}`' for n in EVENT)} and\n"
    text += f"selectors. `announce` is -1 (never) to {MAX_ANNOUNCE} ticks ahead. Selectors of one event narrow each other down.\n\n"
    text += table(
        ("event kind", "value", "ends with", "selectors"),
        (
            (f"`{kind.name.lower()}`", _range(*VALUE_RANGE[kind]), f"{EVENT_NEUTRAL[kind]:g}", ", ".join(SELECTORS[kind]) or "the city")
            for kind in VALUE_RANGE
        ),
    )  # fmt: skip
    text += "## Faults\n\n`evgrid city validate` lists them with file and line. What each advises:\n\n"
    return text + table(("code", "cure"), ((f"`{code}`", cure) for code, cure in fault_cures().items()))


def fault_cures() -> dict[str, str]:
    """Code of a pack's fault -> what its findings advise, as the checks' own source has it."""
    import ev_grid_oracle.city as room

    found: dict[str, dict[str, None]] = {code: {cure: None} for code, cure in CHOSEN.items()}
    for path in sorted(Path(room.__file__).parent.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            words = [w.value for a in node.args for w in ast.walk(a) if isinstance(w, ast.Constant)]
            for code in [w for w in words if isinstance(w, str) and w.startswith("P_")]:
                found.setdefault(code, {})[_words(node.args[-1])] = None
    return {code: " / ".join(c for c in cures if c) for code, cures in sorted(found.items())}


CHOSEN = {
    "P_OUTSIDE_BOX": "Latitude and longitude swapped? / Another city, or another notation than decimal degrees?",
    "P_TOO_MANY_ROWS": "The finding says how many are legal.",
    "P_UNKNOWN_COLUMN": "Another unit? / The finding lists the known ones.",
}
"""Cures of faults whose text the check chooses while it runs."""


def _words(node: ast.expr) -> str:
    """A text of the source; what is filled in at run time as `...`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return "" if node.value.startswith("P_") else node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(v.value) if isinstance(v, ast.Constant) else "..." for v in node.values)
    return ""


def _range(low: float, high: float) -> str:
    return f"{low:.12g} to {high:.12g}"


def names_page() -> str:
    """Cities, scenarios, drivers and policies: every name an option takes."""
    from ev_grid_oracle.city.load import list_cities, load_city
    from ev_grid_oracle.episode.options import fleet_modes
    from ev_grid_oracle.policies.registry import MODEL_NAMES, policy_names
    from ev_grid_oracle.schema.enums import EventKind

    text = "# Scenarios, policies and other names\n\n" + NOTE
    text += "## Policies\n\n"
    text += table(
        ("policy", "who answers"),
        ((f"`{name}`", POLICIES.get(name, "")) for name in (*policy_names(), *MODEL_NAMES)),
    )
    for city_name in list_cities():
        city = load_city(city_name)
        text += f"## City `{city_name}`\n\n"
        text += f"{city.name}, {city.discom}: {len(city.stations.ids)} stations, {len(city.grid.feeder_ids)} feeders. `fleet_mode`: "
        text += ", ".join(f"`{m}`" for m in fleet_modes(city)) + ".\n\n"
        for scenario in city.scenarios:
            text += f"### `{scenario.name}`\n\n{scenario.sentence}\n\n"
            text += f"Starts {scenario.start}, {scenario.day_type}, {scenario.season}; story seed {scenario.story_seed}.\n\n"
            if scenario.events:
                text += table(
                    ("tick", "event", "value", "told ahead", "label"),
                    (
                        (e.tick, f"`{EventKind(e.kind).name.lower()}`", f"{e.value:g}", "never" if e.announced_ticks < 0 else f"{e.announced_ticks} ticks", e.label)
                        for e in scenario.events
                    ),
                )  # fmt: skip
    return text


POLICIES = {
    "baseline": "the known greedy rule that every comparison starts from",
    "greedy_counting": "the strong one-step heuristic: counts who is under way, prices scarce slots and hot feeders",
    "planner": "weighs each candidate on sampled futures of its station, corrects feeders on redrawn futures",
    "clairvoyant": "an offline search on the true future: an upper reference that benchmarks ask for; plays only what was found",
    "oracle": "the trained dispatcher (`ORACLE_LORA_REPO`, else the model in the package, else the planner)",
    "nearest": "collapse policy: least travel, whatever the queue",
    "same_station": "collapse policy: always the largest station",
    "random": "collapse policy: a legal move, each equally often",
    "always_defer": "collapse policy: puts every car off as long as the rules allow",
    "always_load_shift": "collapse policy: caps the tightest feeder for every car",
    "llm:<path or Hub id>": "a model or adapter on this machine, see [bring your own model](../how-to/bring-your-own-model.md)",
    "openai:<base_url>#<model>": "a model behind an OpenAI-compatible server",
}
"""One line a policy; a test holds the keys to the registry."""
