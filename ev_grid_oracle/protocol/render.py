"""Actions back to text, in the canonical spelling: what heuristics, training sets and examples write.

`parse_action` of a rendered text gives equal actions. What cannot be written is an error of the caller
and raises; nothing is shortened or rounded into shape, except that numbers keep four decimals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from ev_grid_oracle.protocol import grammar as g
from ev_grid_oracle.protocol.parse_block import goes_together, reason_fault
from ev_grid_oracle.schema.action import Action, SimulationPrediction
from ev_grid_oracle.schema.enums import ActionKind
from ev_grid_oracle.schema.errors import OptionError


def render_action(action: Action) -> str:
    """The block of one action, with its EV_ID line if it has an id; no newline at the end."""
    if action.kind == ActionKind.NONE:
        raise OptionError("No answer has no text.", "Leave the car out.")
    kind = g.ACTIONS[action.kind]
    station = action.station_id or g.NO_STATION
    if not 0 <= action.defer_minutes <= g.MAX_DEFER_MINUTES:
        raise OptionError(f"defer_minutes is {action.defer_minutes}.", "It is 0 to 240.")
    if not goes_together(kind, station, action.defer_minutes):
        raise OptionError(f"{kind} does not go with {station} and {action.defer_minutes} minutes.")
    fault = reason_fault(action.reason)
    if not fault and action.reason != action.reason.strip(" \t"):
        fault = "REASON starts or ends with a blank, which the text would lose."
    if fault:
        raise OptionError(fault)
    lines = [
        f"ACTION: {kind}",
        f"STATION: {station}",
        f"CHARGE_RATE: {g.RATES[action.rate]}",
        f"DEFER_MINUTES: {int(action.defer_minutes)}",
        f"REASON: {action.reason}",
        f"CONFIDENCE: {_decimal(action.confidence, 1.0, 'confidence')}",
    ]
    if action.ev_id is not None:
        lines.insert(0, f"{g.ID_KEY}: {action.ev_id}")
    return "\n".join(lines)


def render_actions(actions: Iterable[Action], prediction: SimulationPrediction | None = None) -> str:
    """A whole answer: the forecast if there is one, then the blocks with a blank line between."""
    listed = list(actions)
    ids = [a.ev_id for a in listed]
    if len(listed) > 1 and (None in ids or len(set(ids)) != len(ids)):
        raise OptionError("Several actions need distinct ev_id.")
    parts = [render_action(a) for a in listed]
    if prediction is not None:
        parts.insert(0, render_prediction(prediction))
    return "\n\n".join(parts)


def render_prediction(prediction: SimulationPrediction) -> str:
    """The ``<SIMULATE>`` block."""
    load, renewable, top = g.SIMULATE_KEYS
    entries = []
    for entry in prediction.top_stations:
        occupancy = _decimal(entry.occupancy_frac, 1.0, "occupancy_frac")
        if not 0 <= entry.queue <= 999:
            raise OptionError(f"queue is {entry.queue}.", "It is 0 to 999.")
        entries.append(f"{entry.station_id}:{occupancy}:{int(entry.queue)}")
    if not 1 <= len({e.station_id for e in prediction.top_stations}) == len(entries) <= g.MAX_TOP_STATIONS:
        raise OptionError("top_stations names one to three distinct stations.")
    return "\n".join(
        (
            g.SIMULATE_OPEN,
            f"{load}: {_decimal(prediction.grid_load_frac, 9.99, 'grid_load_frac')}",
            f"{renewable}: {_decimal(prediction.renewable_frac, 1.0, 'renewable_frac')}",
            f"{top}: {' | '.join(entries)}",
            g.SIMULATE_CLOSE,
        )
    )


def _decimal(value: float, top: float, name: str) -> str:
    """`value` with one to four decimals."""
    if not (math.isfinite(value) and 0.0 <= value <= top):
        raise OptionError(f"{name} is {value}.", f"It is 0 to {top}.")
    text = f"{value:.4f}".rstrip("0")
    return f"{text}0" if text.endswith(".") else text
