"""The lower bound: below every dispatcher on every evening, equal to the optimum where brute force can say, and made of
options that cover whatever the simulator does."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

pytest.importorskip("scipy", reason="the bound is solved and reported with scipy")

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.kpis import kpi_table
from ev_grid_oracle.episode.options import EpisodeOptions, resolve
from ev_grid_oracle.evaluation import bound_exact
from ev_grid_oracle.evaluation.bound import Relaxation, lower_bound
from ev_grid_oracle.evaluation.bound_exact import SolverError, solve
from ev_grid_oracle.evaluation.bound_options import Options, options_of
from ev_grid_oracle.evaluation.bound_share import gain_share, ratio
from ev_grid_oracle.evaluation.bound_world import Evening, read_evening
from ev_grid_oracle.evaluation.players import play_block
from ev_grid_oracle.policies.clairvoyant import Searcher, greedy_plan
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import CarState
from ev_grid_oracle.schema.errors import OptionError

POLICIES = (
    "baseline",
    "greedy_counting",
    "planner",
    "nearest",
    "same_station",
    "random",
    "always_defer",
    "always_load_shift",
)


def composite(batch: Batch, city: CityPack) -> float:
    return float(kpi_table(np.array(batch.world.view("EP")), city)["composite_car_minutes"][0])


def relaxed(city: CityPack, options: EpisodeOptions) -> tuple[Evening, Relaxation]:
    evening = read_evening(city, options.world)
    return evening, Relaxation(evening, options_of(evening))


@pytest.mark.parametrize(
    ("start", "scenario"), [("17:00", "baseline"), ("08:30", "baseline"), ("17:00", "last")]
)
def test_no_policy_is_below_the_bound_on_toy(city_toy: CityPack, start: str, scenario: str) -> None:
    name = city_toy.scenarios[-1].name if scenario == "last" else scenario
    worlds = [
        resolve(city_toy, seed=seed, scenario=name, start=start, ticks=18).world for seed in range(100, 106)
    ]
    bounds = np.array([lower_bound(city_toy, world, steps=80).car_minutes for world in worlds])
    costs = {
        p: kpi_table(play_block(p, city_toy, worlds).accounts, city_toy)["composite_car_minutes"]
        for p in POLICIES
    }
    for policy, cost in costs.items():
        assert (bounds <= cost + 1e-6).all(), policy
    assert (bounds > 0.3 * costs["planner"]).all()  # and it says something


def test_the_clairvoyant_is_above_the_bound(city_toy: CityPack) -> None:
    for seed in (12, 13):
        options = resolve(city_toy, seed=seed, ticks=12)
        searcher = Searcher(city_toy, options, width=8)
        found = searcher.search(greedy_plan(searcher), sweeps=2)
        assert lower_bound(city_toy, options.world, steps=80).car_minutes <= found.composite[-1] + 1e-6


@pytest.mark.parametrize("scenario", ["SilkBoardJam", "station_outage"])
def test_no_policy_is_below_the_bound_in_the_city(city_blr: CityPack, scenario: str) -> None:
    world = resolve(city_blr, seed=77, scenario=scenario, ticks=24).world
    bound = lower_bound(city_blr, world, steps=60).car_minutes
    for policy in ("baseline", "planner", "random"):
        assert (
            bound
            <= kpi_table(play_block(policy, city_blr, [world]).accounts, city_blr)["composite_car_minutes"][0]
        )


def best_by_force(city: CityPack, options: EpisodeOptions) -> tuple[float, int]:
    """The least composite over all answers (a route at the station's own rate, or none), and how many were tried."""
    batch = Batch(city, 1)
    batch.reset([options.world])
    w, row, tried = batch.world, np.zeros(batch.world.layout.sizes["o"]), [0]

    def go(tick: int) -> float:
        if tick == options.world.ticks:
            tried[0] += 1
            return composite(batch, city)
        o = w.observe(0, row)
        count = int(o[w.at[r.O_X] + r.OX_NPEND])
        seqs = w.layout.view(o, "O_PEND")[:count, r.P_SEQ].astype(int)
        state, least = (w.f.copy(), w.i.copy(), w.u.copy()), np.inf
        for choice in product(range(-1, len(city.stations.ids)), repeat=count):
            w.f[:], w.i[:], w.u[:] = state
            routes = [
                (q, 0, s, city.stations.rate[s], 0, 5000, 0, 0)
                for q, s in zip(seqs, choice, strict=True)
                if s >= 0
            ]
            batch.answers[0, : len(routes)] = np.array(routes, np.int32).reshape(-1, r.N_DCOL)
            batch.counts[0] = len(routes)
            batch.step()
            least = min(least, go(tick + 1))
        return least

    return go(0), tried[0]


def test_exact_on_tiny_evenings(city_toy: CityPack) -> None:
    """Nights with few cars: brute force over every answer never beats the bound and often meets it."""
    met, answers = 0, 0
    for seed in range(10):
        options = resolve(city_toy, seed=seed, start="03:00", ticks=6)
        evening, problem = relaxed(city_toy, options)
        if sum(d is None for d in evening.draws) > 3:
            continue
        best, tried = best_by_force(city_toy, options)
        bound, whole = problem.search(120).car_minutes, solve(problem, whole=True)
        assert bound <= whole + 1e-6 <= best + 2e-6
        met += abs(whole - best) < 1e-6
        answers += tried
    assert met >= 5 and answers > 100


@pytest.mark.parametrize("seed", [0, 2, 5])
def test_the_search_finds_the_optimum_of_the_linear_programme(city_toy: CityPack, seed: int) -> None:
    _, problem = relaxed(city_toy, resolve(city_toy, seed=seed, ticks=3))
    best = solve(problem)
    found = problem.search(300)
    assert found.free_car_minutes <= found.car_minutes <= best + 1e-6
    assert found.car_minutes == pytest.approx(best, rel=2e-3)


def test_any_prices_give_a_bound(city_toy: CityPack) -> None:
    """Weak duality: prices drawn at random are poor, never wrong."""
    _, problem = relaxed(city_toy, resolve(city_toy, seed=2, ticks=3))
    best = solve(problem)
    rng = np.random.default_rng(0)
    for scale in (0.01, 0.1, 1.0):
        slots, choices = (rng.exponential(scale, n) for n in problem.shape)
        assert problem.value(slots, 10.0 * choices)[0] <= best + 1e-6


def test_the_solver_refuses_what_is_too_large(city_toy: CityPack, monkeypatch: pytest.MonkeyPatch) -> None:
    _, problem = relaxed(city_toy, resolve(city_toy, seed=0, ticks=3))
    monkeypatch.setattr(bound_exact, "MOST_COLUMNS", 100)
    with pytest.raises(SolverError, match="columns"):
        solve(problem)


def _earliest(options: Options) -> dict[tuple[int, int], int]:
    return {
        (int(c), int(s)): int(f) for c, s, f in zip(options.car, options.station, options.first, strict=True)
    }


@pytest.mark.parametrize("scenario", ["SilkBoardJam", "CricketFinal"])
def test_every_car_does_what_one_of_its_options_says(city_blr: CityPack, scenario: str) -> None:
    """Jams and closures on the way included: arrivals, walk-ins' stations, and the queues that turned them away."""
    options = resolve(city_blr, seed=9, scenario=scenario, ticks=40)
    evening = read_evening(city_blr, options.world)
    assert evening.roads.reroute.any()
    first = _earliest(options_of(evening))
    number = {(int(c[r.C_SEQ]), bool(c[r.C_FLAGS] & r.B_WALKIN)): n for n, c in enumerate(evening.cars)}
    batch = Batch(city_blr, 1, max_answers=city_blr.constants.max_pending)
    batch.reset([options.world])
    w, seen, turned_away, rerouted = batch.world, set(), 0, 0
    for tick in range(40):
        queue = w.view("ST_QN")[0].copy()
        batch.play("baseline", 1)
        for car in np.asarray(w.view("CAR")[0]) if tick < 39 else ():
            if car[r.C_STATE] == CarState.ABSENT or car[r.C_FLAGS] & r.B_WARM:
                continue
            n = number[int(car[r.C_SEQ]), bool(car[r.C_FLAGS] & r.B_WALKIN)]
            draws = evening.draws[n]
            if draws is not None and n not in seen and car[r.C_STATE] == CarState.ENROUTE:
                seen.add(n)
                fits = [
                    need for s, need in zip(draws.station, draws.needs, strict=True) if s == car[r.C_STATION]
                ]
                assert any(all(queue[s] >= q for s, q in need.items()) for need in fits)
                turned_away += car[r.C_STATION] != draws.station[0]
            if car[r.C_STATE] in (CarState.QUEUED, CarState.CHARGING):
                assert first[n, int(car[r.C_STATION])] <= car[r.C_TARR]
                rerouted += bool(car[r.C_FLAGS] & r.B_REROUTED)
    assert turned_away > 10 and rerouted > 0
    accounts = w.view("EP")[0]
    kinds = [d is None for d in evening.draws]
    assert sum(kinds) == accounts[r.A_NREQ] + accounts[r.A_NFLEX]
    assert len(kinds) - sum(kinds) == accounts[r.A_NWALK]


def test_shares_and_their_intervals() -> None:
    base, best = [100.0, 120.0, 90.0, 110.0], [60.0, 70.0, 60.0, 55.0]
    half = [(a + b) / 2.0 + d for a, b, d in zip(base, best, (1.0, -2.0, 0.5, 1.5), strict=True)]
    share = gain_share(base, half, best)
    assert share.value == pytest.approx(sum(a - h for a, h in zip(base, half, strict=True)) / 175.0)
    assert share.low is not None and share.high is not None and share.low < share.value < share.high
    assert gain_share(base, base, best).value == 0.0 and gain_share(base, best, best).value == 1.0
    assert ratio([], []).value is None
    with pytest.raises(OptionError):
        ratio([1.0], [])
