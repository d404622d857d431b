"""Charging, queues and waiting against minutes worked out by hand (cases C of the catalogue)."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from inject import Rig, edited, silent, story

from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import CarState, EventKind

CENTRE, MARKET, NORTH, LAKE = range(4)  # fast, ultra_fast, slow, fast
ETA = 0.92  # battery efficiency of the toy
FLAT = {"taper_knee": 0.99, "taper_floor": 1.0}  # constant power to the very end


def tiny(city, *, battery=7.0, ac=7.0, dc=0.0, slots=1, limit=5000.0, knee=0.99, floor=1.0, **constants):
    """Every vehicle alike; every station with `slots` bays and `limit` kW."""
    city = edited(
        city, "vehicles", battery_kwh=battery, ac_kw=ac, dc_kw=dc, taper_knee=knee, taper_floor=floor
    )
    city = edited(city, "stations", slots=slots, site_limit_kw=limit, transformer_kva=limit)
    return silent(city, **constants)


def minutes_of(rig, ticks=60):
    """Play; minutes to charged of requests that were served, summed, and how many were."""
    for _ in range(ticks):
        rig.step()
    return rig.ep(r.A_MTC), rig.ep(r.A_SERVED)


# --- one car, one plug -----------------------------------------------------------------------------
def test_seven_kwh_from_a_seven_kw_plug_take_the_hour_and_what_is_lost(city_toy):
    """7 kWh into the battery at 7 kW and 92 %: 65.2 minutes, so the car leaves after minute 66."""
    rig = Rig(tiny(city_toy))
    rig.car(soc=0.0, target=1.0, station=NORTH, arrive=0, patience=5)
    assert minutes_of(rig) == (math.ceil(60.0 / ETA), 1.0)
    assert rig.ep(r.T_KWH) == pytest.approx(7.0 / ETA, rel=1e-12)


@pytest.mark.parametrize(
    ("station", "rate", "kw"),
    [
        (NORTH, 2, 7.0), (NORTH, 1, 7.0), (NORTH, 0, 7.0), (CENTRE, 2, 30.0), (CENTRE, 1, 30.0), (CENTRE, 0, 7.0),
        (MARKET, 2, 120.0), (MARKET, 1, 30.0), (MARKET, 0, 7.0),
    ],
)  # fmt: skip
def test_power_is_the_least_of_slot_cap_and_vehicle(city_toy, station, rate, kw):
    rig = Rig(tiny(city_toy, battery=60.0, ac=11.0, dc=120.0))
    seq = rig.car(soc=0.1, target=0.9, station=station, arrive=0, rate=rate)
    rig.step()
    assert rig.view("ST_KWH")[station] == pytest.approx(kw / 12.0, rel=1e-12)
    assert rig.soc(seq) == pytest.approx(0.1 + kw / 12.0 * ETA / 60.0, rel=1e-12)
    assert rig.view("ST_KW").sum() == pytest.approx(kw, rel=1e-12)


def test_a_car_without_dc_inlet_takes_the_ac_socket_of_a_dc_bay(city_toy):
    rig = Rig(tiny(city_toy, battery=60.0, ac=11.0, dc=0.0))
    rig.car(soc=0.1, target=0.9, station=CENTRE, arrive=0)
    rig.step()
    assert rig.view("ST_KW")[CENTRE] == pytest.approx(7.4, rel=1e-12)


def test_an_onboard_charger_below_the_socket_sets_the_power(city_toy):
    rig = Rig(tiny(city_toy, battery=60.0, ac=3.3, dc=0.0))
    rig.car(soc=0.1, target=0.9, station=NORTH, arrive=0)
    rig.step()
    assert rig.view("ST_KW")[NORTH] == pytest.approx(3.3, rel=1e-12)


def test_taper_is_the_logarithm_it_should_be(city_toy):
    """Beyond the knee power falls linearly in charge, so the time is a logarithm."""
    knee, floor, battery, kw = 0.8, 0.2, 60.0, 50.0
    rig = Rig(tiny(city_toy, battery=battery, ac=11.0, dc=kw, knee=knee, floor=floor))
    rig.car(soc=0.4, target=0.95, station=MARKET, arrive=0)
    flat_h = (knee - 0.4) * battery / (kw * ETA)
    slope = kw * (1.0 - floor) / (1.0 - knee)  # kW per unit of charge
    at_target = kw - slope * (0.95 - knee)
    taper_h = battery / ETA / slope * math.log(kw / at_target)
    total, served = minutes_of(rig)
    assert served == 1.0
    # minute steps hold the power of their start, so they are at most a little early
    exact = 60.0 * (flat_h + taper_h)
    assert exact - 3.0 < total <= math.ceil(exact)
    assert rig.ep(r.T_KWH) == pytest.approx(0.55 * battery / ETA, rel=1e-12)


def test_the_knee_does_not_bite_below_a_slow_plug(city_toy):
    """A 50 kW car at 7 kW: the tapered limit at 95 % is 20 kW, so the plug decides all the way."""
    rig = Rig(tiny(city_toy, battery=60.0, ac=11.0, dc=50.0, knee=0.8, floor=0.2))
    rig.car(soc=0.9, target=0.95, station=CENTRE, arrive=0, rate=0)
    assert minutes_of(rig)[0] == math.ceil(3.0 / (7.0 * ETA) * 60.0)


def test_trip_energy_is_gone_on_arrival(city_toy):
    """A routed car plugs in with what the trip left, and asks for the trip's energy too."""
    rig = Rig(tiny(city_toy, battery=20.0, ac=7.0, dc=30.0))
    node = 0
    seq = rig.car(soc=0.5, target=0.8, node=node, patience=60)
    rig.step([(seq, 0, CENTRE, 1)])
    assert rig.codes(1) == [r.V_OK]
    car = rig.row(seq)
    row = rig.y(r.Y_TRAVEL)
    km = float(rig.world.bank.km[row, node, CENTRE])
    wh = km * rig.city.vehicles.wh_km[0]
    assert wh <= car[r.C_WH] <= wh + 1.0
    eta = math.ceil(float(rig.world.bank.minutes[row, node, CENTRE]))
    assert car[r.C_TARR] - car[r.C_TDEP] == eta
    for _ in range(30):
        rig.step()
    assert rig.ep(r.T_KWH) == pytest.approx((0.3 * 20.0 + car[r.C_WH] / 1000.0) / ETA, rel=1e-9)


