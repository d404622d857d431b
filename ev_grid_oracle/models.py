"""The words of the OpenEnv service: action, observation and state as they travel.

Client, environment and server share these models and no others. The observation is a compact, columnar view
of the in-process `Observation` (`interfaces.openenv.view` writes it): columns of equal length, one entry a
station, feeder, car or candidate; null where there is no number. It never holds a NaN or an infinity.
`_frac` and, as an inherited spelling, `_pct` are fractions (0.85).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, StrictInt, StrictStr, model_validator
from pydantic_core import PydanticCustomError

from ev_grid_oracle.schema.errors import MissingExtraError

try:
    from openenv.core.env_server.types import Action, Observation, State
except ImportError as missing:
    raise MissingExtraError(
        "The OpenEnv service and its client need the `server` extra.",
        "Run: pip install 'openenv-ev-grid-oracle[server]'",
    ) from missing

Number = Annotated[float, Field(allow_inf_nan=False)]
Whole = int


def _any_text(value: object) -> str:
    """Text as it came: what is wrong with it (length, encoding, grammar) is the one parser's verdict."""
    if not isinstance(value, str):
        raise PydanticCustomError("string_type", "Input should be a valid string")
    return value


AnyText = Annotated[str, PlainValidator(_any_text, json_schema_input_type=str)]


class EVGridAnswer(BaseModel):
    """One answer in structured form. Without `ev_id` it answers the first pending car."""

    model_config = ConfigDict(extra="forbid")

    ev_id: StrictStr | None = Field(None, max_length=64, description="Id of a pending car.")
    action_type: Literal["route", "defer", "load_shift"] = Field(description="What to do with the car.")
    station_id: StrictStr | None = Field(
        None, max_length=64, description="Id of a station; null or NONE where none is meant."
    )
    charge_rate: Literal["slow", "fast", "ultra_fast"] = Field("fast", description="Cap of charging power.")
    defer_minutes: StrictInt = Field(0, ge=0, le=240, description="Minutes to wait; 0 for a route.")
    confidence: Number = Field(
        0.5, ge=0.0, le=1.0, strict=True, description="Probability that the car is plugged in in time."
    )
    reason: StrictStr = Field(
        "no reason given", max_length=4000, description="1 to 20 words for people; never scored."
    )


