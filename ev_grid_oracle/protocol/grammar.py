"""The words and the regular expressions of the text protocol, and its grammar as text.

Two rules hold for every expression here, so that no text can make the parser slow:

- adjacent repetitions never share a character (a run of blanks is followed by a non-blank), so there
  is one way to match and nothing to try again;
- they are used with `fullmatch`, with `re.ASCII`, and with ``[0-9]`` rather than ``\\d``: a full-width
  digit is no digit, and ``$`` would accept a newline.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

PROTOCOL_VERSION: Final = 1

MAX_BYTES: Final = 65_536  # UTF-8; longer texts are refused before any expression runs
MAX_DEFER_MINUTES: Final = 240
MAX_REASON_WORDS: Final = 20
MAX_REASON_CHARS: Final = 200
MAX_ID_CHARS: Final = 64
MAX_ISSUES: Final = 20  # a text of 700 wrong blocks needs no 700 explanations
MAX_TOP_STATIONS: Final = 3

KEYS: Final = ("ACTION", "STATION", "CHARGE_RATE", "DEFER_MINUTES", "REASON", "CONFIDENCE")
ID_KEY: Final = "EV_ID"
NO_STATION: Final = "NONE"
ACTIONS: Final = ("route", "defer", "load_shift")  # position = ActionKind
RATES: Final = ("slow", "fast", "ultra_fast")  # position = Rate

THINK_OPEN: Final = "<think>"
THINK_CLOSE: Final = "</think>"
SIMULATE_OPEN: Final = "<SIMULATE>"
SIMULATE_CLOSE: Final = "</SIMULATE>"
SIMULATE_KEYS: Final = ("T+5_GRID_LOAD_PCT", "T+5_RENEWABLE_PCT", "T+5_TOP_STATIONS")

# What a free text may not hold: control characters (tab apart) and the separators that other programs
# take for line ends, so that one REASON is one line everywhere. Surrogates are refused before.
_CONTROL = r"\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029"
UNIT = r"(?:0|1|0\.[0-9]{1,4}|1\.0{1,4})"  # a probability or a share
_COUNT = r"(?:0|[1-9][0-9]{0,2})"

DEFER_RE: Final = re.compile(_COUNT, re.ASCII)
UNIT_RE: Final = re.compile(UNIT, re.ASCII)
LOAD_RE: Final = re.compile(r"[0-9](?:\.[0-9]{1,4})?", re.ASCII)
QUEUE_RE: Final = DEFER_RE
PLAIN_INT_RE: Final = re.compile(r"[1-9][0-9]*", re.ASCII)
PLAIN_DECIMAL_RE: Final = re.compile(r"(0|[1-9][0-9]*)(?:\.([0-9]+))?", re.ASCII)
EV_ID_RE: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._:/-]{{0,{MAX_ID_CHARS - 1}}}", re.ASCII)
CONTROL_RE: Final = re.compile(f"[{_CONTROL}]")
FENCE_RE: Final = re.compile(r"(`{3,16}|~{3,16})[ \t]*[A-Za-z0-9_+.#-]{0,32}", re.ASCII)
KEYLIKE_RE: Final = re.compile(r"[ \t]{0,8}([A-Za-z+0-9_ -]{1,32}):.*", re.ASCII | re.DOTALL)

_EOL = r"[ \t]*\r?\n"
SINGLE_BLOCK_RE: Final = re.compile(
    rf"(?:EV_ID:[ \t]+({EV_ID_RE.pattern}){_EOL})?"
    rf"ACTION:[ \t]+({'|'.join(ACTIONS)}){_EOL}"
    rf"STATION:[ \t]+([^ \t{_CONTROL}]{{1,{MAX_ID_CHARS}}}){_EOL}"
    rf"CHARGE_RATE:[ \t]+({'|'.join(RATES)}){_EOL}"
    rf"DEFER_MINUTES:[ \t]+({_COUNT}){_EOL}"
    rf"REASON:[ \t]+([^ \t{_CONTROL}][^{_CONTROL}]*)\r?\n"
    rf"CONFIDENCE:[ \t]+({UNIT})[ \t]*(?:\r?\n)?",
    re.ASCII,
)
"""The common case, one bare block, in one match; everything else takes the way that explains."""


def grammar_ebnf(station_ids: Sequence[str], *, several: bool = True, predict: bool = True) -> str:
    """Grammar of a canonical answer for a city, in the GBNF dialect of EBNF.

    It produces a subset of what the parser accepts (one blank after a colon, LF, no fence, no thought),
    so that a decoder held to it draws a format penalty only for what a grammar cannot count: a REASON
    over 200 characters, an id or a forecast station twice.

    Args:
        station_ids: ids of the loaded city.
        several: allow several blocks, each with its EV_ID line.
        predict: allow the ``<SIMULATE>`` block.
    """
    station = " | ".join(f'"{s}"' for s in station_ids)
    rate = " | ".join(f'"{r}"' for r in RATES)
    one = '("EV_ID: " ev-id "\\n")? block'
    many = f'{one} | "EV_ID: " ev-id "\\n" block ("\\n" "EV_ID: " ev-id "\\n" block)+'
    rules = [
        f"root ::= {'simulate? ' if predict else ''}({many if several else one})",
        "block ::= (route | defer | shift) tail",
        'route ::= "ACTION: route\\nSTATION: " station "\\nCHARGE_RATE: " rate "\\nDEFER_MINUTES: 0\\n"',
        f'defer ::= "ACTION: defer\\nSTATION: {NO_STATION}\\nCHARGE_RATE: " rate '
        '"\\nDEFER_MINUTES: " minutes "\\n"',
        f'shift ::= "ACTION: load_shift\\nSTATION: " (station | "{NO_STATION}") "\\nCHARGE_RATE: " rate '
        '"\\nDEFER_MINUTES: " ("0" | minutes) "\\n"',
        'tail ::= "REASON: " word (" " word){0,19} "\\nCONFIDENCE: " unit "\\n"',
        f"station ::= {station}",
        f"rate ::= {rate}",
        'minutes ::= [1-9] [0-9]? | "1" [0-9] [0-9] | "2" [0-3] [0-9] | "240"',
        'unit ::= "0" | "1" | "0." [0-9]{1,4} | "1." "0"{1,4}',
        "word ::= [!-~]{1,24}",
        f"ev-id ::= [A-Za-z0-9] [A-Za-z0-9._:/-]{{0,{MAX_ID_CHARS - 1}}}",
    ]
    if predict:
        load, renewable, top = SIMULATE_KEYS
        rules += [
            f'simulate ::= "{SIMULATE_OPEN}\\n{load}: " [0-9] "." [0-9] [0-9] "\\n{renewable}: " unit '
            f'"\\n{top}: " entry (" | " entry){{0,{MAX_TOP_STATIONS - 1}}} "\\n{SIMULATE_CLOSE}\\n"',
            'entry ::= station ":" unit ":" ("0" | [1-9] [0-9]{0,2})',
        ]
    return "\n".join(rules) + "\n"
