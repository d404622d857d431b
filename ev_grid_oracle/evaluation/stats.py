"""Fair statistics of an evaluation: every policy against the reference, per scenario and value.

    from ev_grid_oracle.evaluation.stats import fair
    from ev_grid_oracle.evaluation.stats_read import read_results
    report = fair(read_results("results.json"))

One test per question, chosen before looking: exact McNemar for facts, sign flips of the paired difference for
numbers; Holm's correction over the scenarios of each (value, policy). `PRIMARY` is the value that a claim of
"better" is about; all others describe. What is not shown is called "no difference shown": that is not proof of
equality, and docs/explanation/statistics.md says how small a difference n episodes can show.
"""

from __future__ import annotations

import gc
import platform
from collections.abc import Callable, Mapping
from importlib.metadata import version

from ev_grid_oracle.evaluation.paired import half_width, join, mean_of
from ev_grid_oracle.evaluation.provenance import command_line
from ev_grid_oracle.evaluation.stats_binary import CONFIDENCE, mcnemar, statsmodels, wilson
from ev_grid_oracle.evaluation.stats_continuous import RESAMPLES, compare, iqm
from ev_grid_oracle.evaluation.stats_read import FactRows, Results, ScenarioResults, ValueRows
from ev_grid_oracle.evaluation.stats_words import NO_DIFFERENCE, summary, verdict
from ev_grid_oracle.evaluation.values import UNITS, better_side
from ev_grid_oracle.schema.errors import OptionError
from ev_grid_oracle.version import __version__

SCHEMA = "evgrid.fair/1"
ALPHA = 0.05
PRIMARY = "composite_car_minutes"
LIBRARIES = ("numpy", "scipy", "statsmodels")
ORIGIN = ("commit", "modified", "city", "code_sha256", "policies_sha256")
"""What the statistics' own provenance takes over from the evaluation's: the numbers are that code's, whoever adds them up."""

Entry = dict[str, object]
Nested = dict[str, dict[str, dict[str, Entry]]]
"""scenario -> value -> policy -> entry."""

Progress = Callable[[str], None]


def holm(p: Mapping[str, float | None], alpha: float = ALPHA) -> dict[str, Entry]:
    """Holm's adjusted p-values of one family by name; an entry without a p-value is no member of it."""
    members = {name: value for name, value in p.items() if value is not None}
    out: dict[str, Entry] = {name: {"p": None, "p_holm": None, "reject": False} for name in p}
    if len(members) == 1:  # nothing to correct for; statsmodels collects garbage at each call, which is slow
        ((name, value),) = members.items()
        out[name] = {"p": value, "p_holm": value, "reject": value <= alpha}
    elif members:
        rejected, adjusted, _, _ = statsmodels("multitest").multipletests(
            list(members.values()), alpha=alpha, method="holm"
        )
        for name, yes, value in zip(members, rejected, adjusted, strict=True):
            out[name] = {"p": members[name], "p_holm": float(value), "reject": bool(yes)}
    return out


def _means(rows: ValueRows, key: str) -> Entry:
    """Mean of one policy's value with its 95 % t interval, and the interquartile mean."""
    import numpy as np

    there = [x for x in (v.get(key) for _, v in rows) if x is not None]
    mean = mean_of(there)
    half = half_width(there, mean) if mean is not None and len(there) > 1 else None
    return {
        "n": len(there),
        "mean": mean,
        "low": None if mean is None or half is None else mean - half,
        "high": None if mean is None or half is None else mean + half,
        "iqm": iqm(np.array(there)) if there else None,
    }


def _fact_pairs(ours: FactRows, theirs: FactRows, key: str) -> list[tuple[bool | None, bool | None]]:
    as_numbers = [[(seed, dict(facts.items())) for seed, facts in rows] for rows in (ours, theirs)]
    pairs = join(as_numbers[0], as_numbers[1])
    return [
        (None if a.get(key) is None else bool(a[key]), None if b.get(key) is None else bool(b[key]))
        for a, b in pairs
    ]


def _adjust(tests: Nested, alpha: float) -> dict[str, dict[str, dict[str, Entry]]]:
    """Holm over the scenarios of every (value, policy); writes p_holm into the tests too."""
    families: dict[str, dict[str, dict[str, float | None]]] = {}
    for scenario, values in tests.items():
        for key, policies in values.items():
            for policy, entry in policies.items():
                p = entry["p"]
                families.setdefault(key, {}).setdefault(policy, {})[scenario] = (
                    p if isinstance(p, float) else None
                )
    out: dict[str, dict[str, dict[str, Entry]]] = {}
    for key, by_policy in families.items():
        for policy, family in by_policy.items():
            found = holm(family, alpha)
            out.setdefault(key, {})[policy] = found
            for scenario, result in found.items():
                tests[scenario][key][policy]["p_holm"] = result["p_holm"]
    return out


