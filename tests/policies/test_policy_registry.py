"""Policies by name: which there are, what acts behind a name, and that their moves are legal."""

from __future__ import annotations

import numpy as np
import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.policies.base import Policy, PolicyContext
from ev_grid_oracle.policies.registry import make_policy, policy_names
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.errors import UnknownPolicyError

SIMPLE = (
    "baseline",
    "greedy_counting",
    "random",
    "always_defer",
    "always_load_shift",
    "nearest",
    "same_station",
)


def play(city: CityPack, policy: Policy, seed: int = 1, ticks: int = 24, own_seed: int = 5) -> Session:
    """One episode; every answer must be accepted by the verifier."""
    session = Session(city)
    session.policy_name = policy.name
    obs = session.reset(seed=seed, ticks=ticks)
    policy.begin(PolicyContext(packed(city), own_seed, session.planning()))
    out = np.zeros((128, r.N_DCOL), np.int32)
    while not obs.done:
        n = policy.answer(obs.row, out)
        obs = session.step(out[:n], source=policy.source)
        assert obs.info["errors"] == [], policy.name
    return session


@pytest.mark.parametrize("name", SIMPLE)
def test_moves_are_legal_and_repeat(city_blr: CityPack, name: str) -> None:
    policy = make_policy(name)
    assert policy.name == name and policy.source == "policy"
    first = play(city_blr, policy)
    again = play(city_blr, policy)
    assert first.digest() == again.digest() and np.array_equal(first.trace.answers, again.trace.answers)
    assert len(first.trace.answers) > 0


def test_each_collapse_does_the_one_thing(city_blr: CityPack) -> None:
    kinds = {n: play(city_blr, make_policy(n)).trace.answers[:, r.D_KIND] for n in SIMPLE[3:]}
    assert set(kinds["always_defer"].tolist()) == {1} and set(kinds["always_load_shift"].tolist()) == {2}
    assert set(kinds["nearest"].tolist()) == set(kinds["same_station"].tolist()) == {0}
    one = play(city_blr, make_policy("same_station")).trace.answers[:, r.D_STATION]
    assert len(set(one.tolist())) == 1


def test_nearest_takes_the_least_travel(city_blr: CityPack) -> None:
    session = Session(city_blr)
    obs = session.reset(seed=1, ticks=10)
    policy = make_policy("nearest")
    policy.begin(PolicyContext(packed(city_blr)))
    out = np.zeros((128, r.N_DCOL), np.int32)
    n = policy.answer(obs.row, out)
    assert n == len(obs.pending) > 0
    for k, row in enumerate(out[:n]):
        table = obs.candidates(k)
        assert table.travel_min[row[r.D_STATION]] == table.travel_min[table.usable].min()


def test_random_has_a_stream_of_its_own(city_blr: CityPack) -> None:
    one = play(city_blr, make_policy("random"), own_seed=5).trace.answers
    two = play(city_blr, make_policy("random"), own_seed=6).trace.answers
    assert not np.array_equal(one, two)
    assert set(one[:, r.D_KIND].tolist()) == {0, 1, 2}
    np.random.seed(1)  # noqa: NPY002  # the global state must not matter
    assert np.array_equal(one, play(city_blr, make_policy("random"), own_seed=5).trace.answers)


def test_random_draws_every_number_below_n() -> None:
    policy = make_policy("random")
    policy._bits = np.random.PCG64(3)  # type: ignore[attr-defined]
    drawn = np.bincount([policy._below(7) for _ in range(7000)], minlength=7)  # type: ignore[attr-defined]
    assert len(drawn) == 7 and drawn.min() > 850


def test_answers_never_outgrow_the_array(city_blr: CityPack) -> None:
    session = Session(city_blr)
    obs = session.reset(seed=1, participation=0.9)
    while len(obs.pending) < 4:
        obs = session.step()
    for name in SIMPLE:
        policy = make_policy(name)
        policy.begin(PolicyContext(packed(city_blr)))
        assert policy.answer(obs.row, np.zeros((2, r.N_DCOL), np.int32)) <= 2


def test_unknown_names_list_the_known() -> None:
    for name in ("gredy", "", "Baseline", None, 3):
        with pytest.raises(UnknownPolicyError, match="greedy_counting") as found:
            make_policy(name)  # type: ignore[arg-type]
        assert found.value.code == "E_POLICY"
    assert {*SIMPLE, "planner", "clairvoyant", "oracle"} == set(policy_names())


def test_oracle_without_a_model_is_the_baseline_and_says_so(
    city_blr: CityPack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORACLE_SKIP_LLM", "1")
    oracle = make_policy("oracle")
    assert (oracle.name, oracle.source) == ("baseline", "skipped")
    ours, theirs = play(city_blr, oracle), play(city_blr, make_policy("baseline"))
    assert np.array_equal(ours.trace.rewards, theirs.trace.rewards) and ours.digest() == theirs.digest()
    assert ours.trace.header["sources"] == {"skipped": 24}


def test_a_rule_must_be_told_its_city() -> None:
    with pytest.raises(RuntimeError, match="begin"):
        make_policy("baseline").answer(np.zeros(1), np.zeros((1, 8), np.int32))
