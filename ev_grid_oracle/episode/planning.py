"""What a planner gets of an episode: forks whose future is drawn again, never the true one."""

from __future__ import annotations

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.sim.world import World


class Planning:
    """Forks of environment `env` of `world` (see `World.redraw`)."""

    def __init__(self, pack: CityPack, world: World, env: int = 0) -> None:
        self._pack = pack
        self._world = world
        self._env = env

    def fork_rows(self, future: int, horizon: int) -> World:
        """A world of one environment: the present, with every exogenous stream after now drawn as `future`.

        horizon: ticks that the travel tables reach; equal `future` gives equal futures to all candidates.
        """
        twin = World(self._pack, 1)
        self._world.copy(self._env, 0, twin)
        twin.redraw(0, future, horizon)
        return twin
