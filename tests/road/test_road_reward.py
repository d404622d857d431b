"""The reward prefers the fastest way, and its shaping changes no policy's rank."""

from __future__ import annotations

import itertools

import pytest
from road_tools import city_with_roads

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.road import UNIT_MIN, RoadSession
from ev_grid_oracle.policies.road import drive, make_road_policy, road_policy_names
from ev_grid_oracle.schema.errors import UnknownPolicyError

DIAMOND = ((0, 1), (0, 2), (1, 3), (2, 3), (1, 2), (3, 4), (2, 4), (4, 0), (1, 0))
METRES = (900.0, 2500.0, 2000.0, 700.0, 400.0, 900.0, 5000.0, 800.0, 900.0)
MOVES = 5


@pytest.fixture(scope="module")
def diamond(city_toy: CityPack) -> CityPack:
    """Five nodes, nine roads of two classes, the station at node 4: several ways, a loop, dead moves."""
    return city_with_roads(city_toy, DIAMOND, METRES, (3, 1, 3, 3, 4, 3, 1, 3, 4), 5, at=4)


def returns(city: CityPack, gamma: float, shaping: bool) -> dict[tuple[int | None, ...], float]:
    """Discounted return of every sequence of at most `MOVES` moves (None: a refused text)."""
    task = RoadSession(city)
    found: dict[tuple[int | None, ...], float] = {}
    for plan in itertools.product((0, 1, 2, 3, 4, None), repeat=MOVES):
        if any(plan[:n] in found for n in range(1, MOVES)):
            continue  # that way has ended before
        task.reset(start_node=0, target="TOY-A", start="16:58", max_steps=MOVES, shaping=shaping, gamma=gamma)
        total, discount, played = 0.0, 1.0, []
        for move in plan:
            obs = task.step(move)
            played.append(move)
            total += discount * (obs.reward or 0.0)
            discount *= gamma
            if obs.done:
                break
        found[tuple(played)] = total
    return found


@pytest.mark.parametrize("gamma", [1.0, 0.9])
def test_shaping_changes_no_ranking_of_policies(diamond: CityPack, gamma: float) -> None:
    plain, shaped = returns(diamond, gamma, False), returns(diamond, gamma, True)
    assert len(plain) > 300
    task = RoadSession(diamond)
    task.reset(start_node=0, target="TOY-A", start="16:58", max_steps=MOVES)
    best = task._trip.best  # type: ignore[union-attr]
    assert best.minutes is not None
    for plan, value in plain.items():  # one constant for all that begin here: no order can change
        assert shaped[plan] - value == pytest.approx(best.minutes / UNIT_MIN, abs=1e-9)
    order = sorted(plain, key=lambda p: (round(plain[p], 9), str(p)))
    assert order == sorted(shaped, key=lambda p: (round(shaped[p] - best.minutes / UNIT_MIN, 9), str(p)))
    if gamma == 1.0:
        assert max(plain, key=lambda p: plain[p]) == best.nodes[1:] == max(shaped, key=lambda p: shaped[p])
        assert max(shaped.values()) == pytest.approx(0.0, abs=1e-9)


def test_every_way_that_arrives_beats_every_way_that_does_not(diamond: CityPack) -> None:
    task = RoadSession(diamond)
    arrived, failed = [], []
    for plan, value in returns(diamond, 1.0, True).items():
        task.reset(start_node=0, target="TOY-A", start="16:58", max_steps=MOVES)
        for move in plan:
            obs = task.step(move)
        (arrived if obs.arrived else failed).append(value)
    assert min(arrived) > max(failed)


@pytest.mark.parametrize("city", ["city_toy", "city_blr"])
def test_baselines_stand_in_their_order(city: str, request: pytest.FixtureRequest) -> None:
    task = RoadSession(request.getfixturevalue(city))
    totals: dict[str, list[float]] = {name: [] for name in road_policy_names()}
    arrived = dict.fromkeys(totals, 0)
    for seed in range(25):
        for name in totals:
            task.reset(seed=seed)
            last, total = drive(task, make_road_policy(name), seed)
            totals[name].append(total)
            arrived[name] += last.arrived
    assert arrived["shortest_path"] == 25
    assert totals["shortest_path"] == pytest.approx([0.0] * 25, abs=1e-9)
    for name in ("greedy_bearing", "random_walk"):
        assert all(t <= 1e-9 for t in totals[name])
    mean = {name: sum(t) / len(t) for name, t in totals.items()}
    assert mean["shortest_path"] > mean["greedy_bearing"] > mean["random_walk"]


def test_current_traffic_matters(city_blr: CityPack) -> None:
    """The shortest way in metres is often not the fastest now, and the reward says so."""
    task = RoadSession(city_blr)
    slower = 0
    for seed in range(25):
        obs = task.reset(seed=seed)
        way = task.network.route(obs.node, obs.target_node, obs.minute_of_day, by="metres")
        total = 0.0
        for node in way.nodes[1:]:
            obs = task.step(node)
            total += obs.reward or 0.0
        assert obs.arrived and total <= 1e-9
        slower += total < -0.05
    assert slower >= 5


def test_unknown_driver() -> None:
    with pytest.raises(UnknownPolicyError, match="shortest_path"):
        make_road_policy("teleport")
