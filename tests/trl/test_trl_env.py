"""`EVGridToolEnv`: tools collect, `advance` plays, and nothing moves after the end."""

from __future__ import annotations

import inspect
import math

import pytest
from trl_tools import answer

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.interfaces.trl_env import EVGridToolEnv
from ev_grid_oracle.interfaces.trl_rewards import build_rows
from ev_grid_oracle.schema.enums import ActionKind
from ev_grid_oracle.schema.errors import OptionError

TOOLS = {"route_ev", "defer_ev", "shift_load", "advance"}


def play(env: EVGridToolEnv, policy: str, seed: int = 0) -> None:
    """Answer by tools as a policy does, to the end."""
    while not env._obs.done:
        for a in answer(env._obs, env._session, policy, seed):
            if a.kind == ActionKind.ROUTE:
                said = env.route_ev(a.ev_id, a.station_id, a.rate.name.lower())
            elif a.kind == ActionKind.DEFER:
                said = env.defer_ev(a.ev_id, a.defer_minutes)
            else:
                said = env.shift_load(a.ev_id, a.station_id or "NONE", a.rate.name.lower(), a.defer_minutes)
            assert said.startswith("Noted"), said
        env.advance()


def test_only_the_tools_are_public() -> None:
    public = {n for n, _ in inspect.getmembers(EVGridToolEnv, inspect.isfunction) if not n.startswith("_")}
    assert public == TOOLS | {"reset", "get_reward"}


def test_it_plays_the_session(city_toy: CityPack) -> None:
    row = build_rows(1, city=city_toy, seed=4, kind="tools", horizon=3)[0]
    env, session = EVGridToolEnv(city_toy), Session(city_toy, record=False)
    said = env.reset(**row)
    assert said.startswith("\n\n") and "CARS" in said and "ACTION:" not in said
    obs = session.reset(seed=row["seed"], scenario=row["scenario"], ticks=row["tick"] + 3)
    for _ in range(row["tick"]):
        obs = session.step(answer(obs, session, "greedy_counting"))
    assert env._session.digest() == session.digest()
    total = 0.0
    while not obs.done:
        obs = session.step(answer(obs, session, "nearest"))
        total += obs.reward or 0.0
    play(env, "nearest")
    assert env._session.digest() == session.digest() and env._total == pytest.approx(total)


def test_as_greedy_is_zero_and_silence_does_not_pay(city_blr: CityPack) -> None:
    env = EVGridToolEnv(city_blr)
    silent, wild = [], []
    for k, row in enumerate(build_rows(8, city=city_blr, seed=6, kind="tools")):
        env.reset(**row)
        silent.append(env.get_reward())
        play(env, "greedy_counting")
        assert env.get_reward() == pytest.approx(0.0, abs=1e-9)
        env.reset(**row)
        play(env, "random", k)
        wild.append(env.get_reward())
    assert sum(silent) / 8 < -0.1 and sum(wild) / 8 < -0.1
    assert all(math.isfinite(v) and -1 < v < 1 for v in (*silent, *wild))


def test_an_unfinished_episode_is_valued_as_if_nobody_answered(city_toy: CityPack) -> None:
    row = build_rows(1, city=city_toy, seed=4, kind="tools")[0]
    env = EVGridToolEnv(city_toy)
    env.reset(**row)
    first = answer(env._obs, env._session, "nearest")[0]
    env.route_ev(first.ev_id, first.station_id, "slow")
    before = env._session.digest()
    promised = env.get_reward()
    assert env.get_reward() == promised and env._session.digest() == before and len(env._given) == 1
    for _ in range(4):
        env.advance()
    assert env._obs.done and env.get_reward() == pytest.approx(promised)


def test_after_the_end_tools_say_so_and_change_nothing(city_toy: CityPack) -> None:
    row = build_rows(1, city=city_toy, kind="tools", horizon=1)[0]
    env = EVGridToolEnv(city_toy)
    for tool in (env.advance, lambda: env.defer_ev("EV-0001", 5)):
        assert "E_NO_EPISODE" in tool()
    assert env.get_reward() == 0.0
    env.reset(**row)
    env.advance()
    digest, reward = env._session.digest(), env.get_reward()
    for said in (
        env.advance(),
        env.route_ev("EV-0001", "TOY-A", "fast"),
        env.defer_ev("EV-0001", 5),
        env.shift_load("EV-0001", "NONE", "slow", 5),
    ):
        assert "E_EPISODE_OVER" in said
    assert (env._session.digest(), env.get_reward(), env._given) == (digest, reward, {})
    env.reset(**row)  # instances are used again
    assert not env._obs.done and env._total == 0.0


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (("route_ev", "EV-99999", "TOY-A", "fast"), "E_UNKNOWN_CAR"),
        (("route_ev", "first", "TOY-A", "fast"), "E_UNKNOWN_CAR"),
        (("route_ev", None, "TOY-A", "fast"), "E_UNKNOWN_CAR"),
        (("route_ev", "EV-0001", "BLR-07", "fast"), "E_STATION"),
        (("route_ev", "EV-0001", "NONE", "fast"), "E_SEMANTIC"),
        (("route_ev", "EV-0001", ["TOY-A"], "fast"), "E_STATION"),
        (("route_ev", "EV-0001", "TOY-A", "hyper"), "E_FORMAT"),
        (("defer_ev", "EV-0001", 0), "E_SEMANTIC"),
        (("defer_ev", "EV-0001", 999), "E_RANGE"),
        (("defer_ev", "EV-0001", "ten"), "E_FORMAT"),
        (("defer_ev", "EV-0001", 2.5), "E_FORMAT"),
        (("defer_ev", "EV-0001", float("nan")), "E_FORMAT"),
        (("shift_load", "EV-0001", "TOY-Z", "slow", 5), "E_STATION"),
        (("shift_load", {}, "TOY-A", "slow", 5), "E_FORMAT"),
    ],
)
def test_a_refused_note_is_told_and_not_kept(city_toy: CityPack, call: tuple[object, ...], code: str) -> None:
    env = EVGridToolEnv(city_toy)
    env.reset(seed=1, horizon=2)
    while not env._obs.pending:
        env.reset(seed=1, tick=env._obs.state.tick + 1, horizon=2)
    before = env._session.digest()
    said = getattr(env, call[0])(*call[1:])  # type: ignore[call-overload]
    assert code in said and said.startswith("Refused")
    assert env._session.digest() == before and not env._given


def test_columns_that_are_no_options_are_left_alone(city_toy: CityPack) -> None:
    env = EVGridToolEnv(city_toy)
    one = env.reset(
        prompt=[{"role": "user", "content": "x"}], seed=5, tick=2, scenario=None, note="n", ticks=None
    )
    digest = env._session.digest()
    assert env.reset(seed=5, tick=2) == one and env._session.digest() == digest
    assert env._obs.state.ticks == 2 + 4
    for wrong in ({"seed": -1}, {"horizon": 0}, {"tick": -1}, {"tick": "3"}, {"horizon": True}):
        with pytest.raises(OptionError):
            env.reset(**{"seed": 1, **wrong})


def test_the_text_does_not_name_the_world(city_toy: CityPack) -> None:
    env = EVGridToolEnv(city_toy)
    texts = [env.reset(seed=987654321, horizon=3)]
    texts += [env.advance() for _ in range(4)]
    assert not any("987654321" in t or "baseline" in t or "seed" in t for t in texts)
