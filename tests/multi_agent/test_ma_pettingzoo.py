"""The parallel environment as PettingZoo's own tests and users expect it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

pettingzoo = pytest.importorskip("pettingzoo", reason="needs the extra 'gym'")

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # pettingzoo 1.27's tests import its own old games
    from pettingzoo.test import parallel_api_test, parallel_seed_test

from ev_grid_oracle.city.model import CityPack  # noqa: E402
from ev_grid_oracle.episode.ma_views import AGENTS, DISPATCHER, OPERATOR  # noqa: E402
from ev_grid_oracle.interfaces.pettingzoo_env import EVGridParallelEnv, parallel_env  # noqa: E402
from ev_grid_oracle.schema.errors import EpisodeOverError, NoEpisodeError, OptionError  # noqa: E402

V0 = (
    "ACTION: route\nSTATION: TOY-A\nCHARGE_RATE: slow\nDEFER_MINUTES: 0\n"
    "REASON: shortest queue near the car\nCONFIDENCE: 0.8\n"
)


@pytest.mark.parametrize("city", ["toy", "bengaluru"])
def test_pettingzoo_s_own_tests_pass(city: str, capsys: pytest.CaptureFixture[str]) -> None:
    parallel_api_test(EVGridParallelEnv(city), num_cycles=200)
    parallel_seed_test(lambda: EVGridParallelEnv(city), num_cycles=60)
    assert "Passed" in capsys.readouterr().out


def test_the_list_is_empty_at_the_end_and_whole_after_reset(city_toy: CityPack) -> None:
    env = parallel_env(city_toy, ticks=5)
    assert env.agents == [] and env.possible_agents == list(AGENTS)
    with pytest.raises(NoEpisodeError):
        env.step({})
    for _ in range(2):
        env.reset(seed=1)
        assert env.agents == list(AGENTS)
        steps = 0
        while env.agents:
            _o, _r, terminated, truncated, infos = env.step({})
            steps += 1
        assert steps == 5 and env.agents == []
        assert terminated == dict.fromkeys(AGENTS, True) and truncated == dict.fromkeys(AGENTS, False)
        assert set(infos[OPERATOR]["role_kpis"]) == {"discom", "cpo", "fleet", "driver"}
        with pytest.raises(EpisodeOverError):
            env.step({})


@pytest.mark.parametrize(
    ("actions", "codes"),
    [
        ({DISPATCHER: V0}, ([], None)),
        ({}, ([], [])),
        ({DISPATCHER: V0, OPERATOR: None}, ([], None)),
        ({DISPATCHER: V0, "ghost": V0}, (["E_KEY"], "E_KEY")),
        ({"ghost": None}, (["E_KEY"], "E_KEY")),
        (None, ([], [])),
        ([V0], (["E_FORMAT"], "E_FORMAT")),
        ({OPERATOR: V0, DISPATCHER: 5}, (["E_FORMAT"], "E_FORMAT")),
    ],
)
def test_missing_extra_and_none_actions(
    city_toy: CityPack, actions: object, codes: tuple[object, object]
) -> None:
    env = EVGridParallelEnv(city_toy)
    env.reset(seed=4)
    _obs, rewards, _t, _c, infos = env.step(actions)  # type: ignore[arg-type]
    found = {agent: [e["code"] for e in infos[agent]["errors"]] for agent in AGENTS}
    assert found[OPERATOR] == codes[0]
    if isinstance(codes[1], str):
        assert codes[1] in found[DISPATCHER]
    elif codes[1] is not None:
        assert found[DISPATCHER] == codes[1]
    assert all(type(r) is float for r in rewards.values()) and env.agents == list(AGENTS)


def test_silence_is_no_action(city_toy: CityPack) -> None:
    worlds = []
    for actions in ({}, None, {DISPATCHER: None}, {"ghost": 1}, {DISPATCHER: np.zeros(8, np.int64)}):
        env = EVGridParallelEnv(city_toy)
        env.reset(seed=4)
        for _ in range(3):
            env.step(actions)  # type: ignore[arg-type]
        worlds.append(env.game.session.digest())
    assert len(set(worlds)) == 1


def test_masked_actions_are_never_refused(city_blr: CityPack) -> None:
    env = EVGridParallelEnv(city_blr)
    _obs, infos = env.reset(seed=11)
    space = env.action_space(DISPATCHER)
    space.seed(3)
    while env.agents:
        action = space.sample(mask=infos[DISPATCHER]["action_mask"])
        obs, _r, _t, _c, infos = env.step({DISPATCHER: action})
        assert infos[DISPATCHER]["errors"] == []
        assert all(env.observation_space(a).contains(obs[a]) for a in AGENTS)


def test_numbers_out_of_the_space_are_refused(city_toy: CityPack) -> None:
    env = EVGridParallelEnv(city_toy)
    env.reset(seed=1)
    for agent, action in (
        (DISPATCHER, np.full(8, 10_000)),
        (DISPATCHER, np.zeros(7, np.int64)),
        (OPERATOR, np.full(env.action_space(OPERATOR).shape, 99)),
        (OPERATOR, np.zeros(3, np.int64)),
    ):
        with pytest.raises(OptionError):
            env.step({agent: action})
    with pytest.raises(OptionError):
        EVGridParallelEnv(city_toy, render_mode="human")


def test_numbers_of_the_operator_are_a_directive(city_blr: CityPack) -> None:
    env = EVGridParallelEnv(city_blr, render_mode="ansi")
    env.reset(seed=1, options={"ticks": 4, "unknown": 1})
    action = np.zeros(env.action_space(OPERATOR).shape, np.int64)
    action[0], action[1], action[2 + 2], action[-1], action[-2] = 5, 4, 3, 7, 7
    _o, _r, _t, _c, infos = env.step({OPERATOR: action})
    assert infos[DISPATCHER]["directive"] == {
        "max_grid_load_pct": 0.9,
        "station_blacklist": ["BLR-07"],
        "price_mult": 1.5,
        "feeder_caps": {"F03": 0.9},
    }
    assert env.game.session.observation.state.ticks == 4 and "tick 1/4" in str(env.render())
    assert env.state().shape == (sum(env.observation_space(a).shape[0] for a in AGENTS),)  # type: ignore[index]


def test_vectors_hold_the_own_part_only(city_blr: CityPack) -> None:
    """A change of the feeders is not in the dispatcher's vector, a queue not in the operator's."""
    from dataclasses import replace

    from ev_grid_oracle.episode.ma_directive import NO_DIRECTIVE
    from ev_grid_oracle.interfaces.ma_vectors import dispatcher_vector, operator_vector

    env = EVGridParallelEnv(city_blr)
    env.reset(seed=2)
    obs = env.game.session.observation
    base = obs.state
    feeders = replace(
        base.feeders, load_frac=base.feeders.load_frac + 0.5, heat_frac=base.feeders.heat_frac + 0.5
    )
    stations = replace(base.stations, queued=base.stations.queued + 3)
    d, o = (f(obs, city_blr, NO_DIRECTIVE) for f in (dispatcher_vector, operator_vector))
    obs.__dict__["state"] = replace(base, feeders=feeders)
    assert (dispatcher_vector(obs, city_blr, NO_DIRECTIVE) == d).all()
    assert (operator_vector(obs, city_blr, NO_DIRECTIVE) != o).any()
    obs.__dict__["state"] = replace(base, stations=stations)
    assert (dispatcher_vector(obs, city_blr, NO_DIRECTIVE) != d).any()
    assert (operator_vector(obs, city_blr, NO_DIRECTIVE) == o).all()
    obs.__dict__["state"] = base
