"""What `info` says after a step: why texts and answers were refused, and what each flag means. JSON-safe."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.episode.ids import NOBODY, car_id
from ev_grid_oracle.reward.terms import FLAGS
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.action import Action, ParseIssue
from ev_grid_oracle.schema.codes import CODES
from ev_grid_oracle.schema.enums import ActionKind

I32 = npt.NDArray[np.int32]

_FLAG_OF = {
    "time_window_violation": ("E_TIME_WINDOW", "E_DETOUR"),
    "teleportation": ("E_UNREACHABLE",),
    "phantom_capacity": ("E_UNKNOWN_CAR", "E_STATION_DOWN", "E_RATE", "E_PLUG"),
}


def parse_errors(issues: Sequence[ParseIssue]) -> list[dict[str, object]]:
    """Faults of a refused text, first first."""
    return [
        {
            "code": issue.code,
            "line": issue.line,
            "column": issue.column,
            "field": issue.field,
            "message": issue.message,
            "hint": CODES[issue.code].cure,
        }
        for issue in issues
    ]


def verdict_errors(rows: I32, actions: Sequence[Action] | None) -> list[dict[str, object]]:
    """Answers that the verifier refused, in the order of `rows` (n, 8).

    `actions` are the answers the rows were made of, for the ids as they were written.
    """
    refused = np.flatnonzero(rows[:, r.D_CODE])
    if len(refused) == 0:
        return []
    written = None if actions is None else [a for a in actions if a.kind != ActionKind.NONE]
    out: list[dict[str, object]] = []
    for k in (int(j) for j in refused):
        code = CODES[r.VERDICT_CODES[int(rows[k, r.D_CODE])]]
        seq = int(rows[k, r.D_SEQ])
        ev_id = written[k].ev_id if written is not None else None
        if ev_id is None:
            ev_id = car_id(seq) if seq != NOBODY else None
        out.append({"code": code.code, "ev_id": ev_id, "message": code.sentence, "hint": code.cure})
    return out


def flag_details(counts: Sequence[int], errors: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """Every flag of the tick: name, how often, threshold with its unit, and a sentence for people."""
    out: list[dict[str, object]] = []
    for flag, count in zip(FLAGS, counts, strict=True):
        if count <= 0:
            continue
        codes = _FLAG_OF.get(flag.name, ())
        who = [f"{e.get('ev_id') or 'no pending car'} {e['code']}" for e in errors if e["code"] in codes]
        if flag.name == "invalid_action":
            who = [str(e["code"]) for e in errors[:3] if "line" in e]
        text = f"{flag.sentence} ({', '.join(who) if who else f'{count} in this tick'})"
        out.append(
            {
                "name": flag.name,
                "count": int(count),
                "threshold": flag.threshold,
                "unit": flag.unit,
                "detail": text,
            }
        )
    return out
