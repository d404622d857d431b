"""What a figure is drawn from: the results, their fair statistics, and one scenario to look into.

Numbers are read, never derived: values come from the episodes, intervals and p-values from the fair JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.evaluation.stats import SCHEMA
from ev_grid_oracle.evaluation.stats_read import (
    Results,
    ResultsError,
    ScenarioResults,
    load_json,
    read_results,
)
from ev_grid_oracle.evaluation.values import REWARD_PREFIX, UNITS, better_side
from ev_grid_oracle.reward.terms import TERMS
from ev_grid_oracle.viz.figures_style import colours, markers

F64 = npt.NDArray[np.float64]
Entry = Mapping[str, object]

HEADLINE = (
    "minutes_to_charged", "walkin_minutes_to_charged", "lost", "flexible_late_minutes",
    "overload_kva_min", "peak_violations", "composite_car_minutes", "total_reward",
)  # fmt: skip
"""The values that figures show where not all fit."""

HEAD_TO_HEAD = (
    "minutes_to_charged", "walkin_minutes_to_charged", "minutes_to_plug", "avg_wait_minutes", "lost", "stranded",
    "walkin_lost", "flexible_missed", "flexible_late_minutes", "overload_minutes", "overload_kva_min",
    "voltage_violation_minutes", "renewable_energy_share", "grid_stress_events", "peak_violations",
    "critical_deferred", "anti_cheat_steps", "unserved_kwh", "composite_car_minutes", "total_reward",
)  # fmt: skip

_UNIT_WORDS = {"1": "share", "N0": "N0", "": ""}


class Absent(Exception):
    """A figure cannot be drawn from this file; the text says in one line what is missing."""


@dataclass(frozen=True)
class FigureData:
    """One file of results with its statistics.

    Attributes:
        fair: the fair-evaluation JSON of the same file.
        run: the scenario that figures of episodes show.
        colour, marker: by policy.
    """

    results: Results
    fair: Mapping[str, object]
    run: ScenarioResults
    colour: Mapping[str, str]
    marker: Mapping[str, str]

    @property
    def reference(self) -> str:
        return str(self.fair["reference"])

    @property
    def policies(self) -> tuple[str, ...]:
        """The reference first, then the others in the file's order."""
        return (self.reference, *self.others)

    @property
    def others(self) -> tuple[str, ...]:
        return tuple(p for p in self.results.policies if p != self.reference)

    @property
    def names(self) -> list[str]:
        """The policies as figures name them."""
        return [self.name(p) for p in self.policies]

    @property
    def scenarios(self) -> tuple[str, ...]:
        return tuple(run.scenario for run in self.results.runs)

    def entry(self, section: str, scenario: str, key: str, policy: str) -> Entry:
        """An entry of the fair JSON; empty where there is none."""
        node: object = self.fair
        for step in (section, scenario, key, policy):
            node = node.get(step, {}) if isinstance(node, Mapping) else {}
        return node if isinstance(node, Mapping) else {}

    def number(self, section: str, scenario: str, key: str, policy: str, name: str) -> float | None:
        return number(self.entry(section, scenario, key, policy), name)

    def column(self, policy: str, key: str, run: ScenarioResults | None = None) -> F64:
        """(n,) values of the episodes in the order of the reference's seeds, nan where one is missing."""
        run = run or self.run
        by_seed = dict(run.values[policy])
        seeds = [seed for seed, _ in run.values[self.reference]]
        found = [by_seed.get(seed, {}).get(key) for seed in seeds]
        return np.array([np.nan if v is None else v for v in found], np.float64)

    def keys(self, wanted: Sequence[str]) -> list[str]:
        """Those of `wanted` that the file has."""
        have = set(self.run.value_names())
        return [k for k in wanted if k in have]

    def name(self, policy: str) -> str:
        """The policy as figures name it: what acted is said where it is not the name itself."""
        acted = str(self.results.acted.get(policy, {}).get("acted") or policy)
        sources = self.results.acted.get(policy, {}).get("source_counts")
        told = [acted] if acted != policy else []
        if isinstance(sources, Mapping):
            total = sum(v for v in sources.values() if isinstance(v, int))
            for source in ("fallback", "timeout", "skipped"):
                count = sources.get(source, 0)
                if isinstance(count, int) and count and total:
                    told.append(f"{source} {100.0 * count / total:.3g} %")
        return f"{policy} ({', '.join(told)})" if told else policy

    def raw_run(self) -> Mapping[str, object]:
        """The JSON of the scenario as the file holds it: series and decisions."""
        listed = self.results.document.get("runs")
        if isinstance(listed, list):
            for entry in listed:
                if isinstance(entry, Mapping) and entry.get("scenario") == self.run.scenario:
                    return entry
        return self.results.document

    def caption(self, told: str, every_scenario: bool = False) -> str:
        """What is shown, then n, seed, scenario, city and what acted."""
        counts = [run.n for run in self.results.runs]
        if every_scenario and len(counts) > 1:
            low, high = min(counts), max(counts)
            n = f"n = {low}" if low == high else f"n = {low} to {high}"
            where = f"{n} paired episodes in each of {len(counts)} scenarios"
        else:
            where = f"n = {self.run.n} paired episodes, scenario {self.run.scenario}"
        seed = "not told" if self.results.seed is None else str(self.results.seed)
        seeds = self.run.values[self.reference]
        city = self.results.provenance.get("city")
        tail = ""
        if isinstance(city, Mapping):
            tail = f"; city {city.get('id')} {str(city.get('sha256', ''))[:8]}"
        first = f" (first episode's seed {seeds[0][0]})"
        return f"{told}\n{where}; evaluation seed {seed}{first}{tail}."


