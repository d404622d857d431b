"""What a tick was worth to each role, and what each agent is told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields

from ev_grid_oracle.episode.ma_resolve import Violation
from ev_grid_oracle.episode.ma_views import OPERATOR
from ev_grid_oracle.reward.terms import F_DIRECTIVE, FLAGS, PENALTY, TERMS
from ev_grid_oracle.reward.verify import flag_route
from ev_grid_oracle.sim.world import World

NEGOTIATION_WEIGHT = 0.05
ROLE = {agent: "grid" if agent == OPERATOR else "fleet" for agent in ("grid_operator", "fleet_dispatcher")}


@dataclass(frozen=True)
class RoleObservation:
    """One agent's part of the game at the start of a tick.

    Attributes:
        view: its part of the city (`ma_views`). directive: the one in force for this tick.
        inbox: what the other agent said in the last tick. statements: verdicts on its own, points included.
        reward: None at reset; breakdown: its role's terms, ``negotiation`` and ``total``.
        flags: of the tick just played (the dispatcher's).
        info: errors; violations and flag details (the dispatcher's); ``role_kpis`` and ``kpis`` at the end.
    """

    agent: str
    view: Mapping[str, object]
    directive: Mapping[str, object]
    inbox: str = ""
    statements: Sequence[Mapping[str, object]] = ()
    reward: float | None = None
    breakdown: Mapping[str, float] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    terminated: bool = False
    truncated: bool = False
    info: Mapping[str, object] = field(default_factory=dict)

    @property
    def done(self) -> bool:
        """The episode is over."""
        return self.terminated or self.truncated

    def to_dict(self) -> dict[str, object]:
        """JSON-safe; both end flags and `done` are in it."""
        out = {f.name: getattr(self, f.name) for f in fields(self)}
        return {**out, "statements": list(self.statements), "flags": list(self.flags), "done": self.done}


def role_parts(
    agent: str, breakdown: Mapping[str, float], charged: Mapping[str, float], points: float
) -> dict[str, float]:
    """The terms of the agent's role and its negotiation points in the unit of the reward; {} at reset."""
    if not breakdown:
        return {}
    parts = {t.name: breakdown[t.name] + charged.get(t.name, 0.0) for t in TERMS if t.role == ROLE[agent]}
    return {**parts, "negotiation": NEGOTIATION_WEIGHT * points}


def charge(world: World, violations: Sequence[Violation]) -> dict[str, float]:
    """What broken directives cost, by term; to be asked before the tick is played.

    10 car-minutes a car, but one charged flag a car and tick: where the way it is sent instead draws one, the
    verifier charges it.
    """
    stations = world.city.pack.stations.ids
    n = 0
    for v in violations:
        twice = v.given is not None and (
            flag_route(world.f[0], world.i[0], world.cf, world.ci, world.at, stations.index(v.given)) >= 0
        )
        n += not twice
    return {"anti_hack": -PENALTY * n / world.city.pack.constants.n0_car_minutes} if n else {}


def flag_entry(violations: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """The flag `directive_violation` as `info["flags"]` shows it."""
    flag = FLAGS[F_DIRECTIVE]
    who = ", ".join(f"{v['ev_id']} {v['reason']}" for v in violations)
    return {
        "name": flag.name,
        "count": len(violations),
        "threshold": flag.threshold,
        "unit": flag.unit,
        "detail": f"{flag.sentence} ({who})",
    }
