"""Cars on the road when a link closes, slows or jams: they look once, from their next node."""

from __future__ import annotations

import math

import numpy as np
import pytest
from inject import Rig, silent, story

from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import CarState, EventKind


def path(bank, row, roads, node, s):
    links = []
    while (link := int(bank.step[row, node, s])) >= 0:
        links.append(link)
        node = int(roads.link_to[link])
    return links


def long_trip(city):
    """(node, station, links) of a trip of at least 25 minutes at 17:00."""
    rig = Rig(city)
    row = rig.y(r.Y_TRAVEL)
    table = rig.world.bank.minutes[row][:, : len(city.stations.ids)]
    node, s = (int(v) for v in np.unravel_index(np.argmax(table), table.shape))
    assert table[node, s] > 25.0
    return node, s, path(rig.world.bank, row, city.roads, node, s)


def drive(city, scenario, soc=0.9, ticks=12):
    """Route one car over the long trip; yields its row after every tick."""
    node, s, _ = long_trip(city)
    rig = Rig(city, scenario=scenario)
    seq = rig.car(vehicle=1, soc=soc, target=1.0, node=node, patience=500)
    rig.step([(seq, 0, s, 1)])
    assert rig.codes(1) == [r.V_OK]
    return rig, seq


def test_a_closed_link_ahead_reroutes_once_from_the_next_node(city_toy):
    city = silent(city_toy)
    node, s, links = long_trip(city)
    shut = links[-1]
    rig, seq = drive(city, story(city, (2, EventKind.LINK_CLOSED, (shut,), 1.0)))
    first = rig.row(seq).copy()
    old = rig.y(r.Y_TRAVEL)
    rig.step()  # the closure comes at tick 2
    car = rig.row(seq)
    assert car[r.C_FLAGS] & r.B_REROUTED
    bank, roads, new = rig.world.bank, city.roads, rig.y(r.Y_TRAVEL)
    assert np.isinf(bank.link_minutes[new, shut])
    trip = first[r.C_TARR] - first[r.C_TDEP]
    scale = trip / float(bank.minutes[old, node, s])
    clock, here = 0.0, node
    while clock <= 10.0:
        link = int(bank.step[old, here, s])
        clock += float(bank.link_minutes[old, link]) * scale
        here = int(roads.link_to[link])
    expected = int(clock + math.ceil(float(bank.minutes[new, here, s])))
    assert car[r.C_TARR] == expected
    assert car[r.C_TDEP] == first[r.C_TDEP]
    saved = float(bank.km[new, here, s] - bank.km[old, here, s]) * city.vehicles.wh_km[1]
    assert car[r.C_WH] == pytest.approx(first[r.C_WH] + saved, abs=3.0)
    assert shut not in path(bank, new, roads, here, s)


def test_a_second_closure_does_not_reroute_again(city_toy):
    city = silent(city_toy)
    _, _, links = long_trip(city)
    into = [
        k for k in range(len(city.roads.link_to)) if city.roads.link_to[k] == city.roads.link_to[links[-1]]
    ]
    rig, seq = drive(
        city, story(city, (2, EventKind.LINK_CLOSED, (links[-1],), 1.0), (3, EventKind.LINK_SPEED, into, 9.0))
    )
    rig.step()
    once = rig.row(seq).copy()
    assert once[r.C_FLAGS] & r.B_REROUTED
    rig.step()
    assert rig.y(r.Y_LINKSTATE) != 0
    assert (rig.row(seq) == once).all()


def test_a_link_behind_or_elsewhere_reroutes_nobody(city_toy):
    city = silent(city_toy)
    _, _, links = long_trip(city)
    elsewhere = [k for k in range(len(city.roads.link_m)) if k not in links]
    rig, seq = drive(city, story(city, (2, EventKind.LINK_CLOSED, [links[0], *elsewhere[:6]], 1.0)))
    before = rig.row(seq).copy()
    rig.step()
    assert rig.y(r.Y_LINKSTATE) != 0
    assert (rig.row(seq) == before).all()


