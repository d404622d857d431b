"""The compact prompt: the facts of the candidate table as words of one letter and one integer.

Written for a small model with a vocabulary of its own: every column has a range of whole numbers, every
number of a column is one word (``t12``: 12 minutes of travel), so a car is a header of 9 words and one line
of 12 words per candidate, best first; cars are split by an empty line. With four candidates a car is
9 + 4 x 12 = 57 words.

`HEADER` and `CANDIDATE` below are the only definition; a value beyond its range stands at its end, one that
does not exist (no usable slot, no route) at the end that is worse.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ev_grid_oracle.protocol.prompt_sections import best_rows
from ev_grid_oracle.schema.observation import Candidates, EVRequest, Observation

CAR_WORD = "car"
STATION_SHARE = 0.3
"""Weight of the station's own ratio beside the city's in the walk-ins to expect: two hours of one station are
few cars."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `value` = round(x `per_unit` times), kept within `low` and `high`."""

    letter: str
    name: str
    low: int
    high: int
    per_unit: float
    meaning: str

    def number(self, value: float) -> int:
        """Rounded half up, within the range; NaN stands at the upper end, or at a lower end below 0."""
        x = value * self.per_unit
        if math.isnan(x):
            return self.low if self.low < 0 else self.high
        if math.isinf(x):
            return self.low if x < 0.0 else self.high
        return max(self.low, min(self.high, math.floor(x + 0.5)))

    def word(self, value: float) -> str:
        """The word of a value."""
        return f"{self.letter}{self.number(value)}"

    @property
    def count(self) -> int:
        """How many words the column has."""
        return self.high - self.low + 1


HEADER = (
    Column("m", "time", 0, 95, 1 / 15, "time of day, quarters of an hour"),
    Column("p", "patience", 0, 180, 1.0, "patience left, minutes"),
    Column("k", "kind", 0, 3, 1.0, "0 none of these, 1 critical, 2 emergency, 3 flexible"),
    Column("n", "need", 0, 99, 1.0, "energy needed, kWh"),
    Column("r", "ratio_city", 0, 60, 20.0, "walk-ins today over usual in the city, twentieths"),
    Column("y", "ready_in", 0, 60, 0.1, "flexible cars: ten minutes until ready_by, others 60"),
    Column("b", "best", 0, 240, 1.0, "least travel + own charging of the lines, minutes"),
    Column("e", "left", 0, 60, 1.0, "ticks until the episode ends"),
)
CANDIDATE = (
    Column("c", "type", 0, 2, 1.0, "0 slow, 1 fast, 2 ultra_fast"),
    Column("t", "travel", 0, 90, 1.0, "travel, minutes"),
    Column("x", "extra", 0, 120, 1.0, "travel + own charging above the best line, minutes"),
    Column("f", "free", -60, 40, 1.0, "free slots at arrival; none free: minus the expected wait, minutes"),
    Column("g", "free_30", 0, 40, 1.0, "free slots 30 minutes later"),
    Column("w", "walkins", 0, 80, 2.0, "walk-ins to expect in the hour, at today's ratio, halves"),
    Column("h", "walkin_min", 0, 120, 0.5, "usual minutes a walk-in holds a slot, halved"),
    Column("u", "slots", 0, 40, 1.0, "usable slots"),
    Column("i", "inbound", 0, 30, 1.0, "known cars on the way"),
    Column("l", "load", 0, 30, 20.0, "load over the site's limit, twentieths"),
    Column("d", "feeder", -40, 60, 100.0, "feeder headroom at arrival, per cent of its rating"),
    Column("z", "score", 0, 120, 2.0, "greedy_counting's cost above its best line, half minutes"),
)
HEADER_COLUMNS = tuple(c.name for c in HEADER)
CANDIDATE_COLUMNS = tuple(c.name for c in CANDIDATE)


def words(columns: Sequence[Column], values: Sequence[float]) -> str:
    """One line."""
    return " ".join(c.word(v) for c, v in zip(columns, values, strict=True))


def compact_car(obs: Observation, car: EVRequest, table: Candidates | None, rows: int) -> str:
    """Header and candidates of one car."""
    s = obs.state
    shown = [] if table is None else best_rows(table, rows)
    fast = [] if table is None else [float(table.travel_min[k] + table.own_min[k]) for k in shown]
    best = min(fast, default=math.inf)
    kind = 2 if car.emergency else 1 if car.critical else 3 if car.flexible else 0
    ready = math.inf if car.ready_in_min is None else car.ready_in_min
    head = (
        s.minute_of_day, car.patience_left_min, kind, car.need_kwh, s.ratio_city, ready, best,
        s.ticks - s.tick,
    )  # fmt: skip
    lines = [f"{CAR_WORD} {words(HEADER, head)}"]
    if table is None:
        return lines[0]
    st = s.stations
    least = min((float(table.score[k]) for k in shown), default=0.0)
    for k, minutes in zip(shown, fast, strict=True):
        free = float(table.free_at_arrival[k])
        ratio = STATION_SHARE * float(st.ratio[k]) + (1.0 - STATION_SHARE) * s.ratio_city
        line = (
            float(st.rate[k]),
            float(table.travel_min[k]),
            minutes - best,
            free if free > 0.0 else -float(table.wait_min[k]),
            float(table.free_30_later[k]),
            float(table.walkins_hour[k]) * ratio,
            float(st.walkin_slot_min[k]),
            float(st.slots_up[k]),
            float(st.inbound[k]),
            float(st.load_kw[k]) / max(float(st.limit_kw[k]), 1.0),
            float(table.feeder_headroom_frac[k]),
            float(table.score[k]) - least,
        )
        lines.append(words(CANDIDATE, line))
    return "\n".join(lines)
