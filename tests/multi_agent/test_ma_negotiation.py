"""What statements are worth: chatter and idle promises exactly nothing, lies and broken promises a cost."""

from __future__ import annotations

import pytest
from game_tools import (
    DISPATCHER,
    OPERATOR,
    greedy,
    until_greedy_routes,
    unused_station,
    verdicts,
    without,
)

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.ma_negotiation import Negotiation
from ev_grid_oracle.episode.two_agents import TwoAgents

CHATTER = (
    "Good evening, thank you for your splendid work!",
    "I promise to avoid BLR-01 for 10 ticks.",
    "PROMISE to be good FOR 5",
    "CLAIM everything is fine",
    "claim queue BLR-01 < 0",
)


def no_points(game: TwoAgents) -> bool:
    """Exactly zero, for both, and in both rewards."""
    zero = all(v == 0.0 for v in game.negotiation.totals.values())
    return zero and all(
        o.breakdown.get("negotiation", 0.0) == 0.0 and float(s["points"]) == 0.0  # type: ignore[arg-type]
        for o in game.observations.values()
        for s in (o.statements or [{"points": 0.0}])
    )


def test_chatter_true_claims_and_promises_that_bind_nobody_earn_exactly_nothing(game: TwoAgents) -> None:
    quiet = TwoAgents.restore(game.snapshot())
    for n in range(12):
        obs = game.session.observation
        s = obs.state.stations
        idle = unused_station(game, 3)
        lines = [
            f"CLAIM queue BLR-01 <= {int(s.queued[0]) + 5}",
            f"CLAIM inbound BLR-02 = {int(s.inbound[1])}",
            f"PROMISE avoid {idle} FOR 3",
            "PROMISE cap F01 1.2 FOR 2",
        ]
        said = CHATTER[n % len(CHATTER)] + "\n" + "\n".join(lines) if n % 2 else CHATTER[n % len(CHATTER)]
        load = float(obs.state.feeders.load_frac[2])
        words = f"CLAIM load F03 <= {load + 0.1:.2f}\nCLAIM voltage F03 > 0.5\nPROMISE cap F02 1.2 FOR 4"
        game.step({OPERATOR: {"message": words}, DISPATCHER: {"actions": greedy(game), "message": said}})
        quiet.step({DISPATCHER: greedy(quiet)})
        assert no_points(game)
    assert quiet.session.digest() == game.session.digest()  # words move nothing
    assert game.totals == quiet.totals  # and earn nothing
    kinds = {v["verdict"] for e in game.timeline for v in e["verdicts"]}  # type: ignore[attr-defined]
    assert {"true", "unreadable", "kept", "running"} <= kinds


@pytest.mark.parametrize("agent", [OPERATOR, DISPATCHER])
def test_a_lie_costs(game: TwoAgents, agent: str) -> None:
    twin = TwoAgents.restore(game.snapshot())
    queue = int(game.session.observation.state.stations.queued[0])
    seen = game.step({agent: {"message": f"CLAIM queue BLR-01 > {queue}\nCLAIM queue BLR-01 = {queue + 1}"}})
    silent = twin.step({agent: {"message": "hello"}})
    assert verdicts(game, agent) == [("claim", "false", -1.0)] * 2
    assert seen[agent].reward == pytest.approx(silent[agent].reward - 0.1)  # type: ignore[operator]
    other = DISPATCHER if agent == OPERATOR else OPERATOR
    assert seen[other].reward == silent[other].reward


def test_a_promise_to_avoid_that_bound_is_worth_one_point(game: TwoAgents) -> None:
    _car, station = until_greedy_routes(game)
    words = f"PROMISE avoid {station} FOR 2"
    game.step({DISPATCHER: {"actions": without(game, station), "message": words}})
    assert verdicts(game) == [("promise", "running", 0.0)]
    game.step({DISPATCHER: without(game, station)})
    assert verdicts(game) == [("promise", "kept, it bound", 1.0)]
    assert game.observations[DISPATCHER].breakdown["negotiation"] == 0.05
    assert game.negotiation.totals == {OPERATOR: 0.0, DISPATCHER: 1.0}


def test_breaking_it_costs_two_at_once_and_ends_it(game: TwoAgents) -> None:
    _car, station = until_greedy_routes(game)
    words = f"PROMISE avoid {station} FOR 5"
    game.step({DISPATCHER: {"actions": greedy(game), "message": words}})
    assert verdicts(game)[-1] == ("promise", "broken", -2.0)
    assert game.negotiation.running == [] and game.negotiation.totals[DISPATCHER] == -2.0


def test_a_car_is_paid_for_once(game: TwoAgents) -> None:
    """Holding one car back under promise after promise must not pay again and again."""
    _car, station = until_greedy_routes(game)
    points = 0.0
    for _ in range(4):
        words = f"PROMISE avoid {station} FOR 1"
        held = {a.ev_id for a in greedy(game) if a.station_id == station}
        fresh = {c for c in held if c not in points_paid(game)}
        before = game.negotiation.totals[DISPATCHER]
        game.step({DISPATCHER: {"actions": without(game, station), "message": words}})
        gained = game.negotiation.totals[DISPATCHER] - before
        assert gained == (1.0 if fresh else 0.0)
        points += gained
    assert points < 4.0


