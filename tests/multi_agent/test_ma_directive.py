"""Directives: what they may say, when they bind, and where a forbidden answer goes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from game_tools import DISPATCHER, OPERATOR, greedy, until_greedy_routes

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.ma_directive import Directive, read_directive
from ev_grid_oracle.episode.two_agents import TwoAgents
from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.enums import ActionKind, Rate

S, F = ("BLR-01", "BLR-02"), ("F01", "F02")


@pytest.mark.parametrize(
    ("values", "code"),
    [
        (5, "E_FORMAT"),
        ("blacklist all", "E_FORMAT"),
        ({"colour": 1}, "E_KEY"),
        ({"max_grid_load_pct": 0.49}, "E_RANGE"),
        ({"max_grid_load_pct": float("nan")}, "E_RANGE"),
        ({"max_grid_load_pct": "0.9"}, "E_FORMAT"),
        ({"max_grid_load_pct": True}, "E_FORMAT"),
        ({"price_mult": 2.1}, "E_RANGE"),
        ({"price_mult": 10**400}, "E_RANGE"),
        ({"price_mult": None}, "E_FORMAT"),
        ({"station_blacklist": "BLR-01"}, "E_FORMAT"),
        ({"station_blacklist": ["BLR-99"]}, "E_STATION"),
        ({"station_blacklist": [["BLR-01"]]}, "E_STATION"),
        ({"station_blacklist": ["BLR-01"] * 6}, "E_RANGE"),
        ({"feeder_caps": ["F01"]}, "E_FORMAT"),
        ({"feeder_caps": {"F99": 1.0}}, "E_STATION"),
        ({"feeder_caps": {"F01": 1.3}}, "E_RANGE"),
    ],
)
def test_a_directive_out_of_its_ranges_is_refused_whole(values: object, code: str) -> None:
    directive, issues = read_directive(values, S, F)
    assert directive is None and issues[0].code == code


def test_a_directive_is_read_and_written() -> None:
    given = {
        "max_grid_load_pct": 0.9,
        "station_blacklist": ["BLR-02"],
        "price_mult": 1.5,
        "feeder_caps": {"F02": 1},
    }
    directive, issues = read_directive(given, S, F)
    assert issues == () and directive is not None and directive.limits
    assert read_directive(directive.to_dict(), S, F)[0] == directive
    assert not Directive().limits and read_directive({}, S, F)[0] == Directive()


def test_it_binds_from_the_next_tick_until_replaced(game: TwoAgents) -> None:
    car, station = until_greedy_routes(game)
    answers = greedy(game)
    seen = game.step({OPERATOR: {"station_blacklist": [station]}, DISPATCHER: answers})
    assert seen[DISPATCHER].info["violations"] == []  # this tick's answers were not bound yet
    assert seen[DISPATCHER].directive["station_blacklist"] == [station]
    for _ in range(3):  # a message alone, silence and a refused directive leave it in force
        for words in ({"message": "hold on"}, None, {"price_mult": 9}):
            seen = game.step({OPERATOR: words, DISPATCHER: greedy(game)})
            assert seen[DISPATCHER].directive["station_blacklist"] == [station]
            assert all(v["asked"] == station for v in seen[DISPATCHER].info["violations"])  # type: ignore[attr-defined]
            assert station not in {v["given"] for v in seen[DISPATCHER].info["violations"]}  # type: ignore[attr-defined]
    assert car
    seen = game.step({OPERATOR: {}})
    assert seen[DISPATCHER].directive == Directive().to_dict()


def test_a_forbidden_answer_goes_to_the_best_allowed_station(game: TwoAgents) -> None:
    car, station = until_greedy_routes(game)
    game.step({OPERATOR: {"station_blacklist": [station]}})
    obs = game.session.observation
    k = obs.pending_ids.index(car)
    table = obs.candidates(k)
    order = [s for s in np.argsort(table.score, kind="stable").tolist() if table.usable[s]]
    best = next(s for s in order if obs.station_ids[s] != station)
    asked = [Action(ActionKind.ROUTE, station, Rate.SLOW, 0, car)]
    twin = TwoAgents.restore(game.snapshot())
    seen = game.step({DISPATCHER: asked})
    given = obs.station_ids[best]
    assert seen[DISPATCHER].info["violations"] == [
        {"ev_id": car, "asked": station, "reason": "station_blacklist", "given": given}
    ]
    assert "directive_violation" in seen[DISPATCHER].flags
    rows = game.session._batch.answers[0, :1]
    assert (int(rows[0, 2]), int(rows[0, 3])) == (best, int(table.best_rate[best]))
    # the same world as if the dispatcher had sent it there itself
    own = twin.step({DISPATCHER: [Action(ActionKind.ROUTE, given, Rate(int(table.best_rate[best])), 0, car)]})
    assert twin.session.digest() == game.session.digest()
    n0 = game.session.city.constants.n0_car_minutes
    gap = own[DISPATCHER].breakdown["anti_hack"] - seen[DISPATCHER].breakdown["anti_hack"]
    assert gap == pytest.approx(10.0 / n0)
    assert seen[DISPATCHER].breakdown["negotiation"] == pytest.approx(-2 * 0.05)


def test_caps_count_the_load_now_and_this_ticks_answers(game: TwoAgents) -> None:
    until_greedy_routes(game)
    game.step({OPERATOR: {"max_grid_load_pct": 0.5}})
    seen = game.step({DISPATCHER: greedy(game)})
    if game.session.observation.state.grid_load_frac > 0.5:
        assert all(
            v["reason"] == "max_grid_load_pct" and v["given"] is None
            for v in seen[DISPATCHER].info["violations"]
        )  # type: ignore[attr-defined]
    sent = game.session._batch.answers[0, : int(game.session._batch.counts[0])]
    assert not (sent[:, 1] == ActionKind.ROUTE).any()

    # a feeder with room for exactly one more car of its kind
    game.step({OPERATOR: {}})
    obs = game.session.observation
    car, station = until_greedy_routes(game)
    obs = game.session.observation
    s = obs.station_ids.index(station)
    feeder = int(obs.state.stations.feeder[s])
    from ev_grid_oracle.episode.ma_resolve import Loads

    loads = Loads(game.session._batch.world.city, obs)
    request = obs.pending[obs.pending_ids.index(car)]
    share = loads.kva(request, s, 2) / float(obs.state.feeders.rating_kva[feeder])
    now = float(obs.state.feeders.load_frac[feeder])
    tight = Directive(feeder_caps={obs.feeder_ids[feeder]: now + 1.5 * share})
    assert loads.refusal(tight, request, s, 2) == ""
    loads.add(request, s, 2)
    assert loads.refusal(tight, request, s, 2) == "feeder_caps"


def test_only_routes_of_pending_cars_are_resolved(game: TwoAgents) -> None:
    car, station = until_greedy_routes(game)
    game.step({OPERATOR: {"station_blacklist": [station]}})
    car = game.session.observation.pending_ids[0]
    seen = game.step(
        {
            DISPATCHER: [
                Action(ActionKind.LOAD_SHIFT, station, Rate.SLOW, 10, car),
                Action(ActionKind.ROUTE, station, Rate.SLOW, 0, "EV-9999"),
            ]
        }
    )
    assert seen[DISPATCHER].info["violations"] == []
    assert [e["code"] for e in seen[DISPATCHER].info["errors"]] == ["E_UNKNOWN_CAR"]  # type: ignore[attr-defined]


def test_price_follows_at_the_next_tick_and_scenario_events_keep_it(city_blr: CityPack) -> None:
    plain, dear = TwoAgents(city_blr), TwoAgents(city_blr)
    for g in (plain, dear):
        g.reset(seed=3, scenario="tariff_shock")
    dear.step({OPERATOR: {"price_mult": 1.5}})
    plain.step({})
    for _ in range(30):
        a = plain.session.observation.state.stations.price_inr_kwh
        b = dear.session.observation.state.stations.price_inr_kwh
        assert b == pytest.approx(1.5 * a)
        plain.step({})
        dear.step({})
    changed = {round(float(e.value), 3) for e in city_blr.scenario("tariff_shock").events if e.kind == 6}
    assert changed  # the scenario does change prices on the way
    dear.step({OPERATOR: {}})
    plain.step({})
    again = plain.session.observation.state.stations.price_inr_kwh
    assert dear.session.observation.state.stations.price_inr_kwh == pytest.approx(again)


def test_price_changes_what_walkins_do_and_what_drivers_pay(city_blr: CityPack) -> None:
    paid = []
    for mult in (1.0, 2.0):
        g = TwoAgents(city_blr)
        g.reset(seed=5, ticks=24)
        g.step({OPERATOR: {"price_mult": mult}})
        while not g.done:
            g.step({DISPATCHER: greedy(g)})
        paid.append(g.role_kpis()["driver"]["inr_per_kwh"])
    assert paid[1] > 1.3 * paid[0]  # type: ignore[operator]


def test_everything_an_agent_is_told_is_json(game: TwoAgents) -> None:
    for _ in range(5):
        seen = game.auto_step()
        for told in seen.values():
            json.dumps(told.to_dict(), allow_nan=False)
