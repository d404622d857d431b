"""The tables of the written pages: each one made from artifacts, from the pack or from the code's own tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.evaluation.plan_evidence import claims_of
from ev_grid_oracle.reward.terms import FLAGS, TERMS
from ev_grid_oracle.viz.plan_links import KINDS, link
from ev_grid_oracle.viz.plan_numbers import SOURCES, Table, absent, markdown

POLICIES = ("baseline", "greedy_counting", "planner")
CHECKLIST: tuple[tuple[str, str], ...] = (
    ("OpenEnv descriptor", "openenv.yaml"),
    ("Image of the Space", "Dockerfile"),
    ("Upload to a Space, with a dry run", "tools/sync_space_to_hub.py"),
    ("One command that validates the submission", "validate-submission.sh"),
    ("Runtime validation of OpenEnv", "validation/runtime.json"),
    ("Training notebook for Colab", "training/train_grpo.ipynb"),
    ("Paired evaluation", "training/evaluate.py"),
    ("Fair statistics", "training/fair_eval.py"),
    ("Figure suite", "training/make_plots.py"),
    ("Two-minute recording", "viz/record_two_phase.py"),
    ("Headroom, 100 evenings a scenario", "artifacts/headroom.json"),
    ("Evaluation snapshot without a language model", "artifacts/eval_snapshot.json"),
    ("Training run of the small oracle", "artifacts/oracle_training.json"),
    ("Evaluation of the small oracle", "artifacts/oracle_eval.json"),
    ("Integrity search", "artifacts/integrity.json"),
    ("Fair statistics of a run", "artifacts/fair_eval_results.json"),
    ("Trap catalogue", "docs/judge-kit/trap-catalog.md"),
    ("Pattern map", "docs/judge-kit/credit-assessment-pattern-map.md"),
    ("Mini-blog", "docs/hf-mini-blog-ev-grid-oracle.md"),
    ("Video outline", "docs/submission/youtube-under-2min-outline.md"),
    ("Licence, notices, citation", "NOTICE"),
)


def headroom(tables: Mapping[str, Table], _city: CityPack, _root: Path, _links: dict[str, str]) -> str:
    """KPIs by scenario under the three dispatchers."""
    if "headroom" not in tables:
        return f"By scenario: {absent('headroom')}."
    rows = []
    found = tables["headroom"].at("tables")
    for scenario, by in found.items() if isinstance(found, Mapping) else ():
        three = [by[p] for p in POLICIES]

        def cell(key: str, form: str, scale: float = 1.0, of: list[dict[str, float]] = three) -> str:
            return " / ".join(format(scale * row[key], form) for row in of)

        rows.append(
            (
                scenario,
                f"{three[0]['n']:.0f}",
                cell("minutes_to_charged", ".1f"),
                cell("lost_share", ".1f", 100.0),
                cell("walkin_minutes_to_charged", ".1f"),
                cell("overload_kva_min", ",.0f"),
                cell("total_reward", ".2f"),
            )
        )
    head = (
        "scenario",
        "n",
        "minutes to charged: baseline / greedy_counting / planner",
        "lost, %",
        "walk-in minutes",
        "overload, kVA-min",
        "reward",
    )
    return markdown(head, rows)


def bars(tables: Mapping[str, Table], _city: CityPack, _root: Path, _links: dict[str, str]) -> str:
    """What was asked of the planner and what it reached."""
    found = tables["headroom"].at("bars") if "headroom" in tables else None
    if not isinstance(found, list):
        return f"Bars: {absent('headroom')}."
    words = {True: "yes", False: "**no**", None: "-"}
    return markdown(
        ("bar", "value [95 % interval]", "met"),
        [(b["bar"], b["value"], words[b["met"]]) for b in found],
        right=3,
    )


def oracle(tables: Mapping[str, Table], _city: CityPack, _root: Path, _links: dict[str, str]) -> str:
    """Means of the oracle's evenings by dispatcher."""
    means = tables["oracle_eval"].at("means") if "oracle_eval" in tables else None
    if not isinstance(means, Mapping):
        return f"Means of the small oracle: {absent('oracle_eval')}."
    keys = {
        "minutes_to_charged": ".1f",
        "walkin_minutes_to_charged": ".1f",
        "lost": ".1f",
        "overload_kva_min": ",.0f",
        "total_reward": ".2f",
        "composite_car_minutes": ",.0f",
    }
    order = [
        p
        for p in ("baseline", "greedy_counting", "planner", "warm_start", "oracle", "grpo_seed_1")
        if p in means
    ]
    rows = [(f"`{p}`", *(format(means[p][k], form) for k, form in keys.items())) for p in order]
    head = (
        "dispatcher",
        "minutes to charged",
        "walk-in minutes",
        "lost",
        "overload, kVA-min",
        "reward",
        "composite",
    )
    return markdown(head, rows)


