"""Roads: tables against an own Dijkstra, one-way streets, parallel links, no route, closures and jams."""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from inject import Rig, edited, silent, story

from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.city.travel import ENERGY_PER_CONGESTION, TravelBank
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import CarState, EventKind
from ev_grid_oracle.sim.world import WorldOptions


def link_minutes(city, day, hour):
    """Minutes of every link at `hour` (a float; the table is linear between full hours)."""
    roads = city.roads
    low, part = int(hour) % 24, hour - int(hour)
    table = roads.congestion[day]
    a = table[roads.link_class, roads.link_side, low]
    b = table[roads.link_class, roads.link_side, (low + 1) % 24]
    factor = a + (b - a) * part
    return roads.link_m / 1000.0 / roads.free_flow_kmh[roads.link_class] * 60.0 * factor, factor


def shortest(city, minutes, start, end):
    """Minutes of the fastest path, by the textbook; inf where there is none."""
    roads = city.roads
    out = {}
    for link, (a, b) in enumerate(zip(roads.link_from.tolist(), roads.link_to.tolist(), strict=True)):
        out.setdefault(a, []).append((b, float(minutes[link])))
    best, heap = {start: 0.0}, [(0.0, start)]
    while heap:
        t, node = heapq.heappop(heap)
        if node == end:
            return t
        if t > best[node]:
            continue
        for other, cost in out.get(node, ()):
            if t + cost < best.get(other, math.inf):
                best[other] = t + cost
                heapq.heappush(heap, (t + cost, other))
    return math.inf


@pytest.mark.parametrize("name", ["toy", "blr"])
@pytest.mark.parametrize(("day", "half_hour"), [(0, 6), (0, 36), (1, 23), (0, 47)])
def test_tables_are_dijkstras(request, name, day, half_hour):
    """50 pairs: minutes, the path's links and its kilometres for energy."""
    city = request.getfixturevalue(f"city_{name}")
    bank = packed(city).bank
    bank.ensure([(0, day, half_hour, 0)])
    row = bank.index[0, day, half_hour, 0]
    minutes, factor = link_minutes(city, day, (half_hour + 0.5) / 2.0)
    np.testing.assert_allclose(bank.link_minutes[row], minutes, rtol=1e-6)
    rng = np.random.default_rng([51, day, half_hour])
    for _ in range(50):
        node, s = int(rng.integers(len(city.roads.node_lat))), int(rng.integers(len(city.stations.ids)))
        goal = int(city.stations.node[s])
        truth = shortest(city, minutes, node, goal)
        assert bank.minutes[row, node, s] == pytest.approx(truth, rel=1e-5, abs=1e-6)
        at, spent, km = node, 0.0, 0.0
        while at != goal:
            link = int(bank.step[row, at, s])
            assert city.roads.link_from[link] == at
            spent += minutes[link]
            km += city.roads.link_m[link] / 1000.0 * (1.0 + ENERGY_PER_CONGESTION * (factor[link] - 1.0))
            at = int(city.roads.link_to[link])
        assert spent == pytest.approx(truth, rel=1e-6)
        assert bank.km[row, node, s] == pytest.approx(km, rel=1e-5)


def test_the_evening_is_slower_than_the_night_everywhere(city_blr):
    bank = packed(city_blr).bank
    keys = [(0, 0, 2 * h, 0) for h in (3, 7, 18)]
    bank.ensure(keys)
    night, morning, evening = (bank.minutes[bank.index[k]][:, : len(city_blr.stations.ids)] for k in keys)
    away = night > 0
    assert (evening[away] > night[away]).all()
    assert (morning[away] > night[away]).all()
    assert 1.5 < (evening[away] / night[away]).mean() < 3.5


