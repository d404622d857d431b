"""The invariants of cars, lists, slots and queues as compiled loops over one environment.

The same checks as tests/sim/invariants.py makes in plain Python, in the same order and with the same words; a test
corrupts states and holds that both name the same fault. Bounds are checked, so that a corrupt index is a fault too.
"""

from __future__ import annotations

import numba
import numpy as np

from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import CarState

TEXTS = (
    "", "a state of no name", "overflow", "more deferred cars than the list holds", "free rows and C_STATE disagree",
    "list PEND and C_STATE disagree", "list DEFD and C_STATE disagree", "calendar and C_STATE disagree",
    "a car in another minute's cell", "an arrival in the past or beyond the ring", "a car on the road that never arrives",
    "inbound", "two cars of one number", "a car from the future",
    "a car on a slot that is not there", "slots over-filled or miscounted", "usable slots", "ST_MASK",
    "a queue without an end", "a ghost in the queue", "queue length",
    "the queue is not first come first served, emergencies first", "a queued or charging car that stands nowhere",
    "SLOT_CAR and C_STATE disagree", "a full car at a plug", "a plug that does not fit", "an empty slot draws",
    "Y_FLEX", "Y_NORM", "Y_CRIT", "state of charge", "target", "state of charge at a plug", "charge fell",
    "drives on nothing", "arrives before it leaves", "an index out of range",
)  # fmt: skip
NUMBER = {text: k for k, text in enumerate(TEXTS)}

PENDING, DEFERRED, ENROUTE, QUEUED, CHARGING = (
    int(s) for s in (CarState.PENDING, CarState.DEFERRED, CarState.ENROUTE, CarState.QUEUED, CarState.CHARGING)
)
C_STATE, C_FLAGS, C_SEQ, C_VEHICLE, C_STATION, C_TREQ = r.C_STATE, r.C_FLAGS, r.C_SEQ, r.C_VEHICLE, r.C_STATION, r.C_TREQ
C_TWAIT, C_READY, C_TDEP, C_TARR, C_NEXT = r.C_TWAIT, r.C_READY, r.C_TDEP, r.C_TARR, r.C_NEXT
C_SOC, C_TGT, C_WH = r.C_SOC_BP, r.C_TGT_BP, r.C_WH
WALKIN, FLEX, CRIT, EMERG, ANN, STRANDS = r.B_WALKIN, r.B_FLEX, r.B_CRIT, r.B_EMERG, r.B_ANN, r.B_STRANDS
Y_TICK, Y_OVERFLOW, Y_NDEF, Y_NPEND, Y_NFREE, Y_FREE = r.Y_TICK, r.Y_OVERFLOW, r.Y_NDEF, r.Y_NPEND, r.Y_NFREE, r.Y_FREE
Y_FLEX, Y_NORM, Y_CRIT, RING = r.Y_FLEX, r.Y_NORM, r.Y_CRIT, r.RING