# --- CHG-01, CHG-09: the battery ----------------------------------------------------------------
def test_chg_01_a_nearly_full_battery_stops_at_one(city_toy):
    rig = Rig(tiny(city_toy, battery=40.0, ac=11.0, dc=120.0))
    rig.car(soc=0.98, target=1.0, station=MARKET, arrive=0)
    for _ in range(3):
        rig.step()
    assert rig.ep(r.T_KWH) * ETA == pytest.approx(0.8, rel=1e-12)
    assert rig.ep(r.A_SERVED) == 1.0
    assert rig.ep(r.A_MTC) == 1.0  # 0.8 kWh at 120 kW: within the first minute; the plug idles after
    assert rig.tk(r.T_KWH) == 0.0
    assert rig.present() == set()


def test_chg_01_charge_never_passes_the_target_on_the_way(city_toy):
    rig = Rig(tiny(city_toy, battery=40.0, ac=11.0, dc=120.0, knee=0.8, floor=0.2))
    seq = rig.car(soc=0.6, target=1.0, station=MARKET, arrive=0)
    last = 0.6
    while seq in rig.present():
        rig.step()
        if seq in rig.present():
            assert last < rig.soc(seq) < 1.0
            last = rig.soc(seq)


def test_chg_09_no_power_no_change(city_toy):
    """96 ticks at a dead plug: the charge is what it was to the last bit."""
    pack = tiny(city_toy, battery=40.0)
    rig = Rig(pack, scenario=story(pack, (1, EventKind.FEEDER_OUT, (), 1.0)))
    seq = rig.car(soc=0.5, target=0.9, station=NORTH, arrive=0, patience=9000)
    rig.step()
    before = rig.soc(seq)
    for _ in range(96):
        rig.step()
    assert rig.soc(seq) == before


def test_chg_09_losses_act_on_new_energy_once(city_toy):
    """10 kWh drawn at efficiency 0.9 raise the battery by 9.0 kWh."""
    rig = Rig(tiny(city_toy, battery=40.0, ac=10.0, dc=30.0, battery_efficiency=0.9))
    seq = rig.car(soc=0.25, target=0.9, station=CENTRE, arrive=0, rate=1)
    for _ in range(4):
        rig.step()
    assert rig.ep(r.T_KWH) == pytest.approx(10.0, rel=1e-12)
    assert (rig.soc(seq) - 0.25) * 40.0 == pytest.approx(9.0, rel=1e-12)


