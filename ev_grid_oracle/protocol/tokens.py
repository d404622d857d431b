"""How many tokens a text may cost when no tokenizer is at hand."""

from __future__ import annotations

import math
import re

_CHARS_PER_TOKEN = 3.2
_PIECE = re.compile(r" ?[^\W\d_]+|\d| ?[^\w\s]+|_|\s+")


def estimate_tokens(text: str) -> int:
    """A conservative count for byte-pair vocabularies that split digits one by one, as Qwen's does.

    Prompts here are mostly numbers, for which characters / 3.2 alone would be far too low: the larger
    of that and a count of pieces (a digit, a run of signs, about six letters, three capitals) is given.
    """
    total = 0
    for piece in _PIECE.findall(text):
        word = piece.strip()
        if not word.isalpha():
            total += 1
        elif not word.isascii():
            total += len(word.encode())
        else:
            total += 1 + (len(word) - 1) // (3 if word.isupper() else 6)
    return max(math.ceil(len(text) / _CHARS_PER_TOKEN), total)
