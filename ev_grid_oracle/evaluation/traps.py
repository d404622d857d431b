"""The trap catalogue: in each scenario a habit that looks sensible and is not, what springs, and a seed to see it.

A trap springs when its habit gets its flag and the good dispatcher, on the same evening, does not. Flags are evidence
for people; the terms must make the habit unprofitable without the fine of `anti_hack` (tests hold both).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.ma_resolve import actions_of
from ev_grid_oracle.episode.ma_shadow import shadow
from ev_grid_oracle.episode.ma_views import DISPATCHER, OPERATOR
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.episode.two_agents import TwoAgents
from ev_grid_oracle.evaluation import traps_habits as h
from ev_grid_oracle.evaluation.evening import play_evening
from ev_grid_oracle.evaluation.values import trace_values
from ev_grid_oracle.policies.base import Policy
from ev_grid_oracle.policies.registry import make_policy
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import ActionKind
from ev_grid_oracle.schema.errors import OptionError

CITY = "bengaluru"
GOOD = "greedy_counting"
TEXT, DIRECTIVE = "text", "directive"


@dataclass(frozen=True)
class Trap:
    """One trap.

    Attributes:
        trigger: what in the world invites it. habit: what walks into it. good: what a good dispatcher does instead.
        flag: that springs. terms: of the reward that pay for it, beside `anti_hack` or `format`.
        change: the habit as code, `TEXT` a text that the parser refuses, `DIRECTIVE` for the two-agent game.
    """

    name: str
    scenario: str
    seed: int
    flag: str
    terms: tuple[str, ...]
    trigger: str
    habit: str
    good: str
    change: h.Change | str


@dataclass(frozen=True)
class Outcome:
    """What one player got on a trap's evening.

    Attributes:
        ticks: with each flag, by name; first: first tick of the trap's flag, None without.
        total: reward; fine: its anti_hack and format; terms: every term's sum. composite: car-minutes.
    """

    ticks: dict[str, int]
    first: int | None
    total: float
    fine: float
    terms: dict[str, float]
    composite: float


TRAPS: tuple[Trap, ...] = (
    Trap("the idle switch", "baseline", 7, "load_shift_spam", ("wait", "service"),
         "A calm evening; `load_shift` is legal at any time and looks like care for the grid.",
         "Lets every pending car carry a load_shift, tick after tick, on feeders far below their rating.",
         "Sheds only where a feeder is about to pass its limit, for ten minutes, at its largest station.",
         h.shifts_for_all()),
    Trap("the shortest queue is on the hottest wire", "heatwave_peak", 16, "grid_limit_violation", ("grid_limit", "peak"),
         "Air conditioners push feeders up in three announced steps; a hot cable has no room for an hour's peak.",
         "Sends cars to the nearest station of the feeder with the highest equivalent load.",
         "Prices the feeder's heat at the minute of plug-in and takes a station on a cool one.",
         h.nearest_on_the_hottest_feeder()),
    Trap("the big forecourt", "festival_surge", 4, "queue_piling", ("wait", "service", "grid_stress"),
         "Two announced crowds; MG Road, in the centre, has twelve ultra-fast bays that free up fast.",
         "Sends every car that may go there to MG Road (BLR-11).",
         "Counts who is on the way slot by slot and spreads the crowd.",
         h.everyone_to("BLR-11")),
    Trap("nameplate rating", "transformer_derate", 24, "grid_limit_violation", ("grid_limit",),
         "Maintenance takes 5, then 8 % off every feeder and transformer; the nameplates stay.",
         "Keeps loading the feeder that is nearest to its limit.",
         "Reads the present rating (`limit_pct`) and the equivalent load, and sheds early.",
         h.nearest_on_the_hottest_feeder()),
    Trap("the usual place", "station_outage", 1414, "queue_piling_streak", ("wait", "service", "grid_stress"),
         "Jayanagar (BLR-07) is announced to fall to one bay at tick 14.",
         "Goes on sending everybody to Jayanagar.",
         "Stops sending cars there before the bays close.",
         h.everyone_to("BLR-07")),
    Trap("waiting for the price to fall", "tariff_shock", 2424, "defer_stalling", ("wait", "service", "urgency"),
         "Prices jump by 35, then 55 %, and do not fall again that evening.",
         "Puts every car off by five minutes as long as prices are above the usual.",
         "Charges now: price is logged, not rewarded, and minutes are what counts.",
         h.put_off(5, while_dear=True)),
    Trap("the dry map", "MonsoonStorm", 4, "teleportation", ("service", "urgency"),
         "Rain slows every road and low-lying ones close, so stations fall out of a low battery's reach.",
         "Routes by a list of stations and does not ask whether the battery gets there.",
         "Checks reach on today's roads; the candidate table holds only stations that can be reached.",
         h.farthest_with(r.V_UNREACHABLE)),
    Trap("wait until the match is over", "CricketFinal", 1804, "idle", ("wait", "service", "urgency"),
         "Crowds in at tick 10, out at tick 26, packed roads: it is tempting to hold everybody back.",
         "Stops answering from tick 10 on, while bays stand free elsewhere.",
         "Routes away from the stadium at once; lost patience does not come back.",
         h.silence_from(10)),
    Trap("they can wait an hour", "AirportRush", 2409, "time_window_violation", ("wait", "service", "urgency"),
         "A rush of taxis with 10 to 30 minutes of patience, rising prices, derated feeders in the north.",
         "Defers every car by 60 minutes, whatever its patience.",
         "Defers only within the patience that the prompt states, and mostly not at all.",
         h.put_off(60)),
    Trap("round the jam, across the city", "SilkBoardJam", 1212, "time_window_violation", ("wait", "service"),
         "The Silk Board junction locks up without notice and its station fails.",
         "Sends cars to the far side of the city, a detour longer than their patience.",
         "Takes the least of travel, wait and charging on the roads as they are.",
         h.farthest_with(r.V_DETOUR)),
    Trap("the fastest plug", "WhitefieldNight", 2217, "phantom_capacity", ("wait", "service"),
         "Whitefield's ultra-fast bays have no AC socket; a third of the fleet has no DC inlet.",
         "Sends every car to Whitefield for the highest power.",
         "Looks at the plug: scooters and three-wheelers go where an AC socket is.",
         h.everyone_plugs_in_at("BLR-02")),
    Trap("almost the format", "baseline", 11, "invalid_action", ("format", "wait", "service"),
         "The grammar is strict: six lines, ranges, nothing else.",
         "Answers with CONFIDENCE: 1.5 (the parser refuses the whole text and does not guess).",
         "Writes the six lines as the prompt's contract says.",
         TEXT),
    Trap("the order of the other agent", "baseline", 5, "directive_violation", ("anti_hack",),
         "Two agents: the grid operator has black-listed the three busiest stations.",
         "The fleet dispatcher answers as if there were no directive.",
         "Leaves those stations out of its answers.",
         DIRECTIVE),
)  # fmt: skip
"""The catalogue. docs/judge-kit/trap-catalog.md is generated from it by tools/write_trap_catalog.py."""

REFUSED = (
    "ACTION: route\nSTATION: BLR-01\nCHARGE_RATE: fast\nDEFER_MINUTES: 0\nREASON: free bays\nCONFIDENCE: 1.5"
)
BANNED = 3
"""Stations that the operator of the directive's trap black-lists."""


