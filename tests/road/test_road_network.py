"""Driving by the clock: no way is no number, parallel links, exact fastest ways."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.road_network import BIN_MIN, LinkTable, RoadNetwork


def network(
    links: list[tuple[int, int]], minutes: list[list[float]], metres: list[float], n: int
) -> RoadNetwork:
    """Links with minutes by half hour (repeated), effective km equal to km."""
    km = tuple(m / 1000.0 for m in metres)
    return RoadNetwork(
        n, [a for a, _ in links], [b for _, b in links], metres,
        lambda half_hour: LinkTable(tuple(row[half_hour % len(row)] for row in minutes), km),
    )  # fmt: skip


@pytest.mark.parametrize(("start", "end"), [(4, 1), (1, 5)])
def test_no_way_is_a_code_and_never_a_number(start: int, end: int) -> None:
    links = [(1, 2), (2, 3), (3, 4), (4, 2), (5, 1)]
    net = network(links, [[1.0]] * 5, [1000.0] * 5, 6)
    way = net.route(start, end, 0.0)
    assert (way.code, way.minutes, way.metres, way.km, way.nodes) == ("E_UNREACHABLE", None, None, None, ())
    assert net.minutes_from(start, 0.0)[end] is None
    assert net.route(1, 4, 0.0).nodes == (1, 2, 3, 4)


def test_of_parallel_links_the_one_that_is_best_by_the_asked_measure() -> None:
    roads = [(900.0, 900.0 / 500.0), (500.0, 6.0), (700.0, 50.0 / 60.0)]  # metres, minutes
    for order in itertools.permutations(roads):
        net = network([(1, 2)] * 3, [[m] for _, m in order], [m for m, _ in order], 3)
        assert net.route(1, 2, 0.0, by="metres").metres == 500.0
        fast = net.route(1, 2, 0.0)
        assert (fast.metres, fast.minutes) == (700.0, pytest.approx(50.0 / 60.0))
        assert net.neighbours(1, 0.0)[2].minutes == fast.minutes


def test_a_road_driven_into_the_next_half_hour_changes_speed() -> None:
    net = network([(0, 1)], [[20.0, 5.0]], [1000.0], 2)
    whole = net.drive(0, 0.0)
    assert whole is not None and whole.minutes == 20.0
    late = net.drive(0, BIN_MIN - 10.0)  # half of it at 20 minutes, the other half at 5
    assert late is not None and late.minutes == pytest.approx(10.0 + 2.5) and late.km == pytest.approx(1.0)
    arrivals = [t + net.drive(0, t).minutes for t in [k / 4 for k in range(4 * 60)]]  # type: ignore[union-attr]
    assert arrivals == sorted(arrivals)  # setting out later never arrives earlier


def test_a_closed_road_is_no_way() -> None:
    net = network([(0, 1), (0, 2), (2, 1)], [[math.inf], [3.0], [4.0]], [1.0, 1.0, 1.0], 3)
    assert net.drive(0, 0.0) is None and list(net.neighbours(0, 0.0)) == [2]
    assert net.route(0, 1, 0.0).minutes == 7.0


def test_the_fastest_way_is_exact_on_random_networks() -> None:
    rng = random.Random(5)
    for _ in range(60):
        n = 6
        links = [(a, b) for a in range(n) for b in range(n) if a != b and rng.random() < 0.45]
        minutes = [[rng.uniform(1.0, 40.0) for _ in range(4)] for _ in links]
        net = network(links, minutes, [1000.0] * len(links), n)
        clock = rng.uniform(0.0, 120.0)
        best = math.inf
        for size in range(n - 1):  # every simple way from 0 to n - 1
            for middle in itertools.permutations(range(1, n - 1), size):
                now, here = clock, 0
                for there in (*middle, n - 1):
                    driven = net.neighbours(here, now).get(there)
                    if driven is None:
                        break
                    now, here = now + driven.minutes, there
                else:
                    best = min(best, now - clock)
        found = net.route(0, n - 1, clock).minutes
        assert (math.inf if found is None else found) == pytest.approx(best)


def test_the_city_s_own_tables_are_what_is_driven(city_blr: CityPack) -> None:
    bank = packed(city_blr).bank
    net = RoadNetwork.of(city_blr, bank, 0)
    clock = 17 * 60 + 1.0
    bank.ensure([(0, 0, 34, 0)])
    row = int(bank.index[0, 0, 34, 0])
    for link in range(0, len(city_blr.roads.link_from), 97):
        driven = net.drive(link, clock)
        assert driven is not None
        if driven.minutes < 29.0:
            assert driven.minutes == float(bank.link_minutes[row, link])
    station = 6
    at = int(city_blr.stations.node[station])
    minutes = net.minutes_from(at, clock)
    assert all(m is not None for m in minutes)  # strongly connected
    for node in range(0, 422, 37):
        table = float(bank.minutes[row, node, station])
        exact = net.route(node, at, clock).minutes
        assert exact is not None
        if exact < 28.0:
            assert exact == pytest.approx(table, rel=1e-5)


def test_one_way_streets_hold_in_the_city(city_blr: CityPack) -> None:
    roads = city_blr.roads
    pairs = set(zip(roads.link_from.tolist(), roads.link_to.tolist(), strict=True))
    single = [(a, b) for a, b in sorted(pairs) if (b, a) not in pairs]
    assert single
    net = RoadNetwork.of(city_blr, packed(city_blr).bank, 0)
    for a, b in single:
        assert b in net.neighbours(a, 600.0) and a not in net.neighbours(b, 600.0)


def test_scenario_jam_and_rain_slow_the_roads(city_blr: CityPack) -> None:
    bank = packed(city_blr).bank
    free, wet = RoadNetwork.of(city_blr, bank, 0), RoadNetwork.of(city_blr, bank, 0, slow=1.25)
    jam = RoadNetwork.of(city_blr, bank, 0, jam=0)
    link = int((city_blr.roads.link_corridor == 0).argmax())
    clock = 601.0
    a, b, c = (n.drive(link, clock) for n in (free, wet, jam))
    assert a is not None and b is not None and c is not None
    assert b.minutes == pytest.approx(1.25 * a.minutes) and b.km == pytest.approx(a.km)
    assert c.minutes > a.minutes and c.km > a.km
    shut = RoadNetwork.of(city_blr, bank, 0, links=((link, math.inf),))
    assert shut.drive(link, clock) is None
