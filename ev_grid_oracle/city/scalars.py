"""What the manifest must hold: every scalar of a pack with its section, type and legal range."""

from __future__ import annotations

from dataclasses import dataclass

from ev_grid_oracle.city.spec import DAY_TYPES, SEASONS

SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Scalar:
    """One key. `kind`: float, int, text, ints. Text has a pattern in `lo_text`."""

    section: str
    key: str
    kind: str
    lo: float = 0.0
    hi: float = 0.0
    pattern: str = ""


def _group(section: str, kind: str, **ranges: tuple[float, float]) -> tuple[Scalar, ...]:
    return tuple(Scalar(section, k, kind, lo, hi) for k, (lo, hi) in ranges.items())


def _texts(section: str, **patterns: str) -> tuple[Scalar, ...]:
    return tuple(Scalar(section, k, "text", pattern=p) for k, p in patterns.items())


SCALARS: tuple[Scalar, ...] = (
    *_group("", "int", schema_version=(SCHEMA_VERSION, SCHEMA_VERSION)),
    *_texts(
        "city",
        id=r"[a-z][a-z0-9_]{0,39}",
        name=r".{1,80}",
        discom=r".{1,80}",
        timezone=r"[A-Za-z_]+(/[A-Za-z0-9_+-]+)*",
    ),
    *_group("city", "int", timezone_offset_min=(-840, 840)),
    *_group("bbox", "float", lat_min=(-90, 90), lat_max=(-90, 90), lon_min=(-180, 180), lon_max=(-180, 180)),
    *_texts(
        "defaults",
        start=r"([01][0-9]|2[0-3]):[0-5][05]",
        day_type="|".join(DAY_TYPES),
        season="|".join(SEASONS),
    ),
    *_group(
        "grid",
        "float",
        vn_kv=(0.2, 66),
        source_pu=(0.9, 1.1),
        pf_base=(0.5, 1),
        pf_charger=(0.5, 1),
        thermal_tau_min=(1, 1440),
        protection_pu=(1, 3),
        v_min_pu=(0.5, 1),
        v_max_pu=(1, 1.5),
    ),
    *_group("carbon", "float", carbon_thermal_g_kwh=(0, 1500)),
    *_group(
        "weather",
        "float",
        cloud_sd_winter=(0, 1),
        cloud_sd_summer=(0, 1),
        cloud_sd_monsoon=(0, 1),
        cloud_sd_post_monsoon=(0, 1),
        heat_load_per_deg=(0, 0.1),
        rain_solar_factor=(0, 1),
        rain_road_factor=(1, 5),
    ),
    *_group(
        "demand",
        "float",
        requests_per_tick=(0, 500),
        walkins_per_tick=(0, 500),
        participation=(0, 1),
        day_factor_sd=(0, 1),
        announced_share=(0, 1),
        critical_urgency=(0, 1),
    ),
    *_group(
        "flexible", "int", flex_ready_lo_min=(5, 1440), flex_ready_hi_min=(5, 1440), flex_slack_min=(0, 720)
    ),
    *_group("fleet", "float", battery_efficiency=(0.3, 1)),
    *_group("fleet", "int", max_cars=(8, 65536), max_pending=(8, 65536)),
    *_group("warmup", "int", warmup_ticks=(0, 288)),
    *_group(
        "noise",
        "float",
        base_noise_common_sd=(0, 0.5),
        base_noise_feeder_sd=(0, 0.5),
        base_noise_rho=(0, 0.999),
        traffic_day_sd=(0, 0.5),
        traffic_noise_sd=(0, 0.5),
    ),
    *_group(
        "incidents",
        "float",
        incident_slot_per_station_day=(0, 50),
        incident_jam_per_corridor_day=(0, 50),
        incident_jam_factor=(1, 10),
    ),
    *_group(
        "incidents",
        "int",
        incident_slot_minutes=(0, 1440),
        incident_jam_minutes=(0, 1440),
        incident_reroute_max=(0, 10),
    ),
    *_group(
        "choice",
        "float",
        choice_travel_min=(0.1, 240),
        choice_price_inr=(0.1, 1000),
        choice_queue=(0, 100),
        choice_reference_congestion=(1, 10),
    ),
    *_group("choice", "int", choice_nearest=(1, 512), detour_floor_min=(0, 720)),
    *_group("reference", "float", n0_car_minutes=(0.001, 1e6), high_stress_median=(0, 1e6)),
    Scalar("reference", "reference_seeds", "ints", 0, 2**32 - 1),
)


def names() -> tuple[str, ...]:
    """Every key as the provenance table names it, `section.key`."""
    return tuple(f"{s.section}.{s.key}" if s.section else s.key for s in SCALARS)
