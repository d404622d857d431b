"""A lane of the demo: one policy on one session, with a badge that says what really acted.

A policy that cannot be made here (a missing extra, no model) is stood in for, and one that thinks too long is
answered for by the baseline: both are shown in the badge and recorded in the trace's `source`.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import PackedCity, packed
from ev_grid_oracle.episode.ids import car_id, walkin_id
from ev_grid_oracle.episode.ma_cars import CarWatch
from ev_grid_oracle.episode.ma_kpis import RoleAccounts, last_tick_twin, repeat_tick
from ev_grid_oracle.episode.ma_views import bus_voltages, numbers
from ev_grid_oracle.episode.observe import LiveObservation
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.policies.base import Policy, PolicyContext
from ev_grid_oracle.policies.llm.resolve import allowed_models
from ev_grid_oracle.policies.registry import make_policy
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.axes import STEP_MINUTES
from ev_grid_oracle.schema.enums import CarState
from ev_grid_oracle.schema.errors import EVGridError, UnknownPolicyError
from ev_grid_oracle.server.render import RoadView
from ev_grid_oracle.viz.geometry import Traffic

I32 = npt.NDArray[np.int32]
Said = I32 | str | list[dict[str, object]]
"""What a lane answers in a tick: decision rows, a text, or actions."""

STAND_IN = "greedy_counting"


@dataclass
class Badge:
    """What was asked for and what acted in the last tick."""

    asked: str
    acted: str
    source: str
    note: str = ""

    def to_dict(self) -> dict[str, object]:
        label = self.acted if self.acted == self.asked else f"{self.asked}: {self.acted}"
        if self.source == "timeout":
            label = "TIMEOUT->baseline"
        return {**self.__dict__, "label": label}


class Lane:
    """One policy on one world.

    Args:
        city: of the session.
        asked: name of the policy.
        timeout_s: how long the policy may think about a tick.
    """

    def __init__(self, city: CityPack, asked: str, timeout_s: float) -> None:
        self.session = Session(city)
        self.city: PackedCity = packed(city)
        self.roads = RoadView(self.city)
        self._timeout_s = timeout_s
        self._policy, self.badge = _make(asked)
        self._spare: Policy = make_policy("baseline")
        self._thinking: Future[tuple[int, I32]] | None = None
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="evgrid-lane")
        self._seed = 0

    def reset(self, options: dict[str, object]) -> LiveObservation:
        """Start the episode; equal options give every lane the same world."""
        observation = self.session.reset(**options)  # type: ignore[arg-type]  # resolve() checks every one
        self.session.policy_name = self.badge.acted
        self._accounts, self._watch = RoleAccounts(self.session.city), CarWatch(self.session._world)
        self.roads = RoadView(self.city)
        self._before = self.traffic
        self.trace = self.session.trace
        self._begin(self._policy)
        self._begin(self._spare)
        return observation

    def _begin(self, policy: Policy) -> None:
        policy.begin(PolicyContext(self.city, self._seed, self.session.planning()))

    def step(self) -> LiveObservation:
        """Ask the policy and play a tick."""
        rows, source = self._answers(self.session.observation.row)
        twin = last_tick_twin(self.session)
        self._before = self.traffic
        observation = self.session.step(rows, source=source)
        self._accounts.tick(self.session._world, self._watch.update().lost)
        if observation.done and twin is not None:
            repeat_tick(self.session, twin)
            self._accounts.settle(twin, bool(self.session._world.scalar(0, r.Y_SETTLE)))
        self.trace = self.session.trace  # copied once a tick; everything shown of the tick reads this copy
        return observation

    def role_kpis(self) -> dict[str, dict[str, float | None]]:
        """KPIs of discom, cpo, fleet and driver so far; at the end with the settle."""
        return self._accounts.kpis(self.session._world.view("EP")[0].astype(np.float64))

    def _answers(self, row: npt.NDArray[np.float64]) -> tuple[Said, str]:
        if self._thinking is None or self._thinking.done():
            self._thinking = self._pool.submit(_ask, self._policy, row, self.city)
            try:
                n, out = self._thinking.result(self._timeout_s)
                self.badge.source, self.badge.note = self._policy.source, self.badge.note
                return out[:n].copy(), self._policy.source
            except Late:
                note = f"no answer within {self._timeout_s:g} s"
            except EVGridError as exc:
                note = f"{exc.code}: {exc.message}"[:200]
        else:
            note = "still thinking about an earlier tick"
        n, out = _ask(self._spare, row, self.city)
        self.badge.source, self.badge.note = "timeout", note
        return out[:n].copy(), "timeout"

    # -- what is shown of it ----------------------------------------------------------------------------
    @property
    def traffic(self) -> Traffic:
        """The present traffic."""
        world = self.session._world
        return Traffic(world.scalar(0, r.Y_KEY), float(world.view("X")[0][r.X_TRAFFIC]))

    def render(self) -> dict[str, object]:
        """Render event of the state that the session stands at."""
        minute = STEP_MINUTES * self.session._world.scalar(0, r.Y_TICK)
        cars = self.trace.frame(-1).cars if len(self.trace) else self._on_the_road()
        return self.roads.event(cars, minute, self._before, self.traffic)

    def _on_the_road(self) -> list[dict[str, object]]:
        """Cars that are on the road before the first tick, as `Frame.cars` has them after one."""
        rows: I32 = self.session._world.view("CAR")[0].astype(np.int32)
        out: list[dict[str, object]] = []
        for car in rows[rows[:, r.C_STATE] == CarState.ENROUTE].tolist():
            walk = bool(car[r.C_FLAGS] & r.B_WALKIN)
            out.append(
                {
                    "id": walkin_id(car[r.C_SEQ]) if walk else car_id(car[r.C_SEQ]),
                    "walkin": walk,
                    "rerouted": bool(car[r.C_FLAGS] & r.B_REROUTED),
                    "node": car[r.C_NODE],
                    "station": car[r.C_STATION],
                    "depart_min": car[r.C_TDEP],
                    "arrive_min": car[r.C_TARR],
                    "travel_key": car[r.C_BANK],
                    "vehicle": car[r.C_VEHICLE],
                }
            )
        return out

    def columns(self) -> dict[str, object]:
        """Stations, feeders, buses and waiting cars as the next tick finds them, from the observation."""
        observation = self.session.observation
        state, roads = observation.state, self.session.city.roads
        st, fd = state.stations, state.feeders
        volts = bus_voltages(self.city, self.session._world)
        dark = np.isnan(fd.min_voltage_pu[self.session.city.grid.bus_feeder])
        return {
            "minute_of_day": state.minute_of_day,
            "occupied": st.occupied.tolist(),
            "queued": st.queued.tolist(),
            "inbound": st.inbound.tolist(),
            "slots_up": st.slots_up.tolist(),
            "supplied": st.supplied.tolist(),
            "price_inr_kwh": numbers(st.price_inr_kwh),
            "limit_kw": numbers(st.limit_kw),
            "feeder_load_pct": numbers(fd.load_frac),
            "feeder_limit_pct": numbers(fd.limit_frac),
            "feeder_heat_frac": numbers(fd.heat_frac),
            "feeder_min_voltage_pu": numbers(fd.min_voltage_pu),
            "bus_voltage_pu": numbers(np.where(dark, np.nan, volts)),
            "grid_load_pct": round(state.grid_load_frac, 4),
            "renewable_frac": round(state.renewable_frac, 4),
            "waiting": [
                {
                    "id": car.ev_id,
                    "at": [
                        round(float(roads.node_lon[car.node]), 5),
                        round(float(roads.node_lat[car.node]), 5),
                    ],
                    "persona": car.persona,
                    "critical": car.critical,
                    "waited_min": car.waited_min,
                }
                for car in observation.pending
            ],
        }

    def close(self) -> None:
        """Let go of the thread; a policy that is still thinking ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _ask(policy: Policy, row: npt.NDArray[np.float64], city: PackedCity) -> tuple[int, I32]:
    out = np.zeros((city.layout.dims["MP"], r.N_DCOL), np.int32)
    return policy.answer(row.copy(), out), out


def _make(asked: str) -> tuple[Policy, Badge]:
    """The policy of that name, or the strong heuristic in its place where it cannot be had here."""
    try:
        policy = make_policy(asked, allow=allowed_models())  # a client's word is no reason to download
    except UnknownPolicyError:
        raise
    except (EVGridError, ImportError) as exc:
        policy = make_policy(STAND_IN)
        policy.source = "fallback"
        return policy, Badge(asked, policy.name, "fallback", f"{asked} is not available: {exc}"[:200])
    return policy, Badge(asked, policy.name, policy.source)
