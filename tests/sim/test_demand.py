"""Arrivals against the pack: means, shapes and shares, each within four standard errors (fixed seeds)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from inject import persona_of, story
from scipy import stats

from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import CarState, EventKind
from ev_grid_oracle.sim.world import WorldOptions


def roomy(city, **constants):
    """No overflow, no warm-up, the day as usual."""
    return replace(
        city,
        constants=replace(
            city.constants,
            max_cars=1500,
            max_pending=700,
            warmup_ticks=0,
            **constants,
        ),
        profiles=replace(city.profiles, start_occupancy=np.zeros_like(city.profiles.start_occupancy)),
    )


def meet(city, n, ticks, *, start=17 * 60, scenario=None, seeds=50_000, **options):
    """All cars of `n` episodes with nobody answering: rows of requests, rows of walk-ins, counts.

    counts: (ticks, n, 2) requests and walk-ins by tick, from the facts of the tick.
    """
    batch = Batch(city, n)
    chosen = scenario or city.scenario("baseline")
    batch.reset(
        [WorldOptions(seeds + k, chosen, start, ticks=ticks + 1, settle=False, **options) for k in range(n)]
    )
    counts, found = np.zeros((ticks, n, 2)), ([], [])
    for tick in range(ticks):
        batch.counts[:] = 0
        batch.step()
        counts[tick] = batch.world.view("TK")[:, [r.T_REQ, r.T_WALK]]
        cars = batch.world.view("CAR")
        new = (
            (cars[..., r.C_STATE] > 0)
            & (cars[..., r.C_TREQ] >= 5 * tick)
            & ((cars[..., r.C_FLAGS] & r.B_WARM) == 0)
        )
        walk = (cars[..., r.C_FLAGS] & r.B_WALKIN) != 0
        found[0].append(cars[new & ~walk])
        found[1].append(cars[new & walk])
    assert (batch.world.view("Y")[:, r.Y_OVERFLOW] == 0).all()
    return np.concatenate(found[0]), np.concatenate(found[1]), counts


@pytest.fixture(scope="module")
def evening(city_toy):
    """300 toy evenings of 24 ticks."""
    return meet(roomy(city_toy), 300, 24)


def near(share, expected, n):
    """Within four standard errors of a share."""
    return abs(share - expected) <= 4.0 * np.sqrt(max(expected * (1.0 - expected), 1e-4) / n)


def test_counts_are_poisson_with_the_packs_mean(city_toy):
    """With the day's factor off: mean = rate x shape of the slot, variance = mean."""
    city = roomy(city_toy, day_factor_sd=0.0)
    _, _, counts = meet(city, 400, 12)
    shape = city.profiles.demand_shape[0, 17 * 12 : 18 * 12]
    for k, rate in enumerate((city.constants.requests_per_tick, city.constants.walkins_per_tick)):
        n = counts[..., k]
        expected = rate * shape
        # 400 episodes a tick
        assert (np.abs(n.mean(1) - expected) < 4.0 * np.sqrt(expected / 400)).all()
        dispersion = n.var() - (n.mean(1) - n.mean()).var()
        assert dispersion == pytest.approx(n.mean(), rel=0.1)
        zero = (n == 0).mean()
        assert near(zero, float(np.exp(-expected).mean()), n.size)


def test_ticks_do_not_know_each_other(city_toy):
    _, _, counts = meet(roomy(city_toy, day_factor_sd=0.0), 400, 12)
    for k in range(2):
        a = counts[:-1, :, k].reshape(-1) - counts[..., k].mean()
        b = counts[1:, :, k].reshape(-1) - counts[..., k].mean()
        assert abs(np.corrcoef(a, b)[0, 1]) < 4.0 / np.sqrt(a.size)
    assert abs(np.corrcoef(counts[..., 0].reshape(-1), counts[..., 1].reshape(-1))[0, 1]) < 4.0 / np.sqrt(
        counts[..., 0].size
    )


