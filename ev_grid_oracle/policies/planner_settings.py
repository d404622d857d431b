"""The planner's settings, tuned on training evenings of every scenario, and the arrays its kernels write into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.policies.base import F64, I32
from ev_grid_oracle.policies.local import draws as d
from ev_grid_oracle.policies.local.choose import N_LABEL
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.errors import OptionError

SETTINGS: Mapping[str, tuple[int, float]] = {
    "futures": (d.S_FUTURES, 64.0),
    "candidates": (d.S_CANDIDATES, 6.0),
    "horizon_min": (d.S_HORIZON, 140.0),
    "walkins": (d.S_WALKINS, 1.25),
    "requests": (d.S_REQUESTS, 0.7),
    "announced_min": (d.S_ANNOUNCED, 30.0),
    "deflect": (d.S_DEFLECT, 2.5),
    "elsewhere_min": (d.S_ELSEWHERE, 45.0),
    "lost_min": (d.S_LOST, 230.0),
    "queue_patience_min": (d.S_QUEUE_PAT, 18.0),
    "critical": (d.S_CRITICAL, 0.3),
    "flex_harm_min": (d.S_FLEX_HARM, 3.0),
    "flex_slack_min": (d.S_FLEX_SLACK, 25.0),
    "others": (d.S_OTHERS, 1.0),
    "caution_min": (d.S_CAUTION, 3.0),
    "own_wait": (d.S_OWN_WAIT, 0.9),
    "cap_futures": (d.S_DR_FUTURES, 48.0),
    "cap_t": (d.S_DR_T, 1.5),
    "cap_gain_min": (d.S_DR_GAIN, 4.0),
    "cap_time": (d.S_DR_TIME, 1.2),
    "cap_tail_ticks": (d.S_DR_TAIL, 3.0),
    "cap_ticks": (d.S_DR_TICKS, 3.0),
    "cap_most": (d.S_DR_MOST, 4.0),
    "cap_near_frac": (d.S_DR_NEAR, 0.97),
    "station_ratio": (d.S_MIX, 0.3),
}
"""Setting -> (place in the row, value). Cars: sampled futures, candidate stations, how far ahead, factors on the usual
walk-ins (the turned-away of other stations come on top) and requests, minutes within which announced walk-ins are known
already, how a posted queue turns walk-ins away and what that costs, the price of a loss, patience of cars in a queue,
weight of a critical minute, when a flexible car goes, weights of others' and own waiting, caution on the own patience,
weight of the station's own ratio. Caps on a feeder: futures, least paired t, least gain, weight of cars' time, ticks of
heat beyond the horizon, length, most a tick, and the equivalent load from which a feeder is looked at."""
RULE: Mapping[str, float] = {"feeder_weight_min": 0.45, "feeder_from_frac": 0.86, "feeder_ramp_frac": 0.5}
"""Constants of greedy_counting's feeder term that the planner sets for itself: with the harm to others priced, a
strained feeder's energy is priced earlier and on a gentler slope (in greedy_counting that slope costs 0.2 %)."""

MOST_ARRIVALS = 64
MOST_KNOWN = 96
MOST_CANDIDATES = 12
"""Room for candidates, arrivals of a future and known cars of a station."""


@dataclass
class Scratch:
    """Arrays that the kernels write into, for one city and number of futures."""

    codes: I32
    travel: F64
    extra: F64
    added: F64
    times: F64
    out: F64
    known: F64
    n_known: I32
    found: F64
    counts: I32
    base: F64
    ready: I32
    labels: F64
    n_labels: I32
    caps: F64
    slots: F64
    line: F64
    load: F64
    path: F64
    costs: F64

    @classmethod
    def of(cls, city: PackedCity, futures: int) -> Scratch:
        n = city.layout.dims
        return cls(
            codes=np.zeros(n["SP"], np.int32),
            travel=np.zeros(n["SP"]),
            extra=np.zeros((n["MP"], 3)),
            added=np.zeros(n["F"]),
            times=np.zeros(n["K"]),
            out=np.zeros(8),
            known=np.zeros((n["S"], MOST_KNOWN, 3)),
            n_known=np.zeros(n["S"], np.int32),
            found=np.zeros((n["S"], futures, MOST_ARRIVALS, d.N_ARRIVAL)),
            counts=np.zeros((n["S"], futures), np.int32),
            base=np.zeros((n["S"], futures)),
            ready=np.zeros(n["S"], np.int32),
            labels=np.zeros((n["MP"], MOST_CANDIDATES, N_LABEL)),
            n_labels=np.zeros(n["MP"], np.int32),
            caps=np.zeros((n["S"], 2)),
            slots=np.zeros(n["K"]),
            line=np.zeros((MOST_KNOWN, 2)),
            load=np.zeros(r.AHEAD),
            path=np.zeros(r.AHEAD),
            costs=np.zeros((3, futures)),
        )


def key_of(seed: int, tick: int) -> np.uint64:
    """The key of a tick's draws."""
    return np.uint64((seed * 0x9E3779B97F4A7C15 + (tick + 1) * 0xD1B54A32D192ED03) % 2**64)


def settings_of(changes: Mapping[str, float]) -> tuple[F64, dict[str, float]]:
    """Settings row (N_SETTINGS,) and the constants of greedy that the planner sets, with `changes` by name.

    Raises:
        OptionError: a name is neither a setting nor a constant of greedy_counting.
    """
    row = np.zeros(d.N_SETTINGS)
    for index, value in SETTINGS.values():
        row[index] = value
    rule = dict(RULE)
    for name, value in changes.items():
        if name in SETTINGS:
            row[SETTINGS[name][0]] = value
        elif name in r.GREEDY_NAMES:
            rule[name] = value
        else:
            raise OptionError(f"The planner has no setting {name!r}.", f"Known: {', '.join(SETTINGS)}.")
    return row, rule
