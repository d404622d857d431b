"""One lane, played tick by tick, and what a picture shows of each tick. Every number is the session's own.

A `Shot` is a state: `shots[0]` is the one that `reset` gives, `shots[t + 1]` the one after tick t. `moving` are
the cars that were on the road during the tick that led to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.kpis import KPIS, kpis_of
from ev_grid_oracle.episode.ma_cars import CarWatch
from ev_grid_oracle.episode.ma_kpis import RoleAccounts, last_tick_twin, repeat_tick
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.episode.told import event_facts
from ev_grid_oracle.evaluation.paired import TIE
from ev_grid_oracle.evaluation.players import policy_seed
from ev_grid_oracle.evaluation.values import better_side
from ev_grid_oracle.policies.base import PolicyContext
from ev_grid_oracle.policies.registry import make_policy
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.axes import STEP_MINUTES
from ev_grid_oracle.viz.geometry import Traffic, Way, Ways

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Moving:
    """A car on the road: its way, and whether it chose its station itself."""

    name: str
    walkin: bool
    way: Way


@dataclass(frozen=True)
class Shot:
    """A state of the city as a picture shows it.

    Attributes:
        tick: ticks played.
        occupied, queued, slots_up: (S,).
        feeder_load, feeder_limit: (F,) fractions of the rated kVA.
        waiting: (node, critical) of the cars that have no answer yet.
        moving: cars on the road during the tick that led here.
        traffic: how the roads are now.
        numbers: name -> number so far, from `RoleAccounts.kpis` (``fleet.lost``) and `kpis_of` (``lost``).
        source: what decided in the tick, "" before the first.
        events: of the scenario in the tick to come, as sentences.
    """

    tick: int
    minute_of_day: int
    occupied: I32
    queued: I32
    slots_up: I32
    feeder_load: F64
    feeder_limit: F64
    grid_load_frac: float
    renewable_frac: float
    waiting: tuple[tuple[int, bool], ...]
    moving: tuple[Moving, ...]
    traffic: Traffic
    numbers: Mapping[str, float | None]
    source: str
    events: tuple[str, ...]
    done: bool

    @property
    def minute(self) -> int:
        """Of the episode."""
        return STEP_MINUTES * self.tick

    @property
    def clock(self) -> str:
        """Time of day."""
        return f"{self.minute_of_day // 60:02d}:{self.minute_of_day % 60:02d}"


class LaneRun:
    """A policy on a world of its own; equal options give every lane the same world.

    Args:
        city: of the session.
        policy: a name of `policies.registry`.
        options: of `Session.reset`.
    """

    def __init__(self, city: CityPack, policy: str, options: Mapping[str, object]) -> None:
        self.asked = policy
        self._policy = make_policy(policy)
        self.acts = self._policy.name
        self.city = packed(city)
        self.session = Session(city)
        observation = self.session.reset(**options)  # type: ignore[arg-type]  # resolve() checks every one
        self.session.policy_name = self.acts
        seed = policy_seed(int(options.get("seed", 0)))  # type: ignore[call-overload]
        self._policy.begin(PolicyContext(self.city, seed, self.session.planning()))
        self._out = np.zeros((self.city.layout.dims["MP"], r.N_DCOL), np.int32)
        self._roles, self._watch = RoleAccounts(city), CarWatch(self.session._world)
        self._ways = Ways(self.city)
        scenario = city.scenario(str(options.get("scenario", "baseline")))
        self.scenario = scenario
        self._events = [event_facts(city, e) for e in scenario.events]
        self.ticks = observation.state.ticks
        self.shots: list[Shot] = [self._shot((), "")]

    @property
    def done(self) -> bool:
        return bool(self.session.observation.done)

    @property
    def source(self) -> str:
        """What decided in the last tick, or will in the first: llm, planner, policy, fallback, ..."""
        return self.shots[-1].source or self._policy.source

    @property
    def sources(self) -> dict[str, int]:
        """Ticks by what decided in them."""
        return dict(sorted(Counter(shot.source for shot in self.shots[1:]).items()))

    @property
    def badge(self) -> str:
        """Who acts: the policy asked for, what stands behind it, and what decided in the last tick."""
        acts = self.asked if self.acts == self.asked else f"{self.asked} = {self.acts}"
        return f"{acts} · {self.source}"

    def step(self) -> Shot:
        """Play one tick; returns the state after it."""
        before = self._traffic()
        n = self._policy.answer(self.session.observation.row, self._out)
        twin = last_tick_twin(self.session)
        source = self._policy.source
        observation = self.session.step(self._out[:n], source=source)
        self._roles.tick(self.session._world, self._watch.update().lost)
        if observation.done and twin is not None:
            repeat_tick(self.session, twin)
            self._roles.settle(twin, bool(self.session._world.scalar(0, r.Y_SETTLE)))
        self.shots.append(self._shot(self._moving(before), source))
        return self.shots[-1]

    def play(self) -> list[Shot]:
        """Play to the end; returns all states."""
        while not self.done:
            self.step()
        return self.shots

    def _traffic(self) -> Traffic:
        world = self.session._world
        return Traffic(world.scalar(0, r.Y_KEY), float(world.view("X")[0][r.X_TRAFFIC]))

    def _moving(self, before: Traffic) -> tuple[Moving, ...]:
        minute = STEP_MINUTES * self.session.observation.state.tick
        cars = self.session.trace.frame(-1).cars
        ways, gone = self._ways.turn(cars, minute, before, self._traffic())
        walkin = {str(car["id"]): bool(car["walkin"]) for car in cars}
        for car in self.shots[-1].moving:
            walkin.setdefault(car.name, car.walkin)
        both = {**ways, **gone}
        return tuple(Moving(name, walkin[name], both[name]) for name in sorted(both))

    def _shot(self, moving: tuple[Moving, ...], source: str) -> Shot:
        observation = self.session.observation
        state = observation.state
        st, fd = state.stations, state.feeders
        accounts = self.session._world.view("EP")[0].astype(np.float64)
        numbers: dict[str, float | None] = {
            f"{role}.{name}": value
            for role, group in self._roles.kpis(accounts).items()
            for name, value in group.items()
        }
        numbers |= kpis_of(accounts, self.session.city)
        return Shot(
            tick=state.tick, minute_of_day=state.minute_of_day, occupied=st.occupied, queued=st.queued,
            slots_up=np.where(st.supplied, st.slots_up, 0), feeder_load=fd.load_frac, feeder_limit=fd.limit_frac,
            grid_load_frac=state.grid_load_frac, renewable_frac=state.renewable_frac,
            waiting=tuple((c.node, c.critical) for c in observation.pending), moving=moving,
            traffic=self._traffic(), numbers=numbers, source=source,
            events=tuple(_sentence(e) for e in self._events if e["tick"] == state.tick),
            done=bool(observation.done),
        )  # fmt: skip


def _sentence(event: Mapping[str, object]) -> str:
    """An event of a schedule in words: its label, or its kind where it has none."""
    return str(event.get("label") or event["kind"]).replace("_", " ")


@dataclass(frozen=True)
class Verdict:
    """One KPI of both lanes, and who is ahead: "baseline", "oracle", "tie" or "" (no side is better)."""

    name: str
    unit: str
    baseline: float | None
    oracle: float | None
    ahead: str


SHOWN_AT_END = (
    "minutes_to_charged", "walkin_minutes_to_charged", "lost", "walkin_lost", "overload_kva_min",
    "overload_minutes", "composite_car_minutes",
)  # fmt: skip
"""KPIs of an end card."""


def verdicts(baseline: Shot, oracle: Shot, names: tuple[str, ...] = SHOWN_AT_END) -> list[Verdict]:
    """Both lanes' KPIs side by side; what the paired evaluation takes for equal is a tie."""
    units = {k.name: k.unit for k in KPIS}
    out: list[Verdict] = []
    for name in names:
        a, b = baseline.numbers[name], oracle.numbers[name]
        short = name.rpartition(".")[2]  # a role's number is the KPI of its name, of fewer cars
        side = better_side(short)
        ahead = ""
        if a is not None and b is not None:
            if abs(b - a) <= TIE:
                ahead = "tie"
            elif side in ("lower", "higher"):
                ahead = "oracle" if (b < a) == (side == "lower") else "baseline"
        out.append(Verdict(name, units[short], a, b, ahead))
    return out
