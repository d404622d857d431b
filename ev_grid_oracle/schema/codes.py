"""Every `E_` code in one table: who gives it, what it means, how to get rid of it, and an example.

Documents, error payloads and tests read this table; a code that is not here does not exist. The stage
says who judges:

- ``parser``: the text is not a legal answer. The whole text is refused, one `format` penalty.
- ``verifier``: the text is legal, the answer of one car is not. That car's answer is refused.
- ``road``: the text of the road task is legal, its move cannot be driven. The trip ends.
- ``session``: a call came at the wrong time.
- ``library``: bad input of a person or a program; raised as a subclass of `EVGridError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Stage = Literal["parser", "verifier", "road", "session", "library"]


@dataclass(frozen=True, slots=True)
class Code:
    """One row of the table.

    Attributes:
        code: stable identifier.
        stage: who gives it.
        sentence: what is wrong.
        cure: what to do about it.
        example: the shortest input that draws it.
    """

    code: str
    stage: Stage
    sentence: str
    cure: str
    example: str


_TABLE: tuple[Code, ...] = (
    # parser: the text as a whole
    Code(
        "E_TOO_LONG",
        "parser",
        "The text is longer than 64 KiB as UTF-8.",
        "Answer with the six lines only.",
        "a text of 2 MB",
    ),
    Code(
        "E_ENCODING",
        "parser",
        "The text is not valid UTF-8.",
        "Send UTF-8; drop lone surrogates.",
        'b"\\xff\\xfe"',
    ),
    Code(
        "E_EMPTY",
        "parser",
        "The text holds no answer although a car is pending.",
        "Write one block of six lines.",
        "(empty text)",
    ),
    Code(
        "E_FORMAT",
        "parser",
        "No answer block was found, or a value is not written as the format asks.",
        "Write plain ASCII numbers and the names of the format; numbers carry no sign, unit or leading zero.",
        "DEFER_MINUTES: 05",
    ),
    Code(
        "E_KEY",
        "parser",
        "A key is missing, doubled, unknown, out of order or not in upper case.",
        "Write the six keys once each, in the order of the format, with no blank line between.",
        "Station: BLR-07",
    ),
    Code(
        "E_LEADING",
        "parser",
        "Text stands before the answer.",
        "Start with the answer; only one closed <think> part may stand before it.",
        "Sure! ACTION: route ...",
    ),
    Code(
        "E_TRAILING",
        "parser",
        "Text stands after the answer.",
        "Stop after the CONFIDENCE line.",
        "... CONFIDENCE: 0.8, then OBSERVATION: queue=0",
    ),
    Code(
        "E_FENCE",
        "parser",
        "A markdown fence is not closed or does not stand alone on its line.",
        "Close the fence, or write none.",
        "``` before the block and none after it",
    ),
    Code(
        "E_THINK",
        "parser",
        "A <think> part is not closed, is doubled or stands in the wrong place.",
        "Write one <think> and one </think>, before everything else.",
        "<think>the queue is short ACTION: route ...",
    ),
    Code(
        "E_MULTI",
        "parser",
        "Several blocks without distinct EV_ID lines.",
        "Put a different EV_ID line before every block.",
        "the same block twice",
    ),
    # parser: one field
    Code(
        "E_ACTION",
        "parser",
        "ACTION is none of route, defer, load_shift.",
        "Use one of the three, in lower case.",
        "ACTION: charge",
    ),
    Code(
        "E_STATION",
        "parser",
        "STATION is neither an id of the loaded city nor NONE, or is NONE where one is needed.",
        "Copy an id from the prompt.",
        "STATION: BLR-99",
    ),
    Code(
        "E_RANGE",
        "parser",
        "A number is well written but outside its range.",
        "DEFER_MINUTES is 0 to 240, CONFIDENCE 0 to 1.",
        "DEFER_MINUTES: 241",
    ),
    Code(
        "E_REASON",
        "parser",
        "REASON is empty, longer than 20 words or 200 characters, or holds a control character.",
        "Write 1 to 20 words on one line.",
        "REASON: (21 words)",
    ),
    Code(
        "E_SEMANTIC",
        "parser",
        "The fields are well written but do not go together.",
        "route: a station and DEFER_MINUTES 0; defer: NONE and at least 1.",
        "ACTION: defer with DEFER_MINUTES: 0",
    ),
    Code(
        "E_SIMULATE",
        "parser",
        "The <SIMULATE> block is malformed or stands in the wrong place.",
        "Write its five lines as the format shows, before the first block, or leave it out.",
        "T+5_GRID_LOAD_PCT: 85%",
    ),
    # verifier
    Code(
        "E_TIME_WINDOW",
        "verifier",
        "The car's patience ends before the deferral does, or as many cars are deferred as the list holds.",
        "Defer for less than the patience left, or route.",
        "defer 60 minutes with 20 left",
    ),
    Code(
        "E_UNREACHABLE",
        "verifier",
        "The car cannot reach the station with its charge, or no road leads there.",
        "Choose a usable candidate.",
        "a car with 2 kWh sent 30 km away",
    ),
    Code(
        "E_DETOUR",
        "verifier",
        "The detour over the nearest usable station is longer than the car's patience left.",
        "Choose a nearer station.",
        "a 50 minute detour with 20 minutes of patience",
    ),
    Code(
        "E_RATE",
        "verifier",
        "CHARGE_RATE is above what the slots of the station can do.",
        "Use the station's own class or a lower one.",
        "ultra_fast at a slow-only station",
    ),
    Code(
        "E_PLUG",
        "verifier",
        "The station has no plug that fits the car.",
        "Choose a station whose plug fits.",
        "a car without DC inlet sent to an ultra_fast station",
    ),
    Code(
        "E_UNKNOWN_CAR",
        "verifier",
        "No car of that id is pending.",
        "Copy an id from the list of pending cars.",
        "EV_ID: EV-99999",
    ),
    Code(
        "E_STATION_DOWN",
        "verifier",
        "The station has no usable slot or no supply.",
        "Choose a station that is up.",
        "a route to a station in an outage",
    ),
    # road task
    Code(
        "E_WRONG_NODE",
        "road",
        "CURRENT_NODE is not where the car stands.",
        "Copy the current node from the prompt.",
        "CURRENT_NODE: 1 with the car at 3",
    ),
    Code(
        "E_NO_EDGE",
        "road",
        "No open road leads from the current node to NEXT_NODE.",
        "Choose one of the listed neighbours.",
        "NEXT_NODE: 1 where 3 leads to 4 only",
    ),
    Code(
        "E_SELF_MOVE",
        "road",
        "NEXT_NODE is the current node.",
        "Choose one of the listed neighbours.",
        "NEXT_NODE: 3 with the car at 3",
    ),
    # session
    Code("E_NO_EPISODE", "session", "No episode has been started.", "Call reset first.", "step before reset"),
    Code("E_EPISODE_OVER", "session", "The episode is over.", "Call reset.", "step after the last tick"),
    # library
    Code("E_INTERNAL", "library", "The library failed in a way it did not foresee.", "Report it.", "-"),
    Code("E_CITY", "library", "No city of that name.", "See the list of cities.", 'load_city("atlantis")'),
    Code(
        "E_SCENARIO",
        "library",
        "No scenario of that name.",
        "See the list of scenarios.",
        'reset(scenario="flood2")',
    ),
    Code("E_POLICY", "library", "No policy of that name.", "See the list of policies.", '"gredy"'),
    Code(
        "E_OPTION",
        "library",
        "An option or a value handed to the library is out of its range.",
        "See the range in the message.",
        "reset(ticks=0)",
    ),
    Code(
        "E_PACK",
        "library",
        "A city pack does not hold.",
        "Mend the rows that the error lists.",
        "a station twice",
    ),
    Code(
        "E_SNAPSHOT",
        "library",
        "The bytes are no snapshot of this version and city.",
        "Take a new snapshot.",
        'restore(b"")',
    ),
    Code(
        "E_TRACE",
        "library",
        "The file is no whole trace of a known version.",
        "Record it again.",
        "a cut file",
    ),
    Code("E_EXTRA", "library", "An optional dependency is missing.", "Install the extra it names.", "-"),
    Code(
        "E_CAPACITY",
        "library",
        "An environment cannot hold what was asked for.",
        "Send fewer answers, cars or events.",
        "more answers than pending cars can be",
    ),
)

CODES: Mapping[str, Code] = MappingProxyType({row.code: row for row in _TABLE})
"""Code -> row, in the order of the document."""
