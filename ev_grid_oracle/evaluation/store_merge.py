"""Several stores as one evaluation: parts that were played on different machines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from ev_grid_oracle.evaluation.receipts_read import city_of
from ev_grid_oracle.evaluation.runner import Evaluation, Plan, assemble
from ev_grid_oracle.evaluation.store import Store, StoreError, check_same
from ev_grid_oracle.evaluation.work import Episode


def merged(folders: Sequence[Path], city: str | None = None, receipts: int | None = None) -> Evaluation:
    """The evaluation that the stores hold together.

    Args:
        city: needed only where the city is not one that comes with the package.
        receipts: read those of episodes with a smaller index; None for all.

    Raises:
        StoreError: a folder is no store, or cities, code, versions, seeds or options are mixed.
        OptionError: an episode stands twice, or the scenarios, policies and episodes leave a gap.
    """
    plans: list[Mapping[str, Any]] = []
    rows: list[Episode] = []
    for folder in folders:
        store = Store(folder)
        plan = store.plan()
        if plan is None:
            raise StoreError(f"{str(folder)!r} is no store of an evaluation.", "Name one made by --store.")
        if plans:
            check_same(cast("Mapping[str, object]", plan["kind"]), plans[0]["kind"], str(folder))
        plans.append(plan)
        for e in store.episodes(receipts):
            if e.told_sha256 != e.row_sha256():
                raise StoreError(
                    f"The row {e.id} in {str(folder)!r} was altered.", "evgrid verify says more."
                )
            rows.append(e)
    if not rows:
        raise StoreError("There is no store, or no finished episode in it.", "Name stores made by --store.")
    kind = plans[0]["kind"]
    pack = city_of(kind["city"], city, str(plans[0]["city_path"]))
    together = Plan(
        pack,
        tuple(dict.fromkeys(name for plan in plans for name in plan["policies"])),
        tuple(dict.fromkeys(name for plan in plans for name in plan["scenarios"])),
        max(e.index for e in rows) + 1,
        kind["seed"],
        kind["ticks"],
        options=kind["options"],
    )
    return assemble(together, rows)
