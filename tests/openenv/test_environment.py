"""The OpenEnv contract: reset, step, state, absorbing end, rubrics, tasks."""

from __future__ import annotations

import asyncio
import inspect

import pytest
from openenv_play import first_car, nobody, shown, trajectory
from pydantic import ValidationError

from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.interfaces.openenv import tasks
from ev_grid_oracle.interfaces.openenv.environment import EVGridEnvironment
from ev_grid_oracle.models import EVGridAction, EVGridAnswer
from ev_grid_oracle.reward.terms import TERM_NAMES
from ev_grid_oracle.schema.errors import NoEpisodeError, OptionError


def test_step_before_reset_is_refused_and_state_is_empty(env_toy: EVGridEnvironment) -> None:
    with pytest.raises(NoEpisodeError):
        env_toy.step(EVGridAction())
    assert env_toy.state.step_count == 0 and env_toy.state.episode_id is None


def test_episode_id_and_step_count_follow_every_step(env_toy: EVGridEnvironment) -> None:
    first = env_toy.reset(seed=1, episode_id="mine", ticks=6)
    assert first.reward is None and first.episode_id == "mine" and first.step == 0
    sent = [EVGridAction(), EVGridAction(text="no answer"), EVGridAction(actions=[_answer("TOY-99")])]
    for n, action in enumerate(sent, start=1):
        seen = env_toy.step(action)
        assert (env_toy.state.episode_id, env_toy.state.step_count, seen.step) == ("mine", n, n)


def _answer(station: str) -> EVGridAnswer:
    return EVGridAnswer(action_type="route", station_id=station)


def test_rewards_are_those_of_the_session(env_toy: EVGridEnvironment) -> None:
    session = Session("toy")
    session.reset(seed=5, ticks=12)
    env_toy.reset(seed=5, ticks=12)
    total = 0.0
    for _ in range(12):
        seen = env_toy.step(EVGridAction())
        mine = session.step()
        assert seen.reward == mine.reward and seen.breakdown == dict(mine.breakdown)
        total += float(seen.reward)
    assert seen.done and seen.terminated and not seen.truncated
    assert env_toy.state.total_reward == total
    assert seen.kpis is not None and seen.settle is not None


def test_the_end_absorbs(env_toy: EVGridEnvironment) -> None:
    env_toy.reset(seed=1, ticks=2)
    for _ in range(2):
        last = env_toy.step(EVGridAction())
    digest = env_toy.session.digest()
    for _ in range(3):
        again = env_toy.step(EVGridAction(text="after the end"))
        assert again.done and again.reward == 0.0
        assert shown(again).replace('"reward": 0.0', "") == shown(last).replace(
            f'"reward": {last.reward}', ""
        )
    assert env_toy.state.step_count == 2 and env_toy.session.digest() == digest
    assert env_toy.reset(seed=1, ticks=2).done is False


def test_settle_false_truncates(env_toy: EVGridEnvironment) -> None:
    env_toy.reset(seed=1, ticks=1, settle=False)
    seen = env_toy.step(EVGridAction())
    assert seen.done and seen.truncated and not seen.terminated


@pytest.mark.parametrize(
    "options",
    [
        {"seed": -4},
        {"seed": 2**32},
        {"seed": True},
        {"seed": "7"},
        {"scenari": "baseline"},
        {"ticks": 0},
        {"episode_id": ""},
        {"episode_id": "\ud800"},
        {"include_prompt": "yes"},
        {"split": "test"},
        {"index": 1},
        {"split": "test", "index": 1, "seed": 3},
        {"split": "nope", "index": 1},
        {"split": "test", "index": 10**9},
        {"split": "test", "index": "1"},
    ],
)
def test_a_refused_option_leaves_the_episode_as_it_is(
    env_toy: EVGridEnvironment, options: dict[str, object]
) -> None:
    env_toy.reset(seed=3, episode_id="kept")
    digest = env_toy.session.digest()
    with pytest.raises(OptionError):
        env_toy.reset(**options)
    assert env_toy.session.digest() == digest and env_toy.state.episode_id == "kept"


def test_rubric_tree_mirrors_the_terms(env_toy: EVGridEnvironment) -> None:
    assert tuple(name for name, _ in env_toy.rubric.named_children()) == TERM_NAMES
    env_toy.reset(seed=2)
    for _ in range(4):
        seen = env_toy.step(EVGridAction(text="x"))
        scores = {name: child.last_score for name, child in env_toy.rubric.named_children()}
        assert scores == {name: seen.breakdown[name] for name in TERM_NAMES}
        assert env_toy.rubric.last_score == seen.reward
        assert seen.reward == pytest.approx(sum(scores.values()), abs=1e-9)


def test_works_inside_a_running_loop(env_toy: EVGridEnvironment) -> None:
    async def play() -> float:
        env_toy.reset(seed=2, ticks=3)
        return float((await env_toy.step_async(EVGridAction())).reward)

    assert isinstance(asyncio.run(play()), float)


