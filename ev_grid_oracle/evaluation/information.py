"""The value of information: what a rule gains when it knows of walk-ins that no policy can see.

A rule reads the observation row. Here the row's list of cars on the road is completed before it is asked:

- ``observed``: nothing added, the rule as anybody plays it;
- ``under_way``: the walk-ins that have set out without an app, too;
- ``all``: those to come as well, with station and minute, taken from a copy of the world played on with its true
  future (greedy_counting answering) for `HORIZON_TICKS`.

For benchmarks only: the player holds the true world, so no name in the registry reaches it, and its results carry the
knowledge in their label. The rule itself is unchanged; the planner samples only what it has not been told of.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.evaluation.players import policy_seed
from ev_grid_oracle.policies.base import Policy, PolicyContext
from ev_grid_oracle.policies.planner import Planner
from ev_grid_oracle.policies.rules import GreedyCounting
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import CarState
from ev_grid_oracle.schema.errors import OptionError
from ev_grid_oracle.sim.world import World, WorldOptions

F64 = npt.NDArray[np.float64]

KNOWLEDGE = ("observed", "under_way", "all")
RULES = ("greedy_counting", "planner")
HORIZON_TICKS = 28
"""As far as the planner looks ahead (140 minutes)."""


class _InformedPlanner(Planner):
    """The planner, told what its list of cars on the road holds."""

    def __init__(self, knowledge: str) -> None:
        super().__init__({"walkins": 0.0} if knowledge == "all" else None)
        self._knowledge = knowledge

    def begin(self, context: PolicyContext) -> None:
        super().begin(context)
        if self._knowledge == "under_way":  # every walk-in on the road is known, not only the announced ones
            context.city.layout.view(self._cf, "K_CONST")[r.Q_ANN] = 1.0


def label(rule: str, knowledge: str) -> str:
    """Name in tables: the rule, and what it was told beyond the observation."""
    return rule if knowledge == "observed" else f"{rule} knowing {knowledge.replace('_', ' ')} walk-ins"


def informed_rule(rule: str, knowledge: str) -> Policy:
    """A new player of `rule` for rows completed by `complete`.

    Raises:
        OptionError: there is no such rule or knowledge.
    """
    if knowledge not in KNOWLEDGE:
        raise OptionError(
            f"There is no knowledge {knowledge[:40]!r}.", f"Choose one of {', '.join(KNOWLEDGE)}."
        )
    if rule == "planner":
        return _InformedPlanner(knowledge)
    if rule != "greedy_counting":
        raise OptionError(f"{rule[:40]!r} cannot be told of walk-ins.", f"Choose one of {', '.join(RULES)}.")
    return GreedyCounting()


def play_informed(rule: str, knowledge: str, city: CityPack, options: WorldOptions) -> tuple[F64, F64]:
    """Accounts (N_EP,) and reward terms (N_TERMS,) of one episode played by an informed rule."""
    batch = Batch(city, 1, max_answers=packed(city).layout.dims["MP"])
    batch.reset([options])
    world, ahead = batch.world, Batch(city, 1)
    policy = informed_rule(rule, knowledge)
    policy.begin(PolicyContext(world.city, policy_seed(options.seed)))
    row = np.zeros(world.layout.sizes["o"])
    for _ in range(options.ticks):
        if batch.done[0]:
            break
        o = complete(world, ahead, knowledge, world.observe(0, row))
        batch.answers[:] = 0
        batch.counts[0] = policy.answer(o, batch.answers[0])
        batch.step()
    return world.view("EP")[0].astype(np.float64), world.view("TSUM")[0].astype(np.float64)


def complete(world: World, ahead: Batch, knowledge: str, o: F64) -> F64:
    """`o` with what `knowledge` adds to its list of cars on the road; `ahead` is scratch for the copy."""
    if knowledge == "observed":
        return o
    told = _on_the_road(world, hidden_only=True)
    if knowledge == "all":
        told += _to_come(world, ahead)
    at, lay = world.at, world.layout
    n = int(o[at[r.O_X] + r.OX_NINB])
    table = lay.view(o, "O_INBND")
    rows = [tuple(x) for x in table[:n]] + [(s, eta, own, 1.0) for eta, s, own in told]
    rows.sort(key=lambda x: (x[r.I_ETA], x[r.I_STATION], x[r.I_OWN]))
    kept = rows[: len(table)]
    table[: len(kept)] = kept
    o[at[r.O_X] + r.OX_NINB] = len(kept)
    return o


def _on_the_road(
    world: World, hidden_only: bool, since: int | None = None
) -> list[tuple[float, float, float]]:
    """(minutes until arrival, station, own minutes) of walk-ins on the road, those that set out from minute `since`."""
    cars = np.asarray(world.view("CAR")[0])
    now = 5 * world.scalar(0, r.Y_TICK)
    flags = cars[:, r.C_FLAGS]
    mine = (cars[:, r.C_STATE] == CarState.ENROUTE) & (flags & r.B_WALKIN > 0)
    if hidden_only:
        mine &= flags & r.B_ANN == 0
    if since is not None:
        mine &= cars[:, r.C_TREQ] >= since
    picked = cars[mine]
    return [(float(c[r.C_TARR] - now), float(c[r.C_STATION]), float(c[r.C_OWN])) for c in picked]


def _to_come(world: World, ahead: Batch) -> list[tuple[float, float, float]]:
    """Walk-ins that will set out, in minutes from now; the copy is played on with the true future."""
    world.copy(0, 0, ahead.world)
    out: list[tuple[float, float, float]] = []
    left = world.scalar(0, r.Y_TICKS) - world.scalar(0, r.Y_TICK)
    for k in range(min(HORIZON_TICKS, left)):
        begun = 5 * ahead.world.scalar(0, r.Y_TICK)
        if k == left - 1:
            ahead.world.view("Y")[0, r.Y_TICKS] += 1  # the settle would end the copy before it is read
        ahead.play("greedy_counting", 1)
        later = 5.0 * (k + 1)
        out += [(eta + later, s, own) for eta, s, own in _on_the_road(ahead.world, False, begun)]
    return out
