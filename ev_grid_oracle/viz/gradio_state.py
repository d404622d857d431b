"""What one visitor of the Gradio page plays: baseline and oracle on the same evening, tick by tick."""

from __future__ import annotations

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.schema.errors import OptionError
from ev_grid_oracle.viz.frames import LaneRun, Shot

LANES = ("baseline", "oracle")
TICKS = 60
"""Of an evening on the page: 17:00 to 22:00."""


class Visitor:
    """Two lanes of one visitor; never shared.

    Args:
        city: of both.
        scenario, seed: of the evening, as the page's fields give them.
    """

    def __init__(self, city: str, scenario: object, seed: object) -> None:
        if (
            isinstance(seed, bool)
            or not isinstance(seed, int | float)
            or seed != int(seed)
            or not 0 <= seed < 2**32
        ):
            raise OptionError(
                f"The seed {str(seed)[:20]!r} is none.", "Choose a whole number from 0 to 4294967295."
            )
        pack: CityPack = load_city(city)
        self.scenario, self.seed = pack.scenario(str(scenario)).name, int(seed)
        options = {"seed": self.seed, "scenario": self.scenario, "ticks": TICKS}
        self.lanes = {name: LaneRun(pack, name, options) for name in LANES}

    @property
    def done(self) -> bool:
        return self.lanes[LANES[0]].done

    @property
    def tick(self) -> int:
        """Ticks played."""
        return len(self.lanes[LANES[0]].shots) - 1

    def step(self) -> None:
        """One tick in both lanes; nothing after the end. Old states are let go, but for their numbers."""
        if self.done:
            return
        for lane in self.lanes.values():
            lane.step()

    def now(self, lane: str) -> Shot:
        """The present state of a lane."""
        if lane not in self.lanes:
            raise OptionError(f"There is no lane {lane[:20]!r}.", f"Lanes: {', '.join(LANES)}.")
        return self.lanes[lane].shots[-1]
