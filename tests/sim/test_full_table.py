"""A car that finds every row of the city taken is lost, and costs what a lost car costs.

Otherwise holding cars back until the table is full would be a way to make the rest of the evening free.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from invariants import Watch

from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.reward.terms import TERMS
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.sim.world import World, WorldOptions


def small(city, cars, pending):
    return replace(city, constants=replace(city.constants, max_cars=cars, max_pending=pending))


def options(city, seed, **more):
    return WorldOptions(seed, city.scenario("baseline"), 17 * 60, **more)


def account(batch, index):
    return batch.world.view("EP")[:, index]


def test_every_demand_is_the_same_and_who_finds_no_room_is_lost(city_toy):
    """Same seeds with and without room, nobody answered, no settle: as many requests and walk-ins, 240 minutes for each lost."""
    n = 8
    roomy, tight = (Batch(c, n) for c in (small(city_toy, 2000, 500), small(city_toy, 32, 16)))
    for batch in (roomy, tight):
        batch.reset([options(city_toy, k, ticks=48, settle=False) for k in range(n)])
        for _ in range(48):
            batch.step()
    assert (account(roomy, r.A_NREQ) == account(tight, r.A_NREQ)).all()
    assert (account(roomy, r.A_NFLEX) == account(tight, r.A_NFLEX)).all()
    assert (account(roomy, r.A_NCRIT) == account(tight, r.A_NCRIT)).all()
    assert (roomy.world.view("Y")[:, r.Y_OVERFLOW] == 0).all()
    assert tight.world.view("Y")[:, r.Y_OVERFLOW].sum() > 100
    for batch in (roomy, tight):
        requests = account(batch, r.A_SERVED) + account(batch, r.A_LOST) + account(batch, r.A_STRANDED)
        assert (account(batch, r.A_NREQ) == requests).all()
        assert (account(batch, r.A_NFLEX) == account(batch, r.A_FDONE) + account(batch, r.A_FMISS)).all()
        assert (account(batch, r.A_NWALK) == account(batch, r.A_WSERVED) + account(batch, r.A_WLOST)).all()
    # walk-ins are served where there is room; where there is none they count 240 minutes each
    more = account(tight, r.A_WLOST) - account(roomy, r.A_WLOST)
    assert more.sum() > 20
    assert account(tight, r.A_WMTC).sum() > account(roomy, r.A_WMTC).sum()
    assert (account(tight, r.A_MTC) == pytest.approx(240.0 * account(tight, r.A_NREQ)))


def test_a_full_table_does_not_pay(city_toy):
    """What is turned away costs more on the mean than it would have cost in the city."""
    n = 12
    returns = []
    for cars in (2000, 32):
        batch = Batch(small(city_toy, cars, cars // 2), n)
        batch.reset([options(city_toy, 100 + k, ticks=48) for k in range(n)])
        returns.append(batch.play("baseline", 48).sum(0))
    assert (returns[1] - returns[0]).mean() < 0.0


def test_the_checks_hold_with_a_full_table(city_toy):
    """Lists, energy, accounts and terms at every tick; the row kept free never turns into a car."""
    tight = small(city_toy, 32, 16)
    batch = Batch(tight, 1)
    batch.reset([options(city_toy, 7, ticks=60)])
    watch = Watch(batch.world, 0, room=False)
    for _ in range(60):
        watch.before()
        watch.after(float(batch.play("greedy_counting", 1)[0, 0]))
        assert batch.world.scalar(0, r.Y_NFREE) >= 1
    assert batch.world.scalar(0, r.Y_OVERFLOW) > 0


def test_urgent_ones_cost_more(city_toy):
    """`service` and `urgency` of a tick in which everyone is turned away, against the accounts."""
    batch = Batch(small(city_toy, 40, 8), 1)
    batch.reset([options(city_toy, 3, ticks=24)])
    names = [t.name for t in TERMS]
    for _ in range(24):
        batch.step()
        tk, term = batch.world.view("TK")[0], batch.world.view("TERM")[0]
        n0 = city_toy.constants.n0_car_minutes
        if not batch.done[0]:
            assert term[names.index("service")] == pytest.approx(-tk[r.T_SERVICE] / n0)
            lost = tk[r.T_LOST] + tk[r.T_STRANDED] + tk[r.T_WLOST]
            assert 60.0 * lost <= tk[r.T_SERVICE] <= 240.0 * lost
    assert account(batch, r.A_LOST)[0] > 0


def test_a_world_never_reset_plays_nothing(city_toy):
    """Zeros are no city: a step leaves such a row alone and comes back."""
    batch = Batch(city_toy, 3)
    batch.reset([options(city_toy, 1)], envs=[1])
    before = batch.world.f.copy()
    rewards = batch.step()
    assert rewards[0] == rewards[2] == 0.0 and rewards[1] != 0.0
    assert np.array_equal(batch.world.f[[0, 2]], before[[0, 2]])
    assert (batch.done == [2, 0, 2]).all()
    assert World(city_toy, 1).scalar(0, r.Y_DONE) == 2


def test_only_the_answers_of_the_episode_claim_anything(city_toy):
    """Brier score: neither the warm-up's answers nor the settle's count."""
    batch = Batch(city_toy, 6)
    batch.reset([options(city_toy, k, ticks=12) for k in range(6)])
    cars = batch.world.view("CAR")
    assert (cars[..., r.C_FLAGS][cars[..., r.C_STATE] > 0] & r.B_CONF == 0).all()
    for _ in range(12):
        batch.step()  # nobody is answered; the settle answers at the end
    assert (batch.done == 1).all()
    assert (account(batch, r.A_NBRIER) == 0).all()
    assert (account(batch, r.A_SERVED) > 0).all()


def test_a_deferral_beyond_the_list_is_refused(city_toy):
    """Never accepted and then forgotten: the code says so, the car stays pending, nothing else is counted."""
    tight = small(city_toy, 64, 8)
    batch = Batch(tight, 1, max_answers=8)
    batch.reset([options(city_toy, 7, ticks=60, persona=city_toy.personas.names.index("PrivateOwner"), participation=1.0)])
    refused = 0
    for _ in range(60):
        y = batch.world.view("Y")[0]
        cars = batch.world.view("CAR")[0]
        pending = batch.world.view("PEND")[0, : y[r.Y_NPEND]]
        before, had = int(y[r.Y_NDEF]), pending.tolist()
        for k, c in enumerate(had):
            left = cars[c, r.C_PAT] - (5 * y[r.Y_TICK] - cars[c, r.C_TWAIT])
            batch.answers[0, k] = (cars[c, r.C_SEQ], 1, -1, 1, max(left // 5 * 5, 5), -1, 0, 0)
        batch.counts[0] = len(had)
        batch.step()
        codes = batch.answers[0, : len(had), r.D_CODE]
        accepted = int((codes == r.V_OK).sum())
        assert before + accepted <= 8
        if before + len(had) > 8:
            late = codes[8 - before :] if (codes[: 8 - before] == r.V_OK).all() else codes[-1:]
            assert (late != r.V_OK).any()
            refused += int((codes == r.V_TIME_WINDOW).sum())
    assert refused > 0