@pytest.mark.parametrize(("start", "weekday"), [(3 * 60, 2), (10 * 60, 2), (19 * 60, 2), (10 * 60, 6)])
def test_the_shape_of_the_day_holds(city_toy, start, weekday):
    city = roomy(city_toy)
    _, _, counts = meet(city, 150, 12, start=start, weekday=weekday)
    shape = city.profiles.demand_shape[int(weekday == 6), start // 5 : start // 5 + 12].mean()
    for k, rate in enumerate((city.constants.requests_per_tick, city.constants.walkins_per_tick)):
        expected = rate * shape
        error = np.sqrt(expected / counts[..., k].size + (expected * city.constants.day_factor_sd) ** 2 / 150)
        assert abs(counts[..., k].mean() - expected) < 4.0 * error


def test_the_day_type_follows_the_calendar(city_toy):
    """A Saturday evening of eight hours ends on a Sunday."""
    batch = Batch(city_toy, 1)
    batch.reset([WorldOptions(1, city_toy.scenario("baseline"), 20 * 60, weekday=5, ticks=96)])
    for tick in range(95):
        assert batch.world.scalar(0, r.Y_DAYTYPE) == int(tick >= 48)
        batch.play("baseline", 1)


def test_places_are_the_packs(city_toy, evening):
    """Zones by their weights; within a zone every node alike."""
    city = city_toy
    for cars, weights in zip(evening, (city.zones.request_weight, city.zones.walkin_weight), strict=False):
        zone = city.roads.node_zone[cars[:, r.C_NODE]]
        for z in range(len(city.zones.ids)):
            assert near((zone == z).mean(), weights[z] / weights.sum(), len(cars))
            nodes = np.flatnonzero(city.roads.node_zone == z)
            count = np.bincount(cars[zone == z, r.C_NODE], minlength=len(city.roads.node_zone))[nodes]
            assert stats.chisquare(count).pvalue > 1e-4


def test_personas_and_vehicles_are_the_packs(city_toy, evening):
    p = city_toy.personas
    for cars, share in zip(evening, (p.request_share, p.walkin_share), strict=False):
        for k in range(len(p.names)):
            mine = persona_of(cars) == k
            assert near(mine.mean(), share[k], len(cars)), p.names[k]
            vehicles = np.diff(p.vehicle_cum[k], prepend=0.0)
            for v in range(len(vehicles)):
                assert near((cars[mine, r.C_VEHICLE] == v).mean(), vehicles[v], max(mine.sum(), 1))


def test_people_are_as_their_persona_says(city_toy, evening):
    p = city_toy.personas
    for cars in evening[:2]:
        for k in range(len(p.names)):
            mine = cars[(persona_of(cars) == k) & ((cars[:, r.C_FLAGS] & r.B_FLEX) == 0)]
            soc, target = mine[:, r.C_SOC_BP] / 1e4, mine[:, r.C_TGT_BP] / 1e4
            assert (soc >= p.soc_lo[k] - 1e-4).all()
            assert (soc <= p.soc_hi[k]).all()
            mean = (p.soc_lo[k] + p.soc_mode[k] + p.soc_hi[k]) / 3.0
            assert abs(soc.mean() - mean) < 4.0 * soc.std() / np.sqrt(len(soc)) + 1e-4
            assert (target >= p.target_lo[k] - 1e-4).all()
            assert (target <= p.target_hi[k]).all()
            running = np.isin(mine[:, r.C_STATE], (CarState.PENDING, CarState.ENROUTE))  # nothing used up yet
            patience = mine[running, r.C_PAT]
            lo, hi = int(p.patience_lo_min[k]), int(p.patience_hi_min[k])
            assert (patience >= lo).all()
            assert (patience <= hi).all()
            if len(mine) > 2000:
                assert set(patience.tolist()) == set(range(lo, hi + 1))
            assert ((mine[:, r.C_FLAGS] & r.B_EMERG) != 0).tolist() == [bool(p.emergency[k])] * len(mine)


def test_flexible_cars_are_the_packs_share_and_have_their_window(city_toy, evening):
    c, p = city_toy.constants, city_toy.personas
    requests, walkins, _ = evening
    assert (walkins[:, r.C_FLAGS] & r.B_FLEX == 0).all()
    flexible = (requests[:, r.C_FLAGS] & r.B_FLEX) != 0
    for k in range(len(p.names)):
        mine = persona_of(requests) == k
        assert near(flexible[mine].mean(), p.flexible_share[k], mine.sum()), p.names[k]
    cars = requests[flexible]
    window = cars[:, r.C_READY] - cars[:, r.C_TREQ]
    assert (window >= c.flex_ready_lo_min).all()
    assert (window <= c.flex_ready_hi_min).all()
    assert window.mean() == pytest.approx(
        (c.flex_ready_lo_min + c.flex_ready_hi_min) / 2, abs=4 * window.std() / len(cars) ** 0.5
    )
    assert (cars[:, r.C_PAT] == window - c.flex_slack_min).all()
    assert (cars[:, r.C_FLAGS] & r.B_CRIT == 0).all()


def test_critical_means_urgent_beyond_the_packs_line(city_toy, evening):
    requests, walkins, _ = evening
    urgent = requests[:, r.C_URG_BP] > 1e4 * city_toy.constants.critical_urgency
    flexible = (requests[:, r.C_FLAGS] & r.B_FLEX) != 0
    assert (((requests[:, r.C_FLAGS] & r.B_CRIT) != 0) == (urgent & ~flexible)).all()
    assert 0.02 < urgent.mean() < 0.6
    assert (walkins[:, r.C_FLAGS] & r.B_CRIT == 0).all()  # urgency is a matter of requests


def test_walkins_are_announced_by_the_packs_share_and_their_number_shows_it(city_toy, evening):
    _, walkins, _ = evening
    announced = (walkins[:, r.C_FLAGS] & r.B_ANN) != 0
    assert near(announced.mean(), city_toy.constants.announced_share, len(walkins))


def test_minutes_within_a_tick_are_even(evening):
    for cars in evening[:2]:
        minute = np.bincount(cars[:, r.C_TREQ] % 5, minlength=5)
        assert stats.chisquare(minute).pvalue > 1e-4


def test_walkins_choose_like_the_packs_table_in_an_empty_city(city_toy):
    """In the first tick nothing is queued, so the choice is the table's, by zone and plug."""
    city = roomy(city_toy, day_factor_sd=0.0, walkins_per_tick=20.0)
    tariff = replace(city.profiles, tariff_factor=np.ones(288))
    _, walkins, _ = meet(replace(city, profiles=tariff), 400, 1)
    assert len(walkins) > 6000
    profiles, dc = city.profiles, city.vehicles.dc_kw[walkins[:, r.C_VEHICLE]] > 0
    zone = city.roads.node_zone[walkins[:, r.C_NODE]]
    for z in range(len(city.zones.ids)):
        for plug in range(2):
            mine = walkins[(zone == z) & (dc == plug), r.C_STATION]
            share = np.diff(profiles.choice_cum[z, plug], prepend=0.0)
            for s in range(len(city.stations.ids)):
                expected = share[
                    profiles.choice_station[z, plug] == s
                ].sum()  # padding repeats a station with 0
                assert near((mine == s).mean(), expected, len(mine)), (z, plug, s)


def test_a_longer_queue_and_a_higher_price_drive_walkins_away(city_toy):
    city = roomy(city_toy, day_factor_sd=0.0, walkins_per_tick=20.0)
    calm, dear = (
        meet(city, 100, 1, scenario=story(city, (0, EventKind.PRICE, (0,), value)))[1] for value in (1.0, 3.0)
    )
    share = [(w[:, r.C_STATION] == 0).mean() for w in (calm, dear)]
    assert share[1] < 0.8 * share[0]
    closed = story(city, (0, EventKind.SLOTS, (0,), 0.0))  # whoever comes to station 0 queues there
    _, walkins, _ = meet(city, 100, 8, scenario=closed)
    early, late = walkins[walkins[:, r.C_TREQ] < 5], walkins[(walkins[:, r.C_TREQ] >= 15) & (walkins[:, r.C_TREQ] < 20)]
    assert (late[:, r.C_STATION] == 0).mean() < 0.5 * (early[:, r.C_STATION] == 0).mean()


def test_participation_splits_all_cars(city_toy):
    """Half of all cars ask instead of a third; their number together stays."""
    c = city_toy.constants
    total = c.requests_per_tick + c.walkins_per_tick
    city = roomy(city_toy, day_factor_sd=0.0)
    shape = city.profiles.demand_shape[0, 17 * 12 : 18 * 12].mean()
    for share in (0.1, 0.5, 1.0):
        _, _, counts = meet(city, 150, 12, participation=share)
        for k, part in enumerate((share, 1.0 - share)):
            expected = total * part * shape
            assert abs(counts[..., k].mean() - expected) <= 4.0 * np.sqrt(expected / counts[..., k].size)


def test_a_fleet_mode_makes_every_request_of_one_persona(city_toy):
    for persona in range(len(city_toy.personas.names)):
        requests, walkins, _ = meet(roomy(city_toy), 10, 12, persona=persona)
        assert (persona_of(requests) == persona).all()
        assert len(set(persona_of(walkins).tolist())) > 2


def test_a_demand_event_acts_on_its_zone(city_toy):
    """A factor of 3 on zone 1 from tick 0: its arrivals triple, the others' stay."""
    city = roomy(city_toy, day_factor_sd=0.0)
    event = story(city, (0, EventKind.DEMAND, (1,), 3.0))
    plain = meet(city, 200, 12)
    loud = meet(city, 200, 12, scenario=event)
    for k in range(2):
        zone = [np.bincount(city.roads.node_zone[x[k][:, r.C_NODE]], minlength=3) for x in (plain, loud)]
        ratio = zone[1] / zone[0]
        assert ratio == pytest.approx([1.0, 3.0, 1.0], rel=0.15)


def test_closed_demand_brings_nobody(city_toy):
    requests, walkins, counts = meet(roomy(city_toy), 5, 1, open_demand=False)
    assert len(requests) == len(walkins) == counts.sum() == 0


@pytest.mark.parametrize("name", ["toy", "blr"])
def test_todays_ratio_is_one_on_a_usual_day(request, name):
    """Walk-ins of the last two hours over the usual of these two hours, as the evening rises and falls."""
    city = request.getfixturevalue(f"city_{name}")
    city = replace(city, constants=replace(city.constants, max_cars=1500, warmup_ticks=72))
    batch = Batch(city, 120)
    batch.reset([WorldOptions(60_000 + k, city.scenario("baseline"), 17 * 60, ticks=60) for k in range(120)])
    for _ in range(5):
        mean = float(batch.world.view("X")[:, r.X_RATIO].mean())
        day = float(batch.world.view("X")[:, r.X_DAYF].mean())
        assert mean == pytest.approx(day, abs=0.15), batch.world.scalar(0, r.Y_TICK)
        batch.play("baseline", 12)


def test_todays_ratio_tells_a_busy_day_from_a_quiet_one(city_toy):
    batch = Batch(city_toy, 200)
    batch.reset([WorldOptions(70_000 + k, city_toy.scenario("baseline"), 19 * 60) for k in range(200)])
    ratio, day = batch.world.view("X")[:, r.X_RATIO], batch.world.view("X")[:, r.X_DAYF]
    assert np.corrcoef(ratio, day)[0, 1] > 0.3
