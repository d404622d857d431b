"""Is an evaluation true? Its rows are counted and compared with their digests, and episodes are played again.

An episode with a receipt is played again from its answers; one without, from the policy that gave them, where that
needs no model. The first tick and field that differ are named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.capture import first_bad_row
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.evaluation.provenance import code_hash
from ev_grid_oracle.evaluation.receipts_read import Claims
from ev_grid_oracle.evaluation.seeds import episode_seeds
from ev_grid_oracle.evaluation.values import binary_of, row_values
from ev_grid_oracle.evaluation.work import Episode, Receipt, Task, episode_id, play_task
from ev_grid_oracle.evaluation.writing import clean
from ev_grid_oracle.policies.registry import policy_names
from ev_grid_oracle.schema import rows as r

AT_ONCE = 32
_MODELLESS = {"policy", "planner", "skipped"}
_TOO_LONG = {"clairvoyant"}


@dataclass(frozen=True)
class Finding:
    """Something that is not true: in which row, at which tick (None: not of one tick), which field, and a sentence."""

    episode_id: str
    tick: int | None
    field: str
    message: str


@dataclass
class Verdict:
    """Outcome of a verification.

    Attributes:
        rows: in the result; `expected` by its plan.
        by_receipt, by_policy: episodes played again from answers, and by the policy; `unchecked` the rest.
        notes: what a reader should know, no finding.
    """

    kind: str
    rows: int
    expected: int
    by_receipt: int = 0
    by_policy: int = 0
    unchecked: int = 0
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return not self.findings

    def to_dict(self) -> dict[str, object]:
        findings = [dict(f.__dict__) for f in self.findings]
        return {
            "ok": self.ok,
            **{k: v for k, v in self.__dict__.items() if k != "findings"},
            "findings": findings,
        }


def check_claims(
    claims: Claims, sample: int | None = None, progress: Callable[[int], None] = lambda n: None
) -> Verdict:
    """Check all rows, and play `sample` episodes again (None: all that can be)."""
    expected = [
        episode_id(s, seed, p)
        for s in claims.scenarios
        for seed in episode_seeds(claims.spec.seed, claims.episodes)
        for p in claims.policies
    ]
    verdict = Verdict(claims.kind, len(claims.rows), len(expected))
    _count(claims, expected, verdict)
    _digests(claims, verdict)
    if claims.document:
        _summaries(claims, verdict)
    if claims.provenance.get("code_sha256") != code_hash():
        verdict.notes.append(
            "The code has changed since the result was made: a difference may come from that."
        )
    chosen = _chosen(claims.rows, sample, verdict)
    with_receipt = [e for e in chosen if e.receipt is not None]
    for first in range(0, len(with_receipt), AT_ONCE):
        part = with_receipt[first : first + AT_ONCE]
        verdict.findings += _replayed(claims, part)
        progress(len(part))
    verdict.by_receipt = len(with_receipt)
    rest = [e for e in chosen if e.receipt is None]
    for e in rest:
        verdict.findings += _played_again(claims, e)
        progress(1)
    verdict.by_policy = len(rest)
    verdict.unchecked = len(claims.rows) - len(chosen)
    return verdict


def _count(claims: Claims, expected: Sequence[str], verdict: Verdict) -> None:
    """Rows that are missing, double or of no plan."""
    have = Counter(e.id for e in claims.rows)
    for row, times in have.items():
        if times > 1:
            verdict.findings.append(Finding(row, None, "row", f"The row {row} stands {times} times."))
    wanted = set(expected)
    kept = set(claims.manifest or ())
    for row in expected:
        if row not in have:
            was = " although the manifest has it" if row in kept else ""
            verdict.findings.append(Finding(row, None, "row", f"The row {row} is missing{was}."))
    for row in sorted(kept - set(have) - wanted):
        verdict.findings.append(
            Finding(row, None, "row", f"The row {row} is missing although the manifest has it.")
        )
    if claims.kind != "store":  # a store may hold more than its latest plan
        for row in sorted(set(have) - wanted):
            verdict.findings.append(Finding(row, None, "row", f"The row {row} is of no episode of the plan."))


def _digests(claims: Claims, verdict: Verdict) -> None:
    """Rows whose digest is not that of what they say, and receipts likewise."""
    for e in claims.rows:
        if e.told_sha256 != e.row_sha256():
            verdict.findings.append(
                Finding(e.id, None, "sha256", f"The row {e.id} was altered: its digest does not hold.")
            )
        if claims.manifest is not None and claims.manifest.get(e.id, e.told_sha256) != e.told_sha256:
            verdict.findings.append(
                Finding(e.id, None, "manifest", f"The row {e.id} is not the one of the manifest.")
            )
        if claims.manifest is not None and e.id not in claims.manifest:
            verdict.findings.append(
                Finding(e.id, None, "manifest", f"The row {e.id} is not in the manifest.")
            )
        if e.receipt is not None and e.receipt.sha256() != e.receipt_sha256:
            verdict.findings.append(
                Finding(
                    e.id, None, "receipt", f"The receipt of {e.id} was altered: its digest does not hold."
                )
            )


def _summaries(claims: Claims, verdict: Verdict) -> None:
    """Means, differences and counts are those of the rows."""
    from ev_grid_oracle.evaluation.receipts_summary import wrong_summaries

    for where, what in wrong_summaries(claims):
        verdict.findings.append(Finding(where, None, what, f"{what} of {where} is not what the rows give."))


def _chosen(rows: Sequence[Episode], sample: int | None, verdict: Verdict) -> list[Episode]:
    """Episodes to play again: those that can be, all or a draw that depends on what the rows say."""
    able = [e for e in rows if e.receipt is not None or _modelless(e)]
    if len(able) < len(rows):
        verdict.notes.append(
            f"{len(rows) - len(able)} episodes have no receipt and were answered by a model."
        )
    if sample is None or sample >= len(able):
        return able
    word = int.from_bytes(bytes.fromhex(able[0].row_sha256())[:8], "big")
    picked = np.random.default_rng(np.random.SeedSequence(word)).permutation(len(able))[:sample]
    return [able[k] for k in sorted(picked.tolist())]


def _modelless(e: Episode) -> bool:
    """The policy that acted can be asked again."""
    known = e.acted in policy_names() and e.acted not in _TOO_LONG
    return known and e.model_hash is None and set(e.sources) <= _MODELLESS


def _replayed(claims: Claims, rows: Sequence[Episode]) -> list[Finding]:
    """Play episodes again from their answers, side by side."""
    city = claims.city
    most = packed(city).layout.dims["MP"]
    batch = Batch(city, len(rows), max_answers=most)
    batch.reset([resolve(city, **dict(e.options)).world for e in rows])
    found: dict[int, Finding] = {}
    receipts = [e.receipt for e in rows]
    at = [0] * len(rows)
    for k, e in enumerate(rows):
        if batch.world.digest(k) != e.start:
            found[k] = Finding(e.id, None, "start", f"{e.id} did not start in the world that it names.")
    for t in range(claims.spec.ticks):
        batch.answers[:] = 0
        batch.counts[:] = 0
        batch.invalid[:] = 0
        for k, (e, receipt) in enumerate(zip(rows, receipts, strict=True)):
            assert receipt is not None
            if k not in found:
                fault = _lay(batch, k, receipt, t, at, len(city.stations.ids))
                if fault:
                    found[k] = _at(e, t, fault)
        told = batch.answers[:, :, r.D_CODE].copy()
        batch.answers[:, :, r.D_CODE] = 0
        rewards = batch.step()
        for k, (e, receipt) in enumerate(zip(rows, receipts, strict=True)):
            if k in found or receipt is None:
                continue
            n = int(batch.counts[k])
            if rewards[k] != receipt.rewards[t]:
                found[k] = _at(e, t, "reward")
            elif (told[k, :n] != batch.answers[k, :n, r.D_CODE]).any():
                found[k] = _at(e, t, "answers")
            elif batch.world.digest(k) != bytes(receipt.digests[t]).hex():
                found[k] = _at(e, t, "digest")
    accounts = batch.world.view("EP").astype(np.float64)
    terms = batch.world.view("TSUM").astype(np.float64)
    for k, e in enumerate(rows):
        if k not in found:
            values = row_values(accounts[k], terms[k], city, e.scenario, 0)
            values["fallback_steps"] = e.values.get("fallback_steps")  # who answered is not in the world
            fault = _unequal(e, values, binary_of(accounts[k], city), batch.world.digest(k))
            if fault:
                found[k] = _of(e, fault)
            elif sum(e.sources.values()) != len(e.receipt.answers if e.receipt is not None else ()):
                found[k] = _of(e, "sources")
    return [found[k] for k in sorted(found)]


def _lay(batch: Batch, k: int, receipt: Receipt, t: int, at: list[int], stations: int) -> str:
    """Put the answers of tick `t` in their place; why that was not possible."""
    if t >= len(receipt.counts):
        return "ticks"
    n = int(receipt.counts[t])
    if n > batch.max_answers:
        return "answers"
    batch.answers[k, :n] = receipt.answers[at[k] : at[k] + n]
    at[k] += n
    if first_bad_row(batch.answers[k], n, stations) >= 0:
        batch.answers[k] = 0
        return "answers"
    batch.counts[k] = n
    batch.invalid[k] = receipt.refused[t]
    return ""


def _unequal(e: Episode, values: Mapping[str, object], binary: Mapping[str, bool], end: str) -> str:
    """First field in which the row differs from what the simulator gives."""
    if end != e.end:
        return "end"
    mine = clean(dict(values))
    assert isinstance(mine, dict)
    for name in mine:
        if name == "episode_score":
            continue  # of a table that may have grown since
        if name not in e.values or mine[name] != e.values[name]:
            return f"values.{name}"
    for name, value in binary.items():
        if e.binary.get(name) is not value:
            return f"binary.{name}"
    return ""


def _played_again(claims: Claims, e: Episode) -> list[Finding]:
    """Let the policy play the episode once more."""
    again = play_task(claims.city, claims.spec, Task(e.scenario, e.acted, 0, (e.index,)))[0]
    if again.seed != e.seed or again.start != e.start:
        return [_of(e, "start")]
    fault = _unequal(e, again.values, again.binary, again.end)
    if not fault and again.receipt_sha256 != e.receipt_sha256:
        fault = "receipt"
    if not fault and sum(again.sources.values()) != sum(e.sources.values()):
        fault = "sources"
    return [_of(e, fault)] if fault else []


def _at(e: Episode, t: int, what: str) -> Finding:
    return Finding(e.id, t, what, f"{e.id}, tick {t}: {what} is not what the simulator gives.")


def _of(e: Episode, what: str) -> Finding:
    return Finding(e.id, None, what, f"{e.id}: {what} is not what the simulator gives.")