# --- CHG-03, CHG-04, CHG-07: the queue -----------------------------------------------------------
def thirty_minutes(city):
    """Cars that charge exactly 30 minutes: 3.22 kWh of 92 % from 7 kW."""
    return tiny(city, battery=7.0 * ETA, ac=7.0)


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


# --- ENV-10: no drift ------------------------------------------------------------------------------
def test_env_10_energy_does_not_die_after_a_while(city_toy):
    """A 7 kWh car every 12 steps for 500 steps, routed at once: the last 100 steps bring what the first did."""
    rig = Rig(tiny(city_toy, battery=7.0, ac=7.0))
    got = []
    for tick in range(500):
        answers = []
        if tick % 12 == 0:
            seq = rig.car(soc=0.5, target=1.0, node=int(rig.city.stations.node[NORTH]), patience=60)
            answers = [(seq, 0, NORTH, 0)]
        rig.step(answers)
        got.append(rig.tk(r.T_KWH))
    first, last = sum(got[:100]), sum(got[-100:])
    assert first > 25.0
    assert abs(last - first) <= 0.2 * first
    assert rig.ep(r.A_LOST) == 0.0


# --- sharing and caps -------------------------------------------------------------------------------
def test_two_cars_share_a_site_in_proportion_to_what_they_want(city_toy):
    """30 kW and 7 kW at a site of 18.5 kW: both get half of it, together 18.5."""
    rig = Rig(tiny(city_toy, battery=60.0, ac=7.0, dc=50.0, slots=2, limit=18.5))
    a = rig.car(soc=0.1, target=0.9, station=CENTRE, arrive=0, rate=1)
    b = rig.car(soc=0.1, target=0.9, station=CENTRE, arrive=0, rate=0)
    rig.step()
    assert rig.view("ST_KW")[CENTRE] == pytest.approx(18.5, rel=1e-12)
    assert rig.soc(a) - 0.1 == pytest.approx(15.0 / 12 * ETA / 60, rel=1e-9)
    assert rig.soc(b) - 0.1 == pytest.approx(3.5 / 12 * ETA / 60, rel=1e-9)


def test_a_site_with_room_is_not_touched(city_toy):
    rig = Rig(tiny(city_toy, battery=60.0, ac=7.0, dc=50.0, slots=2, limit=37.0))
    rig.car(soc=0.1, target=0.9, station=CENTRE, arrive=0, rate=1)
    rig.car(soc=0.1, target=0.9, station=CENTRE, arrive=0, rate=0)
    rig.step()
    assert rig.view("ST_KW")[CENTRE] == pytest.approx(37.0, rel=1e-12)


def shifted(city, *answers_by_tick, ticks=40):
    """kW of CENTRE by tick with load_shift answers carried by a patient pending car."""
    rig = Rig(tiny(city, battery=60.0, ac=7.0, dc=30.0, slots=1))
    rig.car(soc=0.1, target=0.8, station=CENTRE, arrive=0, rate=2)
    carrier = rig.car(patience=1000)
    out = []
    for tick in range(ticks):
        given = [(carrier, *a) for a in answers_by_tick[tick]] if tick < len(answers_by_tick) else []
        rig.step(given)
        assert all(c == r.V_OK for c in rig.codes(len(given)))
        out.append(round(float(rig.view("ST_KW")[CENTRE]), 9))
    return rig, out


def test_a_load_shift_holds_for_its_minutes_and_no_longer(city_toy):
    """Answered at the start of a tick, 10 minutes are that tick and the next."""
    _, kw = shifted(city_toy, [], [(2, CENTRE, 0, 10)], ticks=6)
    assert kw == [30.0, 7.0, 7.0, 30.0, 30.0, 30.0]


@pytest.mark.parametrize("minutes", [0, 1, 5])
def test_a_load_shift_of_nothing_to_five_minutes_is_one_tick(city_toy, minutes):
    _, kw = shifted(city_toy, [], [(2, CENTRE, 0, minutes)], ticks=4)
    assert kw == [30.0, 7.0, 30.0, 30.0]


