"""Each term that counts cars against a hand computation on a small state, and the plain sum."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from inject import Rig
from reward_lab import CENTRE, LAKE, charged, lab, terms

from ev_grid_oracle.schema import rows as r


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


@pytest.mark.parametrize(
    ("age", "flags", "cost"),
    [
        (3, 0, 237.0),
        (100, 0, 140.0),
        (180, 0, 60.0),
        (300, 0, 60.0),
        (300, r.B_FLEX, 240.0),
        (3, r.B_FLEX, 240.0),
        (100, r.B_WALKIN, 140.0),
    ],
)
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


def test_a_lost_critical_car_costs_its_service_twice_again(city_toy):
    rig = Rig(lab(city_toy))
    rig.car(patience=4, flags=r.B_CRIT)
    rig.step()
    assert terms(rig)["service"] == -(240.0 - 4.0)
    assert terms(rig)["urgency"] == -(2.0 * 4 + 2.0 * (240.0 - 4.0))


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
@pytest.mark.parametrize(
    ("plugged", "queued", "due", "far"),
    [
        (3, 0, 0, 0),
        (4, 0, 0, 0),
        (4, 2, 0, 0),
        (3, 0, 1, 0),
        (3, 0, 2, 3),
        (4, 1, 3, 1),
        (0, 0, 3, 0),
        (0, 0, 6, 0),
    ],
)
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
