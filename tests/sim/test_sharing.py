"""Several cars at one site, and demand response: who gets how much, and for how long."""

from __future__ import annotations

import pytest
from inject import Rig
from lab import CENTRE, ETA, LAKE, MARKET, NORTH, tiny

from ev_grid_oracle.schema import rows as r


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
