"""What an agent may know: the control room's view of one environment at the start of a tick.

Everything here is a copy; changing it changes nothing in the world. Heuristics, prompts, learners and
servers are all built from this one object, so none of them can know more than another. A session hands
out a light kind of it that decodes these values when they are first asked for (`episode.observe`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.schema.action import Action

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class EVRequest:
    """One pending request. Minutes are relative to the start of this tick."""

    ev_id: str
    persona: str
    vehicle: str
    node: int
    zone: int  # index of the city's zones
    soc_frac: float
    target_frac: float
    battery_kwh: float
    need_kwh: float  # battery-side energy to the target if it charged here
    ac_kw: float
    dc_kw: float  # 0: no DC inlet
    urgency_frac: float
    critical: bool
    emergency: bool
    flexible: bool
    ready_in_min: float | None  # flexible cars: minutes until ready_by
    patience_left_min: float
    waited_min: float
    deferrals: int = 0  # times it was deferred so far


@dataclass(frozen=True, slots=True)
class StationState:
    """(S,) stations, in the order of `Observation.station_ids`."""

    occupied: I32  # slots in use
    queued: I32  # cars waiting
    inbound: I32  # routed requests and announced walk-ins on the way
    slots_up: I32  # usable slots
    supplied: npt.NDArray[np.bool_]  # its feeder has voltage
    load_kw: F64
    limit_kw: F64  # present site limit
    cap_kw: F64  # demand-response cap per slot, kW (inf: none)
    cap_left_min: F64
    price_inr_kwh: F64
    slot_free_min: F64  # (S, K) ascending: minutes until each usable slot frees (0 free, inf not there)
    usual_walkins_h: F64  # usual walk-in arrivals in the coming hour
    ratio: F64  # today's walk-ins over the usual, last two hours, shrunk to 1
    walkin_slot_min: F64  # usual minutes a walk-in holds a slot
    rate: I32  # 0 slow, 1 fast, 2 ultra_fast
    feeder: I32  # feeder index


@dataclass(frozen=True, slots=True)
class FeederState:
    """(F,) feeders. Fractions of the nominal rating unless said."""

    load_frac: F64  # S over nominal rating (the wire's `load_pct`)
    limit_frac: F64  # present rating over nominal (`limit_pct`)
    heat_frac: F64  # equivalent load of the head, over the present rating
    base_frac: F64  # base load alone
    base_next_frac: F64  # (F, 18) forecast of base load for the next 18 ticks, without noise
    rating_kva: F64
    min_voltage_pu: F64  # nan: not supplied
    transformer_heat_frac: F64  # (S,) equivalent load of each station's transformer


@dataclass(frozen=True, slots=True)
class GridState:
    """The city at the start of a tick."""

    tick: int
    ticks: int  # length of the episode
    minute_of_day: int
    day_type: str
    season: str
    stations: StationState
    feeders: FeederState
    grid_load_frac: float  # the wire's `grid_load_pct`
    renewable_frac: float
    carbon_g_kwh: float
    renewable_next_frac: F64  # (18,) climatological forecast of the next ticks
    ratio_city: float
    inbound_station: I32  # (A,) known cars on the way: station,
    inbound_eta_min: F64  # minutes until arrival,
    inbound_slot_min: F64  # expected minutes at the plug,
    inbound_announced: npt.NDArray[np.bool_]  # True: an announced walk-in; False: a routed request
    traffic: float = 1.0  # factor of the moment on every travel minute; tables and candidates hold it already


@dataclass(frozen=True, slots=True)
class Announcement:
    """Something a control room has been told. `in_ticks` <= 0: under way."""

    kind: str  # name of schema.enums.EventKind, lower case
    in_ticks: int
    targets: tuple[str, ...]  # ids; empty: the whole city
    value: float
    sd: float
    label: str


@dataclass(frozen=True, slots=True)
class Candidates:
    """(S,) what each station would mean for one car, other answers of the tick counted as inbound."""

    usable: npt.NDArray[np.bool_]  # up, its plug fits, in reach, within the detour rule
    refusal: tuple[str, ...]  # "" or the verifier's code
    travel_min: F64  # nan: no route
    travel_kwh: F64
    own_min: F64  # own minutes at the plug at the station's rate; inf: no plug fits
    free_at_arrival: F64  # slots
    free_30_later: F64
    wait_min: F64  # expected wait at arrival; inf: no usable slot
    walkins_until: F64  # usual walk-ins until arrival (times StationState.ratio: today's)
    walkins_hour: F64  # usual walk-ins in the coming hour
    site_headroom_kw: F64
    feeder_headroom_frac: F64  # of the present rating, at arrival, by the forecast
    best_rate: I32  # the rate `greedy_counting` would take
    score: F64  # `greedy_counting`'s cost in minutes (inf: not usable)


@dataclass(frozen=True)
class Observation:
    """State, pending cars and, after a step, what the step was worth.

    Attributes:
        pending: cars that may be answered now, in the order of the protocol; `[0]` is "the first".
        reward: None at reset.
        breakdown: reward per term, and `total`.
        flags: names of the flags of the tick just played.
        info: errors (code, line, hint), KPIs at the end, receipts; JSON-safe.
    """

    station_ids: tuple[str, ...]
    feeder_ids: tuple[str, ...]
    zone_ids: tuple[str, ...]
    pending: tuple[EVRequest, ...]
    state: GridState
    announcements: tuple[Announcement, ...]
    city_name: str
    discom: str
    reward: float | None = None
    breakdown: Mapping[str, float] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    done: bool = False
    terminated: bool = False
    truncated: bool = False
    info: Mapping[str, object] = field(default_factory=dict)
    candidates_of: Callable[[int, tuple[Action, ...]], Candidates] | None = None
    render_prompt: Callable[[Observation], str] | None = None

    @property
    def pending_ids(self) -> tuple[str, ...]:
        """Ids of the pending cars, first first."""
        return tuple(c.ev_id for c in self.pending)

    @property
    def prompt(self) -> str:
        """The full text prompt, rendered when asked for."""
        if self.render_prompt is None:
            raise ValueError("This observation was built without a prompt renderer.")
        return self.render_prompt(self)

    def candidates(self, index: int, assumed: tuple[Action, ...] = ()) -> Candidates:
        """The candidate table of `pending[index]`, `assumed` answers counted as inbound."""
        if self.candidates_of is None:
            raise ValueError("This observation was built without a candidate table.")
        return self.candidates_of(index, assumed)
