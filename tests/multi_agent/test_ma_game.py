"""The game as a whole: life cycle, who sees what, rewards that add up, role KPIs, copies."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from game_tools import DISPATCHER, OPERATOR, greedy

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.ma_views import bus_voltages
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.episode.two_agents import TwoAgents
from ev_grid_oracle.reward.terms import TERMS
from ev_grid_oracle.schema.errors import (
    EpisodeOverError,
    EVGridError,
    NoEpisodeError,
    OptionError,
    SnapshotError,
)

WORDS = (
    {
        OPERATOR: {
            "feeder_caps": {"F03": 0.9},
            "station_blacklist": ["BLR-05"],
            "message": "CLAIM load F03 > 0.1",
        }
    },
    {DISPATCHER: {"text": "nonsense", "message": "PROMISE avoid BLR-07 FOR 3"}},
    {OPERATOR: {"price_mult": 1.5, "max_grid_load_pct": 1.1, "message": "PROMISE cap F02 0.95 FOR 6"}},
    {},
    {OPERATOR: {"station_blacklist": ["BLR-99"]}, DISPATCHER: {"message": "x" * 500}},
)


def play(game: TwoAgents, ticks: int) -> None:
    """Words in turn, `greedy_counting`'s answers in every other tick."""
    for n in range(ticks):
        move: dict[str, object] = dict(WORDS[n % len(WORDS)])
        if n % 2 and DISPATCHER not in move:
            move[DISPATCHER] = greedy(game)
        game.step(move)


def test_life_of_a_game(city_toy: CityPack) -> None:
    game = TwoAgents(city_toy)
    for call in (lambda: game.step({}), game.snapshot, game.recipe, game.auto_step, lambda: game.done):
        with pytest.raises(NoEpisodeError):
            call()
    first = game.reset(seed=2, ticks=3)
    assert [o.reward for o in first.values()] == [None, None] and list(first) == [OPERATOR, DISPATCHER]
    kept = json.dumps({a: o.to_dict() for a, o in first.items()})
    with pytest.raises(OptionError):
        game.reset(seed=2, tick=3)
    assert game.observations is first
    for _ in range(3):
        last = game.step({})
    assert json.dumps({a: o.to_dict() for a, o in first.items()}) == kept
    assert game.done and all(o.terminated and not o.truncated for o in last.values())
    digest = game.session.digest()
    with pytest.raises(EpisodeOverError):
        game.step({})
    assert game.session.digest() == digest
    assert not game.reset(seed=2)[OPERATOR].done
    assert TwoAgents(city_toy).reset(seed=2, ticks=3)[OPERATOR].view == first[OPERATOR].view


def test_without_directives_it_is_the_session(city_blr: CityPack) -> None:
    game, alone = TwoAgents(city_blr), Session(city_blr)
    game.reset(seed=9)
    alone.reset(seed=9)
    while not game.done:
        answers = greedy(game)
        seen = game.step({DISPATCHER: answers})
        obs = alone.step(answers)
        assert game.session.digest() == alone.digest()
        for agent, role in ((OPERATOR, "grid"), (DISPATCHER, "fleet")):
            own = sum(obs.breakdown[t.name] for t in TERMS if t.role == role)
            assert seen[agent].reward == pytest.approx(own)
        assert sum(o.reward or 0.0 for o in seen.values()) == pytest.approx(obs.reward)
    assert seen[OPERATOR].info["kpis"] == obs.info["kpis"]


def test_each_sees_its_own_part(game: TwoAgents) -> None:
    seen = game.auto_step()
    operator, dispatcher = seen[OPERATOR].view, seen[DISPATCHER].view
    common = {"tick", "ticks", "minute_of_day", "day_type", "season", "announcements"}
    assert set(operator) - common == {"totals", "feeders", "buses"}
    assert set(dispatcher) - common == {"stations", "pending", "pending_ids", "walkins_ratio"}
    text = json.dumps(dispatcher)
    for word in ("voltage", "heat", "rating", "grid_load", "base_frac", "score", "feeder_headroom"):
        assert word not in text
    text = json.dumps(operator)
    for word in ("queue", "pending", "EV-", "occupied", "price", "soc"):
        assert word not in text


def test_views_are_small(city_blr: CityPack) -> None:
    game = TwoAgents(city_blr)
    game.reset(seed=7)
    while not game.done:
        for told in game.step({}).values():
            size = len(json.dumps({**told.to_dict(), "info": None}, separators=(",", ":")))
            assert size <= 8192


def test_buses_are_the_flow_s(game: TwoAgents) -> None:
    game.step({})
    world = game.session._batch.world
    pack = game.session.city
    volts = bus_voltages(world.city, world)
    lowest = world.view("FD_VMIN")[0]
    for k in range(len(pack.grid.feeder_ids)):
        own = volts[pack.grid.bus_feeder == k]
        assert own.min() == pytest.approx(float(lowest[k]), abs=1e-9)


