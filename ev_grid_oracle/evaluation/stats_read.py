"""Reads the JSON of an evaluation, in its general and its flat form, into rows by policy and scenario.

Nothing is computed here and nothing is repaired: a file that does not hold is refused with the place and the
cure. Rows keep their episode seed, which is what pairs them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ev_grid_oracle.schema.errors import EVGridError, OptionError

FLAT_POLICIES = ("baseline", "oracle")


class ResultsError(EVGridError):
    """A file of results cannot be read or does not hold together."""

    code = "E_OPTION"
    exit_code = 3


ValueRows = list[tuple[int, dict[str, float | None]]]
FactRows = list[tuple[int, dict[str, bool | None]]]


@dataclass(frozen=True)
class ScenarioResults:
    """One scenario: (episode seed, values) and (episode seed, facts) of every policy, in the file's order."""

    scenario: str
    policies: tuple[str, ...]
    values: Mapping[str, ValueRows]
    facts: Mapping[str, FactRows]
    paired_same_world: bool | None

    @property
    def n(self) -> int:
        """Episodes of the first policy."""
        return len(self.values[self.policies[0]])

    def value_names(self) -> tuple[str, ...]:
        """Names of the values, in the order in which they first appear."""
        return tuple(dict.fromkeys(k for rows in self.values.values() for _, v in rows for k in v))

    def fact_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(k for rows in self.facts.values() for _, v in rows for k in v))


@dataclass(frozen=True)
class Results:
    """A file of results.

    Attributes:
        runs: one entry per scenario, in the file's order.
        policies: the first is the reference unless another is asked for.
        acted: what the file says of each policy: acted, source_counts, model_hash.
        seed: seed of the evaluation, None where the file has none.
        sha256: of the file's bytes.
        document: the file as it is, for what is shown and not computed (series, decisions).
    """

    name: str
    sha256: str
    seed: int | None
    policies: tuple[str, ...]
    runs: tuple[ScenarioResults, ...]
    acted: Mapping[str, Mapping[str, object]]
    provenance: Mapping[str, object]
    document: Mapping[str, object] = field(repr=False, compare=False)

    def run(self, scenario: str | None = None) -> ScenarioResults:
        """A scenario's rows; the first without a name."""
        if scenario is None:
            return self.runs[0]
        for run in self.runs:
            if run.scenario == scenario:
                return run
        known = ", ".join(r.scenario for r in self.runs)
        raise OptionError(f"{self.name} holds no scenario {scenario!r}.", f"There are: {known}.")


def _refuse_constant(text: str) -> float:
    raise ValueError(f"{text} is no JSON number")


