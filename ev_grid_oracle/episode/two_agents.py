"""The two-agent game: a grid operator and a fleet dispatcher on one world.

    game = TwoAgents("bengaluru")
    seen = game.reset(seed=7)
    seen = game.step({
        "grid_operator": {"feeder_caps": {"F03": 0.9}, "message": "CLAIM load F03 >= 0.85"},
        "fleet_dispatcher": {"text": "ACTION: route\\n...", "message": "PROMISE avoid BLR-07 FOR 4"},
    })
    seen["fleet_dispatcher"].reward, seen["fleet_dispatcher"].inbox

One `Session` is behind both. A directive binds from the next tick until replaced; an answer that it forbids goes
to the best allowed station or stays pending (`ma_resolve`), is listed as a `directive_violation` and charged 10
car-minutes in ``anti_hack`` (unless the car's new route draws a charged flag of its own: one a car and tick). An
agent that says nothing, or what is refused, does nothing: no answers, or the directive as it was.

`price_mult` multiplies the world's price factor of every station (`ST_PMUL`, and the price events still to come)
before the tick in which it is ordered, whose prices are fixed already: prices follow at the next.

Each role is paid its terms of the reward and 0.05 x its negotiation points (`ma_negotiation`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode import ma_store as store
from ev_grid_oracle.episode.ids import car_seq
from ev_grid_oracle.episode.ma_auto import auto_answers, auto_directive
from ev_grid_oracle.episode.ma_cars import CarWatch
from ev_grid_oracle.episode.ma_directive import NO_DIRECTIVE, Directive
from ev_grid_oracle.episode.ma_kpis import RoleAccounts, last_tick_twin, repeat_tick
from ev_grid_oracle.episode.ma_negotiation import Negotiation
from ev_grid_oracle.episode.ma_price import order_price
from ev_grid_oracle.episode.ma_read import Said, listed, read_dispatcher, read_operator, unknown_names
from ev_grid_oracle.episode.ma_resolve import Resolver, Violation, actions_of
from ev_grid_oracle.episode.ma_reward import RoleObservation, charge, flag_entry, role_parts
from ev_grid_oracle.episode.ma_shadow import shadow
from ev_grid_oracle.episode.ma_views import AGENTS, DISPATCHER, OPERATOR, dispatcher_view, operator_view
from ev_grid_oracle.episode.observe import LiveObservation
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.enums import ActionKind
from ev_grid_oracle.schema.errors import NoEpisodeError

I32 = npt.NDArray[np.int32]


class TwoAgents:
    """One episode of the game.

    Args:
        city: a loaded city, or the name of one.
        record: keep the session's trace, as in `Session`.

    Attributes:
        session: the world behind both; for the host alone.
        directive: the one in force for the next tick.
        timeline: one JSON-safe entry a tick: messages, directive, verdicts, violations, rewards.
    """

    def __init__(self, city: CityPack | str = "bengaluru", *, record: bool = False) -> None:
        self.session = Session(city, record=record)
        self._seen: dict[str, RoleObservation] | None = None

    # -- life cycle -----------------------------------------------------------------------------------
    def reset(self, seed: int = 0, **options: object) -> dict[str, RoleObservation]:
        """Start an episode (options as `Session.reset`); a refused option leaves the game as it is."""
        obs = self.session.reset(seed=seed, **options)  # type: ignore[arg-type]  # checked there
        self._begin()
        self._seen = self._observe(obs, dict.fromkeys(AGENTS, Said()), {}, [], [])
        return self._seen

    def _begin(self) -> None:
        world = self.session._batch.world
        self._resolver = Resolver(world.city)
        self._watch = CarWatch(world)
        self._accounts = RoleAccounts(self.session.city)
        self.negotiation = Negotiation()
        self.directive: Directive = NO_DIRECTIVE
        self.totals = dict.fromkeys(AGENTS, 0.0)
        self.timeline: list[dict[str, object]] = []
        self._moves: list[dict[str, object]] = []

    def step(self, actions: Mapping[str, object] | None = None) -> dict[str, RoleObservation]:
        """Play one tick.

        Args:
            actions: by agent. `grid_operator`: a `Directive` or a dictionary of its fields and ``message``
                (a message alone leaves the directive as it is). `fleet_dispatcher`: any answer of
                `Session.step`, or a dictionary with ``text`` or ``actions`` and ``message``. A missing agent
                or None does nothing; another name is refused and listed in both agents' ``info["errors"]``.
        """
        session, obs = self.session, self.session._running()
        given: Mapping[str, object] = actions if isinstance(actions, Mapping) else {}
        world = session._batch.world
        tick = obs.state.tick
        binding, verdicts = self.directive, self.negotiation
        said = {
            OPERATOR: read_operator(given.get(OPERATOR), obs),
            DISPATCHER: read_dispatcher(given.get(DISPATCHER), obs, session),
        }
        verdicts.open_tick()
        # the operator's promises are measured without its own new price, the dispatcher's with it
        verdicts.hear(OPERATOR, said[OPERATOR].message, session, self._watch, obs)
        ordered = said[OPERATOR].directive
        if ordered is not None and ordered.price_mult != binding.price_mult:
            order_price(session, ordered.price_mult)
        verdicts.hear(DISPATCHER, said[DISPATCHER].message, session, self._watch, obs)

        answer, refused = said[DISPATCHER].answer, said[DISPATCHER].refused
        violations: tuple[Violation, ...] = ()
        if binding.limits:
            found = self._resolver.resolve(obs, said[DISPATCHER].actions, binding)
            violations = found.violations
            answer = list(found.actions) if violations else answer
            greedy = actions_of(shadow(session, 1).rows, obs.station_ids)
            forbidden = self._resolver.forbidden(obs, greedy, binding)
            verdicts.judge_directive([car_seq(ev_id) for ev_id in forbidden], len(violations), refused)
        charged = charge(world, violations)
        twin = last_tick_twin(session)
        self._moves.append({agent: said[agent].kept for agent in AGENTS if said[agent].kept is not None})
        after = session.step(answer, source="policy")
        self._close_tick(tick, binding, after, twin)
        if ordered is not None:
            self.directive = ordered
        self._seen = self._observe(after, said, charged, listed(violations), unknown_names(actions))
        self._log(tick, binding, said, violations)
        return self._seen

    def auto_step(self) -> dict[str, RoleObservation]:
        """Play one tick with the built-in players (`ma_auto`)."""
        self.session._running()
        view = self.observations[OPERATOR].view
        answers = auto_answers(self.session, self.directive, self._resolver)
        return self.step({OPERATOR: auto_directive(view), DISPATCHER: list(answers)})

    def _close_tick(
        self, tick: int, binding: Directive, after: LiveObservation, twin: Session | None
    ) -> None:
        """Judge the promises and follow the cars of the tick just played."""
        batch = self.session._batch
        world = batch.world
        rows = batch.answers[0, : int(batch.counts[0])]
        sent = rows[(rows[:, r.D_KIND] == ActionKind.ROUTE) & (rows[:, r.D_CODE] == r.V_OK)]
        happened = self._watch.update()
        load = world.view("FD_S")[0].astype(np.float64) / self.session.city.grid.feeder_kva
        self.negotiation.after(tick, binding, sent[:, r.D_STATION].tolist(), happened.plugged, load, after)
        self._accounts.tick(world, happened.lost)
        if after.done:
            self.negotiation.close()
            if twin is not None:
                repeat_tick(self.session, twin)
                self._accounts.settle(twin, bool(world.scalar(0, r.Y_SETTLE)))

    # -- what is seen ---------------------------------------------------------------------------------
    def _observe(
        self,
        obs: LiveObservation,
        said: Mapping[str, Said],
        charged: Mapping[str, float],
        violations: list[dict[str, object]],
        strangers: Sequence[dict[str, object]],
    ) -> dict[str, RoleObservation]:
        world = self.session._batch.world
        views = {OPERATOR: operator_view(obs, world.city, world), DISPATCHER: dispatcher_view(obs)}
        flags = obs.flags + (("directive_violation",) if violations else ())
        out: dict[str, RoleObservation] = {}
        for agent in AGENTS:
            other = DISPATCHER if agent == OPERATOR else OPERATOR
            parts = role_parts(agent, obs.breakdown, charged, self.negotiation.points(agent))
            reward = None if obs.reward is None else sum(parts.values())
            self.totals[agent] += reward or 0.0
            errors = [*said[agent].errors, *strangers]
            info: dict[str, object] = {"errors": errors}
            if agent == DISPATCHER:
                info["errors"] = errors + cast("list[dict[str, object]]", obs.info.get("errors", []))
                info["violations"] = violations
                info["flags"] = [
                    *cast("list[object]", obs.info.get("flags", [])),
                    *([flag_entry(violations)] if violations else []),
                ]
            if obs.done:
                info["role_kpis"] = self.role_kpis()
                info["kpis"] = obs.info.get("kpis")
            out[agent] = RoleObservation(
                agent=agent,
                view=views[agent],
                directive=self.directive.to_dict(),
                inbox=said[other].message.text,
                statements=[v for v in self.negotiation.verdicts if v["agent"] == agent],
                reward=reward,
                breakdown={**parts, "total": reward} if reward is not None else {},
                flags=flags if agent == DISPATCHER else (),
                terminated=obs.terminated,
                truncated=obs.truncated,
                info=info,
            )
        return out

    @property
    def observations(self) -> dict[str, RoleObservation]:
        """What both agents were last told."""
        if self._seen is None:
            raise NoEpisodeError("No episode has been started.", "Call reset first.")
        return self._seen

    @property
    def done(self) -> bool:
        """The episode is over."""
        return self.observations[OPERATOR].done

    def role_kpis(self) -> dict[str, dict[str, float | None]]:
        """The four roles' KPIs so far; at the end with the settle."""
        return self._accounts.kpis(self.session._batch.world.view("EP")[0].astype(np.float64))

    def _log(
        self, tick: int, binding: Directive, said: Mapping[str, Said], violations: Sequence[Violation]
    ) -> None:
        seen = self.observations
        self.timeline.append(
            {
                "tick": tick,
                "directive": binding.to_dict(),
                "messages": {agent: said[agent].message.text for agent in AGENTS},
                "verdicts": list(self.negotiation.verdicts),
                "violations": listed(violations),
                "flags": list(seen[DISPATCHER].flags),
                "rewards": {agent: seen[agent].reward for agent in AGENTS},
                "breakdown": {agent: dict(seen[agent].breakdown) for agent in AGENTS},
                "totals": dict(self.totals),
                "negotiation": dict(self.negotiation.totals),
            }
        )

    # -- copies ---------------------------------------------------------------------------------------
    def recipe(self) -> dict[str, object]:
        """City hash, options (the seed is one) and every tick's actions: enough to play the game again."""
        self.observations  # noqa: B018  # raises where no episode has been started
        return store.recipe_of(self.session, self._moves)

    def snapshot(self) -> bytes:
        """Recipe, score and world as checked bytes: same future under the same actions."""
        return store.save(self)

    @classmethod
    def restore(cls, blob: bytes, city: CityPack | str | None = None) -> TwoAgents:
        """A game that goes on where `snapshot` was taken."""
        return store.load(cls, blob, city)

    @classmethod
    def from_recipe(cls, recipe: Mapping[str, object], city: CityPack | str | None = None) -> TwoAgents:
        """Play a recipe from the start; `SnapshotError` if it does not hold."""
        return store.play(cls, recipe, city)

    def host_view(self) -> dict[str, object]:
        """Seed, options and schedule, for the host alone."""
        return self.session.host_view()


def make_two_agents(city: CityPack | str = "bengaluru") -> TwoAgents:
    """A game in the city called `city`."""
    return TwoAgents(city)
