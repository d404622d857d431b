"""Client parsing, the in-process twin, discovery names, and sessions for the harness."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from openenv.core.env_server.serialization import serialize_observation
from openenv.core.harness.collect import CollectRunner, RolloutSerializer
from openenv.core.harness.rollout import (
    HarnessRunLimits,
    MCPHarnessAdapter,
    ModelStepResult,
    ResourceSession,
)
from openenv.core.llm_client import LLMResponse, ToolCall
from openenv_play import first_car, shown

from ev_grid_oracle import client
from ev_grid_oracle.client import EvGridOracleEnv, WireError, payload_of, result_of
from ev_grid_oracle.interfaces.openenv.environment import EVGridEnvironment
from ev_grid_oracle.interfaces.openenv.harness import EVGridSessionFactory
from ev_grid_oracle.interfaces.openenv.local import LocalEvGridOracleEnv
from ev_grid_oracle.models import EVGridAction, EVGridState, action_from
from ev_grid_oracle.schema.errors import OptionError


def test_results_survive_the_wire(env_toy: EVGridEnvironment) -> None:
    o = env_toy.reset(seed=1)
    for _ in range(5):
        wire = json.loads(json.dumps(serialize_observation(o), allow_nan=False))
        result = result_of(wire)
        assert result.observation == o and result.reward == o.reward and result.done == o.done
        o = env_toy.step(first_car(o))


@pytest.mark.parametrize("missing", ["observation", "reward", "done"])
def test_a_reply_without_a_key_is_refused(env_toy: EVGridEnvironment, missing: str) -> None:
    wire = serialize_observation(env_toy.reset(seed=1))
    del wire[missing]
    with pytest.raises(WireError):
        result_of(wire)


def test_actions_travel_without_empty_fields() -> None:
    assert payload_of(EVGridAction()) == {}
    assert payload_of(EVGridAction(text="")) == {"text": ""}
    sent = payload_of(action_from({"actions": [{"action_type": "defer", "defer_minutes": 5}]}))
    assert sent == {"actions": [{"action_type": "defer", "defer_minutes": 5}]}
    assert action_from("x").text == "x" and action_from(None).actions is None


def test_the_twin_has_the_clients_interface(env_toy: EVGridEnvironment) -> None:
    with LocalEvGridOracleEnv(env_toy).sync() as twin:
        first = twin.reset(seed=3, ticks=2)
        assert first.reward is None and not first.done
        second = twin.step({"actions": []})
        assert isinstance(second.reward, float) and isinstance(twin.state(), EVGridState)
        assert twin.step("no answer").observation.flags == {"invalid_action": 1}
        other = twin.new_session()
        assert shown(other.reset(seed=3, ticks=2).observation) == shown(first.observation)
    for name in ("reset", "step", "state", "close", "sync", "new_session"):
        assert hasattr(EvGridOracleEnv, name) and hasattr(LocalEvGridOracleEnv, name)


def test_discovery_finds_the_names() -> None:
    for name in ("EvGridOracleEnv", "EvGridOracleAction", "EvGridOracleObservation"):
        assert hasattr(client, name)
    from openenv.auto._discovery import EnvironmentDiscovery

    found = EnvironmentDiscovery()._discover_installed_packages()
    mine = next((e for e in found.values() if e.package_name == "openenv-ev-grid-oracle"), None)
    if mine is None:
        pytest.skip("the distribution is not installed under its name here")
    assert mine.get_client_class() is EvGridOracleEnv
    assert mine.get_action_class() is client.EvGridOracleAction
    assert mine.get_observation_class() is client.EvGridOracleObservation


def test_a_harness_session_plays_an_evening() -> None:
    session = EVGridSessionFactory(options={"ticks": 3}).create({"split": "train", "index": 0})
    assert isinstance(session, ResourceSession)
    assert [t.name for t in session.list_tools()] == ["dispatch"]
    assert "ACTION" in session.initial_messages()[-1]["content"]
    rewards = [session.call_tool("dispatch", {"answers": ""}) for _ in range(3)]
    assert [r.done for r in rewards] == [False, False, True]
    after = session.call_tool("dispatch", {"answers": ""})
    assert after.error == "E_EPISODE_OVER"
    verified = session.verify([])
    assert verified.env_reward == rewards[-1].metadata["reward"] and verified.done
    assert verified.metrics["step_count"] == 3 and verified.artifacts["kpis"]
    session.close()
    with pytest.raises(OptionError):
        EVGridSessionFactory().create("train-0")


def test_collect_runner_takes_the_factory(tmp_path: Path) -> None:
    def model_step(messages: object, tools: object, sampling: object) -> ModelStepResult:
        call = ToolCall(id="1", name="dispatch", args={"answers": ""})
        return ModelStepResult(response=LLMResponse(content="", tool_calls=[call]))

    runner = CollectRunner(
        session_factory=EVGridSessionFactory(options={"ticks": 2}),
        harness_adapter=MCPHarnessAdapter(),
        serializer=RolloutSerializer(tmp_path),
        tasks=[{"split": "train", "index": k} for k in range(2)],
        limits=HarnessRunLimits(max_turns=4),
    )
    result = runner.run(model_step=model_step, num_episodes=2)
    assert result.num_collected == 2