def test_announcements_go_to_whom_they_concern(city_blr: CityPack) -> None:
    kinds: dict[str, set[str]] = {OPERATOR: set(), DISPATCHER: set()}
    for scenario in ("heatwave_peak", "transformer_derate", "station_outage", "tariff_shock", "CricketFinal"):
        game = TwoAgents(city_blr)
        game.reset(seed=1, scenario=scenario)
        while not game.done:
            for agent, told in game.step({}).items():
                kinds[agent] |= {str(a["kind"]) for a in told.view["announcements"]}  # type: ignore[attr-defined]
    assert kinds[OPERATOR] & {"heat", "transformer_rating", "feeder_rating", "base_load"}
    assert kinds[DISPATCHER] & {"slots", "price", "demand"}
    assert not kinds[OPERATOR] & {"slots", "price", "demand", "link_speed", "link_closed"}
    assert not kinds[DISPATCHER] & {"heat", "transformer_rating", "feeder_rating", "base_load", "feeder_out"}


def test_nothing_names_the_future(city_blr: CityPack) -> None:
    game = TwoAgents(city_blr)
    seen = game.reset(seed=987_654_321, scenario="station_outage")
    for _ in range(3):
        text = json.dumps([o.to_dict() for o in seen.values()])
        assert "987654321" not in text and "station_outage" not in text and "seed" not in text
        seen = game.auto_step()
    assert game.host_view()["seed"] == 987_654_321


@pytest.mark.parametrize(
    ("city", "scenario", "settle"),
    [("city_toy", "baseline", True), ("city_toy", "baseline", False), ("city_blr", "festival_surge", True),
     ("city_blr", "CricketFinal", True)],
)  # fmt: skip
def test_role_kpis_add_up(city: str, scenario: str, settle: bool, request: pytest.FixtureRequest) -> None:
    pack = request.getfixturevalue(city)
    game = TwoAgents(pack)
    game.reset(seed=21, scenario=scenario, settle=settle)
    n = 0
    while not game.done:
        game.step({DISPATCHER: greedy(game)} if n % 6 else {})
        n += 1
    kpis = game.observations[OPERATOR].info["kpis"]
    roles = game.role_kpis()
    assert roles == game.observations[DISPATCHER].info["role_kpis"]
    assert sum(game._accounts.lost) == kpis["lost"] + kpis["stranded"]  # type: ignore[index]
    assert roles["driver"]["lost"] + roles["fleet"]["lost"] == (  # type: ignore[operator]
        kpis["lost"] + kpis["stranded"] + kpis["walkin_lost"]  # type: ignore[index]
    )
    assert roles["discom"]["overload_minutes"] == kpis["overload_minutes"]  # type: ignore[index]
    assert roles["cpo"]["energy_kwh"] == kpis["energy_kwh"]  # type: ignore[index]
    assert roles["cpo"]["revenue_inr"] == kpis["cost_inr"]  # type: ignore[index]
    assert roles["driver"]["inr_per_kwh"] == pytest.approx(kpis["cost_inr"] / kpis["energy_kwh"])  # type: ignore[index]
    assert 0.0 < roles["cpo"]["utilisation_frac"] < 1.0  # type: ignore[operator]
    assert 0.85 < roles["discom"]["min_voltage_pu"] < 1.0  # type: ignore[operator]
    keys = pack.personas.fleet_keys
    accounts = game.session._batch.world.view("EP")[0]
    from ev_grid_oracle.schema import rows as r

    counts = accounts[r.EP_WAIT_P + 8 : r.EP_WAIT_P + 8 + len(keys)]
    sums = accounts[r.EP_WAIT_P : r.EP_WAIT_P + len(keys)]
    fleet = [k for k, key in enumerate(keys) if key != "private"]
    assert roles["fleet"]["minutes_to_charged"] == pytest.approx(
        float(sums[fleet].sum() / counts[fleet].sum())
    )
    assert float(counts.sum()) == kpis["requests"]  # type: ignore[index]


def test_snapshot_and_recipe_give_the_same_game(city_blr: CityPack) -> None:
    game = TwoAgents(city_blr)
    game.reset(seed=13, scenario="tariff_shock")
    play(game, 23)
    blob = game.snapshot()
    assert TwoAgents.restore(blob).snapshot() == blob
    replayed = TwoAgents.from_recipe(json.loads(json.dumps(game.recipe())))
    assert replayed.session.digest() == game.session.digest()
    assert replayed.negotiation.totals == game.negotiation.totals and replayed.totals == game.totals
    assert game.negotiation.running  # the copies below carry promises on
    twin = TwoAgents.restore(blob)
    for g in (game, twin, replayed):
        play(g, 25)
        assert g.done
    for g in (twin, replayed):
        assert g.timeline == game.timeline and g.role_kpis() == game.role_kpis()
        assert g.session.digest() == game.session.digest()


