"""Queues and patience, minute by minute (cases CHG-03, CHG-04, CHG-07)."""

from __future__ import annotations

import math

import pytest
from inject import Rig, edited, story
from lab import CENTRE, NORTH, thirty_minutes, tiny

from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import CarState, EventKind


# --- CHG-03, CHG-04, CHG-07: the queue -----------------------------------------------------------
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_chg_03_who_waits_is_plugged_before_who_arrives(city_toy, order):
    rig = Rig(thirty_minutes(city_toy))
    soc = 0.5000  # 30 minutes to full; 0.4999 would be a minute more
    who = {}
    for k in order:
        who[k] = rig.car(soc=soc, target=1.0, station=NORTH, arrive=(0, 10, 30)[k], patience=300)
    for _ in range(6):
        rig.step()
    assert rig.present() == {who[1], who[2]}
    rig.step()  # minutes 30 to 34
    assert rig.row(who[1])[r.C_STATE] == CarState.CHARGING
    assert rig.soc(who[1]) == pytest.approx(soc + 5 / 60, rel=1e-9)
    assert rig.row(who[2])[r.C_STATE] == CarState.QUEUED
    for _ in range(11):
        rig.step()
    assert rig.present() == set()
    assert rig.ep(r.A_MTC) == 30 + 60 + 90  # all asked at minute 0


@pytest.mark.parametrize("first", [0, 1])
def test_two_that_arrive_in_one_minute_go_by_number(city_toy, first):
    """Also where the calendar holds them the other way round."""
    rig = Rig(thirty_minutes(city_toy))
    rig.car(soc=0.5, target=1.0, station=NORTH, arrive=0, patience=300)
    a = rig.car(soc=0.5, target=1.0, station=NORTH, arrive=7, patience=300)
    b = rig.car(soc=0.5, target=1.0, station=NORTH, arrive=7, patience=300)
    if first:
        calendar, cars = rig.view("CAL"), rig.view("CAR")
        head = calendar[7]
        second = cars[head, r.C_NEXT]
        calendar[7], cars[second, r.C_NEXT], cars[head, r.C_NEXT] = second, head, -1
    for _ in range(7):
        rig.step()
    assert rig.row(a)[r.C_STATE] == CarState.CHARGING
    assert rig.row(b)[r.C_STATE] == CarState.QUEUED


def test_emergency_goes_first_but_unplugs_nobody(city_toy):
    rig = Rig(thirty_minutes(city_toy))
    rig.car(soc=0.5, target=1.0, station=NORTH, arrive=0, patience=300)
    plain = rig.car(soc=0.5, target=1.0, station=NORTH, arrive=5, patience=300)
    urgent = rig.car(soc=0.5, target=1.0, station=NORTH, arrive=20, patience=300, flags=r.B_EMERG)
    for _ in range(5):
        rig.step()
    assert rig.row(urgent)[r.C_STATE] == CarState.QUEUED
    for _ in range(2):
        rig.step()
    assert rig.row(urgent)[r.C_STATE] == CarState.CHARGING
    assert rig.row(plain)[r.C_STATE] == CarState.QUEUED


def test_chg_04_who_gave_up_is_nowhere_and_gets_nothing(city_toy):
    """B arrives at 10, gives up at 20; another car of the same kind comes at 40 and is served alone."""
    rig = Rig(thirty_minutes(city_toy))
    rig.car(soc=0.5, target=1.0, station=NORTH, arrive=0, patience=300)
    b = rig.car(soc=0.5, target=1.0, station=NORTH, arrive=10, patience=10)
    back = rig.car(soc=0.5, target=1.0, station=NORTH, arrive=40, patience=10)
    for _ in range(4):
        rig.step()
        assert b in rig.present()
    assert rig.view("ST_QN")[NORTH] == 1
    rig.step()  # minute 20 is in it
    assert b not in rig.present()
    assert rig.ep(r.A_LOST) == 1.0
    assert rig.view("ST_QN")[NORTH] == 0
    assert rig.view("ST_QH")[NORTH] == -1
    for _ in range(3):
        rig.step()
    assert rig.tk(r.T_KWH) == 0.0  # minutes 35 to 39: nobody is plugged in
    for _ in range(10):
        rig.step()
        assert rig.view("ST_QN")[NORTH] == 0
    assert back not in rig.present()
    assert rig.ep(r.A_SERVED) == 2.0
    assert rig.ep(r.T_KWH) == pytest.approx(7.0, rel=1e-9)


