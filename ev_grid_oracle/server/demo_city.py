"""What a page needs to know of a city once: map, stations, grid, scenarios, words and units. Public facts only."""

from __future__ import annotations

import csv

import numpy as np

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.spec import ROAD_CLASSES
from ev_grid_oracle.episode.kpis import KPIS
from ev_grid_oracle.episode.told import event_facts
from ev_grid_oracle.policies.registry import policy_names
from ev_grid_oracle.reward.terms import FLAGS, TERMS
from ev_grid_oracle.schema.axes import STEP_MINUTES
from ev_grid_oracle.schema.enums import Rate
from ev_grid_oracle.server.demo_compare import ROLE_KPIS

_KEPT: dict[str, dict[str, object]] = {}


def city_facts(pack: CityPack) -> dict[str, object]:
    """JSON-safe facts of a pack, made once; equal packs give equal bytes."""
    if pack.sha256 not in _KEPT:
        _KEPT.clear()  # a server has one city
        _KEPT[pack.sha256] = _facts(pack)
    return _KEPT[pack.sha256]


def _facts(pack: CityPack) -> dict[str, object]:
    return {
        "id": pack.id,
        "name": pack.name,
        "discom": pack.discom,
        "sha256": pack.sha256,
        "bbox": list(pack.bbox),
        "step_minutes": STEP_MINUTES,
        "stations": _stations(pack),
        "feeders": _feeders(pack),
        "buses": _buses(pack),
        "roads": _roads(pack),
        "places": _places(pack),
        "zones": [
            {"id": i, "name": n, "at": _at(lon, lat)}
            for i, n, lon, lat in zip(
                pack.zones.ids, pack.zones.names, pack.zones.lon, pack.zones.lat, strict=True
            )
        ],
        "scenarios": [
            {
                "name": s.name,
                "sentence": s.sentence,
                "start": s.start,
                "season": s.season,
                "day_type": s.day_type,
                "story_seed": s.story_seed,
                "events": [event_facts(pack, e) for e in s.events],
            }
            for s in pack.scenarios
        ],
        "fleets": ["mixed", *pack.personas.fleet_keys],
        "policies": list(policy_names()),
        "terms": [{"name": t.name, "unit": t.unit, "role": t.role, "sentence": t.sentence} for t in TERMS],
        "flags": [
            {"name": f.name, "threshold": f.threshold, "unit": f.unit, "sentence": f.sentence} for f in FLAGS
        ],
        "role_kpis": [dict(k.__dict__) for k in ROLE_KPIS],
        "kpis": [{"name": k.name, "unit": k.unit, "better": k.better, "sentence": k.sentence} for k in KPIS],
    }


def _at(lon: float, lat: float) -> list[float]:
    return [round(float(lon), 5), round(float(lat), 5)]


def _stations(pack: CityPack) -> list[dict[str, object]]:
    s, grid = pack.stations, pack.grid
    return [
        {
            "id": s.ids[k],
            "name": s.names[k],
            "at": _at(s.lon[k], s.lat[k]),
            "rate": Rate(int(s.rate[k])).name.lower(),
            "slots": int(s.slots[k]),
            "site_limit_kw": float(s.site_limit_kw[k]),
            "transformer_kva": float(s.transformer_kva[k]),
            "price_inr_kwh": float(s.price_inr_kwh[k]),
            "feeder": int(s.feeder[k]),
            "bus": int(s.bus[k]),
            "feeder_id": grid.feeder_ids[int(s.feeder[k])],
        }
        for k in range(len(s.ids))
    ]


def _feeders(pack: CityPack) -> list[dict[str, object]]:
    g = pack.grid
    return [
        {
            "id": g.feeder_ids[k],
            "name": g.feeder_names[k],
            "rating_kva": float(g.feeder_kva[k]),
            "substation": g.substation_names[int(g.feeder_substation[k])],
        }
        for k in range(len(g.feeder_ids))
    ]


def _buses(pack: CityPack) -> dict[str, object]:
    g = pack.grid
    return {
        "id": list(g.bus_ids),
        "feeder": g.bus_feeder.tolist(),
        "parent": g.bus_parent.tolist(),
        "km": [round(float(v), 3) for v in g.line_km],
        "v_min_pu": g.v_min_pu,
        "v_max_pu": g.v_max_pu,
    }


def _roads(pack: CityPack) -> list[dict[str, object]]:
    """One piece a pair of nodes and class, whichever way it is driven."""
    r = pack.roads
    seen: dict[tuple[int, int, int], int] = {}
    for k in range(len(r.link_from)):
        a, b = sorted((int(r.link_from[k]), int(r.link_to[k])))
        seen.setdefault((a, b, int(r.link_class[k])), k)
    ends = [
        (_at(r.node_lon[a], r.node_lat[a]), _at(r.node_lon[b], r.node_lat[b]), c, r.link_names[k])
        for (a, b, c), k in sorted(seen.items())
    ]
    return [{"class": ROAD_CLASSES[c], "name": name, "path": [a, b]} for a, b, c, name in ends]


def _places(pack: CityPack) -> list[dict[str, object]]:
    """Names in Latin and Kannada, lakes and parks; none where the pack has no such table."""
    path = pack.path / "places.csv"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table))
    lat = np.asarray([float(row["lat"]) for row in rows])
    lon = np.asarray([float(row["lon"]) for row in rows])
    return [
        {
            "name": row["name"],
            "name_kn": row["name_kn"],
            "at": _at(lon[k], lat[k]),
            "kind": row["kind"],
            "rank": int(row["rank"]),
        }
        for k, row in enumerate(rows)
    ]
