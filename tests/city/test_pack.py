"""The shipped packs: they load, they are complete, and the hash covers every byte."""

from __future__ import annotations

import csv
import os
import time
from pathlib import Path

import numpy as np
import pytest
from editable import Editable

from ev_grid_oracle.city import CityPack, list_cities, load_city, validate_pack
from ev_grid_oracle.city.build_demand import demand_shape
from ev_grid_oracle.city.choice import DC, NO_DC, shares
from ev_grid_oracle.city.detmath import cos_det_deg, exp_det
from ev_grid_oracle.city.hash import pack_files, pack_hash
from ev_grid_oracle.city.load import DATA, assemble
from ev_grid_oracle.city.validate import read_pack
from ev_grid_oracle.schema.enums import EventKind
from ev_grid_oracle.schema.errors import UnknownCityError, UnknownScenarioError

SCENARIOS = {
    "baseline", "heatwave_peak", "festival_surge", "transformer_derate", "station_outage", "tariff_shock",
    "MonsoonStorm", "CricketFinal", "AirportRush", "SilkBoardJam", "WhitefieldNight",
}  # fmt: skip
SEEDS = {
    "baseline": 7, "heatwave_peak": 1618, "festival_surge": 2026, "transformer_derate": 2828,
    "station_outage": 1414, "tariff_shock": 2424, "MonsoonStorm": 1107, "CricketFinal": 1804,
    "AirportRush": 2409, "SilkBoardJam": 1212, "WhitefieldNight": 2217,
}  # fmt: skip


@pytest.fixture(params=["bengaluru", "toy"])
def city(request: pytest.FixtureRequest) -> CityPack:
    return load_city(request.param)


def test_both_cities_are_there_and_sound() -> None:
    assert list_cities() == ("bengaluru", "toy")
    for name in list_cities():
        assert [str(f) for f in validate_pack(DATA / name)] == []


def test_loading_is_quick() -> None:
    load_city("toy")
    begin = time.perf_counter()
    assemble(read_pack(DATA / "bengaluru")[0])
    assert time.perf_counter() - begin < 0.9  # 0.04 s on a quiet core; the aim is 0.3


def test_unknown_city_names_the_known_ones() -> None:
    with pytest.raises(UnknownCityError, match=r"bengaluru, toy"):
        load_city("atlantis")
    with pytest.raises(UnknownScenarioError, match="baseline"):
        load_city("toy").scenario("nope")


def test_a_city_is_loaded_once_and_read_only() -> None:
    pack = load_city("toy")
    assert load_city("toy") is pack
    with pytest.raises(ValueError, match="read-only"):
        pack.stations.slots[0] = 99
    for part in ("stations", "vehicles", "personas", "zones", "roads", "grid", "profiles"):
        for v in vars(getattr(pack, part)).values():
            assert not isinstance(v, np.ndarray) or not v.flags.writeable


def test_bengaluru_counts() -> None:
    p = load_city("bengaluru")
    assert p.stations.ids == tuple(f"BLR-{i:02d}" for i in range(1, 26))
    assert int(p.stations.slots.sum()) == 272
    assert [int((p.stations.rate == r).sum()) for r in range(3)] == [9, 12, 4]
    assert len(p.grid.feeder_ids) == 12 and len(p.grid.substation_ids) >= 8
    assert 60 <= len(p.grid.bus_ids) <= 120
    assert len(p.roads.node_names) >= 250 and len(p.roads.link_m) >= 700
    assert (len(p.vehicles.names), len(p.personas.names)) == (17, 5)
    assert (p.timezone_offset_min, p.default_start, p.default_season) == (330, "17:00", "summer")


def test_toy_is_small_but_whole() -> None:
    p = load_city("toy")
    assert (len(p.stations.ids), len(p.roads.node_names), len(p.grid.feeder_ids), len(p.zones.ids)) == (
        4,
        40,
        2,
        3,
    )
    assert int(p.stations.slots.min()) == 4
    assert {s.name for s in p.scenarios} == {"baseline", "station_outage"}


def test_shares_and_cumulatives(city: CityPack) -> None:
    assert np.all(city.personas.vehicle_cum[:, -1] == 1.0)
    assert np.all(np.diff(city.personas.vehicle_cum, axis=1) >= 0)
    assert city.personas.request_share.sum() == pytest.approx(1)
    assert city.personas.walkin_share.sum() == pytest.approx(1)
    assert np.allclose(city.grid.feeder_mix.sum(axis=1), 1)
    for f in range(len(city.grid.feeder_ids)):
        a, b = city.grid.feeder_start[f : f + 2]
        assert city.grid.bus_base_share[a:b].sum() == pytest.approx(1)
        assert city.grid.bus_parent[a] == -1
        assert all(a <= city.grid.bus_parent[i] < i for i in range(a + 1, b))
        assert np.all(city.grid.bus_feeder[a:b] == f)
    assert np.all(city.grid.bus_feeder[city.stations.bus] == city.stations.feeder)


def test_zones_hold_every_node_once(city: CityPack) -> None:
    z = city.zones
    assert sorted(z.node_list.tolist()) == list(range(len(city.roads.node_names)))
    for i in range(len(z.ids)):
        members = z.node_list[z.node_start[i] : z.node_start[i + 1]]
        assert len(members) > 0 and np.all(city.roads.node_zone[members] == i)


