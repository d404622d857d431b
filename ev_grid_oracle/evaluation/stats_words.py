"""What a test says, in words: a verdict per entry and a summary of the whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

NO_DIFFERENCE = "no difference shown"
NO_DATA = "no data"

Entry = Mapping[str, object]
Nested = Mapping[str, Mapping[str, Mapping[str, Entry]]]


def _number(entry: Entry, key: str) -> float | None:
    value = entry.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def verdict(entry: Entry, alpha: float) -> str:
    """``better``, ``worse``, ``higher``, ``lower``, ``no difference shown`` or ``no data``, after Holm.

    `entry` is one of paired_continuous (better: lower, higher, neither) or of paired_mcnemar (fewer).
    """
    p = _number(entry, "p_holm")
    if p is None:
        return NO_DATA
    if entry["better"] == "fewer":
        side = _number(entry, "sign") or 0.0
    else:
        mean = _number(entry, "mean") or 0.0
        side = mean if entry["better"] != "lower" else -mean
    if p >= alpha or side == 0.0:
        return NO_DIFFERENCE
    if entry["better"] == "neither":
        return "higher" if side > 0.0 else "lower"
    return "better" if side > 0.0 else "worse"


def short(value: float) -> str:
    """A number in three figures, from 1,000 on in whole numbers with thousands set apart."""
    if value == 0.0:
        return "0"
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def p_text(p: float | None) -> str:
    """p in three figures, never "0.000"."""
    if p is None:
        return "no p"
    if p < 0.001:
        return "p < 0.001"
    return f"p = {p:.3f}" if p < 0.9995 else "p = 1"


def _line(scenario: str, policy: str, reference: str, key: str, entry: Entry) -> str:
    head = f"{scenario}, {policy} against {reference}: {key}"
    mean, low, high = (_number(entry, k) for k in ("mean", "low", "high"))
    if mean is None:
        return f"{head}: {NO_DATA}."
    unit = f" {entry['unit']}" if entry.get("unit") else ""
    change = _number(entry, "change_pct")
    size = f"{'+' if mean > 0.0 else ''}{short(mean)}{unit}" + (
        f" ({change:+.2f} %)" if change is not None else ""
    )
    span = "no interval" if low is None or high is None else f"95 % [{short(low)}, {short(high)}]"
    p = p_text(_number(entry, "p_holm"))
    return f"{head} {size}, {span}, n {entry['n']}, {p}: {entry['verdict']}."


def summary(numbers: Nested, tables: Nested, reference: str, primary: str) -> list[str]:
    """Sentences for people: the primary value of every scenario and policy, then what all tests came to."""
    out: list[str] = []
    for scenario, values in numbers.items():
        for policy, entry in values.get(primary, {}).items():
            out.append(_line(scenario, policy, reference, primary, entry))
    policies = list(dict.fromkeys(p for values in numbers.values() for es in values.values() for p in es))
    for policy in policies:
        entries = [
            entry
            for nested in (numbers, tables)
            for values in nested.values()
            for by_policy in values.values()
            for name, entry in by_policy.items()
            if name == policy
        ]
        out.append(_count(policy, reference, entries))
    return out


def _count(policy: str, reference: str, entries: Sequence[Entry]) -> str:
    counts = dict.fromkeys(("better", "worse", "higher", "lower", NO_DIFFERENCE, NO_DATA), 0)
    for entry in entries:
        counts[str(entry["verdict"])] += 1
    tested = sum(counts.values()) - counts[NO_DATA]
    head = f"{policy} against {reference}: {tested} tests"
    if tested and counts[NO_DIFFERENCE] == tested:
        equal = all(
            (entry.get("ties", entry.get("n")) == entry.get("n")) for entry in entries if "ties" in entry
        )
        told = "every paired difference is exactly 0" if equal else "none stands after Holm"
        return f"{head}, {told}: {NO_DIFFERENCE}."
    neutral = counts["higher"] + counts["lower"]
    return (
        f"{head}, {counts['better']} better, {counts['worse']} worse, "
        f"{neutral} differ where neither side is better, {counts[NO_DIFFERENCE]} {NO_DIFFERENCE}."
    )
