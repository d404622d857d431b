"""Peak, limits, voltage and renewable share against a hand computation on the tick's flow."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from inject import Rig, edited, story
from reward_lab import LAKE, charged, flat_base, lab, terms

from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import EventKind


# --- peak, grid_limit, renewable ------------------------------------------------------------------------
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
    rig = Rig(
        city, scenario=story(city, (0, EventKind.FEEDER_RATING, (), 0.3), (0, EventKind.BASE_LOAD, (), 0.5))
    )
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