def points_paid(game: TwoAgents) -> set[str]:
    from ev_grid_oracle.episode.ids import car_id

    return {car_id(seq) for seq in game.negotiation._paid}


def test_the_same_promise_twice_is_one_promise(game: TwoAgents) -> None:
    _car, station = until_greedy_routes(game)
    words = f"PROMISE avoid {station} FOR 3\nPROMISE avoid {station} FOR 2"
    game.step({DISPATCHER: {"actions": without(game, station), "message": words}})
    assert verdicts(game) == [("promise", "running", 0.0), ("promise", "already promised", 0.0)]
    game.step({DISPATCHER: {"actions": without(game, station), "message": words}})
    assert [v for v in verdicts(game) if v[1] == "already promised"] == [
        ("promise", "already promised", 0.0)
    ] * 2
    assert len(game.negotiation.running) == 1


def test_a_promise_that_a_directive_enforces_binds_nobody(game: TwoAgents) -> None:
    _car, station = until_greedy_routes(game)
    game.step({OPERATOR: {"station_blacklist": [station]}})
    words = f"PROMISE avoid {station} FOR 1"
    game.step({DISPATCHER: {"actions": without(game, station), "message": words}})
    promise = [v for v in verdicts(game) if v[0] == "promise"]
    assert promise[-1] == ("promise", "kept", 0.0)


def test_a_kept_directive_earns_only_where_it_bound(game: TwoAgents) -> None:
    idle = unused_station(game, 2)
    game.step({OPERATOR: {"station_blacklist": [idle]}, DISPATCHER: greedy(game)})
    game.step({DISPATCHER: greedy(game)})
    assert verdicts(game) == [] and no_points(game)
    _car, station = until_greedy_routes(game)
    game.step({OPERATOR: {"station_blacklist": [station]}, DISPATCHER: without(game, station)})
    held = [a for a in greedy(game) if a.station_id == station]
    game.step({DISPATCHER: without(game, station)})
    assert verdicts(game) == ([("directive", "kept, it bound", 1.0)] if held else [])
    before = game.negotiation.totals[DISPATCHER]
    again = {a.ev_id for a in greedy(game) if a.station_id == station}
    game.step({DISPATCHER: without(game, station)})
    if again <= {a.ev_id for a in held}:  # the same cars, held back once more
        assert game.negotiation.totals[DISPATCHER] == before


def test_a_broken_directive_costs_and_a_refused_text_keeps_nothing(game: TwoAgents) -> None:
    _car, station = until_greedy_routes(game)
    game.step({OPERATOR: {"station_blacklist": [station]}})
    twin = TwoAgents.restore(game.snapshot())
    bound = any(a.station_id == station for a in greedy(game))
    twin.step({DISPATCHER: "no answer at all"})
    assert verdicts(twin) == [] and twin.observations[DISPATCHER].flags[0] == "invalid_action"
    game.step({DISPATCHER: greedy(game)})
    if bound:
        assert verdicts(game) == [("directive", "broken", -2.0)]


def test_a_promise_to_serve_is_judged_at_its_end(game: TwoAgents) -> None:
    """Greedy serves the first routed car anyway: worth nothing. Not serving it: two points lost."""
    car, _station = until_greedy_routes(game)
    twin = TwoAgents.restore(game.snapshot())
    words = f"PROMISE serve {car} FOR 24"
    game.step({DISPATCHER: {"actions": greedy(game), "message": words}})
    twin.step({DISPATCHER: {"message": f"PROMISE serve {car} FOR 2"}})
    twin.step({})
    assert verdicts(twin) == [("promise", "broken", -2.0)]
    while game.negotiation.running:
        game.step({DISPATCHER: greedy(game)})
    assert verdicts(game)[-1] in (("promise", "kept", 0.0), ("promise", "broken", -2.0))
    assert game.negotiation.totals[DISPATCHER] <= 0.0


@pytest.mark.parametrize(
    ("agent", "words", "verdict"),
    [
        (OPERATOR, "PROMISE avoid BLR-01 FOR 2", "not in its power"),
        (OPERATOR, "PROMISE serve EV-0001 FOR 2", "not in its power"),
        (DISPATCHER, "PROMISE serve EV-99999 FOR 2", "no such car"),
        (DISPATCHER, "PROMISE serve nobody FOR 2", "no such car"),
    ],
)
def test_promises_nobody_can_keep_are_no_promises(
    game: TwoAgents, agent: str, words: str, verdict: str
) -> None:
    game.step({agent: {"message": words}})
    assert verdicts(game, agent) == [("promise", verdict, 0.0)] and game.negotiation.running == []


