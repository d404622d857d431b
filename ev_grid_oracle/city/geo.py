"""Distances and the snapping of a place to its road node."""

from __future__ import annotations

import numpy as np

from ev_grid_oracle.city.detmath import cos_det_deg
from ev_grid_oracle.city.model import F64

M_PER_DEG = 111195.0
"""Metres per degree of latitude on a sphere of 6,371 km."""
MAX_SNAP_M = 500.0


def metres(lat: F64, lon: F64, lat0: float, lon0: float) -> F64:
    """Distances from (lat0, lon0), m; flat-earth, good to 0.1 % within a city."""
    dy = (lat - lat0) * M_PER_DEG
    dx = (lon - lon0) * (M_PER_DEG * cos_det_deg(lat0))
    return np.sqrt(dx * dx + dy * dy)


def nearest(lat: F64, lon: F64, lat0: float, lon0: float) -> tuple[int, float]:
    """Index of the nearest point and its distance in m; the lower index wins a tie."""
    d = metres(lat, lon, lat0, lon0)
    i = int(np.argmin(d))
    return i, float(d[i])
