"""Each reward term against a hand computation on a small state, and the settle."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from inject import Rig, edited, silent, story

from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.reward.terms import TERM_NAMES
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import EventKind
from ev_grid_oracle.sim.world import WorldOptions

CENTRE, MARKET, NORTH, LAKE = range(4)
ETA = 0.92
DEAD = 1e-9  # kW: a site limit that lets nothing through


def lab(city, **constants):
    """Every car alike (60 kWh, 30 kW DC, 7 kW AC, no taper), N0 = 1: terms are in car-minutes."""
    city = edited(city, "vehicles", battery_kwh=60.0, ac_kw=7.0, dc_kw=30.0, taper_knee=0.99, taper_floor=1.0)
    city = edited(city, "stations", slots=4, site_limit_kw=5000.0, transformer_kva=5000.0)
    return silent(city, n0_car_minutes=1.0, **constants)


def terms(rig):
    """Terms of the last tick by name, in car-minutes."""
    return dict(zip(TERM_NAMES, rig.view("TERM").tolist(), strict=True))


def flat_base(city):
    """The same base load all day."""
    return replace(city, profiles=replace(city.profiles, base_shape=np.ones_like(city.profiles.base_shape)))


# --- wait, service, urgency -----------------------------------------------------------------------------
def test_wait_counts_every_car_walkins_too(city_toy):
    rig = Rig(lab(city_toy))
    rig.car(patience=100)
    rig.car(station=CENTRE, arrive=0, soc=0.1, patience=100)
    rig.car(station=CENTRE, arrive=3, soc=0.1, patience=100, flags=r.B_WALKIN)
    rig.car(patience=100, flags=r.B_FLEX, ready=600)
    rig.step()
    assert terms(rig)["wait"] == pytest.approx(-(3 * 5 + 0.5))


def test_all_terms_are_in_units_of_n0(city_toy):
    one = lab(city_toy)
    rigs = [Rig(one), Rig(replace(one, constants=replace(one.constants, n0_car_minutes=250.0)))]
    for rig in rigs:
        rig.car(patience=2, flags=r.B_CRIT)
        for _ in range(4):
            rig.car(station=CENTRE, arrive=0, soc=0.1, patience=100)
        rig.step(invalid=1)
    a, b = (np.array(list(terms(rig).values())) for rig in rigs)
    assert (np.abs(a) > 1e-6).sum() >= 6
    np.testing.assert_allclose(a, 250.0 * b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("age", "flags", "cost"), [
    (3, 0, 237.0), (100, 0, 140.0), (180, 0, 60.0), (300, 0, 60.0), (300, r.B_FLEX, 240.0), (3, r.B_FLEX, 240.0),
    (100, r.B_WALKIN, 140.0),
])  # fmt: skip
def test_service_is_what_is_left_of_240_and_at_least_60(city_toy, age, flags, cost):
    """A car that gives up in the first minute, asked `age` minutes ago."""
    rig = Rig(lab(city_toy))
    for _ in range(70):
        rig.step()
    now = 5 * rig.tick
    ready = now - 1 if flags & r.B_FLEX else None
    rig.car(patience=0, asked=now - age, flags=flags, ready=ready)
    rig.step()
    assert terms(rig)["service"] == -cost
    assert terms(rig)["wait"] == 0.0
    assert terms(rig)["urgency"] == 0.0


def test_serving_earns_no_bonus(city_toy):
    rig = Rig(lab(city_toy))
    rig.car(station=CENTRE, arrive=0, soc=0.5, target=0.505, patience=100)
    rig.step()
    assert rig.tk(r.T_SERVED) == 1.0
    assert terms(rig)["service"] == 0.0


def test_urgency_is_twice_the_minutes_before_plug_in(city_toy):
    rig = Rig(lab(city_toy))
    rig.car(patience=100, flags=r.B_CRIT)  # pending: 5 minutes
    rig.car(station=CENTRE, arrive=3, soc=0.1, patience=100, flags=r.B_CRIT)  # on the road: 3, then plugged
    rig.car(patience=100)
    rig.step()
    assert terms(rig)["urgency"] == -2.0 * (5 + 3)


def test_a_lost_critical_car_costs_its_service_again(city_toy):
    rig = Rig(lab(city_toy))
    rig.car(patience=4, flags=r.B_CRIT)
    rig.step()
    assert terms(rig)["service"] == -(240.0 - 4.0)
    assert terms(rig)["urgency"] == -(2.0 * 4 + (240.0 - 4.0))


def test_losing_early_is_never_cheaper_than_losing_late(city_toy):
    """wait + service together: a car that goes after a minutes costs 240, or more beyond 180."""
    whole = []
    for patience in (1, 20, 60, 119, 179, 200, 239):
        rig = Rig(lab(city_toy))
        rig.car(patience=patience)
        for _ in range(50):
            rig.step()
        whole.append(-float(rig.view("TSUM")[:2].sum()))
    assert whole == [240.0, 240.0, 240.0, 240.0, 240.0, 260.0, 299.0]


# --- grid_stress ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(("plugged", "queued", "due", "far"), [
    (3, 0, 0, 0), (4, 0, 0, 0), (4, 2, 0, 0), (3, 0, 1, 0), (3, 0, 2, 3), (4, 1, 3, 1), (0, 0, 3, 0), (0, 0, 6, 0),
])  # fmt: skip
def test_grid_stress_counts_slots_above_85_percent(city_toy, plugged, queued, due, far):
    rig = Rig(lab(city_toy))
    for _ in range(plugged + queued):
        rig.car(station=LAKE, arrive=0, soc=0.1, patience=300)
    for k in range(due):
        rig.car(station=LAKE, arrive=(5, 10, 14)[k % 3], soc=0.1, patience=300)
    for _ in range(far):
        rig.car(station=LAKE, arrive=16, soc=0.1, patience=300)
    rig.step()
    expected = 0.2 * 5 * 4 * max(0.0, (plugged + queued + due) / 4 - 0.85)
    assert terms(rig)["grid_stress"] == pytest.approx(-expected, rel=1e-12, abs=1e-12)


# --- peak, grid_limit, renewable ------------------------------------------------------------------------
def charged(city, n=4, station=CENTRE, ticks=1, **kw):
    """`n` cars of 30 kW at a station from minute 0."""
    rig = Rig(city, **kw)
    for _ in range(n):
        rig.car(station=station, arrive=0, soc=0.05, target=1.0, patience=500)
    for _ in range(ticks):
        rig.step()
    return rig


def test_peak_is_what_charging_adds_to_the_squared_excess(city_toy):
    city = flat_base(lab(city_toy))
    # T01 rated down so that base load alone stands at about 0.9 of the rating
    rig = charged(city, scenario=story(city, (0, EventKind.FEEDER_RATING, (0,), 0.78)))
    rating = rig.view("FD_KVA")[:2]
    u, ub = rig.view("FD_S")[:2] / rating, rig.view("FD_SB")[:2] / rating
    assert u[0] > ub[0] > 0.8 > u[1]
    by_hand = 0.05 * 5 * rating[0] * ((u[0] - 0.8) ** 2 - (ub[0] - 0.8) ** 2)
    assert terms(rig)["peak"] == pytest.approx(-by_hand, rel=1e-9)
    assert by_hand > 0


def test_peak_pays_a_little_for_energy_below_the_line(city_toy):
    rig = charged(flat_base(lab(city_toy)), station=LAKE)
    u = rig.view("FD_S")[:2] / rig.view("FD_KVA")[:2]
    assert (u < 0.8).all()
    assert terms(rig)["peak"] == pytest.approx(0.1 * 4 * 30.0 / 12.0, rel=1e-9)


def test_base_load_alone_costs_nothing(city_toy):
    """A feeder far over its rating without any charging: peak and limit stay at zero."""
    city = lab(city_toy)
    rig = Rig(city, scenario=story(city, (0, EventKind.FEEDER_RATING, (), 0.3), (0, EventKind.BASE_LOAD, (), 0.5)))
    for _ in range(20):
        rig.step()
        assert terms(rig)["peak"] == pytest.approx(0.0, abs=1e-6)
        assert terms(rig)["grid_limit"] == 0.0
        assert rig.tk(r.T_OVER_MIN) == 0.0
        assert rig.tk(r.T_BASE_OVER_MIN) > 0.0


def test_limit_charges_a_transformer_in_size_and_minutes(city_toy):
    """4 x 30 kW on 100 kVA: u = 1.224; over its limit once sqrt(x) passes 1, by hand."""
    city = edited(edited(lab(city_toy), "stations", transformer_kva=100.0), "vehicles", battery_kwh=600.0)
    rig = charged(city, ticks=0)
    u, x = 120.0 / 0.98 / 100.0, 0.0
    alpha = 1.0 - math.exp(-5.0 / 120.0)
    over = 0
    for _ in range(40):
        rig.step()
        x += alpha * (u * u - x)
        q = math.sqrt(x)
        expected = 0.0
        if q > 1.0:
            over += 1
            expected = 0.3 * 5 * 100.0 * (q - 1.0) + 3.0 * 5.0
        assert terms(rig)["grid_limit"] == pytest.approx(-expected, rel=1e-6, abs=1e-9)
        assert rig.tk(r.T_OVER_MIN) == (5.0 if q > 1.0 else 0.0)
    assert 5 < over < 40


def test_protection_counts_minutes_before_the_heat_does(city_toy):
    """u = 1.5 from cold: over the limit at once, in minutes but not yet in size."""
    city = edited(lab(city_toy), "stations", transformer_kva=120.0 / 0.98 / 1.5)
    rig = charged(city)
    assert terms(rig)["grid_limit"] == pytest.approx(-15.0, rel=1e-9)


def test_limit_of_a_head_is_what_charging_adds(city_toy):
    city = flat_base(lab(city_toy))
    rig = charged(city, scenario=story(city, (0, EventKind.FEEDER_RATING, (0,), 0.68)), ticks=0)
    seen = 0
    for _ in range(36):
        rig.step()
        rating = rig.view("FD_KVA")[0]
        q, qb = math.sqrt(rig.view("FD_X")[0]), math.sqrt(rig.view("FD_XB")[0])
        u = rig.view("FD_S")[0] / rating
        expected = 0.3 * 5 * rating * max(min(q - 1.0, q - qb), 0.0)
        if (q > 1.0 or u > 1.3) and qb <= 1.0:
            expected += 15.0
            seen += 1
        assert terms(rig)["grid_limit"] == pytest.approx(-expected, rel=1e-6, abs=1e-9)
    assert seen > 0


def test_low_voltage_that_charging_causes_is_charged(city_toy):
    """Long lines: base load keeps 0.91, charging does not."""
    city = flat_base(lab(city_toy))
    grid = city.grid
    for stretch in (2.0, 2.5, 3.0, 3.5, 4.0, 5.0):
        lines = replace(grid, line_r_ohm=grid.line_r_ohm * stretch, line_x_ohm=grid.line_x_ohm * stretch)
        long = replace(city, grid=lines)
        rig = charged(edited(long, "stations", slots=8), n=8)
        lanes = rig.view("V_RE").shape[1]
        volts = np.hypot(rig.view("V_RE"), rig.view("V_IM"))
        expected = 0.0
        for k in range(2):
            for d in range(4):
                v, vb = volts[d, k], volts[d, 2 + k]
                if vb >= 0.91:
                    expected += 3.0 * 5 * min(max((0.91 - v) / 0.02, 0.0), 1.0)
        assert lanes == 4
        if expected > 0.0:
            got = -terms(rig)["grid_limit"] - 0.3 * rig.tk(r.T_OVER_KVA) - 3.0 * rig.tk(r.T_OVER_MIN)
            assert got == pytest.approx(expected, rel=1e-9)
            return
    raise AssertionError("no stretch of the lines made charging alone drop the voltage")


def test_renewable_is_half_of_energy_times_the_share_above_the_mean(city_toy):
    for start in (12 * 60, 20 * 60):
        rig = charged(lab(city_toy), start_min=start)
        profiles, slot = city_toy.profiles, start // 5
        sun = profiles.solar_share[1, slot] * rig.view("X")[r.X_CLOUD]
        share = min(sun + profiles.other_re_share[1, slot], 0.98)
        mean = (profiles.solar_share[1] + profiles.other_re_share[1]).mean()
        assert terms(rig)["renewable"] == pytest.approx(0.5 * 10.0 * (share - mean), rel=1e-9)
        assert (terms(rig)["renewable"] > 0) == (start == 12 * 60)


# --- penalties and the sum ------------------------------------------------------------------------------
def test_format_and_anti_hack_are_ten_each(city_toy):
    rig = Rig(lab(city_toy))
    rig.step(invalid=1)
    assert terms(rig)["format"] == -10.0
    assert terms(rig)["anti_hack"] == 0.0
    a, b = rig.car(patience=6), rig.car(patience=6)
    rig.step([(a, 1, -1, 1, 60), (b, 1, -1, 1, 60), (999, 0, 0, 1)])
    assert terms(rig)["anti_hack"] == -30.0
    assert terms(rig)["format"] == 0.0


def test_the_total_is_the_plain_sum(city_toy):
    rig = charged(lab(city_toy), n=6)
    for _ in range(10):
        reward = rig.step(invalid=1)
        assert reward == pytest.approx(sum(terms(rig).values()), rel=1e-12)


# --- the settle -----------------------------------------------------------------------------------------
def test_the_settle_pays_for_what_is_still_there(city_toy):
    """20 minutes of charging are left after two ticks: they are in the last tick's wait."""
    city = lab(city_toy)
    soc = 1.0 - 30.0 * 0.5 * ETA / 60.0  # 30 minutes at 30 kW
    rig = Rig(city, ticks=2, settle=True)
    rig.car(station=CENTRE, arrive=0, soc=round(soc + 5e-5, 4), target=1.0, patience=10)
    rig.step()
    assert terms(rig)["wait"] == -5.0
    reward = rig.step()
    assert rig.view("SETT")[0] == -20.0
    assert terms(rig)["wait"] == -25.0
    assert reward == pytest.approx(sum(terms(rig).values()), rel=1e-12)
    assert rig.ep(r.A_MTC) == 30.0
    assert rig.ep(r.A_SERVED) == 1.0
    assert rig.y(r.Y_DONE) == 1
    assert rig.ep(r.T_KWH) == pytest.approx(15.0, rel=1e-3)


