"""How fast the parser is, and how slow a hostile text can make it.

    python benchmarks/parser.py [--fuzz 1000000] [--seed K] [--json] [--out artifacts/parser.json]

Prints answers per second for valid single blocks, the worst time over a catalogue of 64 KiB texts, the
time ratio when the number of blanks in a near-valid text doubles, and, with ``--fuzz N``, how many
mutated texts were judged without an exception. With ``--out`` all of it goes into a file, with its origin. Exits 1
when a budget is missed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from ev_grid_oracle.city import load_city
from ev_grid_oracle.evaluation.provenance import provenance
from ev_grid_oracle.evaluation.writing import check_writable, to_json, write_atomic
from ev_grid_oracle.protocol import parse_action
from ev_grid_oracle.protocol.grammar import MAX_BYTES

MIN_ANSWERS_S = 20_000.0
MAX_MS = 50.0
MAX_RATIO = 3.0  # time for 4,000 blanks over time for 2,000


@dataclass(frozen=True)
class City:
    station_ids: tuple[str, ...] = tuple(f"BLR-{i:02d}" for i in range(1, 26))
    pending_ids: tuple[str, ...] = ("EV-00101", "EV-00102")


CITY = City()
V0 = (
    "ACTION: route\nSTATION: BLR-07\nCHARGE_RATE: fast\nDEFER_MINUTES: 0\n"
    "REASON: shortest queue near the car\nCONFIDENCE: 0.8\n"
)
SIMULATE = (
    "<SIMULATE>\nT+5_GRID_LOAD_PCT: 0.85\nT+5_RENEWABLE_PCT: 0.31\n"
    "T+5_TOP_STATIONS: BLR-01:0.82:3 | BLR-11:0.77:2 | BLR-04:0.70:1\n</SIMULATE>\n"
)
SEEDS = (
    V0,
    f"```text\n{V0}```\n",
    f"<think>\nACTION: defer\n</think>\n{V0}",
    f"{SIMULATE}\n{V0}",
    f"EV_ID: EV-00101\n{V0}\nEV_ID: EV-00102\n{V0}",
    V0.replace("\n", "\r\n"),
)


def _fill(head: str, unit: str, tail: str = "") -> str:
    """`head`, as many `unit` as fit into 64 KiB, `tail`."""
    room = MAX_BYTES - len((head + tail).encode())
    return head + unit * (room // len(unit.encode())) + tail


def nasty_texts() -> dict[str, str]:
    """Texts of up to 64 KiB, each aimed at one way of being slow."""
    cut = "ACTION: route\nREASON: "
    one = V0.splitlines(keepends=True)
    named = "".join(f"EV_ID: EV-{i}\n{V0}" for i in range(600))[: MAX_BYTES - 200]
    return {
        "blanks in REASON, rest missing": _fill(cut, " ", "x"),
        "tabs and blanks in REASON": _fill(cut, " \t", "x"),
        "blanks after every colon": "".join(line.replace(": ", ":" + " " * 10_000) for line in one),
        "blanks at every line end": "".join(line.rstrip("\n") + " " * 10_000 + "\n" for line in one),
        "blanks only": _fill("", " "),
        "newlines only": _fill("", "\n"),
        "newlines, then a block": _fill("", "\n", V0),
        "block, then newlines and a word": _fill(V0, "\n", "x"),
        "CR only": _fill("", "\r"),
        "CRLF only": _fill("", "\r\n"),
        "digits in DEFER_MINUTES": V0.replace("MINUTES: 0", "MINUTES: " + "9" * 60_000),
        "digits in CONFIDENCE": V0.replace("0.8", "0." + "9" * 60_000),
        "zeros in CONFIDENCE": V0.replace("0.8", "1." + "0" * 60_000 + "x"),
        "words in REASON": V0.replace("shortest", _fill("", "a ")[:60_000]),
        "long station": V0.replace("BLR-07", "BLR-07, " * 7_000),
        "backticks": _fill("", "`"),
        "fence lines": _fill("", "```\n"),
        "open fences": _fill("```\n", "~~~\n"),
        "think tags": _fill("", "<think>"),
        "closing tags": _fill("<think>", "</think>"),
        "long thought": _fill("<think>", "ACTION: route\n", "</think>" + V0),
        "unopened thought": _fill("", "thought\n", "</think>" + V0),
        "ACTION lines": _fill("", "ACTION: route\n"),
        "colons": _fill("", ":"),
        "key-like lines": _fill("", "A B-C_D: \n"),
        "600 named blocks": named[: named.rindex("EV_ID")],
        "the same named block": _fill("", f"EV_ID: EV-1\n{V0}"),
        "named blocks, all wrong": _fill("", f"EV_ID: EV-1\n{V0.replace('BLR-07', 'BLR-99')}"),
        "many forecast entries": SIMULATE.replace("BLR-01:0.82:3", "BLR-01:0.82:3 | " * 4_000) + V0,
        "bars in the forecast": SIMULATE.replace("BLR-01:0.82:3", "|" * 60_000) + V0,
        "colons in the forecast": SIMULATE.replace("BLR-01:0.82:3", ":" * 60_000) + V0,
        "forecast load digits": SIMULATE.replace("0.85", "0." + "8" * 60_000) + V0,
        "Kannada prose": _fill("", "ಬೆಂಗಳೂರು "),
        "full-width digits": V0.replace("MINUTES: 0", "MINUTES: " + "１" * 20_000),
        "no-break spaces": V0.replace("shortest", "\u00a0" * 30_000),
        "line separators": V0.replace("shortest", "\u2028" * 20_000),
        "NUL": _fill("", "\x00"),
        "exactly 64 KiB": _fill(V0, " "),
        "2 MB": "x" * 2_000_000,
    }


def best_seconds(text: str, repeats: int) -> float:
    """The least process time of one judgement: what the text costs, without the machine's other work."""
    best = float("inf")
    for _ in range(repeats):
        start = time.process_time()
        parse_action(text, CITY)
        best = min(best, time.process_time() - start)
    return best