class EVGridAction(Action):
    """Answers of one tick: `text` in the six-line format, or `actions`, or neither (nobody is answered)."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"actions": [{"action_type": "route", "station_id": "BLR-07", "charge_rate": "fast"}]},
                {"actions": []},
                {
                    "text": "ACTION: route\nSTATION: BLR-07\nCHARGE_RATE: fast\nDEFER_MINUTES: 0\n"
                    "REASON: short queue nearby\nCONFIDENCE: 0.8"
                },
            ]
        }
    )

    actions: list[EVGridAnswer] | None = Field(
        None, max_length=640, description="Structured answers, one a pending car."
    )
    text: AnyText | None = Field(None, description="Answers as text, read by the one parser.")
    include_prompt: bool = Field(
        False, strict=True, description="Put the next text prompt into the observation."
    )

    @model_validator(mode="after")
    def _one_form(self) -> EVGridAction:
        if self.text is not None and self.actions is not None:
            raise PydanticCustomError("one_form", "Give `actions` or `text`, not both")
        return self


class Columns(BaseModel):
    """A table as columns of equal length."""

    model_config = ConfigDict(extra="forbid")


class StationColumns(Columns):
    """Stations, in the order of `id`; `candidates.station` and others point into it."""

    id: list[str]
    occupied: list[Whole] = Field(description="slots in use")
    queued: list[Whole]
    inbound: list[Whole] = Field(description="routed cars and announced walk-ins on the way")
    slots_up: list[Whole] = Field(description="usable slots")
    supplied: list[Whole] = Field(description="1: its feeder has voltage")
    load_kw: list[Number]
    limit_kw: list[Number] = Field(description="present site limit")
    cap_kw: list[Number | None] = Field(description="demand-response cap per slot; null none")
    price_inr_kwh: list[Number]
    free_in_min: list[Number | None] = Field(description="minutes until a slot frees; 0 free; null none up")
    usual_walkins_h: list[Number] = Field(description="usual walk-ins of the coming hour")
    ratio: list[Number] = Field(description="today's walk-ins over the usual")
    rate: list[Whole] = Field(description="0 slow, 1 fast, 2 ultra_fast")
    feeder: list[Whole] = Field(description="index into feeders.id")
    heat: list[Number] = Field(description="equivalent load of the transformer")


class FeederColumns(Columns):
    """Feeders; fractions of the nominal rating, `heat` of the present one."""

    id: list[str]
    load_pct: list[Number]
    limit_pct: list[Number] = Field(description="present rating over nominal")
    heat: list[Number] = Field(description="equivalent load of the head; over its limit above 1")
    base_pct: list[Number] = Field(description="base load alone")
    base_next_pct: list[list[Number]] = Field(description="forecast in 1, 6, 12 and 18 ticks")
    rating_kva: list[Number]
    min_voltage_pu: list[Number | None]


class PendingColumns(Columns):
    """The first pending cars in detail, in the order of the protocol: [0] is "the first"."""

    ev_id: list[str]
    persona: list[str]
    vehicle: list[str]
    zone: list[str]
    soc_frac: list[Number]
    target_frac: list[Number]
    need_kwh: list[Number]
    ac_kw: list[Number]
    dc_kw: list[Number] = Field(description="0: no DC inlet")
    urgency_frac: list[Number]
    critical: list[Whole]
    emergency: list[Whole]
    ready_in_min: list[Number | None] = Field(description="flexible cars: minutes until ready_by")
    patience_left_min: list[Number]
    waited_min: list[Number]
    deferrals: list[Whole] = Field(description="times it was deferred so far")


class CandidateColumns(Columns):
    """The best usable stations of each car in detail, best first; other answers are not counted in."""

    car: list[Whole] = Field(description="index into pending.ev_id")
    station: list[Whole] = Field(description="index into stations.id")
    travel_min: list[Number]
    own_min: list[Number] = Field(description="own minutes at the plug at the station's rate")
    free_at_arrival: list[Number]
    free_30_later: list[Number]
    wait_min: list[Number | None]
    walkins_until: list[Number]
    site_headroom_kw: list[Number]
    feeder_headroom_frac: list[Number]


class GridColumns(Columns):
    """The city as a whole."""

    grid_load_pct: Number
    renewable_frac: Number
    renewable_next_frac: list[Number] = Field(description="climatological, in 1, 6, 12 and 18 ticks")
    carbon_g_kwh: Number
    ratio_city: Number = Field(description="today's walk-ins over the usual")
    traffic: Number = Field(description="factor of the moment on travel minutes; candidates hold it already")


class AnnouncementRow(Columns):
    """Something the control room has been told; `in_ticks` <= 0: under way."""

    kind: str
    in_ticks: int
    targets: list[str] = Field(description="ids; empty: the whole city")
    value: Number
    sd: Number
    label: str


class ErrorRow(Columns):
    """Why a text, or one car's answer, was refused."""

    code: str
    ev_id: str | None = None
    line: int | None = None
    field: str | None = None
    message: str
    hint: str


class EVGridObservation(Observation):
    """What an agent may know after `reset` or `step`; at most 8 kB of JSON without the prompt."""

    episode_id: str | None = Field(None, description="As given to reset, or made by the server.")
    step: int = Field(0, description="Steps counted in this episode.")
    city: str = ""
    tick: int = 0
    ticks: int = 0
    minute_of_day: int = 0
    day_type: str = ""
    season: str = ""
    grid: GridColumns
    stations: StationColumns
    feeders: FeederColumns
    announcements: list[AnnouncementRow] = Field(default_factory=list)
    pending_count: int = 0
    pending: PendingColumns
    more_pending_ids: list[str] = Field(default_factory=list, description="Pending cars without detail.")
    candidates: CandidateColumns
    terminated: bool = False
    truncated: bool = False
    breakdown: dict[str, Number] = Field(default_factory=dict, description="Reward per term, and total.")
    flags: dict[str, int] = Field(default_factory=dict, description="Flags of the tick and how often.")
    errors: list[ErrorRow] = Field(default_factory=list)
    settle: dict[str, Number] | None = Field(None, description="Last tick: part that comes from the settle.")
    kpis: dict[str, Number | None] | None = Field(None, description="Last tick: KPIs of the episode.")
    prompt: str | None = Field(None, description="Text prompt, where asked for.")


