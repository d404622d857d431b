"""What a ``<SIMULATE>`` block was worth, and a CONFIDENCE: pure arithmetic on truth and reference.

Score of a field: 1 - error / max(error of the reference forecast, 0.01), cut to [-1, 1]. 1 is perfect,
0 is "no better than the clock". For the stations field each entry is scored like that and the entries
are averaged. The k-th entry claims two things, a station's state and that it is the k-th fullest:

    error = |d occupancy| + |d queue| / slots + (k-th largest load - its load)+

load being (occupied + queued) / slots. The second part looks at the load, not at the name, so that a tie
costs nothing. The reference for the k-th entry is the station that was k-th fullest, ties by id, when the
forecast was made, left as it was then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.schema.action import SimulationPrediction

_FLOOR = 0.01  # a reference that is right to 1 % leaves nothing to gain; below it noise would rule
_CUT = 1.0

Counts = npt.NDArray[np.int32] | npt.NDArray[np.int64] | npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Truth:
    """The state at T+5. Arrays are (S,), in the order of `station_ids`; counts of cars and slots."""

    station_ids: Sequence[str]
    grid_load_frac: float
    renewable_frac: float
    occupied: Counts
    queued: Counts
    slots: Counts


@dataclass(frozen=True, slots=True)
class Reference:
    """What the clock alone would have said: load and renewables as last value plus the hour's slope,
    stations (S,) as they were."""

    grid_load_frac: float
    renewable_frac: float
    occupied: Counts
    queued: Counts


def score_prediction(
    prediction: SimulationPrediction, truth: Truth, reference: Reference
) -> dict[str, float]:
    """Scores `grid_load`, `renewable`, `stations`, their `mean`, and `uncomputed`.

    A field that cannot be computed (a truth or reference that is not finite) counts 0 and is counted in
    `uncomputed`, so that one missing number never reaches a mean.
    """
    scores = {
        "grid_load": _score(
            abs(prediction.grid_load_frac - truth.grid_load_frac),
            abs(reference.grid_load_frac - truth.grid_load_frac),
        ),
        "renewable": _score(
            abs(prediction.renewable_frac - truth.renewable_frac),
            abs(reference.renewable_frac - truth.renewable_frac),
        ),
        "stations": _score_stations(prediction, truth, reference),
    }
    uncomputed = sum(math.isnan(v) for v in scores.values())
    known = {k: 0.0 if math.isnan(v) else v for k, v in scores.items()}
    return {**known, "mean": sum(known.values()) / len(known), "uncomputed": float(uncomputed)}


def brier(confidence: float, plugged_in_time: bool) -> float:
    """(confidence - outcome)^2; 1, the worst, for a confidence that is no number."""
    error = (confidence - float(plugged_in_time)) ** 2
    return error if math.isfinite(error) else 1.0


def _score(error: float, reference_error: float) -> float:
    """NaN if either error is not finite."""
    if not (math.isfinite(error) and math.isfinite(reference_error)):
        return math.nan
    return max(-_CUT, min(_CUT, 1.0 - error / max(reference_error, _FLOOR)))


def _score_stations(prediction: SimulationPrediction, truth: Truth, reference: Reference) -> float:
    index = {s: i for i, s in enumerate(truth.station_ids)}
    slots = np.maximum(np.asarray(truth.slots, dtype=np.float64), 1.0)
    occupancy = np.asarray(truth.occupied, dtype=np.float64) / slots
    queue = np.asarray(truth.queued, dtype=np.float64) / slots
    load = occupancy + queue
    ranked = np.sort(load)[::-1]
    was_occupancy = np.asarray(reference.occupied, dtype=np.float64) / slots
    was_queue = np.asarray(reference.queued, dtype=np.float64) / slots
    was_load = was_occupancy + was_queue
    if not (np.isfinite(load).all() and np.isfinite(was_load).all()):
        return math.nan  # ranks mean nothing when one station is unknown
    then = sorted(range(len(index)), key=lambda i: (-was_load[i], truth.station_ids[i]))

    def error(k: int, i: int, occupancy_frac: float, queue_frac: float) -> float:
        behind = max(0.0, float(ranked[k] - load[i]))
        return abs(occupancy_frac - float(occupancy[i])) + abs(queue_frac - float(queue[i])) + behind

    total = 0.0
    for k, entry in enumerate(prediction.top_stations):
        i = index.get(entry.station_id)
        if i is None:
            return math.nan
        j = then[k]
        total += _score(
            error(k, i, entry.occupancy_frac, entry.queue / float(slots[i])),
            error(k, j, float(was_occupancy[j]), float(was_queue[j])),
        )
    return total / len(prediction.top_stations) if prediction.top_stations else math.nan
