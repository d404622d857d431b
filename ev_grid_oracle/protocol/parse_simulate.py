"""The ``<SIMULATE>`` block: what the agent expects five ticks ahead.

Every fault is `E_SIMULATE` and ends the parse: a malformed forecast invalidates the answer. Decisions:
no blank line inside the block; numbers take one to four decimals or none; blanks around ``|`` are free;
one to three distinct stations of the city. Their order is the agent's claim about ranks and is scored,
never checked here.
"""

from __future__ import annotations

from collections.abc import Collection

from ev_grid_oracle.protocol import grammar as g
from ev_grid_oracle.protocol.cursor import Cursor, shown
from ev_grid_oracle.schema.action import SimulationPrediction, StationForecast

_MAX_LOAD = 9.99


def parse_simulate(cur: Cursor, stations: Collection[str]) -> SimulationPrediction | None:
    """Reads the block whose opening line is the present one; None after noting why not."""
    cur.at += 1
    values: list[str] = []
    for key in g.SIMULATE_KEYS:
        line = cur.line
        rest = line[len(key) + 1 :] if line is not None and line.startswith(key + ":") else ""
        value = rest.lstrip(" \t")
        if not value or value == rest:
            cur.issue("E_SIMULATE", f"A line '{key}: <value>' is expected here.", field=key)
            return None
        fault = _fault(key, value, stations)
        if fault:
            column = len(key) + 2 + len(rest) - len(value)
            cur.issue("E_SIMULATE", fault, field=key, column=column)
            return None
        values.append(value)
        cur.at += 1
    if cur.line != g.SIMULATE_CLOSE:
        cur.issue("E_SIMULATE", f"A line '{g.SIMULATE_CLOSE}' is expected here.")
        return None
    cur.at += 1
    entries = tuple(
        StationForecast(i, float(occupancy), int(queue))
        for i, occupancy, queue in (_split(e) for e in values[2].split("|"))
    )
    return SimulationPrediction(float(values[0]), float(values[1]), entries)


def _split(entry: str) -> tuple[str, str, str]:
    """Station, occupancy, queue of one entry; from the right, since an id may hold a colon."""
    head, _, queue = entry.strip(" \t").rpartition(":")
    station, _, occupancy = head.rpartition(":")
    return station, occupancy, queue


def _fault(key: str, value: str, stations: Collection[str]) -> str:
    if key == g.SIMULATE_KEYS[0]:
        good = g.LOAD_RE.fullmatch(value) is not None and float(value) <= _MAX_LOAD
        return "" if good else f"{key} is {shown(value)}; 0.00 to {_MAX_LOAD} is needed."
    if key == g.SIMULATE_KEYS[1]:
        return "" if g.UNIT_RE.fullmatch(value) else f"{key} is {shown(value)}; 0.00 to 1.00 is needed."
    if value.count("|") >= g.MAX_TOP_STATIONS:
        return f"{key} takes one to {g.MAX_TOP_STATIONS} stations."
    seen: set[str] = set()
    for entry in value.split("|"):
        station, occupancy, queue = _split(entry)
        if not (g.UNIT_RE.fullmatch(occupancy) and g.QUEUE_RE.fullmatch(queue)):
            return f"{shown(entry)} is not id:occupancy:queue, for instance 'ID:0.82:3'."
        if station not in stations:
            return f"{shown(station)} is no station of this city."
        if station in seen:
            return f"{shown(station)} stands twice."
        seen.add(station)
    return ""