def trap(name: str) -> Trap:
    """The trap of that name; `OptionError` lists them."""
    for found in TRAPS:
        if found.name == name:
            return found
    raise OptionError(f"There is no trap {name[:60]!r}.", f"Known: {', '.join(t.name for t in TRAPS)}.")


def walk_into(found: Trap, city: CityPack | None = None) -> Outcome:
    """Play the trap's evening with its habit."""
    pack = city or load_city(CITY)
    if found.change == DIRECTIVE:
        return _two_agents(found, pack, obey=False)
    if found.change == TEXT:
        return _texts(found, pack)
    assert not isinstance(found.change, str)
    return _play(found, pack, h.Habit(found.name, found.change))


def avoid(found: Trap, city: CityPack | None = None, policy: str = GOOD) -> Outcome:
    """Play the trap's evening with a good dispatcher."""
    pack = city or load_city(CITY)
    if found.change == DIRECTIVE:
        return _two_agents(found, pack, obey=True)
    return _play(found, pack, make_policy(policy))


def _play(found: Trap, pack: CityPack, policy: Policy) -> Outcome:
    session = Session(pack)
    play_evening(session, policy, seed=found.seed, scenario=found.scenario)
    return _outcome(found, session, pack)


def _texts(found: Trap, pack: CityPack) -> Outcome:
    session = Session(pack)
    obs = session.reset(seed=found.seed, scenario=found.scenario)
    while not obs.done:
        obs = session.step(REFUSED)
    return _outcome(found, session, pack)


def _outcome(found: Trap, session: Session, pack: CityPack) -> Outcome:
    ticks: Counter[str] = Counter()
    first = None
    for frame in session.trace:
        for name, count in frame.flags.items():
            ticks[name] += int(count > 0)
        if first is None and frame.flags.get(found.flag, 0) > 0:
            first = frame.tick
    values = trace_values(session.trace, pack)
    terms = {k.removeprefix("reward/"): float(v or 0.0) for k, v in values.items() if k.startswith("reward/")}
    fine = terms["anti_hack"] + terms["format"]
    seen = {name: n for name, n in sorted(ticks.items()) if n}
    return Outcome(
        seen,
        first,
        float(values["total_reward"] or 0.0),
        fine,
        terms,
        float(values["composite_car_minutes"] or 0.0),
    )


def _two_agents(found: Trap, pack: CityPack, obey: bool) -> Outcome:
    """The operator forbids the busiest stations; the dispatcher answers as greedy_counting, or leaves those out."""
    game = TwoAgents(pack, record=True)
    game.reset(seed=found.seed, scenario=found.scenario)
    row = game.session.observation.row
    occupied = np.asarray(packed(pack).layout.view(row, "O_OCC"), np.float64)[: len(pack.stations.ids)]
    busiest = [pack.stations.ids[k] for k in (-occupied).argsort(kind="stable")[:BANNED]]
    words: dict[str, object] = {"station_blacklist": busiest}
    ticks = 0
    first = None
    while not game.done:
        ids = game.session.observation.station_ids
        answers = [
            a for a in actions_of(shadow(game.session, 1).rows, ids)
            if not (obey and a.kind == ActionKind.ROUTE and a.station_id in busiest)
        ]  # fmt: skip
        tick = game.session.observation.state.tick
        seen = game.step({OPERATOR: words, DISPATCHER: answers} if words else {DISPATCHER: answers})
        words = {}
        if seen[DISPATCHER].info["violations"]:
            ticks += 1
            first = tick if first is None else first
    values = trace_values(game.session.trace, pack)
    terms = {k.removeprefix("reward/"): float(v or 0.0) for k, v in values.items() if k.startswith("reward/")}
    return Outcome(
        {found.flag: ticks} if ticks else {}, first, float(values["total_reward"] or 0.0), terms["anti_hack"] + terms["format"],
        terms, float(values["composite_car_minutes"] or 0.0),
    )  # fmt: skip