def test_copies_that_do_not_hold_are_refused(city_toy: CityPack) -> None:
    game = TwoAgents(city_toy)
    game.reset(seed=1)
    blob, recipe = game.snapshot(), game.recipe()
    for bad in (b"", b"EVGM", blob[:-1], blob[:-1] + b"x", b"EVGD" + blob[4:], game.session.snapshot()):
        with pytest.raises(SnapshotError):
            TwoAgents.restore(bad)
    with pytest.raises(SnapshotError):
        TwoAgents.restore(blob, "bengaluru")
    for broken in ({}, {**recipe, "options": {"seed": -1}}, {**recipe, "actions": 5}):
        with pytest.raises(SnapshotError):
            TwoAgents.from_recipe(broken)


def test_every_form_of_answers(city_toy: CityPack) -> None:
    digests = set()
    for n in range(6):
        game = TwoAgents(city_toy)
        game.reset(seed=5)
        answers = greedy(game)
        from ev_grid_oracle.episode.ma_read import structured
        from ev_grid_oracle.episode.ma_shadow import shadow
        from ev_grid_oracle.protocol import render_actions

        forms: tuple[object, ...] = (
            answers,
            {"actions": [structured(a) for a in answers]},
            {"text": render_actions(answers), "message": "hello"},
            render_actions(answers).encode(),
            shadow(game.session, 1).rows,
            {"actions": answers, "message": None},
        )
        game.step({DISPATCHER: forms[n]})
        assert game.observations[DISPATCHER].info["errors"] == []
        digests.add(game.session.digest())
        assert TwoAgents.from_recipe(game.recipe()).session.digest() == game.session.digest()
    assert len(digests) == 1
    rows = np.zeros((1, 8), np.int32)
    rows[0, 2] = 99
    game.reset(seed=5)
    with pytest.raises(EVGridError):
        game.step({DISPATCHER: rows})


def test_auto_players_keep_their_directives(game: TwoAgents) -> None:
    bound = False
    while not game.done:
        seen = game.auto_step()
        bound = bound or bool(seen[DISPATCHER].directive["feeder_caps"])
        assert seen[DISPATCHER].info["violations"] == [] and seen[OPERATOR].info["errors"] == []
    assert bound and game.negotiation.totals[OPERATOR] == 0.0
    assert game.negotiation.totals[DISPATCHER] >= 0.0 and len(game.timeline) == 48


def test_same_game_in_another_process() -> None:
    code = (
        "import json; from ev_grid_oracle.episode.two_agents import TwoAgents as T\n"
        "g = T('toy'); g.reset(seed=42)\n"
        "while not g.done: g.auto_step()\n"
        "print(json.dumps(g.timeline), g.session.digest())"
    )
    found = set()
    for hashing in ("0", "1"):
        env = {**os.environ, "PYTHONHASHSEED": hashing}
        command = [sys.executable, "-c", code]
        out = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
        found.add(hashlib.sha256(out.encode()).hexdigest())
    assert len(found) == 1


def test_names_stand_where_users_look_for_them() -> None:
    import ev_grid_oracle.multi_agent as multi_agent
    from ev_grid_oracle.scenarios import scenario, scenario_names, scenarios

    assert all(getattr(multi_agent, name) is not None for name in multi_agent.__all__)
    assert multi_agent.TwoAgents is TwoAgents and "TwoAgents" in dir(multi_agent)
    with pytest.raises(AttributeError):
        _ = multi_agent.nothing
    assert len(scenario_names()) == 11 and scenario("heatwave_peak") in scenarios()
    assert scenario("baseline", "toy").name == "baseline"


@pytest.mark.parametrize("page", ["two-agents.md", "road.md"])
def test_the_python_of_the_pages_runs(page: str) -> None:
    import re
    from pathlib import Path

    text = (Path(__file__).parents[2] / "docs" / "reference" / page).read_text(encoding="utf-8")
    for code in re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL):
        exec(compile(code, page, "exec"), {})


@pytest.mark.parametrize("module", ["pettingzoo_env", "road_gym"])
def test_a_missing_extra_is_one_sentence_with_its_cure(module: str) -> None:
    code = (
        "import sys; sys.modules['gymnasium'] = None\n"
        "from ev_grid_oracle.schema.errors import MissingExtraError\n"
        "try:\n"
        f"    import ev_grid_oracle.interfaces.{module}\n"
        "except MissingExtraError as exc:\n"
        "    print(exc)\n"
    )
    command = [sys.executable, "-c", code]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "pip install" in out and "[gym]" in out