def load_json(path: Path) -> tuple[Mapping[str, object], str]:
    """A JSON object and the sha256 of its file."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ResultsError(
            f"{str(path)!r} cannot be read: {error.strerror or error}.", "Name a file of results."
        ) from error
    try:
        document = json.loads(raw.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ResultsError(
            f"{str(path)!r} is no JSON: {error}.", "Make it again with evgrid eval."
        ) from error
    if not isinstance(document, dict):
        raise ResultsError(f"{str(path)!r} holds no JSON object.", "Make it again with evgrid eval.")
    return document, hashlib.sha256(raw).hexdigest()


class _Reader:
    """Checks of one file; every refusal names the file and the place."""

    def __init__(self, name: str) -> None:
        self.name = name

    def fault(self, what: str) -> ResultsError:
        return ResultsError(
            f"{self.name}: {what}.", "Make it again with evgrid eval or training/evaluate.py."
        )

    def mapping(self, value: object, what: str) -> Mapping[str, object]:
        if not isinstance(value, dict):
            raise self.fault(f"{what} is no object")
        return value

    def rows(self, value: object, what: str) -> Sequence[object]:
        if not isinstance(value, list) or not value:
            raise self.fault(f"{what} holds no episodes")
        return value

    def seed(self, row: Mapping[str, object], what: str) -> int:
        seed = row.get("episode_seed")
        if not isinstance(seed, int) or isinstance(seed, bool):
            raise self.fault(f"{what} has no episode_seed")
        return seed

    def numbers(self, value: object, what: str) -> dict[str, float | None]:
        out: dict[str, float | None] = {}
        for key, number in self.mapping(value, what).items():
            if isinstance(number, bool) or not isinstance(number, int | float | None):
                raise self.fault(f"{what}: {key} is no number")
            out[key] = None if number is None else float(number)
        return out

    def facts(self, value: object, what: str) -> dict[str, bool | None]:
        out: dict[str, bool | None] = {}
        for key, fact in self.mapping(value, what).items():
            if not isinstance(fact, bool | None):
                raise self.fault(f"{what}: {key} is neither true nor false")
            out[key] = fact
        return out


def _scenario(
    read: _Reader, scenario: str, policies: tuple[str, ...], rows: Sequence[object], same: object, flat: bool
) -> ScenarioResults:
    values: dict[str, ValueRows] = {p: [] for p in policies}
    facts: dict[str, FactRows] = {p: [] for p in policies}
    for n, entry in enumerate(rows):
        where = f"episode {n} of {scenario}"
        row = read.mapping(entry, where)
        seed = read.seed(row, where)
        sides = row if flat else read.mapping(row.get("values"), f"values of {where}")
        binary = read.mapping(row.get("binary", {}), f"binary of {where}")
        for policy in policies:
            if policy in sides:
                values[policy].append((seed, read.numbers(sides[policy], f"{policy} in {where}")))
            if policy in binary:
                facts[policy].append((seed, read.facts(binary[policy], f"binary of {policy} in {where}")))
    for policy in policies:
        if not values[policy]:
            raise read.fault(f"{policy} has no episode of {scenario}")
    return ScenarioResults(scenario, policies, values, facts, same if isinstance(same, bool) else None)


def read_results(path: str | Path) -> Results:
    """Read a report of ``evgrid eval`` or of ``training/evaluate.py``.

    Raises:
        ResultsError: the file cannot be read, is no JSON or lacks a part; the message names it.
    """
    path = Path(path)
    document, sha256 = load_json(path)
    return read_document(document, path.name, sha256)


def read_document(document: Mapping[str, object], name: str = "results", sha256: str = "") -> Results:
    """The same of a report that is in memory."""
    read = _Reader(name)
    acted = document.get("policies", {})
    known = read.mapping(acted, "policies")
    runs: list[ScenarioResults] = []
    if "runs" in document:
        listed = document["runs"]
        if not isinstance(listed, list) or not listed:
            raise read.fault("runs holds no scenario")
        for number, entry in enumerate(listed):
            run = read.mapping(entry, f"run {number}")
            scenario = run.get("scenario")
            if not isinstance(scenario, str):
                raise read.fault(f"run {number} has no scenario")
            names = tuple(read.mapping(run.get("policies"), f"policies of {scenario}"))
            rows = read.rows(run.get("per_episode"), f"per_episode of {scenario}")
            runs.append(_scenario(read, scenario, names, rows, run.get("paired_same_world"), False))
    elif "per_episode" in document:
        scenario = document.get("scenario")
        rows = read.rows(document["per_episode"], "per_episode")
        same = document.get("paired_same_world")
        runs.append(_scenario(read, str(scenario or "baseline"), FLAT_POLICIES, rows, same, True))
    else:
        raise read.fault("it has neither runs nor per_episode")
    scenarios = [run.scenario for run in runs]
    if len(set(scenarios)) < len(scenarios):
        raise read.fault("a scenario stands twice")
    policies = runs[0].policies
    if any(set(run.policies) != set(policies) for run in runs):
        raise read.fault("its scenarios were played by different policies")
    seed = document.get("seed")
    return Results(
        name, sha256, seed if isinstance(seed, int) else None, policies, tuple(runs),
        {p: v for p, v in known.items() if isinstance(v, dict)},
        read.mapping(document.get("provenance", {}), "provenance"), document,
    )  # fmt: skip
