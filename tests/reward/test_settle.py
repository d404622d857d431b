"""What the settle pays at the end of an episode, and the unit of it all, N0."""

from __future__ import annotations

from dataclasses import replace

import pytest
from inject import Rig, story
from reward_lab import CENTRE, ETA, lab, terms

from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import EventKind
from ev_grid_oracle.sim.world import WorldOptions


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
            kind = (
                [(s, 1, -1, 1, 5) if defer else (s, 0, CENTRE, 1) for s in seqs] if defer or tick == 0 else []
            )
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