def answers_per_second(seconds: float = 1.0) -> float:
    """Valid single blocks, all different."""
    texts = [
        V0.replace("BLR-07", f"BLR-{1 + i % 25:02d}").replace("0.8", f"0.{i % 97:02d}") for i in range(2_000)
    ]
    done = 0
    start = time.perf_counter()
    while time.perf_counter() - start < seconds:
        for text in texts:
            if not parse_action(text, CITY).ok:
                raise SystemExit(f"refused: {text!r}")
        done += len(texts)
    return done / (time.perf_counter() - start)


NEAR_VALID = (
    "ACTION: route\nREASON: {}x",
    V0.replace("REASON: ", "REASON: {}").replace("CONFIDENCE: 0.8\n", ""),
)


def blanks_ratio(repeats: int = 30, copies: int = 50) -> float:
    """Time for 4,000 blanks over time for 2,000, the larger over the near-valid texts."""
    return max(_growth(text, repeats, copies) for text in NEAR_VALID)


def _growth(near_valid: str, repeats: int, copies: int) -> float:
    cost = []
    for n in (2_000, 4_000):
        text = near_valid.format(" " * n)
        best = float("inf")
        for _ in range(repeats):
            start = time.process_time()
            for _ in range(copies):
                parse_action(text, CITY)
            best = min(best, time.process_time() - start)
        cost.append(best)
    return cost[1] / cost[0]


_ALPHABET = "\n\r\t :|`~<>/.,-+_0159aAxE\u00a0\u2028\uff11\ud800\x00é"


def mutate(text: str, rng: random.Random) -> str:
    """One to four edits: delete, insert, repeat, swap, change case, cut."""
    for _ in range(rng.randint(1, 4)):
        if not text:
            return rng.choice(SEEDS)
        i = rng.randrange(len(text))
        j = min(len(text), i + rng.randint(1, 30))
        kind = rng.randrange(7)
        if kind == 0:
            text = text[:i] + text[j:]
        elif kind == 1:
            text = text[:i] + "".join(rng.choices(_ALPHABET, k=rng.randint(1, 4))) + text[i:]
        elif kind == 2:
            text = text[:j] + text[i:j] * rng.randint(1, 3) + text[j:]
        elif kind == 3:
            text = text[:i] + text[i:j].swapcase() + text[j:]
        elif kind == 4:
            text = text[:i]
        elif kind == 5:
            lines = text.split("\n")
            rng.shuffle(lines)
            text = "\n".join(lines)
        else:
            other = rng.choice(SEEDS)
            text = text[:i] + other[rng.randrange(len(other)) :]
    return text


def fuzz(count: int, seed: int) -> dict[str, int]:
    """Judges `count` mutated texts; an exception would end the run. Counts verdicts by first code."""
    rng = random.Random(seed)
    verdicts: dict[str, int] = {}
    for _ in range(count):
        text = mutate(rng.choice(SEEDS), rng)
        result = parse_action(text, CITY)
        if result.ok == bool(result.errors) or (result.actions and not result.ok):
            raise SystemExit(f"inconsistent verdict for {text!r}")
        code = "ok" if result.ok else result.errors[0].code
        verdicts[code] = verdicts.get(code, 0) + 1
    return dict(sorted(verdicts.items(), key=lambda kv: -kv[1]))


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fuzz", type=int, default=0, help="mutated texts to judge")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--out", type=Path, help="also write the report to this file")
    args = parser.parse_args(argv)
    if args.out is not None:
        check_writable(args.out)

    rate = max(answers_per_second() for _ in range(3))
    times = {name: 1e3 * best_seconds(text, 5) for name, text in nasty_texts().items()}
    slowest = max(times, key=lambda k: times[k])
    ratio = blanks_ratio()
    report: dict[str, object] = {
        "answers_per_s": round(rate),
        "worst_ms": round(times[slowest], 3),
        "worst_text": slowest,
        "texts": len(times),
        "blanks_ratio": round(ratio, 2),
    }
    if args.fuzz:
        start = time.perf_counter()
        report["fuzz"] = {"texts": args.fuzz, "seed": args.seed, "verdicts": fuzz(args.fuzz, args.seed)}
        report["fuzz_s"] = round(time.perf_counter() - start, 1)
    good = rate >= MIN_ANSWERS_S and times[slowest] <= MAX_MS and ratio < MAX_RATIO
    if args.out is not None:
        budget = {"answers_per_s": MIN_ANSWERS_S, "worst_ms": MAX_MS, "blanks_ratio": MAX_RATIO}
        about = provenance(load_city("bengaluru"))
        whole = {"schema": "evgrid.parser.1", **report, "budget": budget, "met": good, "provenance": about}
        write_atomic(args.out, to_json(whole))
    if args.json:
        print(json.dumps(report))
    else:
        for name, ms in sorted(times.items(), key=lambda kv: -kv[1])[:8]:
            print(f"{ms:8.3f} ms  {name}")
        for key, value in report.items():
            print(f"{key}: {value}")
    if not good:
        print(
            f"over budget: needs {MIN_ANSWERS_S:.0f} answers/s, {MAX_MS} ms, ratio < {MAX_RATIO}",
            file=sys.stderr,
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