class EVGridState(State):
    """Where the episode stands; no seed, scenario or schedule, which would name the future."""

    model_config = ConfigDict(extra="forbid")

    city: str = ""
    tick: int = 0
    ticks: int = 0
    minute_of_day: int = 0
    day_type: str = ""
    season: str = ""
    pending_count: int = 0
    done: bool = False
    terminated: bool = False
    truncated: bool = False
    total_reward: Number = Field(0.0, description="Sum of the rewards so far.")


class RoadAction(Action):
    """A move of the road task: `next_node`, or `text`; neither makes the car wait a minute."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"next_node": 17},
                {"text": "CURRENT_NODE: 3\nNEXT_NODE: 17\nREASON: towards the station\nCONFIDENCE: 0.9"},
            ]
        }
    )

    next_node: StrictInt | None = Field(None, description="A node of `neighbours`.")
    current_node: StrictInt | None = Field(None, description="Where the car stands; checked where given.")
    text: AnyText | None = Field(None, description="The move as text, read by the one parser.")
    include_prompt: bool = Field(False, strict=True, description="Put the text prompt into the observation.")

    @model_validator(mode="after")
    def _one_form(self) -> RoadAction:
        if self.text is not None and self.next_node is not None:
            raise PydanticCustomError("one_form", "Give `next_node` or `text`, not both")
        if self.current_node is not None and self.next_node is None:
            raise PydanticCustomError("no_move", "Give `next_node` with `current_node`")
        return self


class RoadNeighbourRow(Columns):
    """A node one open road away."""

    node: int
    name: str
    road: str
    heading: str
    heading_deg: Number
    minutes: Number
    metres: Number
    kwh: Number
    target_km: Number


class RoadView(Observation):
    """What the driver of the road task may know."""

    episode_id: str | None = None
    city_name: str = ""
    node: int
    node_name: str
    target_id: str
    target_name: str
    target_node: int
    target_heading: str
    target_heading_deg: Number
    target_km: Number
    minute_of_day: Number
    minutes: Number = Field(description="driven and waited since the start")
    vehicle: str
    soc_frac: Number
    kwh_left: Number
    range_km: Number
    steps: int
    max_steps: int
    neighbours: list[RoadNeighbourRow]
    breakdown: dict[str, Number] = Field(default_factory=dict)
    flags: list[str] = Field(default_factory=list)
    errors: list[ErrorRow] = Field(default_factory=list)
    arrived: bool = False
    terminated: bool = False
    truncated: bool = False
    fastest_minutes: Number | None = Field(None, description="At the end: minutes of the fastest way.")
    prompt: str | None = None


class RoadState(State):
    """Where the trip stands."""

    model_config = ConfigDict(extra="forbid")

    node: int | None = None
    target_id: str = ""
    minutes: Number = 0.0
    arrived: bool = False
    done: bool = False
    terminated: bool = False
    truncated: bool = False
    total_reward: Number = 0.0


def action_from(value: EVGridAction | dict[str, Any] | str | None) -> EVGridAction:
    """An action in any form a Python user may hold: model, dictionary of one, text, or None."""
    if isinstance(value, EVGridAction):
        return value
    if value is None:
        return EVGridAction()
    if isinstance(value, str):
        return EVGridAction(text=value)
    action: EVGridAction = EVGridAction.model_validate(value)
    return action
