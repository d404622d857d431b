"""The negotiation score: what statements and orders are worth, judged by the simulator.

====================================  ======  ==============================================================
statement                             points  when
====================================  ======  ==============================================================
claim, false                          -1      at once, against the state it was made in
promise, broken                       -2      when it breaks; a car not served in time, at the end
promise, kept where it bound          +1      at the end of its time
directive of a tick, broken           -2      the dispatcher; once a tick
directive of a tick, kept, it bound   +1      the dispatcher; at once
all else                              0       true claims, talk, what cannot be checked, what bound nobody
====================================  ======  ==============================================================

"It bound" means that `greedy_counting`, played on a fork from the same state, would have broken it, and that no
directive in force forbade the same thing anyway. Rules that keep the score from being farmed: each car is paid for
once, whatever statements and directives it was diverted by, and a feeder's caps once an hour to each agent; one
promise by one agent about one thing runs at a time; the operator can promise a cap only, since it routes and
serves nobody. A promise whose time runs past
the end of the episode is void unless it was broken before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import cast

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.episode.ids import NOBODY, car_seq
from ev_grid_oracle.episode.ma_cars import CarWatch
from ev_grid_oracle.episode.ma_directive import Directive
from ev_grid_oracle.episode.ma_shadow import Shadow, shadow
from ev_grid_oracle.episode.ma_views import AGENTS, DISPATCHER, OPERATOR, shown
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.protocol.statements import FEEDER_QUANTITIES, Claim, Message, Promise
from ev_grid_oracle.schema.enums import CarState
from ev_grid_oracle.schema.observation import Observation

F64 = npt.NDArray[np.float64]

FALSE_CLAIM, BROKEN, KEPT = -1.0, -2.0, 1.0
CAP_PAUSE_TICKS = 12  # ticks between two paid promises of one agent about one feeder
MAY_PROMISE = {OPERATOR: ("cap",), DISPATCHER: ("avoid", "cap", "serve")}


@dataclass
class Running:
    """A promise under way.

    Attributes:
        since, until: first tick and the one after the last.
        breaks: ticks in which `greedy_counting` would have broken it -> numbers of the cars concerned.
        bound: it has bound; cars: numbers of the cars it kept `greedy_counting` from.
        served: the car of a serve promise has plugged in.
    """

    agent: str
    verb: str
    subject: str
    number: float | None
    text: str
    since: int
    until: int
    breaks: dict[int, list[int]] = field(default_factory=dict)
    bound: bool = False
    cars: list[int] = field(default_factory=list)
    served: bool = False


class Negotiation:
    """The score of both agents over one episode.

    Attributes:
        totals: points so far by agent.
        running: promises under way.
    """

    def __init__(self) -> None:
        self.totals = dict.fromkeys(AGENTS, 0.0)
        self.running: list[Running] = []
        self._paid: set[int] = set()
        self._served: set[int] = set()
        self._capped: dict[tuple[str, str], int] = {}
        self.verdicts: list[dict[str, object]] = []

    def open_tick(self) -> None:
        """Forget the verdicts of the tick before."""
        self.verdicts = []

    def points(self, agent: str) -> float:
        """Points of the present tick."""
        return sum(cast(float, v["points"]) for v in self.verdicts if v["agent"] == agent)

    # -- statements -----------------------------------------------------------------------------------
    def hear(self, agent: str, message: Message, session: Session, watch: CarWatch, obs: Observation) -> None:
        """Judge the claims of a message against `obs`, and start its promises."""
        for claim in message.claims:
            value = _value(claim, obs)
            if value is None:
                self._say(agent, "claim", claim.text, "unchecked", 0.0)
            elif claim.holds(value):
                self._say(agent, "claim", claim.text, "true", 0.0)
            else:
                self._say(agent, "claim", claim.text, "false", FALSE_CLAIM)
        for issue in message.errors:
            if not message.refused:
                self._say(agent, issue.field.lower(), issue.message, "unreadable", 0.0)
        started = [p for p in message.promises if self._may_start(agent, p, watch)]
        if not started:
            return
        told = shadow(session, max(p.ticks for p in started))
        for promise in started:
            self._start(agent, promise, told, obs)

    def _may_start(self, agent: str, promise: Promise, watch: CarWatch) -> bool:
        verdict = ""
        if promise.verb not in MAY_PROMISE[agent]:
            verdict = "not in its power"
        elif promise.verb == "serve":
            car = watch.cars.get(car_seq(promise.subject), None)
            if car_seq(promise.subject) == NOBODY or car is None:
                verdict = "no such car"
            elif car.state == CarState.CHARGING:
                verdict = "served already"
        same = (agent, promise.verb, promise.subject)
        if not verdict and any((p.agent, p.verb, p.subject) == same for p in self.running):
            verdict = "already promised"
        if verdict:
            self._say(agent, "promise", promise.text, verdict, 0.0)
        return not verdict

    def _start(self, agent: str, promise: Promise, told: Shadow, obs: Observation) -> None:
        kept = Running(
            agent,
            promise.verb,
            promise.subject,
            promise.number,
            promise.text,
            told.first,
            told.first + promise.ticks,
        )
        if any((p.agent, p.verb, p.subject) == (agent, kept.verb, kept.subject) for p in self.running):
            self._say(agent, "promise", promise.text, "already promised", 0.0)  # twice in one message
            return
        ticks = range(min(promise.ticks, len(told.routed)))
        if promise.verb == "avoid":
            station = obs.station_ids.index(promise.subject)
            for n in ticks:
                cars = [seq for seq, s in told.routed[n] if s == station]
                if cars:
                    kept.breaks[told.first + n] = cars
        elif promise.verb == "cap":
            feeder = obs.feeder_ids.index(promise.subject)
            limit = cast(float, promise.number)
            kept.breaks = {told.first + n: [] for n in ticks if told.load_frac[n][feeder] > limit}
        else:
            seq = car_seq(promise.subject)
            kept.bound = not any(seq in told.plugged[n] for n in ticks)
        self.running.append(kept)
        self._say(agent, "promise", promise.text, "running", 0.0)

    # -- the directive of a tick ----------------------------------------------------------------------
    def judge_directive(self, forbidden: Sequence[int], broken: int, refused: bool) -> None:
        """The directive in force, for the tick to be played.

        forbidden: numbers of the cars for which `greedy_counting`'s answer would break it. broken: how many
        of the dispatcher's answers do. refused: its text was refused, which keeps nothing.
        """
        fresh = [seq for seq in forbidden if seq not in self._paid]
        if broken:
            self._say(DISPATCHER, "directive", f"{broken} answers", "broken", BROKEN)
        elif fresh and not refused:
            self._say(DISPATCHER, "directive", f"{len(fresh)} cars", "kept, it bound", KEPT)
        # a car is counted in the first tick in which the directive concerns it, whatever was answered:
        # holding it back to be paid again must not pay
        self._paid.update(forbidden)

    # -- after a tick ---------------------------------------------------------------------------------
    def after(
        self,
        tick: int,
        directive: Directive,
        routed: Sequence[int],
        plugged: Sequence[int],
        load_frac: F64,
        obs: Observation,
    ) -> None:
        """Judge the running promises for `tick`, just played under `directive`.

        routed: stations to which cars were sent off. plugged: numbers of requests that plugged in. load_frac:
        (F,) of the tick. obs: any observation, for the ids.
        """
        still: list[Running] = []
        for p in self.running:
            verdict = self._one(p, tick, directive, routed, plugged, load_frac, obs)
            if verdict:
                self._say(
                    p.agent,
                    "promise",
                    p.text,
                    verdict,
                    {"broken": BROKEN, "kept, it bound": KEPT}.get(verdict, 0.0),
                )
            else:
                still.append(p)
        self.running = still

    def _one(
        self,
        p: Running,
        tick: int,
        directive: Directive,
        routed: Sequence[int],
        plugged: Sequence[int],
        load_frac: F64,
        obs: Observation,
    ) -> str:
        """The verdict on one promise after `tick`, "" while it runs."""
        if p.verb == "avoid":
            if obs.station_ids.index(p.subject) in routed:
                return "broken"
            if tick in p.breaks and p.subject not in directive.station_blacklist:
                p.cars += p.breaks[tick]
        elif p.verb == "cap":
            limit = cast(float, p.number)
            if load_frac[obs.feeder_ids.index(p.subject)] > limit:
                return "broken"
            if tick in p.breaks and directive.feeder_caps.get(p.subject, np.inf) > limit:
                p.bound = True
        else:
            p.served = p.served or car_seq(p.subject) in plugged
        if tick + 1 < p.until:
            return ""
        if p.verb == "serve" and not p.served:
            return "broken"
        return "kept, it bound" if self._pays(p, tick) else "kept"

    def _pays(self, p: Running, tick: int) -> bool:
        """Whether a kept promise is worth a point, each car being paid for once, each feeder once an hour."""
        if p.verb == "cap":
            last = self._capped.get((p.agent, p.subject))
            if not p.bound or (last is not None and tick < last + CAP_PAUSE_TICKS):
                return False
            self._capped[p.agent, p.subject] = tick
            return True
        if p.verb == "serve":
            seq = car_seq(p.subject)
            fresh = p.bound and seq not in self._served
            self._served.add(seq)
            return fresh
        fresh = any(seq not in self._paid for seq in p.cars)
        self._paid.update(p.cars)
        return fresh

    def close(self) -> None:
        """The episode is over: what still runs is void."""
        for p in self.running:
            self._say(p.agent, "promise", p.text, "void", 0.0)
        self.running = []

    def _say(self, agent: str, kind: str, text: str, verdict: str, points: float) -> None:
        self.totals[agent] += points
        self.verdicts.append(
            {"agent": agent, "kind": kind, "text": text, "verdict": verdict, "points": points}
        )

    # -- copies ---------------------------------------------------------------------------------------
    def to_dict(self) -> dict[str, object]:
        """JSON-safe."""
        return {
            "totals": dict(self.totals),
            "running": [
                {**asdict(p), "breaks": [[t, cars] for t, cars in sorted(p.breaks.items())]}
                for p in self.running
            ],
            "paid": sorted(self._paid),
            "served": sorted(self._served),
            "capped": [[agent, feeder, tick] for (agent, feeder), tick in sorted(self._capped.items())],
            "verdicts": list(self.verdicts),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, object]) -> Negotiation:
        """What `to_dict` kept; raises KeyError, TypeError or ValueError on anything else."""
        made = cls()
        totals = cast("Mapping[str, float]", values["totals"])
        made.totals = {agent: float(totals[agent]) for agent in AGENTS}
        for p in cast("Sequence[Mapping[str, object]]", values["running"]):
            breaks = cast("Sequence[tuple[int, list[int]]]", p["breaks"])
            made.running.append(Running(**{**p, "breaks": {int(t): list(c) for t, c in breaks}}))  # type: ignore[arg-type]
        made._paid = set(cast("list[int]", values["paid"]))
        made._served = set(cast("list[int]", values["served"]))
        capped = cast("Sequence[tuple[str, str, int]]", values["capped"])
        made._capped = {(str(agent), str(feeder)): int(tick) for agent, feeder, tick in capped}
        made.verdicts = list(cast("list[dict[str, object]]", values["verdicts"]))
        return made


def _value(claim: Claim, obs: Observation) -> float | None:
    """The true number, as the views show it; None where there is none."""
    s, f = obs.state.stations, obs.state.feeders
    if claim.quantity in FEEDER_QUANTITIES:
        k = obs.feeder_ids.index(claim.subject)
        return shown(f.load_frac[k] if claim.quantity == "load" else f.min_voltage_pu[k])
    k = obs.station_ids.index(claim.subject)
    if claim.quantity == "queue":
        return float(s.queued[k])
    if claim.quantity == "inbound":
        return float(s.inbound[k])
    if claim.quantity == "free_slots":
        return float(max(s.slots_up[k] - s.occupied[k], 0)) if s.supplied[k] else 0.0
    first = shown(s.slot_free_min[k, 0])
    return np.inf if first is None else first  # no slot frees in sight: longer than any number