def test_a_slow_link_reroutes_only_where_it_is_much_slower(city_toy):
    city = silent(city_toy)
    _, _, links = long_trip(city)
    for factor, caught in ((1.3, False), (8.0, True)):
        rig, seq = drive(city, story(city, (2, EventKind.LINK_SPEED, (links[-1],), factor)))
        rig.step()
        assert bool(rig.row(seq)[r.C_FLAGS] & r.B_REROUTED) == caught


def test_a_reroute_that_the_battery_does_not_hold_strands(city_toy):
    """Enough for the trip as planned, not for the way round: stranded, booked as such, gone."""
    city = silent(city_toy)
    node, s, links = long_trip(city)
    rig = Rig(city)
    wh = float(rig.world.bank.km[rig.y(r.Y_TRAVEL), node, s]) * city.vehicles.wh_km[1]
    soc = wh / 1000.0 / city.vehicles.battery_kwh[1] + 2e-4
    into = [
        k for k in range(len(city.roads.link_to)) if city.roads.link_to[k] == city.roads.link_to[links[-1]]
    ]
    # every way into the station but a long one round: its other entries are closed
    around = [k for k in into if k != links[-1]]
    rig, seq = drive(city, story(city, (2, EventKind.LINK_CLOSED, (links[-1], *around[:-1]), 1.0)), soc=soc)
    rig.step()
    car = rig.row(seq)
    if car[r.C_WH] <= soc * city.vehicles.battery_kwh[1] * 1000.0:
        pytest.skip("the way round is not longer in energy on this grid")
    assert car[r.C_FLAGS] & r.B_STRANDS
    while seq in rig.present():
        rig.step()
    assert rig.tk(r.T_STRANDED) == 1.0
    assert rig.ep(r.A_STRANDED) == 1.0
    assert rig.ep(r.A_LOST) == 0.0


def test_a_jam_reroutes_who_drives_into_it(city_toy):
    """Random jams at a high rate: a car whose path ahead lies on the jammed corridor looks again."""
    city = silent(city_toy, incident_jam_per_corridor_day=30.0, incident_jam_factor=6.0, max_pending=64)
    roads = city.roads
    caught = spared = 0
    for seed in range(40):
        rig = Rig(city, seed=seed)
        if rig.y(r.Y_JAM) >= 0:
            continue
        seqs = {}
        row = rig.y(r.Y_TRAVEL)
        for node in range(len(roads.node_lat)):
            s = (node + seed) % len(city.stations.ids)
            seqs[rig.car(vehicle=1, soc=0.95, target=1.0, node=node, patience=800)] = (node, s)
        rig.step([(seq, 0, s, 1) for seq, (_, s) in seqs.items()])
        jam = rig.y(r.Y_JAM)
        for seq, (node, s) in seqs.items():
            if seq not in rig.present() or rig.row(seq)[r.C_STATE] != CarState.ENROUTE:
                continue
            links = path(rig.world.bank, row, roads, node, s)
            ahead = [k for k in links if roads.link_corridor[k] == jam] if jam >= 0 else []
            # five minutes on, the car has at most two of these links behind it
            hit = any(k in ahead for k in links[3:])
            rerouted = bool(rig.row(seq)[r.C_FLAGS] & r.B_REROUTED)
            if hit:
                caught += rerouted
                assert rerouted
            if not ahead:
                spared += 1
                assert not rerouted
    assert caught > 5
    assert spared > 50


def test_traffic_of_the_day_and_rain_slow_everyone_alike(city_toy):
    """The whole-city factor scales minutes of new trips, not the table."""
    city = silent(city_toy)
    node, s, _ = long_trip(city)
    trips = []
    for events in ((), ((0, EventKind.RAIN, (), 1.0),)):
        rig = Rig(city, scenario=story(city, *events))
        seq = rig.car(vehicle=1, soc=0.9, target=1.0, node=node, patience=500)
        table = float(rig.world.bank.minutes[rig.y(r.Y_TRAVEL), node, s])
        rig.step([(seq, 0, s, 1)])
        trips.append(int(rig.row(seq)[r.C_TARR] - rig.row(seq)[r.C_TDEP]))
        assert trips[-1] == math.ceil(table * (1.35 if events else 1.0))
    assert trips[1] > trips[0]
