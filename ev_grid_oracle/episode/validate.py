"""`validate_action`: would the verifier accept this answer? Read from the observation, by the same rules."""

from __future__ import annotations

from collections.abc import Sequence

from ev_grid_oracle.episode.answers import read_actions
from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.axes import STEP_MINUTES
from ev_grid_oracle.schema.codes import CODES
from ev_grid_oracle.schema.enums import ActionKind
from ev_grid_oracle.schema.observation import EVRequest, Observation


def validate_action(obs: Observation, action: Action) -> tuple[bool, str]:
    """(True, "") if the answer is legal now, else (False, "E_CODE: what is wrong").

    Faults that the parser finds in a text are found here too (an id of another city, 300 minutes). A legal
    answer can still draw a flag: flags judge habits, not moves.
    """
    read = read_actions([action], obs.station_ids)
    if not read.ok:
        issue = read.errors[0]
        return False, f"{issue.code}: {issue.message}"
    code = _verdict(obs, action)
    return (True, "") if not code else (False, f"{code}: {CODES[code].sentence}")


def _verdict(obs: Observation, action: Action) -> str:
    """The verifier's code, "" if it accepts."""
    if action.kind == ActionKind.NONE:
        return ""
    index = _car(obs.pending, action.ev_id)
    if index is None:
        return "E_UNKNOWN_CAR"
    if action.kind == ActionKind.DEFER:
        whole = -(-action.defer_minutes // STEP_MINUTES) * STEP_MINUTES
        return "E_TIME_WINDOW" if whole > obs.pending[index].patience_left_min else ""
    if action.station_id is None:
        return ""  # a load_shift of the tightest feeder takes the lower of cap and slot at each station
    s = obs.station_ids.index(action.station_id)
    if action.kind == ActionKind.ROUTE:
        return obs.candidates(index).refusal[s]
    stations = obs.state.stations
    if stations.slots_up[s] <= 0 or not stations.supplied[s]:
        return "E_STATION_DOWN"
    return "E_RATE" if action.rate > stations.rate[s] else ""


def _car(pending: Sequence[EVRequest], ev_id: str | None) -> int | None:
    """Place of the car that an answer names; None if it is not pending."""
    if ev_id is None:
        return 0 if pending else None
    return next((k for k, car in enumerate(pending) if car.ev_id == ev_id), None)
