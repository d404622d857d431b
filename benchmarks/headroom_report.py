"""Tables and bars of the headroom report, from records of episodes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ev_grid_oracle.evaluation.paired import half_width

Values = Mapping[str, float]
Records = dict[tuple[str, str, int], Values]
"""(policy, scenario, index) -> values of the episode."""

Bar = dict[str, object]


def rows(records: Records, policy: str, scenario: str) -> dict[int, Values]:
    return {k: v for (p, s, k), v in records.items() if p == policy and s == scenario}


def pairs(records: Records, ours: str, theirs: str, scenarios: Sequence[str], key: str) -> list[tuple[float, float]]:
    """(ours, theirs) of one value on every evening that both have played."""
    out = []
    for scenario in scenarios:
        a, b = rows(records, ours, scenario), rows(records, theirs, scenario)
        for k in sorted(a.keys() & b.keys()):
            if a[k].get(key) is not None and b[k].get(key) is not None:
                out.append((a[k][key], b[k][key]))
    return out


def change(pair: Sequence[tuple[float, float]]) -> dict[str, float] | None:
    """Mean change of ours against theirs in per cent of theirs, with its 95 % interval and t."""
    n = len(pair)
    base = math.fsum(b for _, b in pair) / n if n else 0.0
    if n < 2 or base == 0.0:
        return None
    d = [a - b for a, b in pair]
    mean = math.fsum(d) / n
    half = half_width(d, mean)
    sd = math.sqrt(math.fsum((x - mean) ** 2 for x in d) / (n - 1) / n)
    scale = 100.0 / abs(base)
    return {
        "n": n, "pct": mean * scale, "low": (mean - half) * scale, "high": (mean + half) * scale,
        "t": mean / sd if sd > 0 else 0.0, "base": base,
    }  # fmt: skip


def lost_pairs(records: Records, ours: str, theirs: str, scenario: str) -> list[tuple[float, float]]:
    lost = pairs(records, ours, theirs, [scenario], "lost")
    stranded = pairs(records, ours, theirs, [scenario], "stranded")
    return [(a + c, b + d) for (a, b), (c, d) in zip(lost, stranded, strict=True)]


def tables(records: Records, scenarios: Sequence[str]) -> dict[str, object]:
    """Means by scenario and policy, and paired changes."""
    keys = ("minutes_to_charged", "lost_share", "stranded", "walkin_minutes_to_charged", "walkin_lost_share",
            "flexible_late_minutes", "overload_kva_min", "overload_minutes", "total_reward", "composite_car_minutes",
            "avoidable_car_minutes", "floor", "anti_cheat_steps", "ticks_per_s")  # fmt: skip
    out: dict[str, object] = {}
    for scenario in scenarios:
        entry: dict[str, object] = {}
        for policy in ("baseline", "greedy_counting", "planner", "clairvoyant"):
            found = rows(records, policy, scenario)
            if not found:
                continue
            means = {}
            for key in keys:
                values = [v[key] for v in found.values() if v.get(key) is not None]
                if values:
                    means[key] = math.fsum(values) / len(values)
            entry[policy] = {"n": len(found), **means}
        out[scenario] = entry
    return out


def _bar(name: str, value: str, met: bool | None, detail: object = None) -> Bar:
    return {"bar": name, "value": value, "met": met, "detail": detail}


def _each(records: Records, scenarios: Sequence[str], key: str) -> dict[str, dict[str, float]]:
    found = {s: change(pairs(records, "planner", "baseline", [s], key)) for s in scenarios}
    return {s: c for s, c in found.items() if c is not None}


def _pct(c: Mapping[str, float] | None) -> str:
    return "-" if c is None else f"{c['pct']:+.2f} % [{c['low']:+.2f}, {c['high']:+.2f}]"


def against_baseline(records: Records, scenarios: Sequence[str]) -> list[Bar]:
    """The planner's bars against the baseline."""
    out = []
    minutes = _each(records, scenarios, "minutes_to_charged")
    good = sum(c["pct"] <= -10.0 and c["high"] < 0.0 for c in minutes.values())
    worse = sum(c["low"] > 0.0 for c in minutes.values())
    out.append(_bar("minutes_to_charged -10 % in at least 6 of 11 scenarios, worse in none",
                    f"{good} scenarios, worse in {worse}", good >= 6 and worse == 0,
                    {s: _pct(c) for s, c in minutes.items()}))  # fmt: skip
    reached, detail = 0, {}
    for s in scenarios:
        c = change(lost_pairs(records, "planner", "baseline", s))
        share = [v["lost_share"] + v["stranded_share"] for v in rows(records, "baseline", s).values()]
        if c is None or not share:
            continue
        level = math.fsum(share) / len(share)
        need = -50.0 if level <= 0.10 else -30.0
        reached += c["pct"] <= need and c["high"] < 0.0
        detail[s] = f"{_pct(c)}, baseline loses {100 * level:.1f} %, bar {need:.0f} %"
    out.append(_bar("lost + stranded -50 % where the baseline loses at most 10 %, -30 % elsewhere, in at least 9",
                    f"{reached} scenarios", reached >= 9, detail))  # fmt: skip
    walk = _each(records, scenarios, "walkin_minutes_to_charged")
    top = max((c["pct"] for c in walk.values()), default=0.0)
    out.append(_bar("walk-in minutes never more than +2 %", f"at most {top:+.2f} %", top <= 2.0,
                    {s: _pct(c) for s, c in walk.items()}))  # fmt: skip
    reward = _each(records, scenarios, "total_reward")
    higher = sum(c["pct"] > 0.0 and c["low"] > 0.0 for c in reward.values())
    out.append(_bar("higher reward in at least 10 scenarios", f"{higher} scenarios", higher >= 10,
                    {s: _pct(c) for s, c in reward.items()}))  # fmt: skip
    for key, need, text in (("overload_kva_min", -50.0, "overload kVA-minutes -50 % over all scenarios"),
                            ("overload_minutes", -30.0, "overload minutes -30 % over all scenarios")):  # fmt: skip
        c = change(pairs(records, "planner", "baseline", scenarios, key))
        out.append(_bar(text, _pct(c), c is not None and c["pct"] <= need and c["high"] < 0.0))
    return out