def test_the_settle_ends_after_72_ticks_and_loses_who_is_left(city_toy):
    city = lab(city_toy)
    rig = Rig(city, ticks=1, settle=True, scenario=story(city, (1, EventKind.FEEDER_OUT, (), 1.0)))
    rig.car(station=CENTRE, arrive=0, soc=0.1, target=1.0, patience=10)
    rig.step()
    assert rig.view("SETT")[0] == -5.0 * 72
    assert rig.view("SETT")[1] == -60.0
    assert rig.ep(r.A_LOST) == 1.0
    assert rig.ep(r.A_MTC) == 240.0


def test_the_settle_brings_no_new_car(city_toy):
    noisy = replace(city_toy, constants=replace(city_toy.constants, max_cars=512))
    batch = Batch(noisy, 6)
    batch.reset([WorldOptions(k, city_toy.scenario("baseline"), 17 * 60, ticks=3) for k in range(6)])
    batch.play("baseline", 2)
    before = batch.world.view("EP")[:, [r.A_NREQ, r.A_NFLEX, r.A_NWALK]].copy()
    batch.play("baseline", 1)
    after = batch.world.view("EP")[:, [r.A_NREQ, r.A_NFLEX, r.A_NWALK]]
    ep, tk = batch.world.view("EP"), batch.world.view("TK")
    arrived = tk[:, r.T_REQ] + tk[:, r.T_WALK]
    assert ((after - before).sum(1) == arrived).all()
    assert (ep[:, r.A_NREQ] == ep[:, r.A_SERVED] + ep[:, r.A_LOST] + ep[:, r.A_STRANDED]).all()


