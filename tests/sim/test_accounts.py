"""Heat against its exponential, and the count of car-minutes against the lives of the cars."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from inject import Rig, edited, silent, story
from lab import CENTRE, NORTH, thirty_minutes, tiny

from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import EventKind


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
    quiet = silent(city_toy)
    pack = replace(quiet, profiles=replace(quiet.profiles, base_shape=flat))
    rig = Rig(pack, scenario=story(pack, (2, EventKind.FEEDER_RATING, (0,), 0.5)))
    rig.step()
    x0 = rig.view("FD_X")[0]
    u0 = rig.view("FD_S")[0] / rig.view("FD_KVA")[0]
    assert x0 == pytest.approx(u0 * u0, rel=1e-5)  # the sweep's own precision
    rig.step()
    for tick in range(1, 49):
        rig.step()
        u = rig.view("FD_S")[0] / rig.view("FD_KVA")[0]
        assert u == pytest.approx(2.0 * u0, rel=1e-5)
        expected = u * u + (x0 - u * u) * math.exp(-5.0 * tick / 120.0)
        assert rig.view("FD_X")[0] == pytest.approx(expected, rel=1e-5)
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
