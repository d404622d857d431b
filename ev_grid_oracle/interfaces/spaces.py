"""What a learner sees and may choose on `EVGrid-v0`: the layout of the observation vector and of an action.

The observation is one float32 vector of six blocks, in the order of `BLOCKS`; every column is a fact of the
`Observation` divided by its scale and cut to its bounds, so that the space is finite and no column needs
normalising. An action is one choice for each of the first `SLOTS` pending cars. Everything here follows from
the city's numbers of stations and feeders; nothing is learnt from data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.enums import ActionKind, EventKind, Rate
from ev_grid_oracle.schema.errors import OptionError

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]

SLOTS = 8
"""Pending cars that one step can answer; the others wait for the next."""
DEFER_MIN = (5, 15, 30, 60, 120)
SHIFT_MIN = 10
EVEN_CHANCE_BP = 5000  # a choice says nothing about its confidence


@dataclass(frozen=True, slots=True)
class Column:
    """One number: value / `scale`, cut to [`low`, `high`]."""

    name: str
    unit: str
    scale: float
    low: float
    high: float
    meaning: str


def _c(name: str, unit: str, scale: float, low: float, high: float, meaning: str) -> Column:
    return Column(name, unit, scale, low, high, meaning)


CAR = (
    _c("present", "0/1", 1, 0, 1, "a car stands in this slot; all else is 0 where none does"),
    _c("soc", "1", 1, 0, 1, "state of charge"),
    _c("target", "1", 1, 0, 1, "state of charge it wants"),
    _c("need", "kWh", 50, 0, 4, "energy to the target"),
    _c("ac", "kW", 22, 0, 4, "AC limit"),
    _c("dc", "kW", 150, 0, 4, "DC limit, 0 without inlet"),
    _c("urgency", "1", 1, 0, 1, "urgency"),
    _c("critical", "0/1", 1, 0, 1, "urgency above 0.8"),
    _c("emergency", "0/1", 1, 0, 1, "served first"),
    _c("flexible", "0/1", 1, 0, 1, "carries ready_by"),
    _c("ready_in", "min", 240, -1, 2, "minutes until ready_by, 0 where it has none"),
    _c("patience", "min", 60, 0, 6, "patience left"),
    _c("waited", "min", 60, 0, 6, "since the request"),
    _c("deferrals", "1", 6, 0, 3, "times it was deferred"),
)
CANDIDATE = (
    _c("usable", "0/1", 1, 0, 1, "the verifier would accept a route there"),
    _c("travel", "min", 60, 0, 5, "travel time; the bound where there is no road"),
    _c("own", "min", 60, 0, 10, "own minutes at the plug; the bound where no plug fits"),
    _c("free", "slots", 8, 0, 2, "free slots at arrival"),
    _c("free_30", "slots", 8, 0, 2, "free slots 30 minutes later"),
    _c("wait", "min", 60, 0, 5, "expected wait at arrival; the bound without a usable slot"),
    _c("walkins_until", "cars", 8, 0, 4, "walk-ins expected until arrival: usual x today's ratio"),
    _c("walkins_hour", "cars", 8, 0, 4, "walk-ins expected in the coming hour"),
    _c("walkin_slot", "min", 60, 0, 5, "usual minutes a walk-in holds a slot"),
    _c("site_load", "1", 1, 0, 2, "power over the present site limit"),
    _c("feeder_room", "1", 1, -2, 1, "1 - feeder load at arrival over its present rating"),
    _c("type", "class", 2, 0, 1, "0 slow, 1 fast, 2 ultra_fast"),
    _c("price", "INR/kWh", 20, 0, 5, "price"),
    _c("ratio", "1", 1, 0, 5, "today's walk-ins over the usual"),
)
STATION = (
    _c("occupied", "slots", 16, 0, 2, "slots in use"),
    _c("slots_up", "slots", 16, 0, 2, "usable slots"),
    _c("queued", "cars", 8, 0, 4, "cars waiting"),
    _c("inbound", "cars", 8, 0, 4, "known cars on the way"),
    _c("supplied", "0/1", 1, 0, 1, "its feeder has voltage"),
    _c("load", "1", 1, 0, 2, "power over the present site limit"),
    _c("limit", "kW", 1000, 0, 5, "present site limit"),
    _c("cap", "kW", 150, 0, 1, "demand-response cap of a slot; the bound: none"),
    _c("cap_left", "min", 60, 0, 4, "minutes until the cap ends"),
    _c("price", "INR/kWh", 20, 0, 5, "price"),
    _c("first_free", "min", 60, 0, 5, "minutes until a slot frees; the bound without a usable slot"),
    _c("usual", "cars/h", 8, 0, 8, "usual walk-ins of the coming hour"),
    _c("ratio", "1", 1, 0, 5, "today's walk-ins over the usual"),
    _c("walkin_slot", "min", 60, 0, 5, "usual minutes a walk-in holds a slot"),
    _c("heat", "1", 1, 0, 3, "equivalent load of the transformer"),
    _c("type", "class", 2, 0, 1, "0 slow, 1 fast, 2 ultra_fast"),
    _c("told", "0/1", 1, 0, 1, "an announcement names it"),
)
FEEDER = (
    _c("load", "1", 1, 0, 3, "S over present rating"),
    _c("limit", "1", 1, 0, 2, "present over nominal rating"),
    _c("heat", "1", 1, 0, 3, "equivalent load of the head"),
    _c("base", "1", 1, 0, 3, "base load alone over present rating"),
    _c("base_30", "1", 1, 0, 3, "its forecast in 30 minutes"),
    _c("base_60", "1", 1, 0, 3, "its forecast in an hour"),
    _c("volts_below", "pu", 0.1, -1, 5, "1 - lowest bus voltage; 0 without supply"),
    _c("supplied", "0/1", 1, 0, 1, "has voltage"),
    _c("rating", "kVA", 10000, 0, 5, "nominal rating"),
    _c("told", "0/1", 1, 0, 1, "an announcement names it"),
)
TOLD = (
    _c("told", "0/1", 1, 0, 1, "an event of this kind is announced or under way"),
    _c("in_ticks", "ticks", 12, 0, 2, "ticks until the next of them, 0 under way"),
    _c("value", "-", 1, -2, 4, "its value; slots / 16, deg C / 10, else as in the scenario"),
    _c(
        "share",
        "1",
        1,
        0,
        1,
        "share of the stations or feeders it names; 1 for the whole city, zones or roads",
    ),
)
CLOCK = (
    _c("gone", "1", 1, 0, 1, "share of the episode played"),
    _c("left", "ticks", 48, 0, 2, "ticks left"),
    _c("minute", "min", 1440, 0, 1, "minute of the day"),
    _c("noon", "1", 1, 0, 1, "1 at noon, 0 at midnight, linear between"),
    _c("sunday", "0/1", 1, 0, 1, "day type"),
    _c("winter", "0/1", 1, 0, 1, "season"),
    _c("summer", "0/1", 1, 0, 1, "season"),
    _c("monsoon", "0/1", 1, 0, 1, "season"),
    _c("post_monsoon", "0/1", 1, 0, 1, "season"),
    _c("grid_load", "1", 1, 0, 3, "apparent power over the rated power of all feeders"),
    _c("renewable", "1", 1, 0, 1, "renewable share now"),
    _c("renewable_30", "1", 1, 0, 1, "its forecast in 30 minutes"),
    _c("renewable_60", "1", 1, 0, 1, "its forecast in an hour"),
    _c("carbon", "g/kWh", 1000, 0, 2, "carbon intensity"),
    _c("ratio", "1", 1, 0, 5, "today's walk-ins of the city over the usual"),
    _c("traffic", "1", 1, 0, 5, "factor on travel minutes"),
    _c("pending", "cars", 8, 0, 8, "pending cars, those beyond the slots too"),
)
BLOCKS: Mapping[str, tuple[Column, ...]] = {
    "cars": CAR,
    "candidates": CANDIDATE,
    "stations": STATION,
    "feeders": FEEDER,
    "told": TOLD,
    "clock": CLOCK,
}
"""Name -> columns (last axis). Leading axes: slot; slot, station; station; feeder; kind of event; none."""


class GymLayout:
    """Sizes and offsets for one city.

    Attributes:
        size: numbers in an observation.
        choices: choices of a slot; names in `names`.
        offsets: (6,) int64, where each block starts.
        bounds: (3, size) float64: 1 / scale, low, high.
        moves: (choices, 4) int32 kind, station, rate, minutes; a load_shift's station is filled in later.
    """

    def __init__(self, city: PackedCity) -> None:
        n_s, n_f = city.layout.dims["S"], city.layout.dims["F"]
        leads = ((SLOTS,), (SLOTS, n_s), (n_s,), (n_f,), (len(EventKind),), ())
        shapes = {b: (*lead, len(BLOCKS[b])) for b, lead in zip(BLOCKS, leads, strict=True)}
        self.shapes: Mapping[str, tuple[int, ...]] = shapes
        sizes = [int(np.prod(s)) for s in shapes.values()]
        self.size = sum(sizes)
        self.offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
        self._start = dict(zip(shapes, self.offsets.tolist(), strict=True))

        def spread(values: list[list[float]]) -> F64:
            return np.concatenate(
                [np.tile(v, size // len(v)) for v, size in zip(values, sizes, strict=True)]
            ).astype(np.float64)

        self.bounds = np.stack(
            [
                spread([[1.0 / c.scale for c in b] for b in BLOCKS.values()]),
                spread([[c.low for c in b] for b in BLOCKS.values()]),
                spread([[c.high for c in b] for b in BLOCKS.values()]),
            ]
        )
        self.stations = city.pack.stations.ids
        self.feeders = city.pack.grid.feeder_ids
        self.moves, self.names = _moves(self.stations)
        self.choices = len(self.names)
        self.first_defer = 1 + 3 * n_s
        self.first_shift = self.first_defer + len(DEFER_MIN)

    def view(self, obs: F32, block: str) -> F32:
        """Block of an observation, or of a batch of them (leading axes kept), as a view."""
        shape, start = self.shapes[block], self._start[block]
        size = int(np.prod(shape))
        return obs[..., start : start + size].reshape(*obs.shape[:-1], *shape)

    def checked(self, action: object, shape: tuple[int, ...]) -> npt.NDArray[np.int64]:
        """`action` as whole numbers of `shape`; `OptionError` for anything that is no action."""
        choice = np.asarray(action)
        if choice.shape != shape or choice.dtype.kind not in "iu":
            raise OptionError(
                f"The action is {choice.dtype} of shape {choice.shape}.",
                f"Give whole numbers of shape {shape}.",
            )
        if choice.size and (choice.min() < 0 or choice.max() >= self.choices):
            raise OptionError("A choice is out of range.", f"Choose 0 to {self.choices - 1} in each slot.")
        return choice.astype(np.int64)

    def decisions(self, choice: npt.NDArray[np.int64], seqs: I32, shift: I32) -> tuple[I32, I32]:
        """Decision rows of a batch: (E, SLOTS, 8) rows, answers first, and (E,) how many.

        choice: (E, SLOTS). seqs: (E, SLOTS) car numbers, `NO_CAR` where the slot is empty. shift: (E,) the
        station that a load_shift caps, -1 none.
        """
        out = np.zeros((*choice.shape, r.N_DCOL), np.int32)
        out[..., r.D_SEQ] = seqs
        out[..., r.D_KIND : r.D_DEFER + 1] = self.moves[choice]
        shifts = out[..., r.D_KIND] == ActionKind.LOAD_SHIFT
        out[..., r.D_STATION] = np.where(shifts, shift[:, None], out[..., r.D_STATION])
        out[..., r.D_CONF] = EVEN_CHANCE_BP
        silent = (out[..., r.D_KIND] == ActionKind.NONE) | (seqs == NO_CAR) | (shifts & (shift[:, None] < 0))
        order = np.argsort(silent, axis=1, kind="stable")
        return np.take_along_axis(out, order[..., None], axis=1), (~silent).sum(1).astype(np.int32)

    def action_of(self, choice: int, ev_id: str, shift: str | None = None) -> Action | None:
        """The choice as an `Action`, None for "leave"; `shift` is the id of the station to cap."""
        kind, station, rate, minutes = (int(v) for v in self.moves[choice])
        if kind == ActionKind.NONE:
            return None
        name = self.stations[station] if kind == ActionKind.ROUTE else shift if kind == 2 else None
        return Action(ActionKind(kind), name, Rate(rate), minutes, ev_id)


NO_CAR = -(2**31)
"""In place of a car's number: the slot is empty."""


def _moves(stations: tuple[str, ...]) -> tuple[I32, tuple[str, ...]]:
    """Table and names of the choices, in the order of the contract."""
    rates = [rate.name.lower() for rate in Rate]
    rows: list[tuple[int, int, int, int]] = [(ActionKind.NONE, -1, Rate.FAST, 0)]
    names = ["leave"]
    for s, station in enumerate(stations):
        for rate in Rate:
            rows.append((ActionKind.ROUTE, s, rate, 0))
            names.append(f"route {station} {rates[rate]}")
    for minutes in DEFER_MIN:
        rows.append((ActionKind.DEFER, -1, Rate.FAST, minutes))
        names.append(f"defer {minutes}")
    for rate in Rate:
        rows.append((ActionKind.LOAD_SHIFT, -1, rate, SHIFT_MIN))
        names.append(f"load_shift {rates[rate]}")
    return np.array(rows, np.int32), tuple(names)


@lru_cache(maxsize=16)
def layout_of(city: PackedCity) -> GymLayout:
    """The layout of a city, made once."""
    return GymLayout(city)
