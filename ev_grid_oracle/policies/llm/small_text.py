"""The small oracle's answers as texts of the protocol: six lines a car, REASON in its own words, the forecast on demand.

Only the decision, the REASON and the numbers of the forecast come from the network; every other character is forced by
the grammar and is not generated.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ev_grid_oracle.episode.ids import car_id
from ev_grid_oracle.policies.base import F64, I32
from ev_grid_oracle.policies.llm import small_words as w
from ev_grid_oracle.policies.llm.small import Note, SmallOracle
from ev_grid_oracle.policies.llm.small_look import CarQuestion
from ev_grid_oracle.policies.llm.small_net import F32
from ev_grid_oracle.protocol.prompt_compact import Column
from ev_grid_oracle.protocol.render import render_actions
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.action import Action, SimulationPrediction, StationForecast
from ev_grid_oracle.schema.enums import ActionKind, Rate

CAP_REASON = len(w.REASONS) - 1
TOP = 3
MOST_QUEUE = 999


def texts(policy: SmallOracle, rows: Sequence[F64], envs: Sequence[int], predict: bool = False) -> list[str]:
    """The text for each observation row; empty where nobody asks."""
    outs = [np.zeros((policy.eyes(e).city.layout.dims["MP"], r.N_DCOL), np.int32) for e in envs]
    counts = policy.answer_batch(rows, outs, envs)
    notes = policy.notes
    reasons = _reasons(policy, notes)
    by_row = {(n.env, n.row): reasons[k] for k, n in enumerate(notes)}
    forecasts: list[SimulationPrediction | None] = [None] * len(rows)
    if predict:
        asked = [k for k, n in enumerate(counts) if n]
        for k, found in zip(
            asked, predictions(policy, [rows[k] for k in asked], [envs[k] for k in asked]), strict=True
        ):
            forecasts[k] = found
    out = []
    for env, answers, n, forecast in zip(envs, outs, counts, forecasts, strict=True):
        ids = policy.eyes(env).city.pack.stations.ids
        actions = [_action(answers[j], ids, w.REASONS[by_row[env, j]]) for j in range(n)]
        out.append(render_actions(actions, forecast) if actions else "")
    return out


def _action(row: I32, ids: Sequence[str], reason: str) -> Action:
    return Action(
        kind=ActionKind(int(row[r.D_KIND])),
        station_id=ids[int(row[r.D_STATION])] if row[r.D_STATION] >= 0 else None,
        rate=Rate(int(row[r.D_RATE])),
        defer_minutes=int(row[r.D_DEFER]),
        ev_id=car_id(int(row[r.D_SEQ])),
        reason=reason,
        confidence=int(row[r.D_CONF]) / 10000.0,
    )


def _reasons(policy: SmallOracle, notes: Sequence[Note]) -> list[int]:
    """Number of REASON for each answer: the likeliest word after the decision."""
    out = [CAP_REASON] * len(notes)
    cars = [k for k, n in enumerate(notes) if isinstance(n.question, CarQuestion)]
    if cars:
        rows = [np.append(notes[k].question.ids, np.int32(notes[k].token)) for k in cars]
        odds = policy._ask(rows)[:, w.REASON : w.REASON + len(w.REASONS)]
        for k, choice in zip(cars, odds.argmax(1), strict=True):
            out[k] = int(choice)
    return out


def predictions(policy: SmallOracle, rows: Sequence[F64], envs: Sequence[int]) -> list[SimulationPrediction]:
    """Forecasts for five ticks ahead: the median of what the network holds possible, word by word."""
    if not rows:
        return []
    asked = [policy.eyes(e).world(o) for e, o in zip(envs, rows, strict=True)]
    q = w.WORLD_QUESTION
    at = []
    for _, stations in asked:
        after = q.head_words + q.line_words * (np.arange(w.MOST_LINES) + 1)
        after = np.minimum(after, q.length(len(stations)) - 1)
        at.append([*(after - 1), *after, q.head_words - 1, q.head_words - 2])
    logits = policy.net.logits([ids for ids, _ in asked], np.array(at, np.int64))
    out = []
    for k, (env, o) in enumerate(zip(envs, rows, strict=True)):
        out.append(_prediction(policy, env, o, asked[k][1], logits[k]))
    return out


def _prediction(policy: SmallOracle, env: int, o: F64, stations: I32, logits: F32) -> SimulationPrediction:
    eyes = policy.eyes(env)
    n, most = len(stations), w.MOST_LINES
    load, share = eyes.reference(o)
    load += _median(logits[-2:-1], w.LOAD_SHIFT)[0] / w.LOAD_SHIFT.per_unit
    share += _median(logits[-1:], w.SHARE_SHIFT)[0] / w.SHARE_SHIFT.per_unit
    pack = eyes.city.pack.stations
    slots = np.maximum(np.asarray(pack.slots)[stations].astype(np.float64), 1.0)
    occupied = np.minimum(_median(logits[:n], w.OCCUPIED), slots)
    queued = _median(logits[most : most + n], w.QUEUED)
    full = sorted(
        range(n), key=lambda k: (-(occupied[k] + queued[k]) / slots[k], pack.ids[int(stations[k])])
    )[:TOP]
    top = tuple(
        StationForecast(
            pack.ids[int(stations[k])], float(occupied[k] / slots[k]), int(min(queued[k], MOST_QUEUE))
        )
        for k in full
    )
    return SimulationPrediction(min(max(load, 0.0), 9.99), min(max(share, 0.0), 1.0), top)


def _median(logits: F32, column: Column) -> F64:
    """(n,) medians over the words of a column, in its numbers."""
    first = w.FIRST[column.letter]
    part = logits[:, first : first + column.count].astype(np.float64)
    weight = np.exp(part - part.max(1, keepdims=True))
    below = np.cumsum(weight / weight.sum(1, keepdims=True), 1)
    return np.asarray((below >= 0.5).argmax(1) + column.low, np.float64)