def against_greedy(records: Records, scenarios: Sequence[str]) -> list[Bar]:
    """The planner's bars against greedy_counting, and its aims."""
    c = change(pairs(records, "planner", "greedy_counting", scenarios, "composite_car_minutes"))
    kva = change(pairs(records, "planner", "greedy_counting", scenarios, "overload_kva_min"))
    t = c["t"] if c else 0.0
    detail = {s: _pct(change(pairs(records, "planner", "greedy_counting", [s], "composite_car_minutes"))) for s in scenarios}
    speed = [v["ticks_per_s"] for (p, _, _), v in records.items() if p == "planner" and v.get("ticks_per_s")]
    rate = sorted(speed)[len(speed) // 2] if speed else 0.0
    return [
        _bar("composite at least 0.5 % below greedy_counting's, paired t < -3", f"{_pct(c)}, t {t:.1f}",
             c is not None and c["pct"] <= -0.5 and t < -3.0, detail),
        _bar("no more overload kVA-minutes than greedy_counting", _pct(kva), kva is not None and kva["pct"] <= 0.0),
        _bar("aim: composite 1.5 % below greedy_counting's", _pct(c), c is not None and c["pct"] <= -1.5),
        _bar("aim: 15 % less overload (kVA-minutes)", _pct(kva), kva is not None and kva["pct"] <= -15.0),
        _bar("at least 25 ticks/s (aim 100), one process of the run", f"{rate:.0f} ticks/s", rate >= 25.0),
    ]  # fmt: skip


def bounds(records: Records, scenarios: Sequence[str]) -> list[Bar]:
    """What the clairvoyant says about the room; no bar."""
    out = []
    for other in ("greedy_counting", "planner"):
        c = change(pairs(records, "clairvoyant", other, scenarios, "composite_car_minutes"))
        out.append(_bar(f"clairvoyant against {other} (information only)", _pct(c), None,
                        {s: _pct(change(pairs(records, "clairvoyant", other, [s], "composite_car_minutes")))
                         for s in scenarios}))  # fmt: skip
    for starts in (("planner", "greedy_counting"), ("planner", "greedy_counting", "baseline")):
        spread = []
        for (policy, _, _), values in records.items():
            trails = values.get("trails") if policy == "clairvoyant" else None
            if isinstance(trails, Mapping) and all(s in trails for s in starts):
                ends = [trails[s][-1] for s in starts]
                spread.append(100.0 * (max(ends) - min(ends)) / min(ends))
        if spread:
            out.append(_bar(f"spread of the clairvoyant's ends from {len(starts)} starts: {', '.join(starts)} (information only)",
                            f"mean {sum(spread) / len(spread):.2f} %, at most {max(spread):.2f} %, n {len(spread)}", None))  # fmt: skip
    return out


def bars(records: Records, scenarios: Sequence[str]) -> list[Bar]:
    """Every bar as one row."""
    return [*against_baseline(records, scenarios), *against_greedy(records, scenarios), *bounds(records, scenarios)]


def document(report: Mapping[str, object]) -> str:
    """docs/headroom.md."""
    about = report["provenance"]
    out = ["# Headroom", "",
           "What a dispatcher can reach in this world: the baseline, `greedy_counting`, `planner`, and `clairvoyant`, an "
           "offline search on the true future (what it found is a room that exists; its moves re-assign cars only, the start's "
           "load_shifts stay, so a start without any ends higher). Paired on the same evenings, 95 % intervals. "
           "Written by `benchmarks/headroom.py` from `artifacts/headroom.json`.", "",
           f"Command `{about['command']}`, seed {report['seed']}, commit {str(about['commit'])[:10]}"  # type: ignore[index]
           f"{' (modified)' if about['modified'] else ''}, {about['machine']['cpu']}, "  # type: ignore[index]
           f"{about['machine']['cores']} cores.", "",  # type: ignore[index]
           "## Bars", "", "| bar | value [95 % interval] | met |", "| --- | --- | --- |"]  # fmt: skip
    for bar in report["bars"]:  # type: ignore[attr-defined]
        met = {True: "yes", False: "**no**", None: "-"}[bar["met"]]
        out.append(f"| {bar['bar']} | {bar['value']} | {met} |")
    out += ["", "## By scenario", "",
            "| scenario | policy | n | minutes to charged | lost % | walk-in minutes | overload kVA min | overload min | "
            "reward | composite | avoidable |", "| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: | --: |"]  # fmt: skip
    for scenario, entry in report["tables"].items():  # type: ignore[attr-defined]
        for policy, m in entry.items():
            cells = [f"{m[k]:.{d}f}" if k in m else "-" for k, d in (("minutes_to_charged", 1),)]
            cells.append(f"{100 * m['lost_share']:.1f}" if "lost_share" in m else "-")
            for key, digits in (("walkin_minutes_to_charged", 1), ("overload_kva_min", 0), ("overload_minutes", 0),
                                ("total_reward", 2), ("composite_car_minutes", 0), ("avoidable_car_minutes", 0)):  # fmt: skip
                cells.append(f"{m[key]:.{digits}f}" if key in m else "-")
            out.append(f"| {scenario} | {policy} | {m['n']} | {' | '.join(cells)} |")
    out += ["", "## By scenario, in per cent", ""]
    for bar in report["bars"]:  # type: ignore[attr-defined]
        if isinstance(bar["detail"], Mapping):
            out += [f"**{bar['bar']}**", ""]
            out += [f"- {scenario}: {text}" for scenario, text in bar["detail"].items()]
            out.append("")
    return "\n".join(out).rstrip() + "\n"
