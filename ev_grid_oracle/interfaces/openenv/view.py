"""From the in-process `Observation` to its wire form: compact, columnar, at most 8 kB without the prompt.

Numbers are rounded to what a dispatcher can use; what is not a number (no route, no voltage, no cap) is
null. Where a tick holds more than fits, the view shows less in a fixed order: fewer candidates a car, fewer
cars in detail, ids cut; `pending_count` always says how many there are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.models import EVGridObservation
from ev_grid_oracle.schema.observation import EVRequest, GridState, Observation

F64 = npt.NDArray[np.float64]

MAX_BYTES = 8000
CARS = 8
CANDIDATES = 6
AHEAD = (0, 5, 11, 17)
"""Forecast steps shown: the state in 1, 6, 12 and 18 ticks."""

_PLANS = (
    (CARS, CANDIDATES, 120), (CARS, 4, 120), (CARS, 3, 64), (CARS, 2, 64), (6, 2, 32), (4, 2, 16), (4, 1, 8),
    (2, 1, 0), (1, 1, 0),
)  # fmt: skip
"""Cars in detail, candidates a car, ids of others: the first plan that fits is sent."""
_ERRORS = 8
_TARGETS = 6


def wire_observation(
    obs: Observation, *, episode_id: str | None = None, step: int = 0, prompt: bool = False
) -> EVGridObservation:
    """The observation as it travels.

    Args:
        obs: of a session; its `info` gives errors, settle and KPIs.
        prompt: add the text prompt, which does not count into the 8 kB.
    """
    state, ids = obs.state, obs.pending_ids
    fixed = {
        "done": obs.done,
        "reward": obs.reward,
        "episode_id": episode_id,
        "step": step,
        "city": obs.city_name,
        "tick": state.tick,
        "ticks": state.ticks,
        "minute_of_day": state.minute_of_day,
        "day_type": state.day_type,
        "season": state.season,
        "grid": _grid(state),
        "stations": _stations(obs),
        "feeders": _feeders(obs),
        "announcements": _announcements(obs),
        "pending_count": len(ids),
        "terminated": obs.terminated,
        "truncated": obs.truncated,
        "breakdown": dict(obs.breakdown),
        "flags": _flags(obs),
        "errors": _errors(obs.info.get("errors")),
        "settle": _rounded(obs.info.get("settle")),
        "kpis": _rounded(obs.info.get("kpis")),
        "prompt": None,
    }
    tables = [] if obs.done else _tables(obs, min(len(ids), CARS))
    view = EVGridObservation(**fixed, **_cars(obs, ids, tables, *_PLANS[0]))
    for plan in _PLANS[1:]:
        if len(view.model_dump_json().encode()) <= MAX_BYTES:
            break
        view = EVGridObservation(**fixed, **_cars(obs, ids, tables, *plan))
    if prompt:
        view.prompt = obs.prompt
    return view


def _numbers(values: F64, digits: int) -> list[float | None]:
    """Rounded numbers; None for nan and inf."""
    return _plain(values.tolist(), digits)


def _plain(plain: list[float], digits: int) -> list[float | None]:
    if math.isfinite(sum(plain)):  # one test for all: a nan or an inf spoils the sum
        return [round(v, digits) for v in plain]
    return [round(v, digits) if math.isfinite(v) else None for v in plain]


def _whole(values: npt.ArrayLike) -> list[int]:
    out: list[int] = np.asarray(values).astype(np.int64).tolist()
    return out


def _grid(state: GridState) -> dict[str, object]:
    return {
        "grid_load_pct": round(state.grid_load_frac, 4),
        "renewable_frac": round(state.renewable_frac, 4),
        "renewable_next_frac": _numbers(state.renewable_next_frac[list(AHEAD)], 3),
        "carbon_g_kwh": round(state.carbon_g_kwh, 1),
        "ratio_city": round(state.ratio_city, 3),
        "traffic": round(state.traffic, 3),
    }


def _stations(obs: Observation) -> dict[str, object]:
    st = obs.state.stations
    free = np.where(st.slots_up > 0, st.slot_free_min[:, 0], np.inf)
    return {
        "id": list(obs.station_ids),
        "occupied": _whole(st.occupied),
        "queued": _whole(st.queued),
        "inbound": _whole(st.inbound),
        "slots_up": _whole(st.slots_up),
        "supplied": _whole(st.supplied),
        "load_kw": _numbers(st.load_kw, 1),
        "limit_kw": _numbers(st.limit_kw, 1),
        "cap_kw": _numbers(st.cap_kw, 1),
        "price_inr_kwh": _numbers(st.price_inr_kwh, 2),
        "free_in_min": _numbers(free, 0),
        "usual_walkins_h": _numbers(st.usual_walkins_h, 2),
        "ratio": _numbers(st.ratio, 2),
        "rate": _whole(st.rate),
        "feeder": _whole(st.feeder),
        "heat": _numbers(obs.state.feeders.transformer_heat_frac, 3),
    }


def _feeders(obs: Observation) -> dict[str, object]:
    fd = obs.state.feeders
    return {
        "id": list(obs.feeder_ids),
        "load_pct": _numbers(fd.load_frac, 4),
        "limit_pct": _numbers(fd.limit_frac, 4),
        "heat": _numbers(fd.heat_frac, 4),
        "base_pct": _numbers(fd.base_frac, 4),
        "base_next_pct": [_numbers(row, 3) for row in fd.base_next_frac[:, list(AHEAD)]],
        "rating_kva": _numbers(fd.rating_kva, 0),
        "min_voltage_pu": _numbers(fd.min_voltage_pu, 4),
    }


def _announcements(obs: Observation) -> list[dict[str, object]]:
    return [
        {
            "kind": a.kind,
            "in_ticks": a.in_ticks,
            "targets": list(a.targets[:_TARGETS]),
            "value": round(a.value, 4),
            "sd": round(a.sd, 4),
            "label": a.label[:80],
        }
        for a in obs.announcements[:8]
    ]


def _tables(obs: Observation, cars: int) -> list[list[tuple[object, ...]]]:
    """Rows of the candidates of each car in detail, best first; see `CandidateColumns`."""
    out: list[list[tuple[object, ...]]] = []
    for k in range(cars):
        c = obs.candidates(k)
        score = np.where(c.usable, c.score, np.inf)
        best = score.argsort(kind="stable")[:CANDIDATES]
        best = best[np.isfinite(score[best])]
        values = np.array((
            c.travel_min, c.own_min, c.free_at_arrival, c.free_30_later, c.wait_min, c.walkins_until,
            c.site_headroom_kw, c.feeder_headroom_frac,
        ))  # fmt: skip
        columns = [_plain(v, d) for v, d in zip(values[:, best].tolist(), _DIGITS, strict=True)]
        out.append(list(zip([k] * len(best), best.tolist(), *columns, strict=True)))
    return out


_DIGITS = (0, 0, 1, 1, 0, 1, 0, 3)
_CANDIDATE_COLUMNS = (
    "car", "station", "travel_min", "own_min", "free_at_arrival", "free_30_later", "wait_min",
    "walkins_until", "site_headroom_kw", "feeder_headroom_frac",
)  # fmt: skip


def _cars(
    obs: Observation,
    ids: Sequence[str],
    tables: Sequence[Sequence[tuple[object, ...]]],
    cars: int,
    rows: int,
    others: int,
) -> dict[str, object]:
    """Pending cars, their candidates and the ids of those without detail."""
    shown: Sequence[EVRequest] = obs.pending[:cars]
    listed = [row for table in tables[:cars] for row in table[:rows]]
    columns = zip(*listed, strict=True) if listed else [()] * len(_CANDIDATE_COLUMNS)
    return {
        "pending": {
            "ev_id": [c.ev_id for c in shown],
            "persona": [c.persona for c in shown],
            "vehicle": [c.vehicle for c in shown],
            "zone": [obs.zone_ids[c.zone] for c in shown],
            "soc_frac": [round(c.soc_frac, 3) for c in shown],
            "target_frac": [round(c.target_frac, 3) for c in shown],
            "need_kwh": [round(c.need_kwh, 1) for c in shown],
            "ac_kw": [round(c.ac_kw, 1) for c in shown],
            "dc_kw": [round(c.dc_kw, 1) for c in shown],
            "urgency_frac": [round(c.urgency_frac, 3) for c in shown],
            "critical": [int(c.critical) for c in shown],
            "emergency": [int(c.emergency) for c in shown],
            "ready_in_min": [None if c.ready_in_min is None else round(c.ready_in_min) for c in shown],
            "patience_left_min": [round(c.patience_left_min, 1) for c in shown],
            "waited_min": [round(c.waited_min, 1) for c in shown],
            "deferrals": [c.deferrals for c in shown],
        },
        "more_pending_ids": list(ids[cars : cars + others]),
        "candidates": dict(zip(_CANDIDATE_COLUMNS, (list(c) for c in columns), strict=True)),
    }


def _flags(obs: Observation) -> dict[str, int]:
    details = obs.info.get("flags")
    if not isinstance(details, Sequence):
        return dict.fromkeys(obs.flags, 1)
    return {str(d["name"]): int(d["count"]) for d in details}


def _errors(errors: object) -> list[dict[str, object]]:
    if not isinstance(errors, Sequence):
        return []
    return [
        {
            "code": e["code"],
            "ev_id": e.get("ev_id"),
            "line": e.get("line"),
            "field": e.get("field"),
            "message": str(e["message"])[:200],
            "hint": str(e["hint"])[:200],
        }
        for e in errors[:_ERRORS]
    ]


def _rounded(values: object) -> dict[str, float | None] | None:
    if not isinstance(values, Mapping):
        return None
    return {str(k): None if v is None else round(float(v), 4) for k, v in values.items()}
