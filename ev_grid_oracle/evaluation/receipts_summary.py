"""Means, differences and counts of a result file against its own rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ev_grid_oracle.evaluation.receipts_read import Claims
from ev_grid_oracle.evaluation.report import breakdown, fairness, policies_of
from ev_grid_oracle.evaluation.runner import Evaluation, Plan, Run
from ev_grid_oracle.evaluation.values import REWARD_PREFIX, Values
from ev_grid_oracle.evaluation.writing import clean
from ev_grid_oracle.schema.errors import EVGridError


def wrong_summaries(claims: Claims) -> Iterator[tuple[str, str]]:
    """(where, what) of every summary that the rows do not give; nothing where rows are missing or double."""
    runs = []
    for scenario in claims.scenarios:
        by = {
            p: sorted(
                (e for e in claims.rows if e.scenario == scenario and e.policy == p), key=lambda e: e.index
            )
            for p in claims.policies
        }
        seeds = {tuple(e.seed for e in rows) for rows in by.values()}
        one = next(iter(seeds))
        if len(seeds) != 1 or not len(one) == len(set(one)) == claims.episodes:
            return  # already named
        runs.append(Run(scenario, one, by))
    told = [claims.document] if claims.kind == "flat" else list(claims.document["runs"])  # type: ignore[call-overload]
    for run, said in zip(runs, told, strict=True):
        mine = _flat(run, claims) if claims.kind == "flat" else _general(run, claims)
        for key, value in mine.items():
            if clean(value) != said.get(key):
                yield run.scenario, key
    try:
        plan = Plan(
            claims.city,
            claims.policies,
            claims.scenarios,
            claims.episodes,
            claims.spec.seed,
            claims.spec.ticks,
        )
    except EVGridError:
        return  # a policy that is not at hand here
    policies = clean(policies_of(Evaluation(plan, runs)))
    said_policies: Mapping[str, object] = claims.document["policies"]  # type: ignore[assignment]
    for name in claims.policies:
        if policies[name] != said_policies.get(name):  # type: ignore[index]
            yield name, "policies"


def _general(run: Run, claims: Claims) -> dict[str, object]:
    names = claims.policies
    means = {p: run.means(p) for p in names}
    return {
        "policies": means,
        "differences": {
            p: {k: d.as_dict() for k, d in run.differences(p, names[0]).items()} for p in names[1:]
        },
        "breakdown": {p: breakdown(means[p]) for p in names},
        "fairness": {p: fairness(means[p], claims.city) for p in names},
        "source_counts": {p: dict(sorted(run.sources(p).items())) for p in names},
        "paired_same_world": run.paired_same_world,
    }


def _flat(run: Run, claims: Claims) -> dict[str, object]:
    base, oracle = claims.policies[0], claims.policies[1]
    means: dict[str, Values] = {p: run.means(p) for p in claims.policies}
    plain = {
        p: {k: v for k, v in means[p].items() if not k.startswith(REWARD_PREFIX)} for p in claims.policies
    }
    return {
        base: plain[base],
        oracle: plain[oracle],
        "baseline_reward_breakdown_mean": breakdown(means[base]),
        "oracle_reward_breakdown_mean": breakdown(means[oracle]),
        "differences": {k: d.as_dict() for k, d in run.differences(oracle, base).items()},
        "fairness": {p: fairness(means[p], claims.city) for p in claims.policies},
        "paired_same_world": run.paired_same_world,
    }
