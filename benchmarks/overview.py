"""Writes docs/benchmarks.md: what each measurement is, how to run it, and what the stored evidence says.

    python benchmarks/overview.py [--check]

Sentences come from the scripts' own first lines, figures from artifacts/*.json; nothing is typed in. With --check it
exits 1 where the page is stale. A measurement without a stored file says so.
"""

from __future__ import annotations

import argparse
import ast
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ev_grid_oracle.evaluation.writing import write_atomic

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
Found = Mapping[str, Any]


@dataclass(frozen=True)
class Measurement:
    """One command.

    Attributes:
        source: file whose docstring's first sentence says what it measures.
        page: the longer page it writes, if any.
        say: one line of figures from the artifact.
        otherwise: where the result goes if not into an artifact.
    """

    command: str
    source: str
    artifact: str | None = None
    page: str | None = None
    say: Callable[[Found], str] | None = None
    otherwise: str = "printed, not stored"


def _world(d: Found) -> str:
    text = (f"{d['ticks_per_s_1_thread']:,.0f} ticks/s on one thread, {d['ticks_per_s_all_threads']:,.0f} on {d['threads']}, "
            f"{d['session_ticks_per_s']:,.0f} through a session; fork {d['fork_us']:.1f} us; {d['bytes_per_env']:,} bytes an "
            "environment")  # fmt: skip
    scaling = d.get("scaling")
    if scaling:
        spread = ", ".join(f"{order.replace('_', ' ')} {value:.2f}" for order, value in scaling["worst_over_fastest"].items())
        text += f"; dearest point over the cheapest: {spread}"
    return text


def _headroom(d: Found) -> str:
    met = sum(bar["met"] is True for bar in d["bars"])
    judged = sum(bar["met"] is not None for bar in d["bars"])
    n = {policy: min(e[policy]["n"] for e in d["tables"].values()) for policy in ("planner", "clairvoyant")
         if all(policy in e for e in d["tables"].values())}  # fmt: skip
    played = ", ".join(f"{policy} on {count}" for policy, count in n.items())
    return f"{met} of {judged} bars and aims met; evenings a scenario: {played}"


def _integrity(d: Found) -> str:
    parts = [f"{'holds' if d['passed'] else 'does not hold'}: {d['evaluations']} policies by {d['search']} and at random on "
             f"{d['evenings']} evenings a scenario, {len(d['holes'])} holes"]  # fmt: skip
    parts += [f"{key.replace('_', ' ')}: rank correlation {d[key]['spearman']:.3f}, useless policies above the baseline "
              f"{len(d[key]['useless_above_baseline'])}" for key in ("reward", "reward_no_flags")]  # fmt: skip
    return "; ".join(parts)


def _invariants(d: Found) -> str:
    span = d["ticks_of_an_episode"]
    return (f"{d['episodes']:,} episodes of {span['least']} to {span['most']} ticks, {d['ticks']:,} ticks, {d['answers']:,} answers; "
            f"episodes with a violation {d['violations']}")  # fmt: skip


def _powerflow(d: Found) -> str:
    return "; ".join(f"{name.replace('_', '-')} {judge['version']}: worst {judge['worst_error_pu']:.1e} pu over "
                     f"{judge['loadings']:,} loadings" for name, judge in d["judges"].items())  # fmt: skip


def _sensitivity(d: Found) -> str:
    base = [row["planner against baseline"]["composite_car_minutes"]["pct"] for row in d["rows"].values()]
    return (f"planner's composite against the baseline {min(base):+.1f} to {max(base):+.1f} % over {len(base)} rows, "
            f"{d['episodes']} evenings a scenario")  # fmt: skip


def _validation(d: Found) -> str:
    close = sum(abs(row["difference_pct"]) <= 10 for row in d["rows"])
    return f"{close} of {len(d['rows'])} figures within 10 %"


def _parser(d: Found) -> str:
    text = f"{d['answers_per_s']:,} answers/s, worst 64 KiB text {d['worst_ms']:.1f} ms"
    fuzz = d.get("fuzz")
    return text + (f", {fuzz['texts']:,} mutated texts without an exception" if fuzz else "")


def _same(d: Found) -> str:
    differ = ", ".join(f"{row['episodes_different']} from {row['commit']}" for row in d["compared"])
    return f"of {d['episodes']:,} episodes ({d['ticks']:,} ticks) differ: {differ}"


