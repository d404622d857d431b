"""Does a city pack hold, and can one live in it?"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.validate import validate_pack
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.errors import PackError

TICKS = 12


def check_city(path: str | Path) -> None:
    """Raise `PackError` with every fault of the pack in folder `path`.

    A pack without a fault is then played: an hour of every scenario under `greedy_counting`, in which
    nothing may become NaN and no car may be turned away for want of room.
    """
    faults = validate_pack(path)
    if faults:
        raise PackError(f"{len(faults)} faults in {str(path)!r}:\n" + "\n".join(f"  {f}" for f in faults))
    pack = load_city(Path(path).resolve())
    found = []
    for scenario in pack.scenarios:
        batch = Batch(pack, 1)
        batch.reset([resolve(pack, seed=1, scenario=scenario.name, ticks=TICKS).world])
        batch.play("greedy_counting", TICKS)
        world = batch.world
        if not np.isfinite(world.f).all():
            found.append(f"scenario {scenario.name!r}: a value is not finite after {TICKS} ticks")
        if world.scalar(0, r.Y_OVERFLOW):
            found.append(
                f"scenario {scenario.name!r}: {world.scalar(0, r.Y_OVERFLOW)} cars without room (max_cars)"
            )
    if found:
        raise PackError(f"The pack {str(path)!r} cannot be played: {'; '.join(found)}.")