def test_a_load_shift_lengthens_the_session_by_what_it_held_back(city_toy):
    free, _ = shifted(city_toy)
    held, _ = shifted(city_toy, [], [(2, CENTRE, 0, 30)])
    # 30 minutes at 7 instead of 30 kW leave 11.5 kWh for later: 23 minutes at 30 kW
    assert held.ep(r.A_MTC) - free.ep(r.A_MTC) == pytest.approx(23.0, abs=1.0)
    assert held.ep(r.T_KWH) == pytest.approx(free.ep(r.T_KWH), rel=1e-9)


def test_the_lowest_cap_wins_where_two_overlap(city_toy):
    rig = Rig(tiny(city_toy, battery=60.0, ac=7.0, dc=120.0, slots=1))
    rig.car(soc=0.1, target=0.9, station=MARKET, arrive=0, rate=2)
    a, b = rig.car(patience=1000), rig.car(patience=1000)
    kw = []
    plan = {
        0: [(a, 2, MARKET, 0, 10), (b, 2, MARKET, 1, 20)],
        5: [(a, 2, MARKET, 1, 20), (b, 2, MARKET, 0, 10)],
    }
    for tick in range(6):
        rig.step(plan.get(tick, []))
        kw.append(round(float(rig.view("ST_KW")[MARKET]), 6))
    assert kw[0] == kw[1] == 7.0
    assert kw[2] in (7.0, 30.0)  # the weaker cap is still on; merged caps may keep the stronger
    assert kw[4] == 120.0
    assert kw[5] == 7.0


def test_a_load_shift_of_none_caps_the_tightest_feeder(city_toy):
    """T01 carries less margin than T02: its stations are capped, the others not."""
    rig = Rig(tiny(city_toy, battery=60.0, ac=7.0, dc=30.0))
    rig.car(soc=0.1, target=0.9, station=CENTRE, arrive=0)
    rig.car(soc=0.1, target=0.9, station=LAKE, arrive=0)
    carrier = rig.car(patience=1000)
    rig.step()
    margin = 1.0 - rig.view("FD_S")[:2] / rig.view("FD_KVA")[:2]
    assert margin[0] < margin[1]
    rig.step([(carrier, 2, -1, 0, 10)])
    assert rig.codes(1) == [r.V_OK]
    assert rig.view("ST_KW")[CENTRE] == pytest.approx(7.0)
    assert rig.view("ST_KW")[LAKE] == pytest.approx(30.0)


def test_a_cap_above_the_slots_is_refused(city_toy):
    rig = Rig(tiny(city_toy))
    seq = rig.car(patience=1000)
    rig.step([(seq, 2, NORTH, 1, 10)])
    assert r.VERDICT_CODES[rig.codes(1)[0]] == "E_RATE"


# --- heat ---------------------------------------------------------------------------------------------
def test_heat_follows_the_exponential(city_toy):
    """A transformer from cold under a constant load: x = u^2 (1 - exp(-t / tau)); then it cools."""
    pack = tiny(city_toy, battery=600.0, ac=7.0, dc=30.0, slots=8, limit=5000.0)
    pack = edited(pack, "stations", transformer_kva=100.0)
    rig = Rig(pack, scenario=story(pack, (48, EventKind.FEEDER_OUT, (0,), 1.0)))
    for _ in range(4):
        rig.car(soc=0.0, target=1.0, station=CENTRE, arrive=0, rate=1)
    u = 4 * 30.0 / 0.98 / 100.0
    for tick in range(1, 49):
        rig.step()
        assert rig.view("ST_U")[CENTRE] == pytest.approx(u, rel=1e-12)
        assert rig.view("ST_X")[CENTRE] == pytest.approx(
            u * u * (1.0 - math.exp(-5.0 * tick / 120.0)), rel=1e-9
        )
        o = rig.world.layout.view(rig.world.observe(0), "O_TRHEAT")
        assert o[CENTRE] == pytest.approx(math.sqrt(rig.view("ST_X")[CENTRE]), rel=1e-12)
    hot = rig.view("ST_X")[CENTRE]
    for tick in range(1, 25):
        rig.step()
        assert rig.view("ST_X")[CENTRE] == pytest.approx(hot * math.exp(-5.0 * tick / 120.0), rel=1e-9)


