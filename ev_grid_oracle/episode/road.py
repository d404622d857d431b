"""The road task: an electric car at a node of the road network drives, road by road, to a charging station.

    task = RoadSession("bengaluru")
    obs = task.reset(seed=7)                     # obs.prompt, obs.neighbours
    obs = task.step(obs.neighbours[0].node)      # a node, a `RoadMove`, its structured form, or text

Roads, one-way streets, minutes by the hour, the scenario's closed and slow roads, rain, a jammed corridor
that the seed may draw, and energy with congestion are those of the city; what scenario and jam have done to
the roads by the start holds for the trip.

Reward, in `UNIT_MIN` minutes: ``time`` - minutes of the step; ``failure`` - max(60, 240 - minutes so far)
where the trip ends without arriving, so that such a trip costs 240 minutes like a lost car; ``format`` - 10
minutes for a refused text, during which the car waits one minute; ``shaping`` gamma x potential(next) -
potential(now), the potential being minus the minutes of the fastest way to the target by the clock, 0 once
the episode is over. With gamma 1 the reward of a trip that arrives without refused texts is minus the minutes
lost against the fastest way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import cast

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode import road_store as store
from ev_grid_oracle.episode.road_network import Drive, RoadNetwork
from ev_grid_oracle.episode.road_options import RoadTrip, plan_trip
from ev_grid_oracle.episode.road_view import Compass, RoadNeighbour, RoadObservation, point
from ev_grid_oracle.protocol.road import ROAD_CODES, RoadMove, RoadParse, parse_road, read_move
from ev_grid_oracle.reward.terms import PENALTY
from ev_grid_oracle.schema.codes import CODES
from ev_grid_oracle.schema.errors import EpisodeOverError, EVGridError, NoEpisodeError, SnapshotError

UNIT_MIN = 10.0
LOST_MIN = 240.0
LEAST_LOST_MIN = 60.0
WAIT_MIN = 1.0  # the car stands this long when a text is refused
TERMS = ("time", "failure", "format", "shaping")
FLAGS: Mapping[str, str] = {
    "invalid_action": "The text was refused; the car waits a minute. The episode goes on.",
    "wrong_current_node": "CURRENT_NODE is not where the car stands.",
    "not_a_neighbour": "No open road leads from the current node to NEXT_NODE.",
    "battery_empty": "The battery was empty on the road.",
    "no_route": "From the node reached no road leads to the target.",
    "step_limit": "The moves are used up.",
}
"""Flags of the task; all but the first end the episode."""
_FLAG_OF = {
    "E_WRONG_NODE": "wrong_current_node",
    "E_NO_EDGE": "not_a_neighbour",
    "E_SELF_MOVE": "not_a_neighbour",
}
_MAGIC, _VERSION = b"EVGD", 1
RoadAnswer = str | bytes | bytearray | int | RoadMove | Mapping[str, object] | None


class RoadSession:
    """One trip at a time through one city.

    Args:
        city: a loaded city, or the name of one.
    """

    def __init__(self, city: CityPack | str = "bengaluru") -> None:
        self._pack = load_city(city) if isinstance(city, str) else city
        self._compass = Compass(self._pack)
        self._trip: RoadTrip | None = None
        self._last: RoadObservation | None = None

    # -- life cycle -----------------------------------------------------------------------------------
    def reset(self, seed: int = 0, **options: object) -> RoadObservation:
        """Start a trip (options: `road_options.DEFAULTS`); a refused option leaves the session as it is."""
        trip = plan_trip(self._pack, seed=seed, **options)
        self._trip = trip
        self._node, self._minutes, self._kwh, self._steps = trip.start_node, 0.0, trip.kwh, 0
        self._answers: list[list[int] | None] = []
        self._phi = self._potential()
        self._last = self._see(trip, None, {}, (), False, False, {"errors": [], "flags": []})
        return self._last

    def step(self, action: RoadAnswer = None) -> RoadObservation:
        """Drive one road.

        Args:
            action: the next node, a `RoadMove`, ``{"current_node", "next_node"}``, ``{"text": ...}`` or text.
                None and a refused text make the car wait a minute.
        """
        trip = self._running()
        read = self._read(action)
        breakdown = dict.fromkeys(TERMS, 0.0)
        errors: list[dict[str, object]] = []
        flags: tuple[str, ...] = ()
        self._steps += 1
        spent, arrived = 0.0, False
        if read.move is None:
            self._answers.append(None)
            errors = [
                {"code": e.code, "line": e.line, "column": e.column, "field": e.field, "message": e.message,
                 "hint": CODES[e.code].cure} for e in read.errors
            ]  # fmt: skip
            flags = ("invalid_action",)
            breakdown["format"] = -PENALTY / UNIT_MIN
            spent = WAIT_MIN
        else:
            move = read.move
            self._answers.append([move.current_node, move.next_node])
            code, driven = self._judge(move)
            if driven is None:
                flags = (_FLAG_OF[code],)
                row = ROAD_CODES[code]
                errors = [{"code": code, "message": row.sentence, "hint": row.cure}]
            else:
                spent, flags = self._drive(trip, driven, move.next_node)
                arrived = not flags and self._node == trip.best.nodes[-1]
        self._minutes += spent
        terminated = arrived or bool(set(flags) - {"invalid_action"})
        phi = 0.0
        if not terminated:
            phi_next = self._potential()
            if phi_next is None:
                flags, terminated = (*flags, "no_route"), True
            else:
                phi = phi_next
        truncated = not terminated and self._steps >= trip.max_steps
        if truncated:
            flags, phi = (*flags, "step_limit"), 0.0
        breakdown["time"] = -spent / UNIT_MIN
        if (terminated or truncated) and not arrived:
            breakdown["failure"] = -max(LEAST_LOST_MIN, LOST_MIN - self._minutes) / UNIT_MIN
        if trip.shaping:
            breakdown["shaping"] = trip.gamma * phi - (self._phi or 0.0)
        self._phi = phi
        reward = sum(breakdown.values())
        breakdown["total"] = reward
        info: dict[str, object] = {
            "errors": errors, "flags": [{"name": name, "detail": FLAGS[name]} for name in flags],
        }  # fmt: skip
        if terminated or truncated:
            info["fastest_minutes"] = trip.best.minutes
        self._last = self._see(trip, reward, breakdown, flags, terminated, truncated, info, arrived)
        return self._last

    @property
    def observation(self) -> RoadObservation:
        """The present observation, as `reset` or `step` returned it."""
        if self._last is None:
            raise NoEpisodeError("No trip has been started.", "Call reset first.")
        return self._last

    @property
    def city(self) -> CityPack:
        return self._pack

    @property
    def network(self) -> RoadNetwork:
        """The roads of the trip: the map and today's traffic, which a planning policy may use."""
        self.observation  # noqa: B018  # raises where no trip has been started
        return self._trip_now.network

    # -- one step -------------------------------------------------------------------------------------
    def _running(self) -> RoadTrip:
        if self.observation.done:
            raise EpisodeOverError("The trip is over.", "Call reset to start another.")
        return self._trip_now

    @property
    def _trip_now(self) -> RoadTrip:
        return cast(RoadTrip, self._trip)

    @property
    def _clock(self) -> float:
        return self._trip_now.clock_min + self._minutes

    def _read(self, action: RoadAnswer) -> RoadParse:
        if isinstance(action, RoadMove):
            return read_move(asdict(action))
        if isinstance(action, int) and not isinstance(action, bool):
            return read_move({"current_node": self._node, "next_node": action})
        if isinstance(action, Mapping):
            return parse_road(action["text"]) if set(action) == {"text"} else read_move(action)
        return parse_road("" if action is None else action)

    def _judge(self, move: RoadMove) -> tuple[str, Drive | None]:
        """Code of a move that cannot be driven, or how the road is driven."""
        if move.current_node != self._node:
            return "E_WRONG_NODE", None
        if move.next_node == self._node:
            return "E_SELF_MOVE", None
        driven = self._trip_now.network.neighbours(self._node, self._clock).get(move.next_node)
        return ("", driven) if driven is not None else ("E_NO_EDGE", None)

    def _drive(self, trip: RoadTrip, driven: Drive, there: int) -> tuple[float, tuple[str, ...]]:
        """(minutes, flags) of driving a road; a car without energy stays on it."""
        need = self._kwh_of(driven)
        if need > self._kwh:
            part = self._kwh / need
            self._kwh = 0.0
            return part * driven.minutes, ("battery_empty",)
        self._kwh -= need
        self._node = there
        return driven.minutes, ()

    def _kwh_of(self, driven: Drive) -> float:
        return driven.km * float(self._pack.vehicles.wh_km[self._trip_now.vehicle]) / 1000.0

    def _potential(self) -> float | None:
        """Minus the minutes of the fastest way from here, in `UNIT_MIN`; None where there is none."""
        trip = self._trip_now
        minutes = trip.network.route(self._node, trip.best.nodes[-1], self._clock).minutes
        return None if minutes is None else -minutes / UNIT_MIN

    def _see(
        self,
        trip: RoadTrip,
        reward: float | None,
        breakdown: Mapping[str, float],
        flags: tuple[str, ...],
        terminated: bool,
        truncated: bool,
        info: Mapping[str, object],
        arrived: bool = False,
    ) -> RoadObservation:
        city, compass, goal = self._pack, self._compass, trip.best.nodes[-1]
        battery = float(city.vehicles.battery_kwh[trip.vehicle])
        wh_km = float(city.vehicles.wh_km[trip.vehicle])
        to_goal = compass.degrees(self._node, goal)
        near = () if terminated or truncated else self._neighbours(trip, goal)
        return RoadObservation(
            city_name=city.name,
            node=self._node,
            node_name=city.roads.node_names[self._node],
            target_id=city.stations.ids[trip.station],
            target_name=city.stations.names[trip.station],
            target_node=goal,
            target_heading=point(to_goal),
            target_heading_deg=to_goal,
            target_km=compass.km(self._node, goal),
            minute_of_day=self._clock % 1440.0,
            minutes=self._minutes,
            vehicle=city.vehicles.names[trip.vehicle],
            soc_frac=self._kwh / battery,
            kwh_left=self._kwh,
            range_km=self._kwh * 1000.0 / wh_km,
            steps=self._steps,
            max_steps=trip.max_steps,
            neighbours=near,
            reward=reward,
            breakdown=breakdown,
            flags=flags,
            arrived=arrived,
            terminated=terminated,
            truncated=truncated,
            info=info,
        )

    def _neighbours(self, trip: RoadTrip, goal: int) -> tuple[RoadNeighbour, ...]:
        roads, compass = self._pack.roads, self._compass
        out = []
        for node, driven in trip.network.neighbours(self._node, self._clock).items():
            degrees = compass.degrees(self._node, node)
            out.append(
                RoadNeighbour(
                    node=node,
                    name=roads.node_names[node],
                    road=roads.link_names[driven.link],
                    heading=point(degrees),
                    heading_deg=degrees,
                    minutes=driven.minutes,
                    metres=float(roads.link_m[driven.link]),
                    kwh=self._kwh_of(driven),
                    target_km=compass.km(node, goal),
                )
            )
        return tuple(out)

    # -- copies ---------------------------------------------------------------------------------------
    def recipe(self) -> dict[str, object]:
        """City hash, options (the seed is one) and answers: all that is needed to play the trip again."""
        self.observation  # noqa: B018  # raises where no trip has been started
        return {
            "task": "road",
            "city": store.city_facts(self._pack),
            "options": dict(self._trip_now.asked),
            "answers": [None if a is None else list(a) for a in self._answers],
        }

    def snapshot(self) -> bytes:
        """The recipe as checked bytes; `restore` plays it."""
        return store.seal(_MAGIC, _VERSION, self.recipe())

    @classmethod
    def restore(cls, blob: bytes, city: CityPack | str | None = None) -> RoadSession:
        """A session that stands where `snapshot` was taken."""
        head, _body = store.unseal(_MAGIC, _VERSION, blob)
        return cls.from_recipe(head, city)

    @classmethod
    def from_recipe(cls, recipe: Mapping[str, object], city: CityPack | str | None = None) -> RoadSession:
        """Play a recipe; `SnapshotError` if it does not hold."""
        task = cls(store.city_of(recipe, city))
        try:
            task.reset(**cast("dict[str, object]", recipe["options"]))  # type: ignore[arg-type]  # checked there
            for answer in cast("Sequence[Sequence[int] | None]", recipe["answers"]):
                task.step(None if answer is None else {"current_node": answer[0], "next_node": answer[1]})
        except EVGridError as exc:
            raise SnapshotError(f"The recipe cannot be played: {exc.message}", exc.hint) from exc
        except (KeyError, TypeError, IndexError) as exc:
            raise SnapshotError("The recipe lacks what a trip needs.", "Use what recipe() returned.") from exc
        return task

    def host_view(self) -> dict[str, object]:
        """Seed and options, for the host alone."""
        return {"options": dict(self.recipe()["options"]), "fastest_minutes": self._trip_now.best.minutes}  # type: ignore[call-overload]  # a mapping


def make_road_session(city: CityPack | str = "bengaluru") -> RoadSession:
    """A road task in the city called `city`."""
    return RoadSession(city)
