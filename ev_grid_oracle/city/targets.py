"""What a scenario event is aimed at: selectors such as `sides` or `low_lying`, turned into indices.

Used by the validator (to name what is unknown) and by the builder (to get the indices), so that the two
cannot differ. Values of one selector add up; several selectors of one event narrow each other down.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ev_grid_oracle.city.spec import ROAD_CLASSES
from ev_grid_oracle.city.tables import Table
from ev_grid_oracle.schema.enums import EventKind

_STATION = ("stations", "feeders", "sides")
_LINK = ("links", "corridors", "road_classes", "sides", "zones", "low_lying", "cbd")
SELECTORS: dict[EventKind, tuple[str, ...]] = {
    EventKind.BASE_LOAD: ("feeders", "sides"),
    EventKind.DEMAND: ("zones", "sides"),
    EventKind.SITE_LIMIT: _STATION,
    EventKind.FEEDER_RATING: ("feeders", "sides"),
    EventKind.TRANSFORMER_RATING: _STATION,
    EventKind.SLOTS: _STATION,
    EventKind.PRICE: _STATION,
    EventKind.SOLAR: (),
    EventKind.LINK_SPEED: _LINK,
    EventKind.LINK_CLOSED: _LINK,
    EventKind.FEEDER_OUT: ("feeders", "sides"),
    EventKind.HEAT: (),
    EventKind.RAIN: (),
}
FLAG_SELECTORS = ("low_lying", "cbd")
ALL_SELECTORS = (
    "stations",
    "feeders",
    "zones",
    "sides",
    "links",
    "corridors",
    "road_classes",
    *FLAG_SELECTORS,
)

Groups = dict[str, tuple[int, ...]]


@dataclass
class TargetIndex:
    """For each axis and selector: the indices behind every known name."""

    station: dict[str, Groups] = field(default_factory=dict)
    feeder: dict[str, Groups] = field(default_factory=dict)
    zone: dict[str, Groups] = field(default_factory=dict)
    link: dict[str, Groups] = field(default_factory=dict)

    def axis(self, kind: EventKind) -> dict[str, Groups]:
        """Selectors of the axis the kind addresses."""
        if kind in (EventKind.BASE_LOAD, EventKind.FEEDER_RATING, EventKind.FEEDER_OUT):
            return self.feeder
        if kind == EventKind.DEMAND:
            return self.zone
        if kind in (EventKind.LINK_SPEED, EventKind.LINK_CLOSED):
            return self.link
        return self.station


def _groups(values: tuple[str, ...]) -> Groups:
    out: dict[str, list[int]] = {}
    for i, v in enumerate(values):
        if v:
            out.setdefault(v, []).append(i)
    return {k: tuple(v) for k, v in out.items()}


def build_index(tables: Mapping[str, Table]) -> TargetIndex:
    """The index of a pack; selectors whose table is missing stay out of it."""
    ix = TargetIndex()
    z, n, s, f, lk = (tables.get(f"{t}.csv") for t in ("zones", "nodes", "stations", "feeders", "links"))
    side_of: dict[str, str] = {}
    zone_of: dict[str, str] = {}
    if z and z.has("zone_id", "side"):
        side_of = dict(zip(z.text("zone_id"), z.text("side"), strict=True))
        ix.zone = {"zones": _groups(z.text("zone_id")), "sides": _groups(z.text("side"))}
    if n and n.has("node_id", "zone"):
        zone_of = dict(zip(n.text("node_id"), n.text("zone"), strict=True))
    if f and f.has("feeder_id", "side"):
        ix.feeder = {"feeders": _groups(f.text("feeder_id")), "sides": _groups(f.text("side"))}
    if s and s.has("station_id", "feeder"):
        ix.station = {"stations": _groups(s.text("station_id")), "feeders": _groups(s.text("feeder"))}
        if ix.feeder and f:
            # a station lies on the side of its feeder: ratings of a side then hit the same places
            fside = dict(zip(f.text("feeder_id"), f.text("side"), strict=True))
            ix.station["sides"] = _groups(tuple(fside.get(x, "") for x in s.text("feeder")))
    if lk and lk.has("link_id", "from_node", "class", "corridor", *FLAG_SELECTORS):
        zones = tuple(zone_of.get(a, "") for a in lk.text("from_node"))
        ix.link = {
            "links": _groups(lk.text("link_id")),
            "corridors": _groups(lk.text("corridor")),
            "road_classes": dict.fromkeys(ROAD_CLASSES, ()) | _groups(lk.text("class")),
            "zones": _groups(zones),
            "sides": _groups(tuple(side_of.get(x, "") for x in zones)),
        }
        for flag in FLAG_SELECTORS:
            ix.link[flag] = {"1": tuple(i for i, v in enumerate(lk.text(flag)) if v == "1")}
    return ix


def resolve(
    kind: EventKind, event: Mapping[str, object], ix: TargetIndex
) -> tuple[tuple[int, ...], list[str]]:
    """Indices the event addresses (empty: all) and what it names that does not exist.

    Returns:
        (indices, problems); with problems the indices mean nothing. A selection of nothing is a problem.
    """
    axis = ix.axis(kind)
    problems: list[str] = []
    chosen: set[int] | None = None
    for sel in SELECTORS[kind]:
        if sel not in event:
            continue
        raw = event[sel]
        if sel in FLAG_SELECTORS:
            wanted = ["1"] if raw is True else []
        else:
            wanted = [str(x) for x in raw] if isinstance(raw, list) else [str(raw)]
        groups = axis.get(sel, {})
        got: set[int] = set()
        for w in wanted:
            if w in groups:
                got.update(groups[w])
            else:
                problems.append(f"{sel}: {w[:60]!r} is not known")
        if not got and not problems:
            problems.append(f"{sel} selects nothing")
        chosen = got if chosen is None else chosen & got
    if chosen is not None and not chosen and not problems:
        problems.append("the selectors together select nothing")
    return tuple(sorted(chosen or ())), problems
