"""What every table of a pack must look like: columns, kinds, units and ranges, in one place."""

from __future__ import annotations

from dataclasses import dataclass

HOURS = tuple(f"h{h:02d}" for h in range(24))
DAY_TYPES = ("weekday", "sunday")
SEASONS = ("winter", "summer", "monsoon", "post_monsoon")
ROAD_CLASSES = ("expressway", "trunk", "primary", "secondary", "tertiary")
RATES = ("slow", "fast", "ultra_fast")
MIXES = ("residential", "commercial", "office")
CONFIDENCES = ("measured", "quoted", "general", "assumption")
SOURCE_BUS = "SOURCE"  # parent of a feeder's first bus: the substation's 11 kV bar


@dataclass(frozen=True)
class Column:
    """One column. `kind`: id, text, note and ref (both may be blank), float, int, flag, choice, time."""

    name: str
    kind: str = "id"
    lo: float = 0.0
    hi: float = 0.0
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class TableSpec:
    """One file. `key` columns together are unique; row counts are inclusive."""

    file: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    min_rows: int = 1
    max_rows: int = 5000
    optional: bool = False


def _f(name: str, lo: float, hi: float) -> Column:
    return Column(name, "float", lo, hi)


def _i(name: str, lo: float, hi: float) -> Column:
    return Column(name, "int", lo, hi)


def _c(name: str, *choices: str) -> Column:
    return Column(name, "choice", choices=choices)


def _hours(lo: float, hi: float) -> tuple[Column, ...]:
    return tuple(_f(h, lo, hi) for h in HOURS)


_ID = Column
_DAY = _c("day_type", *DAY_TYPES)
_SEASON = _c("season", *SEASONS)
_CLASS = _c("class", *ROAD_CLASSES)
_NAME = Column("name", "text")
_NOTE = Column("source", "text")
_LAT, _LON = _f("lat", -90, 90), _f("lon", -180, 180)
_FLAGS = {n: Column(n, "flag") for n in ("ac_socket", "emergency", "low_lying", "cbd")}

