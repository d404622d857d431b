"""The vocabulary of the small oracle: every number of every column one token, and the words of its answers.

Three questions share it, each a header, one line per choice and ``?``: which station for a car (`car`, the compact
prompt), which cap for a strained feeder (`relief`), and what the fullest stations will look like in five ticks
(`world`). Answers are pointers to a line (``@3``: the station of line 3), so that a city with other ids needs no other
vocabulary. Words that only labels use (costs, counts, shifts) stand behind them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.protocol.prompt_compact import CANDIDATE, CAR_WORD, HEADER, Column

I32 = npt.NDArray[np.int32]

MOST_LINES = 8
RELIEF_HEADER = (
    Column("A", "heat", 60, 140, 100.0, "equivalent load of the feeder's head, per cent of its rating"),
    Column("B", "now", 20, 140, 100.0, "forecast load of the next tick with today's charging, per cent"),
    Column("C", "soon", 20, 140, 100.0, "the same three ticks ahead"),
    Column("D", "later", 20, 140, 100.0, "the same six ticks ahead"),
    Column("E", "charging", 0, 80, 100.0, "charging now, per cent of the rating"),
    Column("F", "rating", 0, 100, 0.01, "rating, hundreds of kVA"),
    Column("G", "left", 0, 60, 1.0, "ticks until the episode ends"),
    Column("H", "carrier", 0, 1, 1.0, "1: a flexible car would carry the answer"),
)
RELIEF = (
    Column("I", "cap", 0, 2, 1.0, "the cap: 0 slow, 1 fast, 2 ultra_fast"),
    Column("J", "cut", 0, 120, 0.2, "charging that the cap would take away now, units of 5 kW"),
    Column("K", "power", 0, 120, 0.2, "charging at the station now, units of 5 kW"),
    Column("L", "occupied", 0, 40, 1.0, "slots in use"),
    Column("M", "queued", 0, 30, 1.0, "cars waiting"),
    Column("N", "free", 0, 40, 1.0, "free slots"),
    Column("O", "inbound", 0, 30, 1.0, "known cars on the way"),
    Column("P", "walkins", 0, 80, 2.0, "walk-ins to expect in the hour, halves"),
)
WORLD_HEADER = (
    Column("Q", "time", 0, 95, 1 / 15, "time of day, quarters of an hour"),
    Column("R", "load", 0, 150, 100.0, "grid load now, per cent"),
    Column("S", "rise", -40, 40, 500.0, "rise of the base load in five ticks by the forecast, 0.2 %"),
    Column("T", "renewable", 0, 100, 100.0, "renewable share, per cent"),
    Column("U", "turn", -60, 60, 500.0, "change of that share in five ticks by the climatology, 0.2 %"),
    Column("V", "off", -60, 60, 500.0, "renewable share less the climatology's, 0.2 %"),
    Column("W", "pending", 0, 40, 1.0, "cars that ask now"),
    Column(
        "X",
        "ending",
        -60,
        60,
        200.0,
        "charging that ends in 25 minutes less what begins, 0.5 % of all ratings",
    ),
)
WORLD = (
    Column("a", "slots", 0, 40, 1.0, "usable slots"),
    Column("o", "occupied", 0, 40, 1.0, "slots in use"),
    Column("q", "queued", 0, 40, 1.0, "cars waiting"),
    Column("j", "frees", 0, 40, 1.0, "slots that free within 25 minutes"),
    Column("v", "coming", 0, 30, 1.0, "known cars that arrive within 25 minutes"),
    Column("s", "walkins", 0, 80, 2.0, "walk-ins to expect in the hour, halves"),
)
COST = Column("cost", "cost", 0, 159, 0.5, "what the line costs everybody, two minutes a word")
OCCUPIED = Column("occ", "occupied in five ticks", 0, 40, 1.0, "slots")
QUEUED = Column("que", "queued in five ticks", 0, 40, 1.0, "cars")
LOAD_SHIFT = Column("gl", "load above the clock's", -60, 60, 500.0, "grid load less the reference, 0.2 %")
SHARE_SHIFT = Column(
    "re", "share above the clock's", -60, 60, 1000.0, "renewable share less the reference, 0.1 %"
)
REASONS = (
    "least time for everybody, counting cars still to come",
    "nearest station with room",
    "a free plug there when it arrives",
    "its wait there is shorter",
    "leaves slots to walk-ins expected elsewhere",
    "spares a feeder close to its limit",
    "flexible car waits for a quieter moment",
    "caps a station whose feeder is close to its limit",
)
"""What the model can say, by its reason tokens."""

PAD, ASK, NONE, DEFER = "<pad>", "?", "none", "defer"
_LABEL_COLUMNS = (COST, OCCUPIED, QUEUED, LOAD_SHIFT, SHARE_SHIFT)
_PROMPT_COLUMNS = (*HEADER, *CANDIDATE, *RELIEF_HEADER, *RELIEF, *WORLD_HEADER, *WORLD)


def _build() -> tuple[dict[str, int], dict[str, int]]:
    vocabulary: dict[str, int] = {}
    first: dict[str, int] = {}
    for word in (
        PAD,
        CAR_WORD,
        "relief",
        "world",
        ASK,
        NONE,
        DEFER,
        *(f"@{k + 1}" for k in range(MOST_LINES)),
    ):
        vocabulary[word] = len(vocabulary)
    for k in range(len(REASONS)):
        vocabulary[f"why{k}"] = len(vocabulary)
    for column in (*_PROMPT_COLUMNS, *_LABEL_COLUMNS):
        first[column.letter] = len(vocabulary)
        for value in range(column.low, column.high + 1):
            vocabulary[f"{column.letter}{value}"] = len(vocabulary)
    return vocabulary, first


VOCABULARY, FIRST = _build()
"""Word -> id; letter of a column -> id of its lowest number."""
SIZE = -(-len(VOCABULARY) // 16) * 16
ASK_ID, NONE_ID, DEFER_ID = VOCABULARY[ASK], VOCABULARY[NONE], VOCABULARY[DEFER]
POINTER = VOCABULARY["@1"]
REASON = VOCABULARY["why0"]
COLUMNS: tuple[Column, ...] = (*_PROMPT_COLUMNS, *_LABEL_COLUMNS)


class Question:
    """How one kind of question is laid out: the opening word, its header's and its lines' columns."""

    def __init__(self, word: str, header: Sequence[Column], line: Sequence[Column]) -> None:
        self.word = word
        self.opening = VOCABULARY[word]
        self.header, self.line = tuple(header), tuple(line)
        self.head_words, self.line_words = 1 + len(header), len(line)
        self._head, self._line = _ranges(header), _ranges(line)

    def length(self, lines: int) -> int:
        """Tokens of a question with `lines` lines, ``?`` counted."""
        return self.head_words + lines * self.line_words + 1

    def ids(self, header: npt.NDArray[np.float64], lines: npt.NDArray[np.float64]) -> I32:
        """Tokens (T,) of raw values: header (H,), lines (n, W)."""
        n = len(lines)
        out = np.empty(self.length(n), np.int32)
        out[0] = self.opening
        out[1 : self.head_words] = _encode(header, *self._head)
        if n:
            out[self.head_words : -1] = _encode(lines, *self._line).reshape(-1)
        out[-1] = ASK_ID
        return out


def _ranges(columns: Sequence[Column]) -> tuple[npt.NDArray[np.float64], ...]:
    per = np.array([c.per_unit for c in columns])
    low, high = np.array([float(c.low) for c in columns]), np.array([float(c.high) for c in columns])
    return per, low, high, np.array([float(FIRST[c.letter] - c.low) for c in columns])


def _encode(values: npt.NDArray[np.float64], per: npt.NDArray[np.float64], low: npt.NDArray[np.float64],
            high: npt.NDArray[np.float64], shift: npt.NDArray[np.float64]) -> I32:  # fmt: skip
    """As `Column.number`, for arrays."""
    x = np.floor(values * per + 0.5)
    x = np.where(np.isnan(x), np.where(low < 0.0, low, high), x)
    return np.asarray(np.minimum(np.maximum(x, low), high) + shift, np.int32)


CAR = Question(CAR_WORD, HEADER, CANDIDATE)
RELIEF_QUESTION = Question("relief", RELIEF_HEADER, RELIEF)
WORLD_QUESTION = Question("world", WORLD_HEADER, WORLD)


def spell(ids: Sequence[int]) -> str:
    """Tokens as text, words split by blanks."""
    return " ".join(WORDS[int(i)] for i in ids)


WORDS = list(VOCABULARY)
