"""`EVGridToolEnv`: an episode as tools, for `environment_factory` of TRL's `GRPOTrainer`.

Tools collect answers, `advance` plays the tick. TRL makes a tool of every public method, so there are no
others; nothing here needs TRL. TRL has no word for "done": tools called after the end say so and change
nothing, and an episode that the model left is valued as if nobody had answered from then on.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.answers import read_actions
from ev_grid_oracle.episode.observe import LiveObservation
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.episode.validate import validate_action
from ev_grid_oracle.interfaces.trl_rows import HORIZON, Greedy, begin, worth
from ev_grid_oracle.protocol import prompt_sections as sections
from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.codes import CODES

KEPT = 256
_GREEDY: OrderedDict[tuple[object, ...], tuple[float, int]] = OrderedDict()
"""What `greedy_counting` made of a row: total reward and cars that asked; a group shares it."""


class EVGridToolEnv:
    """One episode of a few ticks, answered by tool calls.

    Args:
        city: a loaded city, or the name of one.
        candidates: stations shown for each car.
    """

    def __init__(self, city: CityPack | str = "bengaluru", candidates: int = 4) -> None:
        self._pack = load_city(city) if isinstance(city, str) else city
        self._session = Session(self._pack, record=False)
        self._greedy = Greedy(packed(self._pack))
        self._candidates = candidates
        self._obs: LiveObservation | None = None
        self._start: Session | None = None
        self._key: tuple[object, ...] = ()
        self._given: dict[str, Action] = {}
        self._total = 0.0
        self._refused = 0

    def reset(self, **row: Any) -> str:
        """Start the episode of a data set's row.

        Args:
            row: `seed`, `scenario`, `tick`, `horizon` and other options of `Session.reset`; columns that are
                none of these are left alone.

        Returns:
            The state as text, to be appended to the prompt.
        """
        horizon = row.get("horizon")
        obs = begin(self._session, self._greedy, row, HORIZON if horizon is None else horizon)
        self._key = (self._pack.sha256, self._session.digest(), obs.state.ticks)
        self._start = self._session.fork()
        self._given, self._total, self._refused = {}, 0.0, 0
        self._obs = obs
        return "\n\n" + self._state()

    def route_ev(self, ev_id: str, station_id: str, charge_rate: str) -> str:
        """Send a pending car to a charging station.

        Args:
            ev_id: Id of the pending car, for example EV-0001.
            station_id: Id of the station, for example BLR-07.
            charge_rate: Highest charging rate: slow, fast or ultra_fast.

        Returns:
            What was noted, or why the answer was refused.
        """
        return self._note(
            {"ev_id": ev_id, "action_type": "route", "station_id": station_id, "charge_rate": charge_rate}
        )

    def defer_ev(self, ev_id: str, minutes: int) -> str:
        """Let a pending car wait where it is; it asks again later.

        Args:
            ev_id: Id of the pending car, for example EV-0001.
            minutes: Minutes to wait, 1 to 240, no longer than its patience.

        Returns:
            What was noted, or why the answer was refused.
        """
        return self._note({"ev_id": ev_id, "action_type": "defer", "defer_minutes": minutes})

    def shift_load(self, ev_id: str, station_id: str, charge_rate: str, minutes: int) -> str:
        """Cap the power of every slot of a station for a while; the car that carries this stays pending.

        Args:
            ev_id: Id of the pending car that carries the order, for example EV-0001.
            station_id: Id of the station, or NONE for all stations of the tightest feeder.
            charge_rate: The cap: slow, fast or ultra_fast.
            minutes: Minutes that the cap lasts, 0 to 240.

        Returns:
            What was noted, or why the answer was refused.
        """
        return self._note(
            {
                "ev_id": ev_id,
                "action_type": "load_shift",
                "station_id": station_id,
                "charge_rate": charge_rate,
                "defer_minutes": minutes,
            }
        )

    def advance(self) -> str:
        """Let five minutes pass with the answers noted so far; cars without an answer wait.

        Returns:
            The state after it.
        """
        obs = self._obs
        if obs is None or obs.done:
            return _over(obs)
        self._obs = obs = self._session.step(list(self._given.values()))
        self._given = {}
        self._total += obs.reward or 0.0
        return self._state()

    def get_reward(self) -> float:
        """The episode beside `greedy_counting` on the same world, in (-1, 1); 0: equally good.

        Ticks that were not played count as if nobody had answered, after the answers noted last. Asking
        changes nothing.
        """
        obs = self._obs
        if obs is None or self._start is None:
            return 0.0
        total = self._total
        if not obs.done:
            twin = self._session.fork()
            rest = twin.step(list(self._given.values()))
            total += rest.reward or 0.0
            while not rest.done:
                rest = twin.step()
                total += rest.reward or 0.0
        greedy, cars = self._reference(self._start)
        return worth(total, greedy, cars, self._pack.constants.n0_car_minutes)

    # -- not tools ------------------------------------------------------------------------------------
    def _reference(self, start: Session) -> tuple[float, int]:
        found = _GREEDY.get(self._key)
        if found is None:
            twin = start.fork()
            obs, total, cars = twin.observation, 0.0, set[str]()
            while not obs.done:
                cars.update(obs.pending_ids)
                obs = twin.step(self._greedy.rows(obs))
                total += obs.reward or 0.0
            found = _GREEDY[self._key] = (total, len(cars))
            if len(_GREEDY) > KEPT:
                _GREEDY.popitem(last=False)
        return found

    def _note(self, answer: dict[str, object]) -> str:
        """Judge one answer and keep it; the last one for a car counts."""
        obs = self._obs
        if obs is None or obs.done:
            return _over(obs)
        read = read_actions([answer], obs.station_ids)
        if not read.ok:
            return self._refuse(read.errors[0].code, read.errors[0].message)
        action = read.actions[0]
        if action.ev_id is None:  # in a text that is the first car; a tool names the car it means
            return self._refuse("E_UNKNOWN_CAR", CODES["E_UNKNOWN_CAR"].sentence)
        legal, why = validate_action(obs, action)
        if not legal:
            return self._refuse(*why.split(": ", 1))
        self._given[action.ev_id] = action
        open_ids = [k for k in obs.pending_ids if k not in self._given]
        left = f"Without an answer: {' '.join(open_ids[:8])}." if open_ids else "Every car has one; advance."
        return f"Noted for {action.ev_id}. {left}"

    def _refuse(self, code: str, message: str) -> str:
        self._refused += 1
        return f"Refused, nothing noted. {code}: {message} {CODES[code].cure}"

    def _state(self) -> str:
        obs = self._obs
        if obs is None or obs.done:
            return _over(obs)
        every = range(min(len(obs.pending), 8))
        tables = [obs.candidates(k) for k in every]
        parts = (
            sections.header(obs),
            sections.cars(obs, range(len(obs.pending)), len(every), tables, self._candidates),
            sections.stations(obs, detail=False),
            sections.announcements(obs),
            sections.feeders(obs, 2),
            sections.feedback(obs),
        )
        return "\n\n".join(p for p in parts if p) + "\n"


def _over(obs: LiveObservation | None) -> str:
    code = CODES["E_NO_EPISODE" if obs is None else "E_EPISODE_OVER"]
    return f"{code.code}: {code.sentence} Nothing was changed; stop calling tools."
