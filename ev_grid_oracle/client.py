"""The OpenEnv client: an episode on a running server, over one WebSocket of its own.

    from ev_grid_oracle.client import EvGridOracleEnv

    with EvGridOracleEnv(base_url="http://127.0.0.1:8000").sync() as env:
        result = env.reset(seed=7, scenario="heatwave_peak")
        result = env.step({"actions": []})

Asynchronous by default (``async with EvGridOracleEnv(...) as env``). While a model trains between two steps,
give ``websocket_ping_interval_s=None`` and a long ``message_timeout_s``. A dropped connection means a lost
episode: the client would reconnect to a fresh one, so `step` refuses to go on then.

`EvGridOracleEnv`, `EvGridOracleAction` and `EvGridOracleObservation` are the names that AutoEnv and
AutoAction look for.
"""

from __future__ import annotations

from typing import Any

from ev_grid_oracle.models import EVGridAction, EVGridObservation, EVGridState, action_from
from ev_grid_oracle.schema.errors import EVGridError

try:
    from openenv.core.client_types import StepResult
    from openenv.core.env_client import EnvClient
except ImportError as missing:  # models.py has said so already; kept for a half-installed openenv
    from ev_grid_oracle.schema.errors import MissingExtraError

    raise MissingExtraError(
        "The client needs the `server` extra.", "Run: pip install 'openenv-ev-grid-oracle[server]'"
    ) from missing

EvGridOracleAction = EVGridAction
EvGridOracleObservation = EVGridObservation
EvGridOracleState = EVGridState

__all__ = [
    "EVGridAction",
    "EVGridObservation",
    "EVGridState",
    "EvGridOracleAction",
    "EvGridOracleEnv",
    "EvGridOracleObservation",
    "EvGridOracleState",
    "WireError",
]


class WireError(EVGridError):
    """A reply of the server that is not what the protocol says."""

    code = "E_FORMAT"


class EvGridOracleEnv(EnvClient[EVGridAction, EVGridObservation, EVGridState]):
    """One episode at a time on a server; see `openenv.core.EnvClient` for the arguments."""

    def _step_payload(self, action: EVGridAction | dict[str, Any] | str | None) -> dict[str, Any]:
        """The action as JSON; takes a model, its dictionary, a text, or None for "nobody is answered"."""
        return payload_of(action_from(action))

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[EVGridObservation]:
        return result_of(payload)

    def _parse_state(self, payload: dict[str, Any]) -> EVGridState:
        state: EVGridState = EVGridState.model_validate(payload)
        return state


def payload_of(action: EVGridAction) -> dict[str, Any]:
    """An action as it travels: no empty fields."""
    sent: dict[str, Any] = action.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    return sent


def result_of(payload: dict[str, Any]) -> StepResult[EVGridObservation]:
    """A reply as a `StepResult`; reward and done are copied into the observation.

    Raises:
        WireError: a key is missing. Nothing is filled in: a made-up reward would be a wrong reward.
    """
    for key in ("observation", "reward", "done"):
        if key not in payload:
            raise WireError(
                f"The reply has no {key!r}.", "Is this an EV Grid Oracle server of the same version?"
            )
    reward, done = payload["reward"], payload["done"]
    shown = EVGridObservation.model_validate({**payload["observation"], "reward": reward, "done": done})
    return StepResult(
        observation=shown,
        reward=None if reward is None else float(reward),
        done=bool(done),
        metadata=payload.get("metadata"),
    )