def _run(
    run: ScenarioResults, reference: str, seed: int, resamples: int
) -> tuple[
    dict[str, dict[str, Entry]],
    dict[str, dict[str, Entry]],
    dict[str, dict[str, Entry]],
    dict[str, dict[str, Entry]],
]:
    others = [p for p in run.policies if p != reference]
    means = {key: {p: _means(run.values[p], key) for p in run.policies} for key in run.value_names()}
    numbers: dict[str, dict[str, Entry]] = {}
    for key in run.value_names():
        numbers[key] = {}
        for policy in others:
            pairs = [(a.get(key), b.get(key)) for a, b in join(run.values[policy], run.values[reference])]
            better = better_side(key)
            entry: Entry = {"unit": UNITS.get(key, ""), "better": better}
            numbers[key][policy] = entry | compare(pairs, better, seed=seed, resamples=resamples).as_dict()
    rates: dict[str, dict[str, Entry]] = {}
    tables: dict[str, dict[str, Entry]] = {}
    for key in run.fact_names():
        rates[key] = {}
        for policy in run.policies:
            seen = [f for f in (facts.get(key) for _, facts in run.facts[policy]) if f is not None]
            rates[key][policy] = wilson(sum(seen), len(seen)).as_dict()
        tables[key] = {}
        for policy in others:
            table = mcnemar(_fact_pairs(run.facts[policy], run.facts[reference], key))
            tables[key][policy] = {"better": "fewer", **table.as_dict(), "sign": table.better}
    return means, numbers, rates, tables


def fair(
    results: Results,
    *,
    reference: str | None = None,
    seed: int = 0,
    resamples: int = RESAMPLES,
    progress: Progress = lambda text: None,
) -> dict[str, object]:
    """The fair-evaluation JSON: ``means``, ``wilson``, ``paired_mcnemar``, ``paired_continuous``, ``holm``.

    Args:
        reference: the policy that the others are compared with; the first of the file by default.
        seed: of the resampling draws; equal input and seed give equal bytes.

    Raises:
        OptionError: the reference is unknown, there is nothing to compare, or the rows do not pair up.
        MissingExtraError: statsmodels is not installed.
    """
    reference = reference or results.policies[0]
    if reference not in results.policies:
        raise OptionError(
            f"{results.name} holds no policy {reference!r}.", f"There are: {', '.join(results.policies)}."
        )
    others = [p for p in results.policies if p != reference]
    if not others:
        raise OptionError(f"{results.name} holds one policy only.", "Evaluate two or more.")
    means: Nested = {}
    numbers: Nested = {}
    rates: Nested = {}
    tables: Nested = {}
    for run in results.runs:
        progress(run.scenario)
        name = run.scenario
        means[name], numbers[name], rates[name], tables[name] = _run(run, reference, seed, resamples)
    gc.freeze()  # statsmodels collects garbage at each correction, and would walk every number read so far
    try:
        corrected = {"binary": _adjust(tables, ALPHA), "continuous": _adjust(numbers, ALPHA)}
    finally:
        gc.unfreeze()
    for nested in (numbers, tables):
        for values in nested.values():
            for entries in values.values():
                for entry in entries.values():
                    entry["verdict"] = verdict(entry, ALPHA)
    return {
        "schema": SCHEMA,
        "reference": reference,
        "policies": {p: dict(results.acted.get(p, {})) for p in results.policies},
        "alpha": ALPHA,
        "confidence": CONFIDENCE,
        "primary": PRIMARY,
        "resamples": resamples,
        "resampling_seed": seed,
        "evaluation_seed": results.seed,
        "episodes": {run.scenario: run.n for run in results.runs},
        "paired_same_world": {run.scenario: run.paired_same_world for run in results.runs},
        "summary": summary(numbers, tables, reference, PRIMARY),
        "means": means,
        "wilson": rates,
        "paired_mcnemar": tables,
        "paired_continuous": numbers,
        "holm": {"alpha": ALPHA, "family": "the scenarios of one value and policy", **corrected},
        "provenance": {
            "command": command_line(),
            **{k: results.provenance[k] for k in ORIGIN if k in results.provenance},
            "input": {"name": results.name, "sha256": results.sha256},
            "evaluation": dict(results.provenance),
            "versions": {
                "ev_grid_oracle": __version__,
                "python": platform.python_version(),
                **{name: version(name) for name in LIBRARIES},
            },
        },
    }


__all__ = ["ALPHA", "NO_DIFFERENCE", "PRIMARY", "SCHEMA", "fair", "holm"]