def evidence(tables: Mapping[str, Table], _city: CityPack, _root: Path, _links: dict[str, str]) -> str:
    """Where every number comes from: command, commit, hash of the deciding code."""
    rows: list[tuple[str, ...]] = []
    for name, command in SOURCES.items():
        if name not in tables:
            rows.append((f"`artifacts/{name}.json`", f"absent; `{command}` makes it", "-", "-", "-"))
            continue
        claim = next(claims_of(tables[name]), None)
        if claim is None:
            rows.append((f"`artifacts/{name}.json`", "no provenance in the file", "-", "-", "-"))
            continue
        short = [(v or "none")[:12] for v in (claim.commit, claim.code_sha256, claim.city_sha256)]
        rows.append((f"`artifacts/{name}.json`", f"`{claim.command}`", *short))
    table = markdown(("file", "command", "commit", "code hash", "city hash"), rows, right=5)
    return f"{table}\n\n{older_codes(tables)}".rstrip()


def older_codes(tables: Mapping[str, Table]) -> str:
    """Which code hashes of the evidence are not the present one, and why they may stand; nothing where there is none."""
    if "same_results" not in tables:
        return ""
    same = tables["same_results"]
    compared = same.at("compared")
    lines = [
        f"Code `{str(row['old_code_sha256'])[:12]}` (commit {row['commit']}) is older than the present "
        f"`{str(same.at('code_sha256'))[:12]}`: of {same.at('episodes'):,} episodes with {same.at('ticks'):,} ticks "
        f"{row['episodes_different']} differ in the state or the reward of any tick (`artifacts/same_results.json`)."
        for row in (compared if isinstance(compared, list) else [])
    ]
    return "\n".join(lines)


def terms(_tables: Mapping[str, Table], _city: CityPack, _root: Path, _links: dict[str, str]) -> str:
    """The reward's terms."""
    rows = [(f"`{t.name}`", t.sign, t.role, t.sentence) for t in TERMS]
    return markdown(("term", "sign", "role", "per tick, in car-minutes over N0"), rows, right=4)


def flags(_tables: Mapping[str, Table], _city: CityPack, _root: Path, _links: dict[str, str]) -> str:
    """The flags with their thresholds."""
    rows = [(f"`{f.name}`", f"{f.threshold:g} {f.unit}", f.sentence) for f in FLAGS]
    return markdown(("flag", "from", "raised when"), rows, right=3)


def checklist(_tables: Mapping[str, Table], _city: CityPack, root: Path, links: dict[str, str]) -> str:
    """What a submission needs, ticked where the file is there or the link published."""
    lines = [f"- [{'x' if (root / path).is_file() else ' '}] {words}: `{path}`" for words, path in CHECKLIST]
    for kind in KINDS:
        mark = "x" if links[kind] else " "
        lines.append(f"- [{mark}] {link(kind, links)}")
    return "\n".join(lines)


def scenarios(_tables: Mapping[str, Table], city: CityPack, _root: Path, _links: dict[str, str]) -> str:
    """What happens in each scenario."""
    rows = [(f"`{s.name}`", s.start, s.sentence) for s in city.scenarios]
    return markdown(("scenario", "starts", "what happens"), rows, right=3)


def history(tables: Mapping[str, Table], _city: CityPack, _root: Path, _links: dict[str, str]) -> str:
    """The headroom as it was committed, one row a version."""
    found = tables["health"].at("headroom_history") if "health" in tables else None
    if not isinstance(found, list) or not found:
        return f"Earlier versions of the headroom: {absent('health')}."
    keys = (
        "composite",
        "walkin_minutes",
        "minutes_baseline_scenario",
        "overload_kva_min",
        "overload_vs_greedy",
    )
    rows = [(f"`{r['commit'][:7]}`", r["subject"], *(r.get(k) or "-" for k in keys)) for r in found]
    head = (
        "commit",
        "change",
        "composite against greedy_counting",
        "walk-in minutes against the baseline",
        "minutes to charged, plain evening, against the baseline",
        "overload kVA-min against the baseline",
        "overload kVA-min against greedy_counting",
    )
    return markdown(head, rows, right=7)


def rooms(tables: Mapping[str, Table], _city: CityPack, _root: Path, _links: dict[str, str]) -> str:
    """Files and lines by room, as the health report counted them."""
    found = tables["health"].at("rooms") if "health" in tables else None
    if not isinstance(found, list):
        return f"Sizes: {absent('health')}."
    rows = [
        (f"`{r['room']}`", r["files"], f"{r['lines']:,}", r["median"], f"{r['longest']:,}") for r in found
    ]
    return markdown(("room", "files", "lines", "median", "longest"), rows)


TABLES = {
    "headroom": headroom,
    "bars": bars,
    "oracle": oracle,
    "evidence": evidence,
    "terms": terms,
    "flags": flags,
    "checklist": checklist,
    "scenarios": scenarios,
    "history": history,
    "rooms": rooms,
}
"""Name in a template (`{{table:NAME}}`) and its maker."""