def test_without_settle_the_episode_is_cut(city_toy):
    rig = Rig(lab(city_toy), ticks=2, settle=False)
    rig.car(station=CENTRE, arrive=0, soc=0.1, target=1.0, patience=10)
    rig.step()
    reward = rig.step()
    assert rig.y(r.Y_DONE) == 2
    assert (rig.view("SETT") == 0.0).all()
    assert terms(rig)["wait"] == -5.0
    assert reward == pytest.approx(sum(terms(rig).values()), rel=1e-12)
    assert rig.ep(r.A_MTC) == 240.0  # unfinished counts 240


def test_pushing_work_past_the_end_gains_nothing(city_toy):
    """The same cars, deferred to the end or routed at once: routing is better by the settled total."""
    totals = []
    for defer in (True, False):
        rig = Rig(lab(city_toy), ticks=6, settle=True)
        seqs = [rig.car(soc=0.4, target=0.8, node=10, patience=45) for _ in range(3)]
        total = 0.0
        for tick in range(6):
            kind = [(s, 1, -1, 1, 5) if defer else (s, 0, CENTRE, 1) for s in seqs] if defer or tick == 0 else []
            total += rig.step(kind)
        totals.append(total)
    assert totals[1] > totals[0] + 30.0


# --- N0 -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["toy", "blr"])
def test_n0_is_the_baselines_mean_on_the_reference_evening(request, name):
    """So a tick under the baseline costs about 1."""
    city = request.getfixturevalue(f"city_{name}")
    seeds = city.constants.reference_seeds
    batch = Batch(city, len(seeds))
    batch.reset([WorldOptions(s, city.scenario("baseline"), 17 * 60, settle=False) for s in seeds])
    waited = 0.0
    for _ in range(48):
        batch.play("baseline", 1)
        waited += float(batch.world.view("TK")[:, r.T_WAIT].mean())
    assert waited / 48 == pytest.approx(city.constants.n0_car_minutes, rel=0.02)
