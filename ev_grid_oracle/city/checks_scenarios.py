"""Checks of the scenario files: keys, kinds, ranges, targets."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

from ev_grid_oracle.city.faults import Sink
from ev_grid_oracle.city.files import CONTROL, read_toml
from ev_grid_oracle.city.spec import DAY_TYPES, SEASONS
from ev_grid_oracle.city.targets import ALL_SELECTORS, FLAG_SELECTORS, SELECTORS, TargetIndex, resolve
from ev_grid_oracle.schema.axes import MAX_SEED, MAX_TICKS
from ev_grid_oracle.schema.enums import EventKind

Raw = dict[str, object]
BASELINE = "baseline"
MAX_ANNOUNCE = 48
VALUE_RANGE: dict[EventKind, tuple[float, float]] = {
    EventKind.BASE_LOAD: (-0.5, 1.0),
    EventKind.DEMAND: (0.0, 5.0),
    EventKind.SITE_LIMIT: (0.0, 2.0),
    EventKind.FEEDER_RATING: (0.05, 2.0),
    EventKind.TRANSFORMER_RATING: (0.05, 2.0),
    EventKind.SLOTS: (-1, 64),
    EventKind.PRICE: (0.0, 10.0),
    EventKind.SOLAR: (0.0, 2.0),
    EventKind.LINK_SPEED: (0.2, 20.0),
    EventKind.LINK_CLOSED: (0, 1),
    EventKind.FEEDER_OUT: (0, 1),
    EventKind.HEAT: (-20.0, 30.0),
    EventKind.RAIN: (0.0, 1.0),
}
WHOLE = (EventKind.SLOTS, EventKind.LINK_CLOSED, EventKind.FEEDER_OUT)
HEAD = ("name", "sentence", "start", "day_type", "season", "story_seed")
EVENT = ("tick", "kind", "value", "announce", "sd", "label")


def read_scenarios(folder: Path, ix: TargetIndex, sink: Sink) -> dict[str, Raw]:
    """All scenario files by stem, checked; broken ones are left out."""
    files = sorted((folder / "scenarios").glob("*.toml"))
    if BASELINE not in {p.stem for p in files}:
        sink.add(
            "P_NO_BASELINE",
            f"scenarios/{BASELINE}.toml",
            "",
            0,
            "Every pack has a baseline scenario.",
            "Add it.",
        )
    out: dict[str, Raw] = {}
    for path in files:
        file = f"scenarios/{path.name}"
        got = read_toml(path, file, sink)
        if got is not None:
            _check(got[0], path.stem, file, ix, sink)
            out[path.stem] = got[0]
    return out


def events(raw: Raw) -> list[Raw]:
    """The `[[event]]` tables of a scenario."""
    found = raw.get("event", [])
    return [e for e in found if isinstance(e, dict)] if isinstance(found, list) else []


def _check(raw: Raw, stem: str, file: str, ix: TargetIndex, sink: Sink) -> None:
    patterns = {
        "name": re.escape(stem),
        "sentence": r".{3,200}",
        "start": r"([01][0-9]|2[0-3]):[0-5][05]",
        "day_type": "|".join(DAY_TYPES),
        "season": "|".join(SEASONS),
    }
    for key in HEAD:
        if key not in raw:
            sink.add("P_MISSING_KEY", file, key, 0, f"{key!r} is missing.", "Add it.")
        elif key == "story_seed":
            v = raw[key]
            if type(v) is not int or not 0 <= v <= MAX_SEED:
                sink.add("P_RANGE", file, key, 0, f"{str(v)[:40]} is no seed.", "0 to 2^32 - 1.")
        elif not isinstance(raw[key], str) or not re.fullmatch(patterns[key], str(raw[key])):
            sink.add(
                "P_CHOICE",
                file,
                key,
                0,
                f"{str(raw[key])[:60]!r} does not fit.",
                f"It must match {patterns[key]}.",
            )
    for key in raw:
        if key not in (*HEAD, "event"):
            sink.add("P_UNKNOWN_KEY", file, key[:80], 0, f"{key[:80]!r} is not known.", "Mend its spelling.")
    if "event" in raw and (not isinstance(raw["event"], list) or len(events(raw)) != len(raw["event"])):
        sink.add("P_EVENT", file, "event", 0, "Events are tables.", "Write each as [[event]].")
    for k, e in enumerate(events(raw), 1):
        _event(e, f"event {k}", file, ix, sink)
    if stem == BASELINE and events(raw):
        sink.add("P_EVENT", file, "event", 0, "The baseline has events.", "Nothing happens in it.")


def _event(e: Raw, at: str, file: str, ix: TargetIndex, sink: Sink) -> None:
    for key in EVENT:
        if key not in e:
            sink.add("P_MISSING_KEY", file, key, 0, f"{at}: {key!r} is missing.", "Add it.")
    for key in e:
        if key not in (*EVENT, *ALL_SELECTORS):
            sink.add(
                "P_UNKNOWN_KEY", file, key[:80], 0, f"{at}: {key[:80]!r} is not known.", "Mend its spelling."
            )
    for key, lo, hi in (("tick", 0, MAX_TICKS), ("announce", -1, MAX_ANNOUNCE)):
        v = e.get(key, lo)
        if type(v) is not int or not lo <= v <= hi:
            sink.add(
                "P_RANGE", file, key, 0, f"{at}: {str(v)[:40]} is not legal.", f"Ticks from {lo} to {hi}."
            )
    sd = e.get("sd", 0.0)
    if not _finite(sd) or not 0 <= float(str(sd)) <= 10:
        sink.add(
            "P_RANGE", file, "sd", 0, f"{at}: {str(sd)[:40]} is not legal.", "0 to 10, in the unit of value."
        )
    label = e.get("label", "label")
    if not isinstance(label, str) or not 1 <= len(label) <= 120 or CONTROL.search(label):
        sink.add("P_CHOICE", file, "label", 0, f"{at}: no legal label.", "1 to 120 characters.")
    name = e.get("kind", "solar")
    if not isinstance(name, str) or name != name.lower() or name.upper() not in EventKind.__members__:
        known = ", ".join(k.name.lower() for k in EventKind)
        sink.add(
            "P_EVENT_KIND", file, "kind", 0, f"{at}: {str(name)[:40]!r} is not known.", f"One of {known}."
        )
        return
    kind = EventKind[name.upper()]
    _value(kind, e.get("value", VALUE_RANGE[kind][1]), at, file, sink)
    _targets(kind, e, at, file, ix, sink)


def _finite(v: object) -> bool:
    """A real TOML number that fits a float (TOML knows nan, inf and integers of any length)."""
    return (type(v) is int and abs(v) < 10**15) or (isinstance(v, float) and math.isfinite(v))


def _value(kind: EventKind, v: object, at: str, file: str, sink: Sink) -> None:
    lo, hi = VALUE_RANGE[kind]
    if not _finite(v):
        sink.add(
            "P_NOT_NUMBER", file, "value", 0, f"{at}: {str(v)[:40]!r} is not a number.", "Give a number."
        )
    elif not lo <= float(str(v)) <= hi or (kind in WHOLE and float(str(v)) % 1 != 0):
        sink.add(
            "P_RANGE",
            file,
            "value",
            0,
            f"{at}: {str(v)[:40]} is not legal for {kind.name.lower()}.",
            f"{lo:g} to {hi:g}.",
        )


def _targets(
    kind: EventKind, e: Mapping[str, object], at: str, file: str, ix: TargetIndex, sink: Sink
) -> None:
    for sel in ALL_SELECTORS:
        if sel not in e:
            continue
        if sel not in SELECTORS[kind]:
            legal = ", ".join(SELECTORS[kind]) or "none: it concerns the whole city"
            sink.add(
                "P_TARGET",
                file,
                sel,
                0,
                f"{at}: {kind.name.lower()} cannot be aimed by {sel}.",
                f"Legal: {legal}.",
            )
            return
        v = e[sel]
        if sel in FLAG_SELECTORS:
            if v is not True:
                sink.add("P_TARGET", file, sel, 0, f"{at}: {sel} is true or left out.", "Write it as true.")
                return
        elif not isinstance(v, list) or not v or not all(isinstance(x, str) for x in v):
            sink.add(
                "P_TARGET", file, sel, 0, f"{at}: {sel} is a list of ids.", f'For instance {sel} = ["A"].'
            )
            return
    for problem in resolve(kind, e, ix)[1]:
        sink.add(
            "P_TARGET",
            file,
            problem.split(":")[0].split(" ")[0],
            0,
            f"{at}: {problem}.",
            "Use ids of this pack.",
        )
