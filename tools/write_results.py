"""Writes the README's results from artifacts/oracle_eval.json and headroom.json; `--check` exits 1 where they differ."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- results: tools/write_results.py -->", "<!-- end of results -->"
SHOWN = ("baseline", "greedy_counting", "oracle", "planner")
KEY = "composite_car_minutes"


def _read(name: str) -> dict[str, Any]:
    return dict(json.loads((ROOT / "artifacts" / name).read_text(encoding="utf-8")))


def _change(d: Mapping[str, float], holm: bool = False) -> str:
    """Difference in per cent of the reference with its interval; a tie where Holm's p is not below 0.05."""
    scale = d["per_cent"] / d["mean"] if d["mean"] else 0.0
    low, high = sorted((scale * d["low"], scale * d["high"]))
    text = f"{d['per_cent']:+.2f} [{low:+.2f}, {high:+.2f}]"
    return f"{text} tie" if holm and d["p_holm"] >= 0.05 else text


def table() -> str:
    """Means of the dispatchers, and the paired differences by scenario."""
    data, headroom = _read("oracle_eval.json"), _read("headroom.json")
    means, against = data["means"], data["against"]
    pooled = against["oracle"]["greedy_counting"]["pooled"][KEY]
    lines = [
        "| dispatcher | minutes to charged | walk-ins' minutes | requests lost | overload, kVA-min | composite, car-min |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name in SHOWN:
        m = means[name]
        lines.append(
            f"| `{name}` | {m['minutes_to_charged']:.1f} | {m['walkin_minutes_to_charged']:.1f} | {m['lost']:.1f} | "
            f"{m['overload_kva_min']:,.0f} | {m[KEY]:,.0f} |"
        )
    lines += [
        "",
        "Composite, paired difference in per cent with 95 % intervals (Holm over scenarios):",
        "",
        "| scenario | n | oracle to baseline | oracle to greedy_counting | oracle to planner |",
        "|---|--:|--:|--:|--:|",
    ]
    for scenario in against["oracle"]["baseline"]["scenarios"]:
        rows = [
            against["oracle"][ref]["scenarios"][scenario][KEY]
            for ref in ("baseline", "greedy_counting", "planner")
        ]
        lines.append(
            f"| {scenario} | {rows[0]['n']} | " + " | ".join(_change(d, holm=True) for d in rows) + " |"
        )
    every = [against["oracle"][ref]["pooled"][KEY] for ref in ("baseline", "greedy_counting", "planner")]
    lines.append(f"| all | {pooled['n']} | " + " | ".join(_change(d) for d in every) + " |")
    answers = data["answers"]["oracle"]
    about = data["provenance"]
    bar = next(b for b in headroom["bars"] if b["bar"].startswith("composite at least 0.5"))
    lines += [
        "",
        f"The oracle overloads more than the planner ({_change(against['oracle']['planner']['pooled']['overload_kva_min'])} % "
        f"kVA-minutes) and loses more requests than `greedy_counting` "
        f"({_change(against['oracle']['greedy_counting']['pooled']['lost'])} %), against shorter minutes of walk-ins. "
        f"{answers['answers']:,.0f} answers, {answers['invalid']:.0f} invalid, {answers['refused']:.0f} refused. "
        f"`{about['command']}`, seed {data['seed']}, commit {about['commit'][:10]}. Planner against `greedy_counting` on 100 "
        f"evenings a scenario: {bar['value']} ([docs/headroom.md](docs/headroom.md)); where the oracle wins and loses: "
        "[docs/explanation/oracle.md](docs/explanation/oracle.md).",
    ]
    return "\n".join(lines)


def main() -> int:
    """Exit code 1 when `--check` finds another text."""
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
