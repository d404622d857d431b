"""Sessions for OpenEnv's harness: `CollectRunner`, `MCPHarnessAdapter`, rollout functions.

A session offers one tool, `dispatch`: the answers of a tick, as text in the six-line format. Its result is
the next prompt, so that any chat model can be driven through an evening. Tasks are those of the task API.

    factory = EVGridSessionFactory(base_url="http://127.0.0.1:8000")   # or none: in this process
    session = factory.create({"split": "train", "index": 3})
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openenv.core.client_types import StepResult
from openenv.core.env_server.mcp_types import Tool
from openenv.core.harness.rollout import (
    ResourceSessionFactory,
    StepEnvSessionAdapter,
    ToolResult,
    VerifyResult,
)

from ev_grid_oracle.client import EvGridOracleEnv
from ev_grid_oracle.interfaces.openenv.environment import EVGridEnvironment
from ev_grid_oracle.interfaces.openenv.local import LocalEvGridOracleEnv
from ev_grid_oracle.models import EVGridAction, EVGridObservation
from ev_grid_oracle.schema.errors import OptionError

DISPATCH = Tool(
    name="dispatch",
    description=(
        "Answer the pending cars of this tick and let five minutes pass. An empty text answers nobody, which "
        "is right only when no car is pending. Returns the next prompt."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "answers": {
                "type": "string",
                "description": "One block of six lines a car, as the prompt's format section says.",
            }
        },
        "required": ["answers"],
        "additionalProperties": False,
    },
)


class EVGridHarnessSession(StepEnvSessionAdapter):
    """One evening; the reward of the rollout is the sum of the environment's rewards."""

    total = 0.0

    def call_tool(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Play one tick; refused after the end, without touching the reward."""
        if self._last_result is not None and self._last_result.done:
            return ToolResult(
                data="The evening is over.",
                done=True,
                metadata={"reward": self.total},
                error="E_EPISODE_OVER",
            )
        super().call_tool(name, arguments)
        result = self._last_result
        self.total += float(result.reward or 0.0)
        errors = "".join(f"{e.code}: {e.message} {e.hint}\n" for e in result.observation.errors)
        text = "The evening is over." if result.done else (result.observation.prompt or "")
        return ToolResult(data=errors + text, done=result.done, metadata={"reward": self.total})

    def verify(self, transcript: list[Any], final_state: Any | None = None) -> VerifyResult:
        """The sum of the environment's rewards, and the KPIs where the evening was played to its end."""
        result, state = self._last_result, self._last_state
        done = bool(result is not None and result.done)
        return VerifyResult(
            env_reward=self.total,
            done=done,
            metrics={"step_count": state.step_count, "total_reward": self.total},
            artifacts={"kpis": result.observation.kpis if done else None},
        )


class EVGridSessionFactory(ResourceSessionFactory[EVGridHarnessSession]):
    """Makes isolated sessions.

    Args:
        base_url: of a server; None plays in this process.
        options: of every reset, for instance ``{"ticks": 12}``.
    """

    def __init__(self, base_url: str | None = None, options: Mapping[str, Any] | None = None) -> None:
        self._base_url = base_url
        self._options = dict(options or {})

    def create(
        self, task: Any, seed: int | None = None, episode_id: str | None = None
    ) -> EVGridHarnessSession:
        """A session of `task`: options of reset (split and index, or seed and scenario), or None."""
        if task is not None and not isinstance(task, Mapping):
            raise OptionError("A task is a dictionary of reset options, or None.", "Give split and index.")
        options = {**self._options, **dict(task or {}), "include_prompt": True}
        if seed is not None and "index" not in options:
            options["seed"] = seed
        return EVGridHarnessSession(
            self._client(),
            task=task,
            episode_id=episode_id,
            tool_specs=[DISPATCH],
            action_builder=_action,
            initial_messages_builder=_messages,
            reset_kwargs=options,
        )

    def _client(self) -> EvGridOracleEnv | LocalEvGridOracleEnv:
        if self._base_url is None:
            return LocalEvGridOracleEnv(EVGridEnvironment())
        return EvGridOracleEnv(base_url=self._base_url)


def _action(name: str, arguments: dict[str, Any]) -> EVGridAction:
    answers = arguments.get("answers", "")
    return EVGridAction(text=str(answers), include_prompt=True)


def _messages(result: StepResult[EVGridObservation], task: Any) -> list[dict[str, str]]:
    return [
        {"role": "system", "content": "You dispatch electric cars. Answer every tick by calling `dispatch`."},
        {"role": "user", "content": result.observation.prompt or ""},
    ]
