"""The reward's terms and the flags: one table each, read by code, docs, server and UI.

All terms are in car-minutes divided by N0 (the pack's mean car-minutes a tick under the baseline on the
reference evening), so a tick under the baseline costs about 1. The total is the plain sum.
"""

from __future__ import annotations

from dataclasses import dataclass

WAIT, SERVICE, URGENCY, GRID_STRESS, PEAK, GRID_LIMIT, RENEWABLE, ANTI_HACK, FORMAT = range(9)

W_URGENCY = 2.0
W_STRESS = 0.2
STRESS_FROM = 0.85
W_PEAK = 0.05
PEAK_FROM = 0.8
W_BELOW = 0.1
W_LIMIT = 0.3
W_OVER_MIN = 3.0
W_VOLT = 3.0
V_BAND = 0.02
W_RENEWABLE = 0.5
PENALTY = 10.0


@dataclass(frozen=True)
class Term:
    """One component of the reward.

    Attributes:
        sign: "-" a cost, "+" a gain, "+-" either.
        role: which of two agents is paid by it ("fleet", "grid").
    """

    name: str
    unit: str
    sign: str
    role: str
    sentence: str


TERMS: tuple[Term, ...] = (
    Term("wait", "car-minutes / N0", "-", "fleet",
         "Minutes that cars, walk-ins too, spent pending, deferred, on the road, queued or charging; a flexible "
         "car counts a tenth until its ready_by."),
    Term("service", "car-minutes / N0", "-", "fleet",
         "max(60, 240 - age) for every car lost or stranded, 240 for a flexible one."),
    Term("urgency", "car-minutes / N0", "-", "fleet",
         "Twice the minutes of critical requests before plug-in, and twice the service of a lost one."),
    Term("grid_stress", "car-minutes / N0", "-", "grid",
         "0.2 x 5 x usable slots x the part above 85 % that is occupied, queued or due within 10 minutes, over stations."),
    Term("peak", "car-minutes / N0", "+-", "grid",
         "0.05 x 5 x rating x what charging adds to the squared load above 80 %, less 0.1 x kWh charged on feeders "
         "below that line."),
    Term("grid_limit", "car-minutes / N0", "-", "grid",
         "0.3 x 5 x rating x the equivalent load above 1 that charging adds, 3 x minutes over the limit, and 3 x "
         "minutes of bus voltage below 0.91 pu, where base load alone keeps the limit."),
    Term("renewable", "car-minutes / N0", "+-", "grid",
         "0.5 x kWh charged x (renewable share now - mean share of the day)."),
    Term("anti_hack", "car-minutes / N0", "-", "fleet", "10 per flag, at most one per car and tick."),
    Term("format", "car-minutes / N0", "-", "fleet", "10 per refused text."),
)  # fmt: skip
TERM_NAMES: tuple[str, ...] = tuple(t.name for t in TERMS)

(
    F_INVALID, F_TELEPORT, F_PHANTOM, F_PILING, F_PILING_STREAK, F_GRID, F_WINDOW, F_STALL, F_SPAM, F_IDLE, F_DIRECTIVE,
) = range(11)  # fmt: skip

PILING_AT = 1.0
PILING_STREAK_AT = 3
STALL_AT = 6
SPAM_TICK_AT = 4
SPAM_STREAK_AT = 3
SPAM_BELOW = 0.8
IDLE_AT = 3


@dataclass(frozen=True)
class Flag:
    """One habit that is shown to people and charged 10 car-minutes (unless `charged` says otherwise)."""

    name: str
    threshold: float
    unit: str
    charged: bool
    sentence: str


FLAGS: tuple[Flag, ...] = (
    Flag("invalid_action", 1, "texts", False, "The text was refused by the parser; `format` pays for it."),
    Flag("teleportation", 1, "cars", True, "Routed to a station that the car cannot reach."),
    Flag("phantom_capacity", 1, "cars", True, "A dead station, an unknown car, or a plug or rate that is not there."),
    Flag("queue_piling", PILING_AT, "cars without a slot per slot", True,
         "Routed to a station where those queued and known to come, beyond its free slots, already number more "
         "than its slots."),
    Flag("queue_piling_streak", PILING_STREAK_AT, "ticks", True, "queue_piling in this many ticks in a row."),
    Flag("grid_limit_violation", 1.0, "equivalent load", True,
         "Routed into a feeder whose head is over its limit (equivalent load above 1, or 1.3 momentarily)."),
    Flag("time_window_violation", 1, "cars", True, "Deferred beyond its patience, or sent on a detour longer than it."),
    Flag("defer_stalling", STALL_AT, "times", True,
         "The same car deferred this many times or more (a flexible one within its window excepted)."),
    Flag("load_shift_spam", SPAM_STREAK_AT, "ticks", True,
         "load_shift in this many ticks in a row on feeders below 80 %, or more than 4 in one tick."),
    Flag("idle", IDLE_AT, "ticks", True,
         "No car routed for this many ticks in a row while a car that wants to charge now was pending and a slot "
         "was free."),
    Flag("directive_violation", 1, "cars", True, "An answer that the grid operator's directive forbids."),
)  # fmt: skip
FLAG_NAMES: tuple[str, ...] = tuple(f.name for f in FLAGS)