@numba.njit(boundscheck=True)
def lists(y, cars, pend, defd, cal, inbound, seen, keys, strict):  # type: ignore[no-untyped-def]
    """Every car is in exactly one state and stands in that state's list, once. 0, or the number of a text.

    seen (C,) int64 and keys (C,) int64 are scratch. Without `strict` an overflow (a car that found every row taken)
    is not a fault, so that the rest is checked on.
    """
    n, now = len(cars), 5 * y[Y_TICK]
    counts = np.zeros(6, np.int64)
    for c in range(n):
        state = cars[c, C_STATE]
        if state < 0 or state > 5:
            return 1
        counts[state] += 1
        seen[c] = 0
    if y[Y_OVERFLOW] != 0 and strict:
        return 2
    if y[Y_NDEF] < 0 or y[Y_NDEF] > len(defd):
        return 3
    if y[Y_NFREE] != counts[0]:
        return 4
    c = y[Y_FREE]
    for _ in range(counts[0]):
        if c < 0 or c >= n or cars[c, C_STATE] != 0 or seen[c] != 0:
            return 4
        seen[c] = 1
        c = cars[c, C_NEXT]
    if y[Y_NPEND] != counts[PENDING]:
        return 5
    for k in range(y[Y_NPEND]):
        c = pend[k]
        if c < 0 or c >= n or cars[c, C_STATE] != PENDING or seen[c] != 0:
            return 5
        seen[c] = 1
    if y[Y_NDEF] != counts[DEFERRED]:
        return 6
    for k in range(y[Y_NDEF]):
        c = defd[k]
        if c < 0 or c >= n or cars[c, C_STATE] != DEFERRED or seen[c] != 0:
            return 6
        seen[c] = 1
    road = 0
    for cell in range(RING):
        c = cal[cell]
        while c >= 0:
            if c >= n or seen[c] != 0 or cars[c, C_STATE] != ENROUTE:
                return 7
            seen[c] = 1
            road += 1
            if cars[c, C_TARR] % RING != cell:
                return 8
            if not now <= cars[c, C_TARR] < now + RING:
                return 9
            c = cars[c, C_NEXT]
    if road != counts[ENROUTE]:
        return 10
    arriving = np.zeros(len(inbound), np.int64)
    living = 0
    late = False
    for c in range(n):
        state, flags = cars[c, C_STATE], cars[c, C_FLAGS]
        if state == 0:
            continue
        keys[living] = 2 * np.int64(cars[c, C_SEQ]) + (flags & WALKIN) // WALKIN
        living += 1
        if state == ENROUTE and ((flags & WALKIN) == 0 or (flags & ANN) != 0):
            arriving[cars[c, C_STATION]] += 1
        late = late or cars[c, C_TREQ] > now
    for s in range(len(inbound)):
        if arriving[s] != inbound[s]:
            return 11
    sorted_keys = np.sort(keys[:living])
    for k in range(1, living):
        if sorted_keys[k] == sorted_keys[k - 1]:
            return 12
    return 13 if late else 0


@numba.njit(boundscheck=True)
def stations(cars, slot_car, slot_g, slot_cap, slot_a, slot_b, occ, up, mask, qn, qh, total, seen):  # type: ignore[no-untyped-def]
    """Slots and queues, one car each, in order. 0, or the number of a text."""
    n = len(cars)
    waiting, charging, used, plugged = 0, 0, 0, 0
    for c in range(n):
        seen[c] = 0
        waiting += cars[c, C_STATE] == QUEUED or cars[c, C_STATE] == CHARGING
        charging += cars[c, C_STATE] == CHARGING
    for s in range(len(total)):
        taken, bits = 0, 0
        for k in range(len(slot_car)):
            c = slot_car[k, s]
            if c < 0:
                continue
            if k >= total[s]:
                return 14
            taken += 1
            bits |= 1 << k
            if c >= n or seen[c] != 0:
                return 22
            seen[c] = 1
        if taken != occ[s] or occ[s] > total[s]:
            return 15
        if not 0 <= up[s] <= total[s]:
            return 16
        if mask[s] != bits:
            return 17
        used += taken
        plugged += taken
        c, length = qh[s], 0
        last_calm, last_since = -1, 0
        while c >= 0:
            if length > n or c >= n:
                return 18
            if cars[c, C_STATE] != QUEUED or cars[c, C_STATION] != s:
                return 19
            length += 1
            used += seen[c] == 0
            seen[c] = 1
            c = cars[c, C_NEXT]
        if length != qn[s]:
            return 20
        c = qh[s]
        for _ in range(length):
            calm, since = int((cars[c, C_FLAGS] & EMERG) == 0), cars[c, C_TWAIT]
            if calm < last_calm or (calm == last_calm and since < last_since):
                return 21
            last_calm, last_since = calm, since
            c = cars[c, C_NEXT]
    if used != waiting:
        return 22
    if plugged != charging:
        return 23
    for s in range(slot_car.shape[1]):
        for k in range(len(slot_car)):
            c = slot_car[k, s]
            if c >= 0 and cars[c, C_STATE] != CHARGING:
                return 23
    for s in range(slot_car.shape[1]):
        for k in range(len(slot_car)):
            if slot_car[k, s] >= 0:
                if not slot_g[k, s] > 0.0:
                    return 24
                if not slot_cap[k, s] > 0.0:
                    return 25
            elif slot_g[k, s] != 0.0 or slot_cap[k, s] != 0.0 or slot_a[k, s] != 0.0 or slot_b[k, s] != 0.0:
                return 26
    return 0