# fmt: off
_ALL = (
    TableSpec(
        "stations.csv",
        (
            _ID("station_id"), _ID("slug"), _NAME, _LAT, _LON, _c("type", *RATES), _i("slots", 1, 31),
            _FLAGS["ac_socket"], _f("ac_socket_kw", 0, 43), _f("site_limit_kw", 3, 5000),
            _f("transformer_kva", 3, 5000), _f("price_inr_kwh", 0.5, 100), _f("habit", -5, 5),
            _ID("feeder"), _ID("bus"), _NOTE,
        ),
        ("station_id",), max_rows=512,
    ),
    TableSpec(
        "vehicles.csv",
        (
            _ID("vehicle_id"), _NAME, _f("battery_kwh", 0.5, 600), _f("ac_kw", 0.3, 43), _f("dc_kw", 0, 400),
            _f("wh_km", 10, 3000), _i("wheels", 2, 10), _f("taper_knee", 0.3, 0.99),
            _f("taper_floor", 0.01, 1), _NOTE,
        ),
        ("vehicle_id",), max_rows=200,
    ),
    TableSpec(
        "personas.csv",
        (
            _ID("persona"), _ID("fleet_key"), _f("urgency_bias", -1, 1), _i("patience_lo_min", 1, 720),
            _i("patience_hi_min", 1, 720), _f("price_sensitivity", 0, 1), _f("soc_lo", 0, 1),
            _f("soc_mode", 0, 1), _f("soc_hi", 0, 1), _f("target_lo", 0, 1), _f("target_hi", 0, 1),
            _FLAGS["emergency"], _f("flexible_share", 0, 1), _f("request_share", 0, 1),
            _f("walkin_share", 0, 1),
        ),
        ("persona",), max_rows=32,
    ),
    TableSpec(
        "persona_vehicles.csv", (_ID("persona"), _ID("vehicle"), _f("share", 0, 1)), ("persona", "vehicle")
    ),
    TableSpec("load_shapes.csv", (_c("kind", *MIXES), _DAY, *_hours(0, 2)), ("kind", "day_type")),
    TableSpec("load_levels.csv", (_SEASON, _DAY, _f("level", 0.1, 3)), ("season", "day_type")),
    TableSpec("renewable.csv", (_SEASON, _c("part", "solar", "other"), *_hours(0, 1)), ("season", "part")),
    TableSpec(
        "tariff.csv",
        (_ID("zone"), Column("start", "time"), Column("end", "time"), _f("factor", 0.05, 10)),
        ("zone",), max_rows=48,
    ),
    TableSpec(
        "start_occupancy.csv",
        (_DAY, _i("hour", 0, 23), _f("slow", 0, 1), _f("fast", 0, 1), _f("ultra_fast", 0, 1)),
        ("day_type", "hour"),
    ),
    TableSpec("demand_shape.csv", (_DAY, Column("time", "time"), _f("factor", 0, 20)), ("day_type", "time")),
    TableSpec("substations.csv", (_ID("substation_id"), _NAME, _f("mva", 0.5, 500)), ("substation_id",)),
    TableSpec(
        "conductors.csv",
        (Column("conductor", "text"), _f("r_ohm_km", 0, 5), _f("x_ohm_km", 0, 5), _f("ampacity_a", 10, 2000)),
        ("conductor",),
    ),
    TableSpec(
        "feeders.csv",
        (
            _ID("feeder_id"), _NAME, _ID("substation"), Column("head_conductor", "text"),
            _f("rating_mva", 0.05, 50), _f("base_frac", 0.01, 1.2), _ID("side"),
            *(_f(f"mix_{m}", 0, 1) for m in MIXES),
        ),
        ("feeder_id",), max_rows=256,
    ),
    TableSpec(
        "buses.csv",
        (
            _ID("bus_id"), _ID("feeder"), Column("parent", "ref"), _f("base_share", 0, 1),
            Column("conductor", "text"), _f("length_km", 0.001, 60),
        ),
        ("bus_id",),
    ),
    TableSpec(
        "nodes.csv", (_ID("node_id"), _NAME, _LAT, _LON, _ID("zone"), _NOTE), ("node_id",), max_rows=20000
    ),
    TableSpec(
        "links.csv",
        (
            _ID("link_id"), _ID("from_node"), _ID("to_node"), _NAME, _CLASS, _i("lanes", 1, 12),
            _f("length_m", 1, 60000), Column("corridor", "ref"), _FLAGS["low_lying"], _FLAGS["cbd"], _NOTE,
        ),
        ("link_id",), max_rows=60000,
    ),
    TableSpec(
        "zones.csv",
        (
            _ID("zone_id"), _NAME, _LAT, _LON, _ID("side"), _ID("kind"), _f("request_weight", 0.001, 1000),
            _f("walkin_weight", 0.001, 1000),
        ),
        ("zone_id",), max_rows=500,
    ),
    TableSpec("corridors.csv", (_ID("corridor_id"), _NAME, Column("description", "text")), ("corridor_id",)),
    TableSpec(
        "congestion.csv", (_DAY, _CLASS, _ID("zone_side"), *_hours(0.8, 10)),
        ("day_type", "class", "zone_side"),
    ),
    TableSpec("speeds.csv", (_CLASS, _f("free_flow_kmh", 5, 130), _NOTE), ("class",)),
    TableSpec(
        "places.csv",
        (_NAME, Column("name_kn", "note"), _LAT, _LON, _ID("kind"), _i("rank", 0, 9)),
        ("name", "kind"), optional=True,
    ),
    TableSpec(
        "provenance.csv",
        (
            Column("table", "text"), Column("column", "text"), _NOTE, _c("confidence", *CONFIDENCES),
            Column("note", "note"),
        ),
        ("table", "column"),
    ),
)

# fmt: on
TABLES: dict[str, TableSpec] = {t.file: t for t in _ALL}