def test_a_cap_that_is_passed_is_broken_and_one_that_holds_by_itself_is_worth_nothing(
    game: TwoAgents,
) -> None:
    obs = game.session.observation
    load = obs.state.feeders.load_frac
    k = int(load.argmax())
    name = obs.feeder_ids[k]
    low = max(0.3, float(load[k]) - 0.2)
    game.step({OPERATOR: {"message": f"PROMISE cap {name} {low:.2f} FOR 4"}, DISPATCHER: greedy(game)})
    assert verdicts(game, OPERATOR)[-1] == ("promise", "broken", -2.0)
    other = obs.feeder_ids[int(load.argmin())]
    game.step({OPERATOR: {"message": f"PROMISE cap {other} 1.2 FOR 1"}, DISPATCHER: greedy(game)})
    assert verdicts(game, OPERATOR)[-1] == ("promise", "kept", 0.0)


def test_a_cap_that_greedy_would_pass_is_worth_a_point(game: TwoAgents) -> None:
    from ev_grid_oracle.episode.ma_shadow import shadow

    ticks = 16
    told = shadow(game.session, ticks)
    quiet = TwoAgents.restore(game.snapshot())
    peak = [max(row[k] for row in told.load_frac) for k in range(len(told.load_frac[0]))]
    mine = [0.0] * len(peak)
    for _ in range(ticks):
        quiet.step({})
        load = quiet.session.observation.state.feeders.load_frac
        mine = [max(a, float(b)) for a, b in zip(mine, load, strict=True)]
    k = max(range(len(peak)), key=lambda n: peak[n] - mine[n])
    assert peak[k] - mine[k] > 0.002  # sending nobody keeps that feeder lower than greedy does
    cap = f"{(peak[k] + mine[k]) / 2:.4f}"
    name = game.session.observation.feeder_ids[k]
    game.step({DISPATCHER: {"message": f"PROMISE cap {name} {cap} FOR {ticks}"}})
    while game.negotiation.running:
        game.step({})
    assert verdicts(game)[-1] == ("promise", "kept, it bound", 1.0)


def test_a_feeder_s_caps_are_paid_once_an_hour() -> None:
    from ev_grid_oracle.episode.ma_negotiation import Running

    score = Negotiation()
    paid = []
    for tick in range(30):  # a promise of one tick, bound and kept, in every tick
        promise = Running(DISPATCHER, "cap", "F01", 0.9, "", tick, tick + 1, {}, bound=True)
        paid.append(score._pays(promise, tick))
        score = Negotiation.from_dict(score.to_dict())
    assert [tick for tick, point in enumerate(paid) if point] == [0, 12, 24]
    other = Running(OPERATOR, "cap", "F01", 0.9, "", 29, 30, {}, bound=True)
    assert score._pays(other, 29)


def test_promises_past_the_end_are_void_unless_broken(city_blr: CityPack) -> None:
    g = TwoAgents(city_blr)
    g.reset(seed=7, ticks=4)
    g.step({DISPATCHER: {"message": "PROMISE avoid BLR-01 FOR 40"}})
    while not g.done:
        g.step({})
    assert verdicts(g) == [("promise", "void", 0.0)] and g.negotiation.totals[DISPATCHER] == 0.0


def test_at_most_four_statements_and_the_other_reads_the_words(game: TwoAgents) -> None:
    five = "\n".join(["CLAIM queue BLR-01 > 900"] * 5)
    seen = game.step({OPERATOR: {"message": five}})
    assert verdicts(game, OPERATOR) == [] and seen[DISPATCHER].inbox == ""
    assert [e["code"] for e in seen[OPERATOR].info["errors"]] == ["E_FORMAT"]  # type: ignore[attr-defined]
    assert seen[DISPATCHER].info["errors"] == []
    seen = game.step({OPERATOR: {"message": "four\nlines"}, DISPATCHER: {"message": "fine"}})
    assert (seen[DISPATCHER].inbox, seen[OPERATOR].inbox) == ("four\nlines", "fine")
    assert game.step({})[DISPATCHER].inbox == ""


def test_forks_leave_the_game_alone(game: TwoAgents) -> None:
    before = game.session.digest()
    _ = greedy(game)
    twin = TwoAgents.restore(game.snapshot())
    twin.negotiation.open_tick()
    from ev_grid_oracle.protocol.statements import parse_message

    obs = twin.session.observation
    said = parse_message("PROMISE avoid BLR-01 FOR 48", obs.station_ids, obs.feeder_ids)
    twin.negotiation.hear(DISPATCHER, said, twin.session, twin._watch, obs)
    assert twin.session.digest() == before == game.session.digest()


def test_score_keeps_and_reads_itself() -> None:
    made = Negotiation()
    made.judge_directive([3, 4], 0, False)
    assert Negotiation.from_dict(made.to_dict()).to_dict() == made.to_dict()
    assert made.totals[DISPATCHER] == 1.0
