"""The compact prompt: the facts of the candidate table as integers, for a small model of its own vocabulary.

A car is one header line and one line per candidate, best first, all integers split by one blank; cars
are split by an empty line. With four candidates a car is 8 + 4 x 14 = 64 numbers.

Header, 8 numbers:

==  ==========================================  =========
 1  minute of the day                            0 to 1439
 2  patience left, minutes                       0 to 999
 3  urgency, per cent                            0 to 100
 4  walk-ins today over usual in the city, %     0 to 999
 5  state of charge, per cent                    0 to 100
 6  energy needed, kWh                           0 to 999
 7  kind: 0 none of these, 1 critical,           0 to 3
    2 emergency, 3 flexible
 8  minutes until a flexible car must be ready   0 to 999
==  ==========================================  =========

Candidate, 14 numbers:

==  ==========================================  =========
 1  station, its place in `station_ids` from 1   1 to S
 2  type: 0 slow, 1 fast, 2 ultra_fast           0 to 2
 3  travel, minutes                              0 to 999
 4  own charging, minutes                        0 to 999
 5  free slots at arrival, tenths                0 to 999
 6  free slots 30 minutes later, tenths          0 to 999
 7  expected wait at arrival, minutes            0 to 999
 8  usual walk-ins until arrival, tenths         0 to 999
 9  usual walk-ins in the hour, tenths           0 to 999
10  walk-ins today over usual here, per cent     0 to 999
11  usual minutes a walk-in holds a slot         0 to 999
12  price, INR/kWh                               0 to 999
13  site headroom, kW                            -99 to 999
14  feeder headroom, per cent                    -99 to 999
==  ==========================================  =========

A value beyond its range stands at its end; one that does not exist is ``-``.
"""

from __future__ import annotations

import math

from ev_grid_oracle.protocol.prompt_sections import best_rows
from ev_grid_oracle.schema.observation import Candidates, EVRequest, Observation

HEADER_COLUMNS = ("minute", "patience", "urgency", "ratio_city", "soc", "need_kwh", "kind", "ready_in")
CANDIDATE_COLUMNS = (
    "station",
    "type",
    "travel",
    "own",
    "free",
    "free_30",
    "wait",
    "walkins_until",
    "walkins_hour",
    "ratio",
    "walkin_min",
    "price",
    "site_kw",
    "feeder_pct",
)
_TOP = 999
_BOTTOM = -99


def compact_car(obs: Observation, car: EVRequest, table: Candidates | None, rows: int) -> str:
    """Header and candidates of one car."""
    kind = 2 if car.emergency else 1 if car.critical else 3 if car.flexible else 0
    lines = [
        " ".join(
            (
                str(obs.state.minute_of_day),
                _number(car.patience_left_min),
                _number(car.urgency_frac * 100.0),
                _number(obs.state.ratio_city * 100.0),
                _number(car.soc_frac * 100.0),
                _number(car.need_kwh),
                str(kind),
                _number(math.nan if car.ready_in_min is None else car.ready_in_min),
            )
        )
    ]
    if table is None:
        return lines[0]
    st = obs.state.stations
    for s in best_rows(table, rows):
        lines.append(
            " ".join(
                (
                    str(s + 1),
                    str(int(st.rate[s])),
                    _number(table.travel_min[s]),
                    _number(table.own_min[s]),
                    _number(table.free_at_arrival[s] * 10.0),
                    _number(table.free_30_later[s] * 10.0),
                    _number(table.wait_min[s]),
                    _number(table.walkins_until[s] * 10.0),
                    _number(table.walkins_hour[s] * 10.0),
                    _number(st.ratio[s] * 100.0),
                    _number(st.walkin_slot_min[s]),
                    _number(st.price_inr_kwh[s]),
                    _number(table.site_headroom_kw[s], _BOTTOM),
                    _number(table.feeder_headroom_frac[s] * 100.0, _BOTTOM),
                )
            )
        )
    return "\n".join(lines)


def _number(value: float, low: int = 0) -> str:
    """Rounded half up and kept within `low` and 999."""
    if not math.isfinite(value):
        return "-"
    return str(max(low, min(_TOP, math.floor(value + 0.5))))
