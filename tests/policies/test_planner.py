"""The planner: legal, deterministic, blind to the hidden future, and better than the heuristic that it starts from."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.kpis import kpi_table
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.policies.base import PolicyContext
from ev_grid_oracle.policies.local.choose import L_COST, L_STATION
from ev_grid_oracle.policies.local.draws import N_ARRIVAL, N_SETTINGS, S_DEFLECT, S_LOST
from ev_grid_oracle.policies.local.station import future_cost
from ev_grid_oracle.policies.planner import Planner
from ev_grid_oracle.policies.planner_tables import exponential_gaps, log_series, tables_of
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.errors import OptionError

TICKS = 48


def play(city: CityPack, scenarios: list[str], seeds: range, planner: bool) -> tuple[Batch, np.ndarray]:
    """One batch over scenarios x seeds; returns it and the composite of every episode."""
    options = [resolve(city, seed=s, scenario=name).world for name in scenarios for s in seeds]
    batch = Batch(city, len(options), max_answers=city.constants.max_pending)
    batch.reset(options)
    if planner:
        policy = Planner()
        policy.begin(PolicyContext(batch.world.city))
        row = np.zeros(batch.world.layout.sizes["o"])
        for _ in range(TICKS):
            policy.plan_batch(batch.world, range(batch.n), batch.answers, batch.counts, row)
            batch.step()
    else:
        batch.play("greedy_counting", TICKS)
    table = kpi_table(np.array(batch.world.view("EP"), np.float64), city)
    return batch, table["composite_car_minutes"]


@pytest.fixture(scope="module")
def evening(city_blr: CityPack) -> Session:
    """A strained evening in its third hour, played by the planner."""
    session = Session(city_blr, record=False)
    obs = session.reset(seed=33, scenario="transformer_derate")
    policy = Planner()
    policy.begin(PolicyContext(packed(city_blr), 5))
    out = np.zeros((city_blr.constants.max_pending, r.N_DCOL), np.int32)
    for _ in range(30):
        obs = session.step(out[: policy.answer(obs.row, out)], source="planner")
    return session


def decisions(city: CityPack, row: np.ndarray, seed: int = 5) -> list[list[int]]:
    policy = Planner()
    policy.begin(PolicyContext(packed(city), seed))
    out = np.zeros((city.constants.max_pending, r.N_DCOL), np.int32)
    n = policy.answer(row, out)
    return out[:n].tolist()


def test_another_hidden_future_changes_no_decision(city_blr: CityPack, evening: Session) -> None:
    true = evening.fork()
    now = decisions(city_blr, true._alive().row)
    assert len(now) > 1
    digests = {evening.digest()}
    for future in (1, 2, 77):
        other = evening.fork(future=future)
        digests.add(other.digest())
        assert decisions(city_blr, other._alive().row) == now
    assert len(digests) == 4


def test_equal_seeds_decide_equally_and_the_seed_is_the_policys_own(city_blr: CityPack, evening: Session) -> None:
    row = evening.fork()._alive().row.copy()
    kept = row.copy()
    assert decisions(city_blr, row, 8) == decisions(city_blr, row, 8)
    assert (row == kept).all() or np.array_equal(row, kept, equal_nan=True)


def test_marginal_costs_are_what_the_answers_follow(city_blr: CityPack, evening: Session) -> None:
    row = evening.fork()._alive().row
    policy = Planner()
    policy.begin(PolicyContext(packed(city_blr), 5))
    out = np.zeros((city_blr.constants.max_pending, r.N_DCOL), np.int32)
    n = policy.answer(row, out)
    costs = policy.marginal_costs(row)
    assert costs.cost.shape == costs.station.shape and len(costs.seq) == costs.rows.shape[0]
    by_seq = {int(s): k for k, s in enumerate(costs.seq)}
    routed = 0
    for answer in out[:n]:
        if answer[r.D_KIND] != 0:
            continue
        k = by_seq[int(answer[r.D_SEQ])]
        best = int(np.nanargmin(costs.cost[k]))
        assert costs.station[k, best] == answer[r.D_STATION] == costs.rows[k, best, L_STATION]
        assert costs.rows[k, best, L_COST] == np.nanmin(costs.cost[k])
        routed += 1
    assert routed > 0


def test_every_answer_is_legal_and_it_beats_greedy_counting(city_blr: CityPack) -> None:
    scenarios = ["baseline", "heatwave_peak", "station_outage", "SilkBoardJam"]
    batch, ours = play(city_blr, scenarios, range(4001, 4007), planner=True)
    assert batch.world.view("EP")[:, r.A_REFUSED].sum() == 0
    assert batch.world.view("EP")[:, r.T_FLAGS].mean() < 8
    _, theirs = play(city_blr, scenarios, range(4001, 4007), planner=False)
    assert (ours - theirs).mean() < 0.0


def test_a_planner_for_many_equals_one_for_each(city_blr: CityPack) -> None:
    options = [resolve(city_blr, seed=s, scenario="heatwave_peak").world for s in (1, 2, 3)]
    batch = Batch(city_blr, 3, max_answers=city_blr.constants.max_pending)
    batch.reset(options)
    world, row = batch.world, np.zeros(batch.world.layout.sizes["o"])
    one = Planner()
    one.begin(PolicyContext(world.city))
    for _ in range(4):
        one.plan_batch(world, (7, 8, 9), batch.answers, batch.counts, row)
        for e, seed in enumerate((7, 8, 9)):
            found = decisions(city_blr, world.observe(e, row), seed)
            assert batch.answers[e, : batch.counts[e]].tolist() == found
        batch.step()


def test_settings_have_names(city_blr: CityPack) -> None:
    with pytest.raises(OptionError):
        Planner({"futurs": 3.0})
    assert Planner({"futures": 3.0, "wait_weight": 1.0}).rule["wait_weight"] == 1.0


def test_the_tables_of_draws(city_blr: CityPack) -> None:
    for x in (1.0, 0.75, 0.5, 0.1, 1e-3):
        assert log_series(x) == pytest.approx(math.log(x), abs=1e-12)
    gaps = exponential_gaps()
    assert gaps.mean() == pytest.approx(1.0) and (np.diff(gaps) > 0).all()
    tables = tables_of(packed(city_blr))
    usual = packed(city_blr).layout.view(packed(city_blr).cf, "K_WSLOT")[: len(tables.mean_own)]
    assert tables.mean_own == pytest.approx(usual, rel=0.25)
    assert tables.shares.sum() == pytest.approx(1.0, abs=1e-6)


def plain_cost(slots: list[float], cars: list[tuple[float, float, float]], lost: float) -> list[float]:
    """First come first served, car by car: minutes (wait + own) or the price of a loss."""
    out = []
    for arrival, own, patience in cars:
        k = min(range(len(slots)), key=lambda n: slots[n])
        wait = max(slots[k] - arrival, 0.0)
        if wait > patience:
            out.append(max(lost, wait))
            continue
        slots[k] = arrival + wait + own
        out.append(wait + own)
    return out


def test_a_station_on_a_future_equals_a_plain_queue(city_toy: CityPack) -> None:
    city = packed(city_toy)
    at, rng = city.layout.at, np.random.default_rng(5)
    settings = np.zeros(N_SETTINGS)
    settings[S_LOST], settings[S_DEFLECT] = 220.0, 0.0
    for _ in range(40):
        o = np.zeros(city.layout.sizes["o"])
        free = np.sort(rng.uniform(0, 90, 3))
        layout_free = city.layout.view(o, "O_FREE")
        layout_free[:] = 1e9
        layout_free[0, :3] = free
        known = np.sort(rng.uniform(0, 60, (4, 3)), 0)
        found = np.zeros((6, N_ARRIVAL))
        found[:, 0] = np.sort(rng.uniform(0, 120, 6))
        found[:, 1], found[:, 2] = rng.uniform(10, 80, 6), rng.uniform(5, 60, 6)
        mine = (float(rng.uniform(1, 40)), 45.0, 30.0)
        cars = [tuple(row) for row in known] + [tuple(row[:3]) for row in found]
        order = sorted([*((c, False) for c in cars), (mine, True)], key=lambda c: c[0][0])
        costs = plain_cost(list(free), [c for c, _ in order], 220.0)
        own = next(c for c, (_, is_mine) in zip(costs, order, strict=True) if is_mine)
        out, times = np.zeros(8), np.zeros(at[r.N_K])
        future_cost(o, at, 0, settings, known, 4, found, 6, 40.0, *mine, times, out)
        assert out[1] == pytest.approx(own)
        assert out[0] == pytest.approx(sum(costs) - own)
