"""Results as anyone hands them over, a JSON of either form or a store, as one list of episodes and what they claim."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ev_grid_oracle.city.load import list_cities, load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.evaluation.receipts import ReceiptError, from_row
from ev_grid_oracle.evaluation.work import Episode, Spec

GENERAL, FLAT = "evgrid.eval/1", "evgrid.eval.flat/1"


@dataclass
class Claims:
    """What a result says.

    Attributes:
        kind: ``eval``, ``flat`` or ``store``.
        expected: (scenarios, policies) that every episode of `spec` was played with.
        manifest: row id -> digest, None where the result has none (a store that is not finished).
        document: the JSON itself, where it was one.
    """

    kind: str
    city: CityPack
    spec: Spec
    episodes: int
    scenarios: tuple[str, ...]
    policies: tuple[str, ...]
    rows: list[Episode]
    manifest: Mapping[str, str] | None
    provenance: Mapping[str, object]
    document: Mapping[str, object] = field(default_factory=dict)


def read_claims(path: Path, city: str | None = None) -> Claims:
    """The claims of a result file or of a store; `city` names a pack that does not come with the package.

    Raises:
        ReceiptError: the file is no result, or its city is not at hand as it was.
    """
    if path.is_dir():
        return _store(path, city)
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as exc:
        raise ReceiptError(f"{str(path)!r} cannot be read as JSON.", "Name a result of evgrid eval.") from exc
    if not isinstance(document, dict) or document.get("schema") not in (GENERAL, FLAT):
        raise ReceiptError(f"{str(path)!r} is no result of an evaluation.", "Name a result of evgrid eval.")
    try:
        return _document(document, city)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as exc:
        raise ReceiptError(
            f"{str(path)!r} lacks what a result has: {type(exc).__name__} {str(exc)[:80]}.",
            "Take another file.",
        ) from None


def city_of(named: Mapping[str, object], given: str | None, path: str = "") -> CityPack:
    """The city of a result, if it is at hand unchanged."""
    name = str(named["id"])
    where = given or (name if name in list_cities() else path or name)
    pack = load_city(where)
    if pack.sha256 != named["sha256"]:
        raise ReceiptError(
            f"City {name!r} is not as it was when the result was made.",
            "Check out the commit of its provenance.",
        )
    return pack


def _document(document: Mapping[str, object], city: str | None) -> Claims:
    about: Mapping[str, object] = document["provenance"]  # type: ignore[assignment]
    pack = city_of(about["city"], city)  # type: ignore[arg-type]
    spec = Spec(int(document["seed"]), int(document["ticks"]), dict(document.get("options", {})))  # type: ignore[call-overload]
    policies: Mapping[str, Mapping[str, object]] = document["policies"]  # type: ignore[assignment]
    names = tuple(policies)
    receipts = {str(row["episode_id"]): row for row in document.get("receipts", ())}  # type: ignore[attr-defined]
    general = document["schema"] == GENERAL
    runs = document["runs"] if general else [document]
    rows = []
    for run in runs:  # type: ignore[attr-defined]
        scenario = str(run["scenario"])
        for row in run["per_episode"]:
            values = row["values"] if general else {p: row[p] for p in names if p in row}
            for policy in values:
                asked = resolve(pack, **{**spec.asked(scenario, 0), "seed": row["episode_seed"]})
                e = Episode(
                    scenario, policy, str(policies[policy]["acted"]), policies[policy]["model_hash"],  # type: ignore[arg-type]
                    row["episode_index"], row["episode_seed"], spec.ticks, asked.asked, row["start"],
                    row["end"][policy], values[policy], row["binary"][policy], row["sources"][policy],
                    row["receipt_sha256"][policy], told_sha256=row["sha256"][policy],
                )  # fmt: skip
                if e.id in receipts:
                    e.receipt = from_row(receipts[e.id])
                rows.append(e)
    manifest: Mapping[str, str] = document["manifest"]["rows"]  # type: ignore[index]
    scenarios = tuple(str(run["scenario"]) for run in runs)  # type: ignore[attr-defined]
    return Claims(
        "eval" if general else "flat", pack, spec, int(document["episodes"]), scenarios, names, rows, manifest,  # type: ignore[call-overload]
        about, document,
    )  # fmt: skip


def _store(path: Path, city: str | None) -> Claims:
    from ev_grid_oracle.evaluation.store import Store

    store = Store(path)
    plan = store.plan()
    if plan is None:
        raise ReceiptError(
            f"{str(path)!r} is no store of an evaluation.", "Name one made by evgrid eval --store."
        )
    kind: Mapping[str, object] = plan["kind"]  # type: ignore[assignment]
    pack = city_of(kind["city"], city, str(plan["city_path"]))  # type: ignore[arg-type]
    manifest = store.manifest()
    spec = Spec(int(kind["seed"]), int(kind["ticks"]), dict(kind["options"]))  # type: ignore[call-overload]
    return Claims(
        "store", pack, spec, int(plan["episodes"]), tuple(plan["scenarios"]), tuple(plan["policies"]),  # type: ignore[call-overload,arg-type]
        store.episodes(), None if manifest is None else manifest["rows"], kind,  # type: ignore[arg-type]
    )  # fmt: skip