@pytest.mark.parametrize("patience", [5, 20, 44])
def test_chg_07_a_blocked_station_lets_everyone_go(city_toy, patience):
    """One plug held three hours by a car that gets no power; five others leave when patience is gone."""
    pack = tiny(city_toy, battery=60.0, ac=7.0)
    rig = Rig(pack, scenario=story(pack, (0, EventKind.SITE_LIMIT, (NORTH,), 0.0)))
    holder = rig.car(soc=0.2, target=1.0, station=NORTH, arrive=0, patience=10)
    others = [rig.car(soc=0.2, target=1.0, station=NORTH, arrive=k, patience=patience) for k in range(1, 6)]
    gone = 0
    for tick in range(36):
        rig.step()
        end = 5 * (tick + 1)
        gone += rig.tk(r.T_LOST)
        expected = {s for s, k in zip(others, range(1, 6), strict=True) if k + patience >= end}
        assert rig.present() == {holder, *expected}
    assert gone == rig.ep(r.A_LOST) == 5.0


def test_patience_stands_still_on_the_road(city_toy):
    """20 minutes of patience, 15 used pending: 5 are left on arrival, however long the trip."""
    pack = tiny(city_toy, battery=60.0, dc=30.0, slots=1)
    rig = Rig(pack)
    rig.car(soc=0.1, target=1.0, station=CENTRE, arrive=0, patience=10)  # holds the plug
    seq = rig.car(soc=0.9, target=1.0, node=39, patience=20)
    for _ in range(3):
        rig.step()
    rig.step([(seq, 0, CENTRE, 1)])
    assert rig.codes(1) == [r.V_OK]
    arrival = int(rig.row(seq)[r.C_TARR])
    assert arrival > 20
    while seq in rig.present():
        assert rig.row(seq)[r.C_PAT] == 5 or rig.tick <= 4
        rig.step()
    assert 5 * (rig.tick - 1) <= arrival + 5 < 5 * rig.tick
    assert rig.ep(r.A_LOST) == 1.0


def test_patience_runs_while_deferred(city_toy):
    rig = Rig(tiny(city_toy))
    seq = rig.car(patience=22)
    rig.step([(seq, 1, -1, 1, 20)])
    assert rig.row(seq)[r.C_STATE] == CarState.DEFERRED
    for _ in range(3):
        rig.step()
    assert rig.row(seq)[r.C_STATE] == CarState.PENDING  # asks again after 20 minutes
    rig.step()
    assert seq not in rig.present()
    assert rig.ep(r.A_LOST) == 1.0


@pytest.mark.parametrize(
    ("minutes", "ok"), [(1, True), (5, True), (16, True), (20, True), (21, False), (240, False)]
)
def test_a_deferral_is_rounded_up_to_ticks_and_never_longer_than_patience(city_toy, minutes, ok):
    rig = Rig(tiny(city_toy))
    seq = rig.car(patience=24)
    rig.step([(seq, 1, -1, 1, minutes)])
    assert r.VERDICT_CODES[rig.codes(1)[0]] == ("" if ok else "E_TIME_WINDOW")
    if ok:
        for _ in range(math.ceil(minutes / 5) - 1):
            assert rig.row(seq)[r.C_STATE] == CarState.DEFERRED
            rig.step()
        assert rig.row(seq)[r.C_STATE] == CarState.PENDING
    else:
        assert rig.row(seq)[r.C_STATE] == CarState.PENDING


def test_slots_taken_away_let_the_charging_finish(city_toy):
    pack = thirty_minutes(city_toy)
    pack = edited(pack, "stations", slots=2)
    rig = Rig(
        pack, scenario=story(pack, (2, EventKind.SLOTS, (NORTH,), 0.0), (12, EventKind.SLOTS, (NORTH,), -1.0))
    )
    cars = [rig.car(soc=0.5, target=1.0, station=NORTH, arrive=0, patience=300) for _ in range(2)]
    late = rig.car(soc=0.5, target=1.0, station=NORTH, arrive=15, patience=300)
    for _ in range(5):
        rig.step()
    assert rig.view("ST_UP")[NORTH] == 0
    assert {rig.row(c)[r.C_STATE] for c in cars} == {CarState.CHARGING}
    for _ in range(3):
        rig.step()
    assert rig.present() == {late}
    assert rig.row(late)[r.C_STATE] == CarState.QUEUED
    for _ in range(5):
        rig.step()
    assert rig.row(late)[r.C_STATE] == CarState.CHARGING
