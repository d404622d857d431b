"""Does a policy keep the contract of `policies.base.Policy`?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.policies.base import Policy, PolicyContext
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.errors import EVGridError

I32 = npt.NDArray[np.int32]
F64 = npt.NDArray[np.float64]

SOURCES = ("policy", "planner", "llm", "fallback", "timeout", "skipped")


class PolicyCheckError(EVGridError):
    """A policy does not keep the contract; the message lists every reason."""

    code = "E_POLICY"


def check_policy(
    make: Callable[[], Policy], city: str = "toy", seed: int = 1, ticks: int = 24, allow_refused: bool = False
) -> None:
    """Play an episode twice with fresh policies of `make` and raise `PolicyCheckError` with what is wrong.

    Checked: name and source; the number of answers; every decision row in range, for a pending car, at most
    one a car; the observation left as it was; equal answers in both episodes; and, unless `allow_refused`,
    that the verifier refuses none of them.
    """
    faults: list[str] = []
    first = _play(make(), city, seed, ticks, allow_refused, faults)
    second = _play(make(), city, seed, ticks, allow_refused, [])
    if not faults and first != second:
        tick = next((t for t, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), len(first))
        faults.append(f"two episodes on one seed differ, first at tick {tick}")
    if faults:
        raise PolicyCheckError(f"The policy does not keep the contract: {'; '.join(faults)}.")


def _play(
    policy: Policy, city: str, seed: int, ticks: int, allow_refused: bool, faults: list[str]
) -> list[bytes]:
    """Answers of each tick; stops at the first tick with a fault."""
    if not isinstance(getattr(policy, "name", None), str) or not policy.name:
        faults.append("`name` is no text")
    if getattr(policy, "source", None) not in SOURCES:
        faults.append(f"`source` is none of {', '.join(SOURCES)}")
    if faults:
        return []
    pack = load_city(city)
    batch = Batch(pack, 1, max_answers=packed(pack).layout.dims["MP"])
    batch.reset([resolve(pack, seed=seed, ticks=ticks).world])
    policy.begin(PolicyContext(batch.world.city, seed))
    said: list[bytes] = []
    for tick in range(ticks):
        row = batch.world.observe(0)
        kept = row.copy()
        batch.answers[:] = 0
        n = policy.answer(row, batch.answers[0])
        found = [] if np.array_equal(row, kept, equal_nan=True) else ["it changed the observation"]
        found += _rows(n, batch.answers[0], batch.world.layout, kept)
        if found:
            faults += [f"tick {tick}: {text}" for text in found]
            return said
        said.append(batch.answers[0, :n].tobytes())
        batch.counts[0] = n
        batch.step()
        refused = np.flatnonzero(batch.answers[0, :n, r.D_CODE])
        if len(refused) and not allow_refused:
            code = r.VERDICT_CODES[int(batch.answers[0, refused[0], r.D_CODE])]
            faults.append(f"tick {tick}: answer {int(refused[0])} was refused with {code}")
            return said
    return said


def _rows(n: object, out: I32, layout: r.Layout, row: F64) -> list[str]:
    """What is wrong with the `n` decision rows in `out` (MD, 8) for the observation `row`."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 0 <= n <= len(out):
        return [f"answer() returned {n!r}, no number from 0 to {len(out)}"]
    pending = int(layout.view(row, "O_X")[r.OX_NPEND])
    cars = {int(seq) for seq in layout.view(row, "O_PEND")[:pending, r.P_SEQ]}
    stations = layout.dims["S"]
    found, seen = [], set()
    for k in range(int(n)):
        seq, kind, station, rate, defer, confidence = (int(v) for v in out[k, : r.D_CONF + 1])
        if seq not in cars:
            found.append(f"answer {k} is for car {seq}, which is not pending")
        if seq in seen:
            found.append(f"answer {k} is the second one for car {seq}")
        seen.add(seq)
        if kind not in (0, 1, 2):
            found.append(f"answer {k} has kind {kind}")
        elif not -1 <= station < stations or (kind == 0 and station < 0) or (kind == 1 and station >= 0):
            found.append(f"answer {k} of kind {kind} has station {station}")
        if rate not in (0, 1, 2):
            found.append(f"answer {k} has rate {rate}")
        if not 0 <= defer <= 240 or (kind == 0 and defer) or (kind == 1 and defer < 1):
            found.append(f"answer {k} of kind {kind} has {defer} minutes")
        if not 0 <= confidence <= 10_000:
            found.append(f"answer {k} has confidence {confidence} of 10000")
    return found
