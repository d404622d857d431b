"""Charging against minutes and energies worked out by hand (cases CHG-01, CHG-09, ENV-10)."""

from __future__ import annotations

import math

import pytest
from inject import Rig, story
from lab import CENTRE, ETA, MARKET, NORTH, tiny

from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import EventKind


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
        (NORTH, 2, 7.0),
        (NORTH, 1, 7.0),
        (NORTH, 0, 7.0),
        (CENTRE, 2, 30.0),
        (CENTRE, 1, 30.0),
        (CENTRE, 0, 7.0),
        (MARKET, 2, 120.0),
        (MARKET, 1, 30.0),
        (MARKET, 0, 7.0),
    ],
)
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


# --- ENV-10: no drift ------------------------------------------------------------------------------
def test_env_10_energy_does_not_die_after_a_while(city_toy):
    """A 7 kWh car every 12 steps, routed at once: the last 100 of 500 steps bring what the first did."""
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