MEASUREMENTS = (
    Measurement("evgrid bench world --json --out artifacts/bench_world.json", "ev_grid_oracle/evaluation/bench_world.py",
                "bench_world.json", None, _world),
    Measurement("evgrid bench world --scaling --json", "ev_grid_oracle/evaluation/bench_scaling.py"),
    Measurement("evgrid bench server --json", "ev_grid_oracle/evaluation/bench_server.py"),
    Measurement("python benchmarks/headroom.py --episodes 100 --clairvoyant 20", "benchmarks/headroom.py", "headroom.json",
                "headroom.md", _headroom),
    Measurement("python benchmarks/episode_score.py", "benchmarks/episode_score.py",
                otherwise="`ev_grid_oracle/evaluation/data/episode_score.json`"),
    Measurement("python benchmarks/integrity.py --evaluations 2000 --work runs/integrity.jsonl",
                "ev_grid_oracle/evaluation/bench_integrity.py", "integrity.json", None, _integrity),
    Measurement("python benchmarks/invariants.py --episodes 5000", "benchmarks/invariants.py", "invariants.json", None, _invariants),
    Measurement("python benchmarks/same_results.py --old COMMIT", "benchmarks/same_results.py", "same_results.json", None, _same),
    Measurement("python benchmarks/powerflow.py --loadings 1000", "benchmarks/powerflow.py", "powerflow.json", None, _powerflow),
    Measurement("python benchmarks/sensitivity.py --episodes 8", "benchmarks/sensitivity.py", "sensitivity.json", "sensitivity.md",
                _sensitivity),
    Measurement("python benchmarks/validation.py --days 16", "benchmarks/validation.py", "validation.json", "validation.md",
                _validation),
    Measurement("python benchmarks/parser.py --fuzz 1000000 --out artifacts/parser.json", "benchmarks/parser.py", "parser.json", None,
                _parser),
    Measurement("python benchmarks/road.py", "benchmarks/road.py"),
    Measurement("python benchmarks/reference_evening.py --check", "benchmarks/reference_evening.py"),
    Measurement("python benchmarks/start_occupancy.py", "benchmarks/start_occupancy.py", otherwise="a table of the pack"),
    Measurement("python benchmarks/tune_greedy.py", "benchmarks/tune_greedy.py"),
)  # fmt: skip


def first_sentence(path: Path) -> str:
    """Of the module's docstring, on one line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split())


def stored(root: Path, m: Measurement) -> str:
    """What the artifact says, with its commit and command; or that there is none."""
    if m.artifact is None or m.say is None:
        return m.otherwise
    path = root / "artifacts" / m.artifact
    if not path.exists():
        return f"`artifacts/{m.artifact}`: not there yet"
    found: Found = json.loads(path.read_text(encoding="utf-8"))
    about: Found = found.get("provenance") or {}
    commit = str(about.get("commit"))[:10] + (" (modified)" if about.get("modified") else "")
    return f"{m.say(found)} (`artifacts/{m.artifact}`, commit {commit}, by `{about.get('command')}`)"


def document(root: Path = ROOT) -> str:
    """docs/benchmarks.md."""
    out = ["# Measurements", "",
           "Every figure that the documents name comes from one of these commands. They run from a checkout; most of those "
           "under `benchmarks/` that take long keep a work file under `runs/`, and go on where they were when called again. "
           "Speeds are of the machine that the file names and want a quiet one; everything else is equal on any machine. "
           "Written by `benchmarks/overview.py` from the scripts and from `artifacts/`.", "",
           "| command | what it measures | what is stored |", "| --- | --- | --- |"]  # fmt: skip
    for m in MEASUREMENTS:
        where = f" Page: [{m.page}]({m.page})." if m.page else ""
        out.append(f"| `{m.command}` | {first_sentence(root / m.source)}{where} | {stored(root, m)} |")
    return "\n".join(out) + "\n"


def main(argv: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args(argv)
    text = document()
    if args.check:
        fresh = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
        print(f"{PAGE.name} is {'current' if fresh else 'stale: python benchmarks/overview.py'}")
        return int(not fresh)
    write_atomic(PAGE, text)
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