# --- hand-made roads ------------------------------------------------------------------------------------
def road_city(city, n, links, nodes_of_stations, metres=None, kmh=None):
    """The toy on other roads: `links` (from, to), stations at the given nodes; free flow all day."""
    roads, zones = city.roads, city.zones
    count = len(links)
    speed = roads.free_flow_kmh.copy()
    classes = np.zeros(count, np.int32)
    if kmh is not None:
        kinds = sorted(set(kmh))
        speed[: len(kinds)] = kinds
        classes = np.array([kinds.index(v) for v in kmh], np.int32)
    new = replace(
        roads,
        node_names=tuple(map(str, range(n))),
        node_lat=np.full(n, 15.0),
        node_lon=np.full(n, 75.0),
        node_zone=np.zeros(n, np.int32),
        link_from=np.array([a for a, _ in links], np.int32),
        link_to=np.array([b for _, b in links], np.int32),
        link_names=("",) * count,
        link_class=classes,
        link_lanes=np.ones(count, np.int32),
        link_m=np.array(metres or [1000.0] * count),
        link_corridor=np.full(count, -1, np.int32),
        link_low=np.zeros(count, np.int32),
        link_side=np.zeros(count, np.int32),
        free_flow_kmh=speed,
        congestion=np.ones_like(roads.congestion),
    )
    area = replace(
        zones,
        node_start=np.array([0, n, n, n], np.int32),
        node_list=np.arange(n, dtype=np.int32),
        request_weight=np.array([1.0, 1e-9, 1e-9]),
        walkin_weight=np.array([1.0, 1e-9, 1e-9]),
    )
    pack = replace(city, roads=new, zones=area)
    return edited(pack, "stations", node=dict(enumerate(nodes_of_stations)))


ONE_WAY = [(1, 2), (2, 3), (3, 4), (4, 2), (5, 1)]  # ROAD-01, node 0 unused


def one_way(city):
    """Stations at nodes 1, 5, 2 and 3."""
    return road_city(city, 6, ONE_WAY, (1, 5, 2, 3))


def test_road_01_no_path_is_unreachable_and_the_car_keeps_its_place(city_toy):
    rig = Rig(silent(one_way(city_toy)))
    for node, station in ((4, 0), (1, 1), (0, 2)):
        seq = rig.car(vehicle=1, soc=0.9, node=node, patience=500)
        before = rig.row(seq).copy()
        rig.step([(seq, 0, station, 1)])
        assert r.VERDICT_CODES[rig.codes(1)[0]] == "E_UNREACHABLE"
        assert (rig.row(seq) == before).all()
        assert rig.view("FLAG").tolist()[1] == 1  # teleportation
    seq = rig.car(vehicle=1, soc=0.9, node=4, patience=500)
    rig.step([(seq, 0, 3, 1)])  # 4 -> 2 -> 3 goes
    assert rig.codes(1) == [r.V_OK]


def test_road_01_a_street_counts_in_its_direction_only(city_toy):
    bank = packed(one_way(city_toy)).bank
    bank.ensure([(0, 0, 0, 0)])
    m = bank.minutes[bank.index[0, 0, 0, 0]]
    per_link = 1.0 / one_way(city_toy).roads.free_flow_kmh[0] * 60.0
    hops = {(5, 0): 1, (1, 2): 1, (1, 3): 2, (5, 2): 2, (4, 2): 1, (4, 3): 2, (3, 2): 2, (2, 3): 1}
    for (node, s), n in hops.items():
        assert m[node, s] == pytest.approx(n * per_link, rel=1e-6)
    for node, s in ((4, 0), (1, 1), (2, 0), (3, 1), (0, 0), (0, 2)):
        assert np.isinf(m[node, s])


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_road_03_the_fastest_of_parallel_links_whatever_their_order(city_toy, order):
    metres, kmh = [900.0, 500.0, 700.0], [40.0, 5.0, 50.0]
    city = road_city(
        city_toy, 2, [(0, 1)] * 3, (1, 1, 1, 1), [metres[k] for k in order], [kmh[k] for k in order]
    )
    bank = TravelBank(city)
    bank.ensure([(0, 0, 0, 0)])
    row = bank.index[0, 0, 0, 0]
    assert bank.minutes[row, 0, 0] * 60.0 == pytest.approx(700.0 / 50.0 * 3.6, rel=1e-6)
    assert bank.km[row, 0, 0] == pytest.approx(0.7, rel=1e-6)
    assert bank.step[row, 0, 0] == order.index(2)


