"""The JSON of an evaluation, in the form every reader of results knows (docs/reference/evaluation.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation.paired import mean_of
from ev_grid_oracle.evaluation.provenance import provenance
from ev_grid_oracle.evaluation.receipts import to_row
from ev_grid_oracle.evaluation.runner import Evaluation, Run
from ev_grid_oracle.evaluation.score import table_name
from ev_grid_oracle.evaluation.values import REWARD_PREFIX, Values
from ev_grid_oracle.evaluation.work import Episode, row_sha256
from ev_grid_oracle.reward.terms import TERM_NAMES

SCHEMA = "evgrid.eval/1"
RECEIPTS = 2
"""Episodes of each scenario whose receipts stand in the JSON unless more are asked for."""
FALLBACKS = ("fallback", "timeout")
HEADLINE_SHARE = 0.99
"""Decisions that must come from a language model before a headline may say `oracle`."""


def breakdown(means: Values) -> Values:
    """Reward terms by their plain names, and `total`."""
    return {**{t: means[f"{REWARD_PREFIX}{t}"] for t in TERM_NAMES}, "total": means["total_reward"]}


def fairness(means: Values, city: CityPack) -> dict[str, Values]:
    """Mean minutes to charged by kind of driver and by zone of the request."""
    return {
        "persona": {k: means[f"wait_{k}"] for k in city.personas.fleet_keys if f"wait_{k}" in means},
        "zone": {z: means[f"wait_zone_{z}"] for z in city.zones.ids if f"wait_zone_{z}" in means},
    }


def series(run: Run, policies: Iterable[str]) -> list[dict[str, object]]:
    """State tick by tick of the episodes that kept it, six digits."""
    out: list[dict[str, object]] = []
    names = list(policies)
    for n, seed in enumerate(run.seeds):
        kept = {name: run.episodes[name][n].series for name in names}
        if any(rows is None for rows in kept.values()):
            continue
        out.append(
            {
                "episode_index": run.episodes[names[0]][n].index,
                "episode_seed": seed,
                "policies": {name: _nested(rows) for name, rows in kept.items() if rows is not None},
            }
        )
    return out


def _nested(rows: Mapping[str, list[float]]) -> dict[str, object]:
    """``a/b`` as {a: {b: ..}}; numbers to six digits that matter."""
    out: dict[str, object] = {}
    for name, values in rows.items():
        short: object = [float(f"{v:.6g}") for v in values]
        head, slash, tail = name.partition("/")
        if head == "settle":
            short = float(f"{values[0]:.6g}")
        if slash:
            inner = out.setdefault(head, {})
            assert isinstance(inner, dict)
            inner[tail] = short
        else:
            out[head] = short
    return out


def confidence(run: Run, policies: Iterable[str]) -> dict[str, object]:
    """Stated probabilities and what became of them, for policies that state any."""
    out: dict[str, object] = {}
    for name in policies:
        said = [s for e in run.episodes[name] for s in e.stated]
        if not said:
            continue
        known = [(c, float(y)) for _, _, c, y in said if y is not None]
        out[name] = {
            "stated": len(said),
            "known": len(known),
            "brier": mean_of([(c - y) ** 2 for c, y in known]),
            "mean_confidence": mean_of([c for c, _ in known]),
            "plugged_in_time_share": mean_of([y for _, y in known]),
            "confidence": [c for _, _, c, _ in said],
            "plugged_in_time": [y for _, _, _, y in said],
        }
    return out


def _run(run: Run, policies: tuple[str, ...], city: CityPack) -> dict[str, object]:
    reference = policies[0]
    means = {name: run.means(name) for name in policies}
    return {
        "scenario": run.scenario,
        "paired_same_world": run.paired_same_world,
        "policies": means,
        "reference": reference,
        "differences": {
            name: {key: d.as_dict() for key, d in run.differences(name, reference).items()}
            for name in policies[1:]
        },
        "breakdown": {name: breakdown(means[name]) for name in policies},
        "fairness": {name: fairness(means[name], city) for name in policies},
        "source_counts": {name: dict(sorted(run.sources(name).items())) for name in policies},
        "confidence": confidence(run, policies),
        "per_episode": [_episode(run, policies, n, seed) for n, seed in enumerate(run.seeds)],
        "series": series(run, policies),
    }


def _episode(run: Run, policies: tuple[str, ...], n: int, seed: int) -> dict[str, object]:
    rows = {name: run.episodes[name][n] for name in policies}
    first = rows[policies[0]]
    return {
        "episode_index": first.index,
        "episode_seed": seed,
        "start": first.start,
        "values": {name: e.values for name, e in rows.items()},
        "binary": {name: e.binary for name, e in rows.items()},
        "sources": {name: e.sources for name, e in rows.items()},
        "end": {name: e.end for name, e in rows.items()},
        "receipt_sha256": {name: e.receipt_sha256 for name, e in rows.items()},
        "sha256": {name: e.row_sha256() for name, e in rows.items()},
    }


def policies_of(evaluation: Evaluation) -> dict[str, dict[str, object]]:
    """Who acted under each name, and how much of it was a fallback."""
    out: dict[str, dict[str, object]] = {}
    for name in evaluation.plan.policies:
        counts = evaluation.sources[name]
        total = sum(counts.values())
        fell = sum(counts.get(s, 0) for s in FALLBACKS)
        llm = counts.get("llm", 0)
        acted = evaluation.acted[name]
        out[name] = {
            "acted": acted,
            "source_counts": counts,
            "decisions": total,
            "fallback_decisions": fell,
            "fallback_share": fell / total if total else None,
            "llm_share": llm / total if total else None,
            "headline": name
            if name != "oracle" or llm >= HEADLINE_SHARE * total > 0
            else f"oracle ({acted})",
            "model_hash": evaluation.model_hash[name],
        }
    return out


def manifest(episodes: Iterable[Episode]) -> dict[str, object]:
    """Every row by its id with its digest, and one digest over all: a removed or altered row shows."""
    rows = {e.id: e.row_sha256() for e in episodes}
    return {"episodes": len(rows), "sha256": row_sha256(rows), "rows": dict(sorted(rows.items()))}


def report(evaluation: Evaluation, receipts: int | None = RECEIPTS) -> dict[str, object]:
    """``{schema, runs, policies, manifest, receipts, provenance}``; every number is finite or null.

    receipts: episodes of each scenario whose receipts are written; None for all that there are.
    """
    plan = evaluation.plan
    rows = [e for run in evaluation.runs for name in plan.policies for e in run.episodes[name]]
    kept = [e for e in rows if e.receipt is not None and (receipts is None or e.index < receipts)]
    return {
        "schema": SCHEMA,
        "episodes": plan.episodes,
        "seed": plan.seed,
        "ticks": plan.ticks,
        "tick_minutes": 5,
        "options": dict(plan.options),
        "runs": [_run(run, plan.policies, plan.city) for run in evaluation.runs],
        "policies": policies_of(evaluation),
        "stations": list(plan.city.stations.ids),
        "feeders": list(plan.city.grid.feeder_ids),
        "episode_score_table": table_name(),
        "manifest": manifest(rows),
        "receipts": [to_row(e, e.receipt) for e in kept if e.receipt is not None],
        "provenance": provenance(plan.city),
    }