def number(entry: Entry, name: str) -> float | None:
    """A number of an entry, None where it is null or missing."""
    value = entry.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def unit(key: str) -> str:
    """Unit of a value, for axes."""
    if key.startswith(REWARD_PREFIX):
        return TERMS[0].unit
    if key.startswith("wait_"):
        return "min"
    word = UNITS.get(key, "")
    return TERMS[0].unit if word == "N0" else _UNIT_WORDS.get(word, word)


def label(key: str, with_unit: bool = True) -> str:
    """A value's name as people read it, with its unit in brackets."""
    words = key.removeprefix(REWARD_PREFIX).replace("_", " ").replace("walkin", "walk-in")
    words = words.replace("kva min", "kVA-min").replace("kwh", "kWh")
    u = unit(key)
    return f"{words} [{u}]" if with_unit and u else words


def side_words(key: str) -> str:
    """ "less is better", "more is better" or ""."""
    return {"lower": "less is better", "higher": "more is better"}.get(better_side(key), "")


def figure_data(results_path: str | Path, fair_path: str | Path, scenario: str | None = None) -> FigureData:
    """Read both files.

    Raises:
        ResultsError: a file cannot be read, or the statistics were made from other results.
        OptionError: the scenario is not in the file.
    """
    results = read_results(results_path)
    fair, _ = load_json(Path(fair_path))
    return from_documents(results, fair, scenario, Path(fair_path).name)


def from_documents(
    results: Results, fair: Mapping[str, object], scenario: str | None = None, name: str = "statistics"
) -> FigureData:
    """The same from what is in memory."""
    cure = "Run training/fair_eval.py on the same results."
    if fair.get("schema") != SCHEMA:
        raise ResultsError(f"{name} is no {SCHEMA}.", cure)
    provenance = fair.get("provenance")
    source = provenance.get("input") if isinstance(provenance, Mapping) else None
    if not isinstance(source, Mapping) or source.get("sha256") != results.sha256:
        raise ResultsError(f"{name} was not made from {results.name}.", cure)
    if fair.get("reference") not in results.policies:
        raise ResultsError(f"{name} names a reference that {results.name} does not hold.", cure)
    order = (str(fair["reference"]), *(p for p in results.policies if p != fair["reference"]))
    return FigureData(results, fair, results.run(scenario), colours(order), markers(order))
