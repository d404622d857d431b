"""Is a trace whole, and is it true?"""

from __future__ import annotations

from pathlib import Path

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.replay import verify_trace
from ev_grid_oracle.schema.errors import TraceError


def check_trace(path: str | Path, city: CityPack | None = None) -> None:
    """Raise `TraceError` unless the file is a whole trace and the simulator gives every number in it.

    Args:
        city: needed only where the city is not one that comes with the package.
    """
    report = verify_trace(path, city)
    if not report.ok:
        raise TraceError(f"{str(path)!r} is not what the simulator gives: {report.message}")