def test_signatures_are_those_of_openenv() -> None:
    reset = inspect.signature(EVGridEnvironment.reset).parameters
    assert list(reset)[:3] == ["self", "seed", "episode_id"]
    step = inspect.signature(EVGridEnvironment.step).parameters
    assert list(step)[:3] == ["self", "action", "timeout_s"]
    assert EVGridEnvironment.SUPPORTS_CONCURRENT_SESSIONS


def test_tasks_have_disjoint_seeds_and_run_through_the_scenarios(env_blr: EVGridEnvironment) -> None:
    seeds = {split: set(tasks.split_seeds(split)) for split in tasks.SPLITS}
    assert sum(len(s) for s in seeds.values()) == len(set().union(*seeds.values()))
    names = tasks.scenario_names("bengaluru")
    assert len(names) == 11
    for split in ("train", "validation", "test"):
        assert env_blr.num_tasks(split) == tasks.SPLITS[split] * 11
        assert len(env_blr.list_tasks(split)) == env_blr.num_tasks(split)
    first = env_blr.get_task_range("test", 0, 11)
    assert {t["scenario"] for t in first} == set(names) and len({t["seed"] for t in first}) == 1
    assert env_blr.get_task("test", 12) == tasks.get_task("test", 12).to_dict()
    with pytest.raises(IndexError):
        env_blr.get_task("test", 220)
    with pytest.raises(IndexError):
        env_blr.num_tasks("holdout")
    assert tasks.is_frozen(next(iter(seeds["test"]))) and not tasks.is_frozen(next(iter(seeds["train"])))


def test_a_task_is_its_seed_and_scenario(env_blr: EVGridEnvironment) -> None:
    task = tasks.get_task("validation", 5)
    by_task = trajectory(env_blr, nobody, steps=3, split="validation", index=5)
    by_name = trajectory(env_blr, nobody, steps=3, seed=task.seed, scenario=task.scenario)
    assert by_task == by_name


def test_a_seed_that_nobody_gave_is_in_the_recipe(env_toy: EVGridEnvironment) -> None:
    env_toy.reset()
    first = env_toy.recipe.options["seed"]
    env_toy.reset()
    assert env_toy.recipe.options["seed"] != first


@pytest.mark.parametrize(
    "action",
    [
        {"actions": [{"action_type": "charge"}]},
        {"actions": [{"action_type": "route", "confidence": float("nan")}]},
        {"actions": [{"action_type": "route", "confidence": "NaN"}]},
        {"actions": [{"action_type": "defer", "defer_minutes": 241}]},
        {"actions": [{"action_type": "defer", "defer_minutes": 5.0}]},
        {"actions": [{"action_type": "route", "speed": 3}]},
        {"actions": [], "text": ""},
        {"text": 7},
        {"wait": True},
    ],
)
def test_ill_typed_actions_are_validation_errors(action: dict[str, object]) -> None:
    with pytest.raises(ValidationError) as caught:
        EVGridAction.model_validate(action)
    assert caught.value.json()  # every fault can be written as JSON: a reply can carry it


def test_unknown_ids_are_answers_with_a_code(env_toy: EVGridEnvironment) -> None:
    env_toy.reset(seed=1)
    seen = env_toy.step(EVGridAction(actions=[_answer("NOWHERE")]))
    assert [e.code for e in seen.errors] == ["E_STATION"] and seen.flags == {"invalid_action": 1}
    assert seen.breakdown["format"] < 0.0
    wrong = EVGridAnswer(ev_id="EV-99999", action_type="defer", defer_minutes=5)
    seen = env_toy.step(EVGridAction(actions=[wrong]))
    assert [e.code for e in seen.errors] == ["E_UNKNOWN_CAR"]


def test_text_and_structured_form_give_the_same_world(env_toy: EVGridEnvironment) -> None:
    seen = env_toy.reset(seed=4)
    while not seen.candidates.car:
        seen = env_toy.step(EVGridAction())
    answer = first_car(seen).actions[0]
    twin = EVGridEnvironment("toy")
    again = twin.reset(seed=4)
    while not again.candidates.car:
        again = twin.step(EVGridAction())
    text = (
        f"EV_ID: {answer.ev_id}\nACTION: route\nSTATION: {answer.station_id}\n"
        f"CHARGE_RATE: {answer.charge_rate}\nDEFER_MINUTES: 0\nREASON: no reason given\nCONFIDENCE: 0.5"
    )
    a, b = env_toy.step(EVGridAction(actions=[answer])), twin.step(EVGridAction(text=text))
    assert shown(a) == shown(b) and env_toy.session.digest() == twin.session.digest()


def test_metadata_and_close(env_toy: EVGridEnvironment) -> None:
    about = env_toy.get_metadata()
    assert about.name == "ev_grid_oracle" and about.description and about.version and about.readme_content
    env_toy.close()
    env_toy.close()
    assert env_toy.reset(seed=1).tick == 0
