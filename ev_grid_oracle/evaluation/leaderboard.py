"""The public leaderboard: entries are results of `evgrid eval` on the frozen split, taken only when all of them are true.

An entry's file is read as `evgrid verify` reads it and every episode is played again, from its receipt or by its policy.
Differences are paired with the baseline of the same file; the interval is over seeds (Student's t on the mean over the
scenarios of each seed), since evenings that share a seed are not independent.

All rows are of one code (`provenance.code_hash`), one city and one split. A result of another code than the present
one is refused; when one of the present code is added, rows of an older code are dropped, for they do not compare.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict

from ev_grid_oracle.evaluation.fairness import spread
from ev_grid_oracle.evaluation.leaderboard_split import SPLIT, Split
from ev_grid_oracle.evaluation.paired import difference
from ev_grid_oracle.evaluation.provenance import code_hash
from ev_grid_oracle.evaluation.receipts_check import check_claims
from ev_grid_oracle.evaluation.receipts_read import Claims
from ev_grid_oracle.evaluation.values import Values, better_side
from ev_grid_oracle.evaluation.work import Episode
from ev_grid_oracle.schema.errors import EVGridError

SCHEMA = "evgrid.leaderboard.1"
REFERENCE = "baseline"
KEY = "composite_car_minutes"
DIFFERENCES = (
    KEY,
    "minutes_to_charged",
    "lost",
    "walkin_minutes_to_charged",
    "overload_kva_min",
    "total_reward",
)
MEANS = (
    *DIFFERENCES, "avoidable_car_minutes", "lost_share", "stranded", "walkin_lost_share", "overload_minutes", "anti_cheat_steps",
    "invalid_actions", "episode_score",
)  # fmt: skip

Entry = dict[str, object]


class EntryError(EVGridError):
    """A result cannot be an entry of the leaderboard."""

    code = "E_OPTION"
    exit_code = 3


def check_split(claims: Claims, split: Split = SPLIT) -> None:
    """Raise `EntryError` unless the result was played on the split, whole, with the baseline in it."""
    told = {
        "city": (claims.city.id, split.city),
        "seed": (claims.spec.seed, split.seed),
        "ticks": (claims.spec.ticks, split.ticks),
        "episodes": (claims.episodes, split.episodes),
        "scenarios": (sorted(claims.scenarios), sorted(split.scenarios)),
        "options": (dict(claims.spec.options), {}),
        "seeds": (sorted({e.seed for e in claims.rows}), sorted(split.seeds)),
    }
    for what, (have, want) in told.items():
        if have != want:
            raise EntryError(
                f"The result's {what} are not those of split {split.name}: {str(have)[:80]}.", command(split)
            )
    acted = {e.acted for e in claims.rows if e.policy == REFERENCE}
    if acted != {REFERENCE}:
        raise EntryError("The baseline is not in the result.", command(split))


def command(split: Split = SPLIT, policy: str = "YOUR_POLICY") -> str:
    """How the split is played."""
    return (
        f"evgrid eval --policies {REFERENCE},{policy} --scenarios all --episodes {split.episodes} --seed {split.seed} "
        "--receipts --out result.json"
    )


def entries_of(
    claims: Claims, split: Split = SPLIT, progress: Callable[[int], None] = lambda n: None
) -> list[Entry]:
    """One entry for each policy of a result, the baseline too, after every episode was played again.

    Raises:
        EntryError: it is not of the split or of the present code, something in it is not true, or an episode
            cannot be played again.
    """
    check_split(claims, split)
    about = claims.provenance
    if about.get("code_sha256") != code_hash():
        raise EntryError(
            f"The result was played with code {_short(about.get('code_sha256'))}, and this is {_short(code_hash())}.",
            f"Play it again with this code: {command(split)}",
        )
    verdict = check_claims(claims, None, progress)
    if not verdict.ok:
        raise EntryError(
            f"{len(verdict.findings)} findings: {verdict.findings[0].message}", "See evgrid verify."
        )
    if verdict.unchecked:
        raise EntryError(f"{verdict.unchecked} episodes have no receipt.", command(split))
    shared: Entry = {
        "split": split.name,
        "city_sha256": claims.city.sha256,
        "code_sha256": about.get("code_sha256"),
        "policies_sha256": about.get("policies_sha256"),
        "commit": about.get("commit"),
        "command": about.get("command"),
        "replayed_from_receipts": verdict.by_receipt,
        "replayed_by_policy": verdict.by_policy,
    }
    by_policy: dict[str, list[Episode]] = {name: [] for name in claims.policies}
    for e in claims.rows:
        by_policy[e.policy].append(e)
    base = by_policy[REFERENCE]
    return [{**_entry(name, rows, base), **shared} for name, rows in by_policy.items()]


def _short(digest: object) -> str:
    return str(digest)[:12] if digest else "of no hash"


def _entry(name: str, rows: Sequence[Episode], base: Sequence[Episode]) -> Entry:
    sources: dict[str, int] = {}
    for e in rows:
        for source, n in e.sources.items():
            sources[source] = sources.get(source, 0) + n
    total = sum(sources.values())
    ours, theirs = by_seed(rows), by_seed(base)
    found = {k: difference(ours, theirs, k, better_side(k)).as_dict() for k in DIFFERENCES}
    scenarios = sorted({e.scenario for e in rows})
    return {
        "policy": name,
        "acted": sorted({e.acted for e in rows}),
        "model_hash": rows[0].model_hash,
        "source_counts": sources,
        "llm_share": sources.get("llm", 0) / total if total else None,
        "n": len(rows),
        "n_seeds": len(ours),
        "means": {k: _mean([e.values.get(k) for e in rows]) for k in MEANS},
        "differences": found,
        "by_scenario": {
            s: {
                k: difference(
                    [(e.seed, e.values) for e in rows if e.scenario == s],
                    [(e.seed, e.values) for e in base if e.scenario == s],
                    k,
                ).as_dict()
                for k in (KEY,)
            }
            for s in scenarios
        },
        "fairness": {kind: asdict(spread([e.values for e in rows], kind)) for kind in ("persona", "zone")},
    }


def by_seed(rows: Sequence[Episode]) -> list[tuple[int, Values]]:
    """(seed, mean values over the scenarios), for intervals over independent seeds."""
    seeds = sorted({e.seed for e in rows})
    out: list[tuple[int, Values]] = []
    for seed in seeds:
        mine = [e.values for e in rows if e.seed == seed]
        out.append((seed, {k: _mean([v.get(k) for v in mine]) for k in DIFFERENCES}))
    return out


def _mean(values: Sequence[float | None]) -> float | None:
    there = [v for v in values if v is not None]
    return math.fsum(there) / len(there) if there else None


def merged(
    old: Sequence[Mapping[str, object]], new: Sequence[Mapping[str, object]], split: Split = SPLIT
) -> tuple[list[Entry], list[Entry]]:
    """The rows that stand, best composite first, and the old ones that are dropped: those of another code than `new`.

    A new row takes the place of an old one of the same policy; that one counts as neither.

    Raises:
        EntryError: entries are of another city or split, or those to be kept of several codes: they do not compare.
    """
    kept = {str(e["policy"]): dict(e) for e in [*old, *new]}
    if len({(e["split"], e["city_sha256"]) for e in kept.values()}) > 1 or any(
        e["split"] != split.name for e in kept.values()
    ):
        raise EntryError("The leaderboard holds entries of another city or split.", "Start a new file.")
    codes = {e["code_sha256"] for e in (new or kept.values())}
    if len(codes) > 1:
        raise EntryError("The entries are of several codes.", "Play them again with one.")
    dropped = [kept.pop(name) for name in list(kept) if kept[name]["code_sha256"] not in codes]
    return sorted(kept.values(), key=lambda e: (float(e["means"][KEY]), str(e["policy"]))), dropped  # type: ignore[index]


def told_of(dropped: Sequence[Mapping[str, object]]) -> list[str]:
    """A sentence for every row that `merged` dropped."""
    return [
        f"Row {e['policy']!r} was dropped: it is of code {_short(e['code_sha256'])}. Play it again with this code."
        for e in dropped
    ]


def origin(entries: Sequence[Mapping[str, object]], split: Split = SPLIT) -> dict[str, object]:
    """`provenance` of the whole file: what its rows, all of one code and city, came from; {} without rows.

    Rows may come from several runs and commits, and policies of their own: `commit` is None then, and each row has its own.
    """
    if not entries:
        return {}
    commits, commands = (
        list(dict.fromkeys(e[k] for e in entries if e.get(k))) for k in ("commit", "command")
    )
    return {
        "command": "; ".join(map(str, commands)) or None,
        "commit": commits[0] if len(commits) == 1 else None,
        "city": {"id": split.city, "sha256": entries[0]["city_sha256"]},
        "code_sha256": entries[0]["code_sha256"],
    }
