"""Writes the README's results table from artifacts/headroom.json; `--check` exits 1 where it differs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- results: tools/write_results.py -->", "<!-- end of results -->"


def table() -> str:
    """Means by scenario of the three dispatchers, and what the pooled comparison says."""
    data = json.loads((ROOT / "artifacts" / "headroom.json").read_text(encoding="utf-8"))
    lines = [
        "| scenario | n | minutes to charged: baseline / greedy / planner | lost, % | overload, kVA-min | composite |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for scenario, by in data["tables"].items():
        three = [by[p] for p in ("baseline", "greedy_counting", "planner")]

        def cell(key: str, form: str, scale: float = 1.0, rows: list[dict[str, float]] = three) -> str:
            return " / ".join(format(scale * row[key], form) for row in rows)

        lines.append(
            f"| {scenario} | {three[0]['n']:.0f} | {cell('minutes_to_charged', '.0f')} | "
            f"{cell('lost_share', '.1f', 100.0)} | {cell('overload_kva_min', ',.0f')} | "
            f"{cell('composite_car_minutes', ',.0f')} |"
        )
    bars = {b["bar"]: b for b in data["bars"]}
    pooled = next(b for name, b in bars.items() if name.startswith("composite at least 0.5"))
    missed = [
        b["bar"] + ": " + b["value"] for b in data["bars"] if b["met"] is False and "aim" not in b["bar"]
    ]
    lines += [
        "",
        f"Planner against `greedy_counting`, pooled, paired, composite car-minutes: {pooled['value']}. "
        + (f"Not met: {'; '.join(missed)}. " if missed else "")
        + f"`{data['provenance']['command']}`, seed {data['seed']}, commit {data['provenance']['commit'][:10]}; "
        "every bar with its interval: [docs/headroom.md](docs/headroom.md).",
    ]
    return "\n".join(lines)


def main() -> int:
    path = ROOT / "README.md"
    text = path.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    new = f"{head}{BEGIN}\n{table()}\n{END}{rest.split(END)[1]}"
    if "--check" in sys.argv[1:]:
        return int(new != text)
    path.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
