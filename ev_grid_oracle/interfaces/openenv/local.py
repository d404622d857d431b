"""The client's twin in this process: the same calls and results without a server.

    env = LocalEvGridOracleEnv()
    result = env.reset(seed=7)
    result = env.step({"actions": []})

Results pass through the same JSON as over a socket, so that a program written against one runs on the other
with equal trajectories.
"""

from __future__ import annotations

import json
from types import TracebackType
from typing import Any

from openenv.core.client_types import StepResult
from openenv.core.env_server.serialization import serialize_observation

from ev_grid_oracle.client import payload_of, result_of
from ev_grid_oracle.interfaces.openenv.environment import EVGridEnvironment
from ev_grid_oracle.models import EVGridAction, EVGridObservation, EVGridState, action_from


class LocalEvGridOracleEnv:
    """An environment behind the client's interface; synchronous.

    Args:
        environment: one to drive; by default a new one of Bengaluru.
    """

    def __init__(self, environment: EVGridEnvironment | None = None) -> None:
        self.environment = environment or EVGridEnvironment()

    def sync(self) -> LocalEvGridOracleEnv:
        """Itself: it is synchronous already."""
        return self

    def __enter__(self) -> LocalEvGridOracleEnv:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def reset(self, **options: Any) -> StepResult[EVGridObservation]:
        """As `EVGridEnvironment.reset`."""
        return through_json(self.environment.reset(**options))

    def step(
        self, action: EVGridAction | dict[str, Any] | str | None, **_unused: Any
    ) -> StepResult[EVGridObservation]:
        """As `EVGridEnvironment.step`; takes a model, its dictionary, a text or None."""
        sent = EVGridAction.model_validate(payload_of(action_from(action)))
        return through_json(self.environment.step(sent))

    def state(self) -> EVGridState:
        return self.environment.state

    def new_session(self) -> LocalEvGridOracleEnv:
        """Another environment of the same city, with an episode of its own."""
        return LocalEvGridOracleEnv(EVGridEnvironment(self.environment.session.city))

    def close(self) -> None:
        self.environment.close()


def through_json(observation: EVGridObservation) -> StepResult[EVGridObservation]:
    """The observation after its way over the wire; NaN or infinity would raise here."""
    wire = serialize_observation(observation)
    return result_of(json.loads(json.dumps(wire, allow_nan=False)))
