"""One demo session: the lanes `baseline` and `oracle` on one world, and what the command center is sent.

Everything that happens is an event with a number: a tick of all lanes, or a spawned car. Events are kept as
the JSON they were sent as (packed), so that a page that comes late or comes back gets the same ones again.
"""

from __future__ import annotations

import asyncio
import json
import zlib
from collections.abc import Mapping

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.kpis import kpis_of
from ev_grid_oracle.episode.options import DEFAULTS
from ev_grid_oracle.episode.spawn import spawn
from ev_grid_oracle.episode.told import event_facts
from ev_grid_oracle.schema.errors import CapacityError, EpisodeOverError
from ev_grid_oracle.server.demo_compare import compare, role_values
from ev_grid_oracle.server.demo_inspect import Inspector
from ev_grid_oracle.server.lanes import Lane

LANES = ("baseline", "oracle")
MAX_TICKS = 2016
MAX_SPAWNS = 500


class DemoSession:
    """Two lanes and their events.

    Args:
        session_id: as in replies.
        city: both lanes'.
        options: of `Session.reset`.
        policies: lane -> name of its policy.
        timeout_s: how long a policy may think about a tick.
    """

    def __init__(
        self,
        session_id: str,
        city: CityPack,
        options: dict[str, object],
        policies: Mapping[str, str],
        timeout_s: float,
    ) -> None:
        self.session_id = session_id
        self._city = city
        self.lanes = {name: self._lane(name, city, policies[name], timeout_s) for name in LANES}
        self.events: list[bytes] = []
        self.spawned: list[dict[str, object]] = []
        self.news = asyncio.Condition()
        for lane in self.lanes.values():
            lane.reset(options)
        scenario = city.scenario(str({**DEFAULTS, **options}["scenario"]))
        self._schedule = [event_facts(city, e) for e in scenario.events]
        self._start = {name: {**lane.columns(), "render": lane.render()} for name, lane in self.lanes.items()}
        self.inspector = Inspector(city)

    def _lane(self, name: str, city: CityPack, policy: str, timeout_s: float) -> Lane:
        return Lane(city, policy, timeout_s)

    # -- play -------------------------------------------------------------------------------------------
    @property
    def tick(self) -> int:
        return self.lanes["baseline"].session.observation.state.tick

    @property
    def done(self) -> bool:
        return all(lane.session.observation.done for lane in self.lanes.values())

    def play(self) -> list[dict[str, object]]:
        """Play one tick; returns its events, the tick last."""
        return [self.step()]

    def step(self) -> dict[str, object]:
        """Play one tick in every lane; returns the event."""
        if self.done:
            raise EpisodeOverError("The episode is over.", "Start another with /demo/new.")
        tick = self.tick
        lanes: dict[str, object] = {}
        for name, lane in self.lanes.items():
            if not lane.session.observation.done:
                lane.step()
            lanes[name] = self._lane_event(name)
        event: dict[str, object] = {
            "type": "tick",
            "session_id": self.session_id,
            "seq": len(self.events),
            "tick": tick,
            "done": self.done,
            "events": [e for e in self._schedule if e["tick"] == tick],
            "lanes": lanes,
            "compare": self._compare(),
        }
        self._keep(event)
        return event

    def _keep(self, event: dict[str, object]) -> None:
        """Events are kept packed: a week of them is some 15 MB."""
        self.events.append(zlib.compress(json.dumps(event, allow_nan=False).encode(), 1))

    def event_text(self, seq: int) -> str:
        """The event of that number as JSON."""
        return zlib.decompress(self.events[seq]).decode()

    def spawn(self, car: dict[str, object]) -> dict[str, object]:
        """Put one more request into every lane at the start of the present tick; returns the event."""
        if self.done:
            raise EpisodeOverError("The episode is over.", "Start another with /demo/new.")
        if len(self.spawned) >= MAX_SPAWNS:
            raise CapacityError(f"{MAX_SPAWNS} cars have been spawned.", "Start another with /demo/new.")
        ids: dict[str, str] = {}
        for name, lane in self.lanes.items():
            if not lane.session.observation.done:
                ids[name], _ = spawn(lane.session, **car)
        event: dict[str, object] = {
            "type": "spawn",
            "session_id": self.session_id,
            "seq": len(self.events),
            "tick": self.tick,
            "car": car,
            "ev_id": ids,
        }
        self.spawned.append({"tick": self.tick, "car": car})
        self._keep(event)
        return event

    def _lane_event(self, name: str) -> dict[str, object]:
        lane = self.lanes[name]
        session = lane.session
        trace = lane.trace
        frame = trace.frame(-1)
        shown = frame.to_dict()
        shown.pop("cars")
        return {
            "frame": shown,
            "after": lane.columns(),
            "render": lane.render(),
            "flags": session.observation.info["flags"],
            "errors": session.observation.info["errors"],
            "total_reward": float(trace.rewards.sum()),
            "kpis": lane.role_kpis(),
            "episode_kpis": kpis_of(trace.accounts, self._city) if frame.done else None,
            "badge": lane.badge.to_dict(),
            "sources": trace.header["sources"],
        }

    def _compare(self) -> dict[str, object]:
        """Both lanes' numbers side by side, and who is ahead in each."""
        lanes = [self.lanes[name] for name in LANES]
        so_far = [role_values(lane.role_kpis(), float(lane.trace.rewards.sum())) for lane in lanes]
        ended = [kpis_of(lane.trace.accounts, self._city) for lane in lanes] if self.done else None
        return {"so_far": compare(*so_far), "episode": compare(*ended) if ended else None}

    def inspect(self, lane: str, tick: int, ask: str | None) -> dict[str, object]:
        """Why a lane did what it did in a tick (see `Inspector`)."""
        return self.inspector.inspect(lane, self.lanes[lane].session.trace, tick, ask)

    # -- look -------------------------------------------------------------------------------------------
    def state(self) -> dict[str, object]:
        """Where both lanes stand, and what the host alone may know: seed, scenario, schedule."""
        host = self.lanes["baseline"].session.host_view()
        lanes = {}
        for name, lane in self.lanes.items():
            obs = lane.session.observation
            st = obs.state.stations
            lanes[name] = {
                "badge": lane.badge.to_dict(),
                "done": obs.done,
                "digest": lane.session.digest(),
                "pending": list(obs.pending_ids),
                "stations": {
                    "occupied": st.occupied.tolist(),
                    "queued": st.queued.tolist(),
                    "slots_up": st.slots_up.tolist(),
                },
                "feeder_load_pct": [round(float(v), 4) for v in obs.state.feeders.load_frac],
                "grid_load_pct": round(obs.state.grid_load_frac, 4),
                "renewable_frac": round(obs.state.renewable_frac, 4),
            }
        obs = self.lanes["baseline"].session.observation
        return {
            "session_id": self.session_id,
            "tick": self.tick,
            "ticks": obs.state.ticks,
            "minute_of_day": obs.state.minute_of_day,
            "done": self.done,
            "next_seq": len(self.events),
            "seed": host["seed"],
            "scenario": host["scenario"],
            "schedule": self._schedule,
            "recipe": self.recipe(),
            "start": self._start,
            "lanes": lanes,
        }

    def recipe(self) -> dict[str, object]:
        """All that is needed to play the session again."""
        host = self.lanes["baseline"].session.host_view()
        return {
            "city": {"id": self._city.id, "sha256": self._city.sha256},
            "options": host["options"],
            "policies": {name: lane.badge.asked for name, lane in self.lanes.items()},
            "spawned": list(self.spawned),
            "ticks_played": self.tick,
        }

    def close(self) -> None:
        for lane in self.lanes.values():
            lane.close()
