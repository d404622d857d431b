"""What an agent answers for one car, as a value."""

from __future__ import annotations

from dataclasses import dataclass

from ev_grid_oracle.schema.enums import ActionKind, Rate


@dataclass(frozen=True, slots=True)
class Action:
    """One answer. `ev_id` None means the first pending car.

    Attributes:
        kind: route, defer or load_shift.
        station_id: id from the city, or None (the text's ``NONE``).
        rate: cap of the charging power (route) or of the slots (load_shift).
        defer_minutes: 0 to 240.
        reason: free text for people; never read by the verifier or the scorer.
        confidence: probability that the car is plugged in before its patience is used up.
    """

    kind: ActionKind
    station_id: str | None = None
    rate: Rate = Rate.FAST
    defer_minutes: int = 0
    ev_id: str | None = None
    reason: str = "no reason given"
    confidence: float = 0.5


@dataclass(frozen=True, slots=True)
class StationForecast:
    """One entry of T+5_TOP_STATIONS: occupancy as a fraction of slots, queue in cars."""

    station_id: str
    occupancy_frac: float
    queue: int


@dataclass(frozen=True, slots=True)
class SimulationPrediction:
    """The parsed ``<SIMULATE>`` block: what the agent expects five ticks ahead."""

    grid_load_frac: float
    renewable_frac: float
    top_stations: tuple[StationForecast, ...]


@dataclass(frozen=True, slots=True)
class ParseIssue:
    """Why a text was refused: code, 1-based line and column, field (or empty) and one sentence."""

    code: str
    line: int
    column: int
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class ParseResult:
    """Verdict of the parser. `actions` is empty unless `ok`."""

    ok: bool
    actions: tuple[Action, ...] = ()
    errors: tuple[ParseIssue, ...] = ()
    prediction: SimulationPrediction | None = None