def test_profiles(city: CityPack) -> None:
    p = city.profiles
    assert p.demand_shape.shape == (2, 288) and p.base_shape.shape == (2, 3, 288)
    assert p.demand_shape[0, 204:252].mean() == pytest.approx(1, abs=1e-3)
    assert p.demand_shape[1].mean() < p.demand_shape[0].mean()
    assert p.base_level[1, 0] == 1.0 and np.all(p.base_level[:, 1] < p.base_level[:, 0])
    assert np.all(p.solar_share[:, :60] == 0) and np.all(p.solar_share[:, 240:] == 0)
    assert np.all(p.solar_share + p.other_re_share < 1)
    assert p.usual_walkins.shape == (2, 24, len(city.stations.ids))
    evening = p.usual_walkins[0, 17:21].sum(axis=1).mean()
    assert evening == pytest.approx(12 * city.constants.walkins_per_tick, rel=1e-3)


def test_choice_tables(city: CityPack) -> None:
    p, s = city.profiles, city.stations
    m = min(city.constants.choice_nearest, len(s.ids))
    assert p.choice_cum.shape == p.choice_station.shape == (len(city.zones.ids), 2, m)
    assert np.all(p.choice_cum[:, :, -1] == 1.0) and np.all(np.diff(p.choice_cum, axis=2) >= 0)
    part = shares(p.choice_cum, p.choice_station, len(s.ids))
    assert np.allclose(part.sum(axis=2), 1)
    assert np.all(part[:, NO_DC, s.ac_socket == 0] == 0)
    assert np.all(part[:, DC].max(axis=1) > 0)


def test_own_exp_and_cos() -> None:
    x = np.linspace(-50, 50, 2001)
    assert np.allclose(exp_det(x), np.exp(x), rtol=2e-12, atol=0)
    assert exp_det(0.0) == 1.0
    for deg in (0.0, 12.97, 45.0, 60.0, 90.0):
        assert cos_det_deg(deg) == pytest.approx(np.cos(np.radians(deg)), abs=1e-12)


def test_every_column_and_key_has_a_source(city: CityPack) -> None:
    with (city.path / "provenance.csv").open(encoding="utf-8") as f:
        rows = {(r["table"], r["column"]): r for r in csv.DictReader(f)}
    for path in city.path.glob("*.csv"):
        if path.name != "provenance.csv":
            header = path.read_text(encoding="utf-8").splitlines()[0].split(",")
            assert all(rows[(path.name, c)]["source"] for c in header)
    for field in vars(city.constants):
        assert any(t == "manifest.toml" and c.endswith(f".{field}") for t, c in rows)


def test_the_hash_is_stable_and_sees_every_byte(toy: Editable) -> None:
    assert pack_hash(toy.path) == load_city("toy").sha256 == pack_hash(DATA / "toy")
    before = pack_hash(toy.path)
    for name in pack_files(toy.path):
        path = toy.path / name
        blob = path.read_bytes()
        path.write_bytes(blob[:-1] + bytes([blob[-1] ^ 1]))
        assert pack_hash(toy.path) != before
        path.write_bytes(blob)
    assert pack_hash(toy.path) == before
    (toy.path / "scenarios" / "baseline.toml").rename(toy.path / "scenarios" / "base.toml")
    assert pack_hash(toy.path) != before


def test_a_pack_in_a_folder_loads_like_the_shipped_one(toy: Editable) -> None:
    assert load_city(toy.path).sha256 == load_city("toy").sha256


def test_eleven_scenarios_with_their_story_seeds() -> None:
    p = load_city("bengaluru")
    assert {s.name for s in p.scenarios} == SCENARIOS
    assert {s.name: s.story_seed for s in p.scenarios} == SEEDS
    assert p.scenarios[0].name == "baseline" and p.scenarios[0].events == ()
    for s in p.scenarios:
        assert [e.tick for e in s.events] == sorted(e.tick for e in s.events)


def test_scenario_targets_hit_what_they_name() -> None:
    p = load_city("bengaluru")
    storm = p.scenario("MonsoonStorm").events
    (closed,) = [e for e in storm if e.kind == EventKind.LINK_CLOSED]
    assert set(closed.targets) == set(np.flatnonzero(p.roads.link_low).tolist())
    slots = [(p.stations.ids[e.targets[0]], e.value) for e in storm if e.kind == EventKind.SLOTS]
    assert slots == [("BLR-14", 2.0), ("BLR-07", 1.0)]
    rush = p.scenario("AirportRush").events
    (rating,) = [e for e in rush if e.kind == EventKind.FEEDER_RATING]
    assert [p.grid.feeder_ids[i] for i in rating.targets] == ["F07", "F12"]
    cricket = [e for e in p.scenario("CricketFinal").events if e.kind == EventKind.DEMAND]
    around, cbd = {e.targets for e in cricket}
    assert not set(around) & set(cbd)  # each group replaces only its own factor


@pytest.mark.skipif("EVGRID_REFERENCE_DATA" not in os.environ, reason="reference data not here")
def test_load_levels_are_the_measured_ones() -> None:
    folder = Path(os.environ["EVGRID_REFERENCE_DATA"]) / "bengaluru" / "grid"
    path = folder / "karnataka_hourly_load_mw_2024_2026.csv"
    if not path.exists():
        pytest.skip(f"{path.name} not here")
    with path.open(encoding="utf-8") as f:
        rows = {(r["season"].split("(")[0].replace("-", "_"), r["day"]): r for r in csv.DictReader(f)}
    mean = {k: sum(float(r[str(h)]) for h in range(17, 21)) / 4 for k, r in rows.items()}
    ref = mean[("summer", "weekday")]
    level = load_city("bengaluru").profiles.base_level
    for i, season in enumerate(("winter", "summer", "monsoon", "post_monsoon")):
        for j, day in enumerate(("weekday", "sunday")):
            assert level[i, j] == pytest.approx(mean[(season, day)] / ref, abs=1e-4)


def test_demand_shape_keeps_its_table_points() -> None:
    t = read_pack(DATA / "bengaluru")[0].tables["demand_shape.csv"]
    points = t.num("factor")[:48]
    assert np.array_equal(demand_shape(t)[0, ::6], points)
