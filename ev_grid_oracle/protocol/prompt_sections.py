"""The sections of the full prompt; each is a pure function of the Observation that gives text.

A number after a letter or a word costs a tokenizer no more than one after a blank, so every number
carries its label and lines need no column heads, except for the candidate table.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ev_grid_oracle.protocol import grammar as g
from ev_grid_oracle.protocol.numbers import clock, percent, plain, tenth, whole
from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.axes import STEP_MINUTES
from ev_grid_oracle.schema.enums import RATE_KW, ActionKind
from ev_grid_oracle.schema.observation import Candidates, EVRequest, Observation

_CLASS = "sfu"  # letter of a plug class in the station list

_CAPS = ", ".join(f"{name} {kw:g}" for name, kw in zip(g.RATES, RATE_KW, strict=True))

_FORMAT = """\
ANSWER with exactly these six lines per car and nothing else:
ACTION: route|defer|load_shift
STATION: a station id or NONE
CHARGE_RATE: slow|fast|ultra_fast
DEFER_MINUTES: integer 0 to 240
REASON: at most 20 words
CONFIDENCE: 0.0-1.0, chance to plug in before patience ends"""

_RULES = f"""\
RULES
route: a station, DEFER_MINUTES 0. defer: NONE, 1 to patience left.
load_shift: caps every slot of STATION (NONE: all of the tightest feeder) at CHARGE_RATE for
DEFER_MINUTES; the car waits on.
CHARGE_RATE caps the power ({_CAPS} kW); of load_shift it must not pass the station's type.
A station must be up, fit the plug, be in reach, its detour within patience."""

_PREDICT = f"""\
Before the first block write your forecast for 25 minutes ahead, fractions, fullest stations first:
{g.SIMULATE_OPEN}
{g.SIMULATE_KEYS[0]}: 0.00-9.99
{g.SIMULATE_KEYS[1]}: 0.00-1.00
{g.SIMULATE_KEYS[2]}: id:occupancy:queue | id:occupancy:queue | id:occupancy:queue
{g.SIMULATE_CLOSE}"""

_TABLE_HEAD = (
    "candidates: travel min, own charging min, slots free at arrival, 30 min later, wait min, "
    "usual walk-ins until arrival, per hour, today %, min per walk-in, INR/kWh, site kW left, "
    "feeder % left, type"
)


def one_line(text: str) -> str:
    """Names and labels come from packs; in a prompt each is one line."""
    return " ".join(text.split())


def header(obs: Observation) -> str:
    """Where and when, and the city in one line."""
    s = obs.state
    return (
        f"You dispatch EV charging in {one_line(obs.city_name)} ({one_line(obs.discom)}). "
        f"{clock(s.minute_of_day)} {s.day_type} {s.season}, tick {s.tick} of {s.ticks}.\n"
        f"City: grid load {percent(s.grid_load_frac)}%, renewable {percent(s.renewable_frac)}%, "
        f"{whole(s.carbon_g_kwh)} gCO2/kWh, walk-ins {percent(s.ratio_city)}% of usual."
    )


def contract(answer_ids: Sequence[str], first: str | None, predict: bool) -> str:
    """Format and constraints; never pruned.

    Args:
        answer_ids: cars that this prompt asks about.
        first: the car that a block without EV_ID would answer.
        predict: ask for the forecast block too.
    """
    parts = [_FORMAT]
    if len(answer_ids) > 1:
        parts.append("One block per car, each after its own line EV_ID: <id>, a blank line between blocks.")
    elif answer_ids and answer_ids[0] != first:
        parts.append(f"Write the line EV_ID: {answer_ids[0]} before them.")
    if predict:
        parts.append(_PREDICT)
    return "\n".join([*parts, _RULES])


def car_line(obs: Observation, car: EVRequest) -> str:
    """One pending car."""
    flags = ((" EMERGENCY", car.emergency), (" critical", car.critical), (" flexible", car.flexible))
    kind = "".join(word for word, on in flags if on)
    ready = f" ready_in {whole(car.ready_in_min)}min" if car.ready_in_min is not None else ""
    zone = f" at {one_line(obs.zone_ids[car.zone])}" if 0 <= car.zone < len(obs.zone_ids) else ""
    dc = f" dc{whole(car.dc_kw)}kW" if car.dc_kw > 0 else " no dc"
    return (
        f"{car.ev_id}{kind} {one_line(car.persona)} {one_line(car.vehicle)} soc {percent(car.soc_frac)}% to "
        f"{percent(car.target_frac)}% need {tenth(car.need_kwh)}kWh ac{whole(car.ac_kw)}kW{dc} urgency "
        f"{percent(car.urgency_frac)}% patience {whole(car.patience_left_min)}min "
        f"waited {whole(car.waited_min)}min{ready}{zone}"
    )


def best_rows(table: Candidates, rows: int) -> list[int]:
    """Station indices of the best usable candidates, ties by station order."""
    usable = np.flatnonzero(np.asarray(table.usable, dtype=bool) & np.isfinite(table.score))
    order = np.argsort(np.asarray(table.score)[usable], kind="stable")
    return [int(i) for i in usable[order][:rows]]


def candidate_lines(obs: Observation, table: Candidates, rows: int) -> str:
    """The table of one car, best first; says so when nothing is usable."""
    st = obs.state.stations
    lines = []
    for s in best_rows(table, rows):
        cells = (
            whole(table.travel_min[s]),
            whole(table.own_min[s]),
            tenth(table.free_at_arrival[s]),
            tenth(table.free_30_later[s]),
            whole(table.wait_min[s]),
            tenth(table.walkins_until[s]),
            tenth(table.walkins_hour[s]),
            percent(st.ratio[s]),
            whole(st.walkin_slot_min[s]),
            whole(st.price_inr_kwh[s]),
            whole(table.site_headroom_kw[s]),
            percent(table.feeder_headroom_frac[s]),
            g.RATES[int(st.rate[s])],
        )
        lines.append(f"{obs.station_ids[s]} {' '.join(cells)}")
    return "\n".join(lines) if lines else "no usable station now"


def cars(
    obs: Observation, indices: Sequence[int], shown: int, tables: Sequence[Candidates | None], rows: int
) -> str:
    """The cars asked about, the first `shown` of them in full, each with `rows` candidates."""
    lines = ["CARS"]
    if rows and any(t is not None for t in tables[:shown]):
        lines.append(_TABLE_HEAD)
    for i, table in zip(indices[:shown], tables, strict=False):
        lines.append(car_line(obs, obs.pending[i]))
        if rows and table is not None:
            lines.append(candidate_lines(obs, table, rows))
    left = len(indices) - shown
    if left > 0:
        lines.append(f"and {left} more")
    return "\n".join(lines)


def stations(obs: Observation, detail: bool) -> str:
    """Every station in one line; without `detail` only what is in use and who waits."""
    st = obs.state.stations
    extra = ", p INR/kWh, l load % of site limit" if detail else ""
    lines = [f"STATIONS id, type s/f/u and used/slots, q queue, i inbound, w min until a slot frees{extra}"]
    for s, name in enumerate(obs.station_ids):
        parts = [f"{name} {_CLASS[int(st.rate[s])]}{int(st.occupied[s])}/{int(st.slots_up[s])}"]
        if st.slots_up[s] <= 0 or not st.supplied[s]:
            parts.append("down")
        if st.queued[s]:
            parts.append(f"q{int(st.queued[s])}")
        if st.inbound[s]:
            parts.append(f"i{int(st.inbound[s])}")
        free_in = float(st.slot_free_min[s, 0]) if st.slot_free_min.shape[1] else np.inf
        if np.isfinite(free_in) and free_in > 0:
            parts.append(f"w{whole(free_in)}")
        if detail:
            limit = float(st.limit_kw[s])
            load = float(st.load_kw[s]) / limit if limit > 0 else np.nan
            parts.append(f"p{whole(st.price_inr_kwh[s])} l{percent(load)}")
            if np.isfinite(st.cap_kw[s]):
                parts.append(f"cap{whole(st.cap_kw[s])}kW {whole(st.cap_left_min[s])}min")
        lines.append(" ".join(parts))
    return "\n".join(lines)


def feeders(obs: Observation, rows: int) -> str:
    """The feeders with the least room (1 - S / present rating), tightest first, ties by feeder order."""
    f = obs.state.feeders
    limit = np.asarray(f.limit_frac, dtype=np.float64)
    safe = np.where(limit > 0, limit, 1.0)
    room = np.where(limit > 0, 1.0 - np.asarray(f.load_frac) / safe, -np.inf)
    order = np.argsort(np.nan_to_num(room, nan=-np.inf, neginf=-np.inf), kind="stable")
    lines = [
        "FEEDERS, tightest: load, limit % of rating, heat % of limit, base load now>in 1 h, min volts pu"
    ]
    hour = min(60 // STEP_MINUTES, f.base_next_frac.shape[1]) - 1  # -1: no forecast
    for i in (int(j) for j in order[:rows]):
        ahead = float(f.base_next_frac[i, hour]) if hour >= 0 else np.nan
        names = " ".join(n for s, n in enumerate(obs.station_ids) if int(obs.state.stations.feeder[s]) == i)
        lines.append(
            f"{obs.feeder_ids[i]} load{percent(f.load_frac[i])} limit{percent(f.limit_frac[i])} "
            f"heat{percent(f.heat_frac[i])} base{percent(f.base_frac[i])}>{percent(ahead)} "
            f"v{plain(round(float(f.min_voltage_pu[i]), 2))}: {names}"
        )
    return "\n".join(lines)


def announcements(obs: Observation) -> str:
    """What the control room has been told; empty text if nothing."""
    lines = []
    for a in obs.announcements:
        when = "now" if a.in_ticks <= 0 else f"in {a.in_ticks * STEP_MINUTES} min"
        sd = f" sd {plain(a.sd)}" if a.sd else ""
        lines.append(
            f"{when}: {a.kind} {plain(a.value)}{sd} at {' '.join(a.targets) or 'city'}: {one_line(a.label)}"
        )
    return "\n".join(["ANNOUNCED", *lines]) if lines else ""


def assumed_line(assumed: Sequence[Action]) -> str:
    """Answers already given in this tick, counted as inbound in the tables."""
    said = []
    for a in assumed:
        what = g.ACTIONS[a.kind] if a.kind != ActionKind.NONE else "no answer"
        said.append(f"{a.ev_id or 'first car'} {what} {a.station_id or g.NO_STATION}")
    return f"ANSWERED: {'; '.join(said)}" if said else ""


def feedback(obs: Observation) -> str:
    """What the tick before was worth; empty text after a reset."""
    if obs.reward is None:
        return ""
    flags = f", flags {' '.join(obs.flags)}" if obs.flags else ""
    return f"LAST TICK: reward {plain(round(float(obs.reward), 2))}{flags}"