@pytest.mark.parametrize("rule", ["baseline", "greedy_counting"])
def test_road_09_no_route_enters_no_number(city_toy, rule):
    """Most pairs have no route: sums stay finite and nobody drives where no road leads."""
    city = one_way(city_toy)
    batch = Batch(city, 8)
    batch.reset([WorldOptions(k, city.scenario("baseline"), 17 * 60, ticks=36) for k in range(8)])
    reach = np.isfinite(packed(city).bank.minutes[batch.world.scalar(0, r.Y_TRAVEL)])
    for _ in range(36):
        assert np.isfinite(batch.play(rule, 1)).all()
        assert np.isfinite(batch.world.f).all()
        cars = batch.world.view("CAR")
        road = cars[cars[..., r.C_STATE] == CarState.ENROUTE]
        assert reach[road[:, r.C_NODE], road[:, r.C_STATION]].all()
        assert (road[:, r.C_TARR] - road[:, r.C_TDEP] <= 20).all()
    ep = batch.world.view("EP")
    assert (ep[:, r.A_MTC] <= 240.0 * ep[:, r.A_NREQ]).all()
    assert (ep[:, r.A_FLOOR] <= 240.0 * (ep[:, r.A_NREQ] + ep[:, r.A_NWALK])).all()
    assert (ep[:, r.T_DETOUR_KM] < 1e4).all()


# --- legal routes ------------------------------------------------------------------------------------------
def test_a_battery_too_small_for_the_trip_is_unreachable(city_toy):
    rig = Rig(silent(city_toy))
    row, node, s = rig.y(r.Y_TRAVEL), 0, 3
    wh = float(rig.world.bank.km[row, node, s]) * rig.city.vehicles.wh_km[1]
    battery = rig.city.vehicles.battery_kwh[1] * 1000.0
    for soc, ok in ((wh / battery - 2e-4, False), (wh / battery + 2e-4, True)):
        seq = rig.car(vehicle=1, soc=soc, target=0.8, node=node, patience=200)
        rig.step([(seq, 0, s, 1)])
        assert (rig.codes(1) == [r.V_OK]) == ok
        if not ok:
            assert r.VERDICT_CODES[rig.codes(1)[0]] == "E_UNREACHABLE"


def test_a_detour_longer_than_patience_is_refused(city_toy):
    """Measured over the nearest usable station: of two, and after the nearer one is closed."""
    pack = silent(city_toy)
    rig = Rig(pack)
    row = rig.y(r.Y_TRAVEL)
    table = rig.world.bank.minutes[row][:, : len(pack.stations.ids)]
    node = int(np.argmax(table.max(1) - table.min(1)))
    near, far = int(table[node].argmin()), int(table[node].argmax())
    detour = math.ceil(table[node, far]) - max(math.ceil(table[node, near]), 1)  # no trip is below a minute
    assert detour > pack.constants.detour_floor_min
    for patience, ok in ((detour - 1, False), (detour, True), (detour + 30, True)):
        seq = rig.car(vehicle=1, soc=0.9, target=1.0, node=node, patience=patience)
        rig.step([(seq, 0, far, 1)])
        assert r.VERDICT_CODES[rig.codes(1)[0]] == ("" if ok else "E_DETOUR")
    others = tuple(s for s in range(4) if s != far)
    closed = Rig(pack, scenario=story(pack, (0, EventKind.SLOTS, others, 0.0)))
    seq = closed.car(vehicle=1, soc=0.9, target=1.0, node=node, patience=5)
    closed.step([(seq, 0, far, 1)])
    assert closed.codes(1) == [r.V_OK]  # the only usable station is no detour


def test_a_plug_that_does_not_fit_is_refused(city_toy):
    rig = Rig(silent(city_toy))
    seq = rig.car(
        vehicle=2, soc=0.9, target=1.0, node=0, patience=200
    )  # no DC inlet; market has no AC socket
    rig.step([(seq, 0, 1, 2)])
    assert r.VERDICT_CODES[rig.codes(1)[0]] == "E_PLUG"


def test_behind_the_stations_stands_the_nearest_of_each_class(city_blr, city_toy):
    for city in (city_blr, city_toy):
        bank, n_s = packed(city).bank, len(city.stations.ids)
        keys = [(0, 0, 36, 0), (0, 1, 3, 1)]
        bank.ensure(keys)
        for key in keys:
            table = bank.minutes[bank.index[key]]
            for k in range(3):
                mine = table[:, :n_s][:, city.stations.rate == k]
                np.testing.assert_array_equal(table[:, n_s + k], mine.min(1) if mine.shape[1] else np.inf)