def test_head_heat_answers_a_rating_step_exponentially(city_toy):
    """Half the rating: u doubles, x goes from u^2 to 4 u^2 with tau 120 minutes (u moves with base load)."""
    flat = np.full_like(city_toy.profiles.base_shape, 1.0)
    pack = replace(silent(city_toy), profiles=replace(city_toy.profiles, base_shape=flat))
    rig = Rig(pack, scenario=story(pack, (2, EventKind.FEEDER_RATING, (0,), 0.5)))
    rig.step()
    x0 = rig.view("FD_X")[0]
    u0 = rig.view("FD_S")[0] / rig.view("FD_KVA")[0]
    assert x0 == pytest.approx(u0 * u0, rel=1e-7)
    rig.step()
    for tick in range(1, 49):
        rig.step()
        u = rig.view("FD_S")[0] / rig.view("FD_KVA")[0]
        assert u == pytest.approx(2.0 * u0, rel=1e-6)
        expected = u * u + (x0 - u * u) * math.exp(-5.0 * tick / 120.0)
        assert rig.view("FD_X")[0] == pytest.approx(expected, rel=1e-6)
        assert rig.view("FD_XB")[0] == pytest.approx(rig.view("FD_X")[0], rel=1e-9)  # no charging: both alike


# --- wait accounting -------------------------------------------------------------------------------
def test_wait_is_the_minutes_everyone_was_there(city_toy):
    """Pending, on the road, queued, charging, walk-ins too: one car-minute a minute from entry to exit."""
    rig = Rig(thirty_minutes(city_toy))
    served = rig.car(soc=0.5, target=1.0, station=NORTH, arrive=3, patience=300)  # 3 to 33
    queued = rig.car(soc=0.5, target=1.0, station=NORTH, arrive=4, patience=7, flags=r.B_WALKIN)  # lost at 11
    pending = rig.car(patience=17)  # lost at 17
    lives = {served: 33, queued: 11, pending: 17}
    for tick in range(8):
        rig.step()
        start, end = 5 * tick, 5 * tick + 5
        expected = sum(max(0, min(out, end) - start) for out in lives.values())
        assert rig.tk(r.T_WAIT) == expected
    assert rig.ep(r.T_WAIT) == 33 + 11 + 17
    assert rig.y(r.Y_NORM) == rig.y(r.Y_FLEX) == 0


def test_a_flexible_car_weighs_a_tenth_until_it_is_due(city_toy):
    rig = Rig(tiny(city_toy))
    rig.car(patience=1000, flags=r.B_FLEX, ready=12)
    got = []
    for _ in range(4):
        rig.step()
        got.append(rig.tk(r.T_WAIT))
    assert got == pytest.approx([0.5, 0.5, 0.2 + 3.0, 5.0])


@pytest.mark.parametrize("arrive", [2, 3, 6])
@pytest.mark.parametrize("ready", range(28, 38))
def test_a_flexible_car_that_leaves_around_its_time_leaves_the_count_right(city_toy, ready, arrive):
    """Served at minute 31, 32 or 35: wherever ready_by falls around it, nobody is left counted."""
    rig = Rig(thirty_minutes(city_toy))
    rig.car(soc=0.53, target=1.0, station=NORTH, arrive=arrive, patience=300, flags=r.B_FLEX, ready=ready)
    total = 0.0
    for _ in range(10):
        rig.step()
        total += rig.tk(r.T_WAIT)
    leaves = arrive + math.ceil(0.47 * 60)
    assert rig.present() == set()
    assert (rig.y(r.Y_NORM), rig.y(r.Y_FLEX)) == (0, 0)
    assert total == pytest.approx(0.1 * min(ready, leaves) + max(0, leaves - ready))


@pytest.mark.parametrize("patience", range(9, 17))
def test_a_flexible_car_that_gives_up_around_its_time_leaves_the_count_right(city_toy, patience):
    rig = Rig(tiny(city_toy))
    rig.car(patience=patience, flags=r.B_FLEX, ready=12)
    total = 0.0
    for _ in range(6):
        rig.step()
        total += rig.tk(r.T_WAIT)
    assert (rig.y(r.Y_NORM), rig.y(r.Y_FLEX)) == (0, 0)
    assert total == pytest.approx(0.1 * min(12, patience) + max(0, patience - 12))


def test_critical_minutes_stop_at_the_plug(city_toy):
    rig = Rig(thirty_minutes(city_toy))
    rig.car(soc=0.5, target=1.0, station=NORTH, arrive=8, patience=300, flags=r.B_CRIT)
    got = []
    for _ in range(4):
        rig.step()
        got.append(rig.tk(r.T_URGENT))
    assert got == [10.0, 6.0, 0.0, 0.0]
    assert rig.y(r.Y_CRIT) == 0