@numba.njit(boundscheck=True)
def living(y, cars, to_go, battery_kwh):  # type: ignore[no-untyped-def]
    """The sums of the living are what a recount gives; charge and travel are in range. 0, or the number of a text."""
    now = 5 * y[Y_TICK]
    alive, flexible, critical = 0, 0, 0
    fault = np.zeros(6, np.bool_)
    for c in range(len(cars)):
        state, flags = cars[c, C_STATE], cars[c, C_FLAGS]
        if state == 0:
            continue
        alive += 1
        # a car due this very minute is switched over when the minute is played
        flexible += (flags & FLEX) != 0 and cars[c, C_READY] >= now
        critical += state <= QUEUED and (flags & CRIT) != 0
        battery = battery_kwh[cars[c, C_VEHICLE]]
        soc = cars[c, C_SOC] / 10000.0
        fault[0] |= not 0.0 <= soc <= 1.0
        fault[1] |= cars[c, C_TGT] > 10000
        if state == CHARGING:
            at_plug = cars[c, C_TGT] / 10000.0 - to_go[c] / battery
            fault[2] |= not -1e-9 <= at_plug <= 1.0
            fault[3] |= not at_plug >= soc - cars[c, C_WH] / 1000.0 / battery - 1e-9
        elif state == ENROUTE:
            fault[4] |= (flags & STRANDS) == 0 and not cars[c, C_WH] / 1000.0 <= soc * battery + 1e-9
            fault[5] |= cars[c, C_TARR] <= cars[c, C_TDEP]
    if y[Y_FLEX] != flexible:
        return 27
    if y[Y_NORM] != alive - flexible:
        return 28
    if y[Y_CRIT] != critical:
        return 29
    for k in range(6):
        if fault[k]:
            return 30 + k
    return 0


@numba.njit(boundscheck=True)
def picture(cars, slot_car, slot_g, plugged, to_go):  # type: ignore[no-untyped-def]
    """Write who is plugged in (C,) and what is still to go into each battery (C,), kWh."""
    for c in range(len(cars)):
        plugged[c] = cars[c, C_STATE] == CHARGING
        to_go[c] = 0.0
    for s in range(slot_car.shape[1]):
        for k in range(len(slot_car)):
            if 0 <= slot_car[k, s] < len(cars):
                to_go[slot_car[k, s]] = slot_g[k, s]


@numba.njit(boundscheck=True)
def gained(cars, battery_kwh, was_plugged, had_to_go, plugged, to_go):  # type: ignore[no-untyped-def]
    """(kWh that went into batteries in the tick as far as the two pictures show, cars that left a plug)."""
    total, gone = 0.0, 0
    for c in range(len(cars)):
        start = 0.0
        if was_plugged[c]:
            start = had_to_go[c]
        elif plugged[c]:
            wanted = (cars[c, C_TGT] - cars[c, C_SOC]) / 10000.0 * battery_kwh[cars[c, C_VEHICLE]]
            start = wanted + cars[c, C_WH] / 1000.0
        total += start - to_go[c]
        gone += was_plugged[c] and not plugged[c]
    return total, gone


@numba.njit(boundscheck=True)
def standing(cars):  # type: ignore[no-untyped-def]
    """(3,) cars of the episode still there: plain requests, flexible ones, walk-ins."""
    out = np.zeros(3, np.int64)
    for c in range(len(cars)):
        flags = cars[c, C_FLAGS]
        if cars[c, C_STATE] > 0 and (flags & r.B_WARM) == 0:
            out[2 if flags & WALKIN else (1 if flags & FLEX else 0)] += 1
    return out
