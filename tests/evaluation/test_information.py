"""Informed rules: told nothing they are the rule itself, told more they see what is true; and fairness in numbers."""

from __future__ import annotations

import numpy as np
import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.evaluation.fairness import gini, group_names, spread
from ev_grid_oracle.evaluation.information import (
    KNOWLEDGE,
    RULES,
    complete,
    informed_rule,
    label,
    play_informed,
)
from ev_grid_oracle.evaluation.players import play_block
from ev_grid_oracle.policies.registry import policy_names
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.errors import OptionError


@pytest.mark.parametrize("rule", RULES)
def test_told_nothing_it_is_the_rule_itself(city_toy: CityPack, rule: str) -> None:
    world = resolve(city_toy, seed=31, ticks=20).world
    accounts, terms = play_informed(rule, "observed", city_toy, world)
    played = play_block(rule, city_toy, [world])
    assert accounts.tobytes() == played.accounts[0].tobytes()
    assert terms.tobytes() == played.terms[0].tobytes()


@pytest.mark.parametrize("knowledge", KNOWLEDGE[1:])
def test_what_is_told_comes_true(city_toy: CityPack, knowledge: str) -> None:
    """Every walk-in told of under a rule that is played on arrives then and there."""
    world = resolve(city_toy, seed=8, ticks=30).world
    batch, ahead = Batch(city_toy, 1), Batch(city_toy, 1)
    batch.reset([world])
    batch.play("greedy_counting", 6)
    before = batch.world.observe(0)
    digest = batch.world.digest(0)
    after = complete(batch.world, ahead, knowledge, before.copy())
    assert batch.world.digest(0) == digest  # the world itself is only read
    at, lay = batch.world.at, batch.world.layout
    n, m = int(before[at[r.O_X] + r.OX_NINB]), int(after[at[r.O_X] + r.OX_NINB])
    assert m > n
    rows = lay.view(after, "O_INBND")[:m]
    assert (np.diff(rows[:, r.I_ETA]) >= 0.0).all()
    told = {(int(x[r.I_STATION]), int(x[r.I_ETA])) for x in rows if x[r.I_ANN] > 0.0}
    cars, came = batch.world.view("CAR")[0], set()
    for _ in range(12):
        batch.play("greedy_counting", 1)
        now = 5 * 6
        for car in cars[(cars[:, r.C_STATE] > 0) & (cars[:, r.C_FLAGS] & r.B_WALKIN > 0)]:
            came.add((int(car[r.C_STATION]), int(car[r.C_TARR]) - now))
    soon = {x for x in told if x[1] < 50}
    assert len(soon) > 3
    assert len(soon & came) >= len(soon) - 1  # one that strands on arrival is never seen at a tick's end
    assert (rows[:, r.I_ETA].max() > 60.0) == (knowledge == "all")


def test_knowledge_is_in_the_label_and_not_in_the_registry() -> None:
    names = {label(rule, k) for rule in RULES for k in KNOWLEDGE[1:]}
    assert len(names) == 4 and not names & set(policy_names())
    assert label("planner", "observed") == "planner"
    with pytest.raises(OptionError, match="knowledge"):
        informed_rule("planner", "everything")
    with pytest.raises(OptionError, match="cannot be told"):
        informed_rule("baseline", "all")


def test_knowing_all_walkins_helps_the_planner(city_blr: CityPack) -> None:
    """Six evenings: fewer car-minutes in the sum, on evenings fixed by their seeds."""
    total = {"observed": 0.0, "all": 0.0}
    for seed in range(6):
        world = resolve(city_blr, seed=seed, scenario="baseline").world
        for knowledge in total:
            accounts, _ = play_informed("planner", knowledge, city_blr, world)
            total[knowledge] += float(accounts[r.A_MTC] + accounts[r.A_WMTC])
    assert total["all"] < total["observed"]


def test_gini_and_worst_group() -> None:
    assert gini(np.array([3.0, 3.0, 3.0])) == 0.0
    assert gini(np.array([0.0, 0.0, 1.0])) == pytest.approx(2.0 / 3.0)  # all to one of three: (n - 1) / n
    assert gini(np.array([1.0, 3.0])) == pytest.approx(0.25)
    rng = np.random.default_rng(3)
    rows = [
        {"wait_taxi": 10.0 + x, "wait_private": 30.0 - x, "wait_zone_a": 5.0, "lost": 1.0}
        for x in rng.uniform(-1, 1, 40)
    ]
    assert group_names(rows[0], "persona") == ["wait_taxi", "wait_private"]
    found = spread(rows, "persona")
    assert found.worst == "private" and found.groups == 2 and found.n == 40
    assert found.low <= found.worst_to_mean <= found.high and found.worst_to_mean == pytest.approx(
        1.5, abs=0.05
    )
    assert found.gini == pytest.approx(0.25, abs=0.02) and found.gini_low <= found.gini <= found.gini_high
    assert spread(rows, "zone").worst_to_mean == 1.0
    with pytest.raises(OptionError):
        spread([{"lost": 1.0}], "zone")
    with pytest.raises(OptionError):
        spread(rows, "colour")
