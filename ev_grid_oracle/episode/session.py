"""One episode at a time, as a user plays it: `reset`, `step`, `snapshot`, `fork`.

    s = make_session("bengaluru")
    obs = s.reset(seed=7, scenario="heatwave_peak")
    obs = s.step("ACTION: route\\nSTATION: BLR-07\\n...")

A step takes text (judged by the one parser), an `Action`, several, their structured form ``{"actions":
[...]}``, or None. What is refused changes nothing in the world: it moves as if nothing had been answered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.model import CityPack, ScenarioEvent
from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.episode import snapshot as container
from ev_grid_oracle.episode.answers import MAX_ANSWERS, decision_rows, read_actions
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.capture import first_bad_row
from ev_grid_oracle.episode.forecasts import Forecasts
from ev_grid_oracle.episode.interventions import Intervention
from ev_grid_oracle.episode.kpis import kpis_of
from ev_grid_oracle.episode.observe import Decoder, LiveObservation
from ev_grid_oracle.episode.options import EpisodeOptions, resolve
from ev_grid_oracle.episode.planning import Planning
from ev_grid_oracle.episode.recorder import Recorder
from ev_grid_oracle.episode.report import flag_details, parse_errors, verdict_errors
from ev_grid_oracle.episode.snapshot import make_tables
from ev_grid_oracle.episode.told import Told, event_facts
from ev_grid_oracle.episode.trace import SOURCES, Trace
from ev_grid_oracle.protocol import parse_action
from ev_grid_oracle.protocol.grammar import MAX_BYTES
from ev_grid_oracle.reward.terms import FLAG_NAMES, TERM_NAMES
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.action import Action, ParseResult
from ev_grid_oracle.schema.axes import DEFAULT_TICKS, SETTLE_TICKS
from ev_grid_oracle.schema.errors import (
    EpisodeOverError,
    EVGridError,
    NoEpisodeError,
    OptionError,
    SnapshotError,
)

I32 = npt.NDArray[np.int32]
Answer = (
    str
    | bytes
    | bytearray
    | Action
    | Sequence[Action | Mapping[str, object]]
    | Mapping[str, object]
    | I32
    | None
)

BREAKDOWN_KEYS = (*TERM_NAMES, "total")
_NOTHING = ParseResult(True)


@lru_cache(maxsize=16)
def decoder_of(city: PackedCity) -> Decoder:
    """The decoder of a city, made once."""
    return Decoder(city)


class Session:
    """An episode of one city.

    Args:
        city: a loaded city, or the name of one.
        record: keep a trace (`Session.trace`).
    """

    def __init__(self, city: CityPack | str = "bengaluru", *, record: bool = True) -> None:
        self._pack = load_city(city) if isinstance(city, str) else city
        self._batch = Batch(self._pack, 1, max_answers=MAX_ANSWERS)
        self._world = world = self._batch.world
        self._decoder = decoder_of(world.city)
        self._answers: I32 = self._batch.answers[0]
        self._terms, self._settled = world.view("TERM")[0], world.view("SETT")[0]
        self._flags = world.view("FLAG")[0]
        self._record = record
        self._options: EpisodeOptions | None = None
        self._future: int | None = None
        self._schedule: tuple[ScenarioEvent, ...] = ()
        self._told = Told(())
        self._forecasts = Forecasts(self._pack)
        self._recorder: Recorder | None = None
        self._last: LiveObservation | None = None
        self.policy_name = "external"
        """Who answers, as the trace's header names it."""

    # -- life cycle -----------------------------------------------------------------------------------
    def reset(
        self,
        seed: int = 0,
        scenario: str = "baseline",
        fleet_mode: str = "mixed",
        start: str | None = None,
        day_type: str | None = None,
        season: str | None = None,
        ticks: int = DEFAULT_TICKS,
        participation: float | None = None,
        demand: str = "open",
        settle: bool = True,
        **unknown: object,
    ) -> LiveObservation:
        """Start an episode (see `episode.options`); a refused option leaves the session as it is."""
        options = resolve(
            self._pack, seed=seed, scenario=scenario, fleet_mode=fleet_mode, start=start, day_type=day_type,
            season=season, ticks=ticks, participation=participation, demand=demand, settle=settle, **unknown,
        )  # fmt: skip
        self._batch.reset([options.world])
        self._options, self._future = options, None
        self._begin(options.scenario.events, b"")
        return self._observe(None, {}, (), {"errors": [], "flags": []})

    def _begin(self, schedule: Sequence[ScenarioEvent], start: bytes) -> None:
        self._schedule = tuple(schedule)
        self._told = Told(self._schedule)
        self._forecasts = Forecasts(self._pack)
        left = self._world.scalar(0, r.Y_TICKS) - self._tick
        self._recorder = Recorder(self._world, left, start) if self._record and left > 0 else None

    def step(self, action: Answer = None, *, source: str = "policy") -> LiveObservation:
        """Play one tick with these answers.

        Args:
            action: text, action(s), their structured form, decision rows (n, 8) of a policy, or None.
            source: what decided, for the trace: one of `trace.SOURCES`.
        """
        before = self._running()
        if source not in SOURCES:
            raise OptionError(f"source is {source!r}.", f"Choose one of {', '.join(SOURCES)}.")
        text: str | None = None
        read = _NOTHING
        if action is None:
            n = 0
        elif isinstance(action, np.ndarray):
            n = self._take_rows(action)
        else:
            read, text = self._read(action, before)
            n = decision_rows(
                read.actions,
                self._decoder.pending_seqs(before.row),
                self._decoder.station_index,
                self._answers,
            )
            if read.prediction is not None:
                self._forecasts.judge(self._world, before.row, self._answers, n, read.prediction)
        refused = 0 if read.ok else 1
        batch = self._batch
        batch.counts[0], batch.invalid[0] = n, refused
        reward = float(batch.step()[0])
        if self._recorder is not None:
            self._recorder.add(self._answers, n, refused, reward, source, text)
        errors = parse_errors(read.errors) if refused else []
        if n:
            errors += verdict_errors(self._answers[:n], read.actions or None)
        return self._after(reward, errors)

    def _after(self, reward: float, errors: list[dict[str, object]]) -> LiveObservation:
        breakdown: dict[str, float] = dict(
            zip(BREAKDOWN_KEYS, (*(self._terms + 0.0).tolist(), reward), strict=True)
        )
        counts: list[int] = self._flags.tolist()
        info: dict[str, object] = {"errors": errors, "flags": []}
        names: tuple[str, ...] = ()
        if any(counts):
            names = tuple(name for name, count in zip(FLAG_NAMES, counts, strict=True) if count)
            info["flags"] = flag_details(counts, errors)
        if self._done:
            info["settle"] = dict(zip(TERM_NAMES, (self._settled + 0.0).tolist(), strict=True))
            info["kpis"] = kpis_of(self._world.view("EP")[0].astype(np.float64), self._pack)
        return self._observe(reward, breakdown, names, info)

    def _observe(
        self,
        reward: float | None,
        breakdown: Mapping[str, float],
        flags: tuple[str, ...],
        info: Mapping[str, object],
    ) -> LiveObservation:
        row = self._world.observe(0)
        told = self._told.at(self._tick)
        self._last = LiveObservation(self._decoder, row, told, reward, breakdown, flags, self._done, info)
        return self._last

    @property
    def observation(self) -> LiveObservation:
        """The present observation, as `reset` or `step` returned it."""
        return self._alive()

    @property
    def _tick(self) -> int:
        return self._world.scalar(0, r.Y_TICK)

    @property
    def _done(self) -> int:
        return self._world.scalar(0, r.Y_DONE)

    def _alive(self) -> LiveObservation:
        if self._last is None:
            raise NoEpisodeError("No episode has been started.", "Call reset first.")
        return self._last

    def _running(self) -> LiveObservation:
        last = self._alive()
        if last.done:
            raise EpisodeOverError("The episode is over.", "Call reset to start another.")
        return last

    def _intervened(self, kind: str, given: Mapping[str, object]) -> None:
        """Note in the trace what a host has just done to the world, before the tick to come."""
        if self._recorder is not None:
            done = Intervention(self._tick, kind, dict(given), self._world.digest(0))
            self._recorder.interventions.append(done)

    # -- answers --------------------------------------------------------------------------------------
    def _read(self, action: Answer, obs: LiveObservation) -> tuple[ParseResult, str | None]:
        """The verdict on an answer that is not decision rows, and its text where it was one."""
        if isinstance(action, Mapping):
            if set(action) == {"text"}:
                return _parse(action["text"], obs)
            listed = action["actions"] if set(action) == {"actions"} else [action]
            if not isinstance(listed, Sequence) or isinstance(listed, str | bytes):
                listed = [listed]
            return read_actions(listed, obs.station_ids), None
        if isinstance(action, Action):
            return read_actions([action], obs.station_ids), None
        if isinstance(action, Sequence) and not isinstance(action, str | bytes | bytearray):
            return read_actions(action, obs.station_ids), None
        return _parse(action, obs)

    def _take_rows(self, rows: I32) -> int:
        """Decision rows of a policy; a row out of range is the caller's error and changes nothing."""
        if rows.dtype != np.int32 or rows.ndim != 2 or rows.shape[1] != r.N_DCOL or len(rows) > MAX_ANSWERS:
            raise OptionError(
                f"Decision rows are {rows.dtype} of shape {rows.shape}.",
                f"Give int32 of shape (n, {r.N_DCOL}), n at most {MAX_ANSWERS}.",
            )
        n = len(rows)
        self._answers[:n] = rows
        self._answers[:n, r.D_CODE] = 0
        bad = int(first_bad_row(self._answers, n, self._decoder.n_s))
        if bad >= 0:
            raise OptionError(
                f"Decision row {bad} is out of range: {rows[bad].tolist()}.", "See schema.rows, D_*."
            )
        return n

    # -- copies ---------------------------------------------------------------------------------------
    def snapshot(self) -> bytes:
        """The session as checked bytes: same future under the same actions."""
        last = self._alive()
        kept = container.Head(
            city_id=self._pack.id,
            city_sha256=self._pack.sha256,
            options=None if self._options is None else dict(self._options.asked),
            future=self._future,
            schedule=self._schedule,
            policy=self.policy_name,
            reward=last.reward,
            breakdown=dict(last.breakdown),
            flags=last.flags,
            info=dict(last.info),
            forecasts=tuple(self._forecasts.made),
        )
        return container.join(kept, self._world.snapshot(0))

    @classmethod
    def restore(cls, blob: bytes, city: CityPack | str | None = None, *, record: bool = True) -> Session:
        """A session that goes on where `snapshot` was taken; its trace starts there.

        Args:
            city: needed only where the city is not one that comes with the package.
        """
        head, world = container.split(blob)
        kept = container.read_head(head)
        session = cls(container.city_of(kept, city), record=record)
        session._world.restore(0, world)
        try:
            session._options = None if kept.options is None else resolve(session._pack, **kept.options)
        except EVGridError as exc:
            raise SnapshotError(
                f"The snapshot's options do not hold: {exc.message}", "Take it again."
            ) from exc
        session._future, session.policy_name = kept.future, kept.policy
        make_tables(session._world, session._horizon())
        session._begin(kept.schedule, bytes(blob))
        session._forecasts.made = list(kept.forecasts)
        session._observe(kept.reward, kept.breakdown, kept.flags, kept.info)
        return session

    def _horizon(self) -> int:
        """Ticks that may still be played on this world, the settle included."""
        return max(self._world.scalar(0, r.Y_TICKS) - self._tick, 0) + SETTLE_TICKS + 1

    def fork(self, future: int | None = None, *, record: bool = False) -> Session:
        """A session of its own from this state on; playing it on never changes this one.

        Args:
            future: None keeps the true future (scoring, receipts, an operator's what-if). A number draws
                every exogenous stream after now again, equal numbers equally, and forgets what names the
                true one: seed, scenario and all that has not been told.
        """
        last = self._alive()
        twin = Session(self._pack, record=record)
        self._world.copy(0, 0, twin._world)
        twin._options, twin._future, twin.policy_name = self._options, self._future, self.policy_name
        schedule = self._schedule
        if future is not None:
            if isinstance(future, bool) or not isinstance(future, int) or not 0 <= future < 2**63:
                raise OptionError(f"future is {future!r}.", "Give None or a whole number from 0.")
            twin._world.redraw(0, future, self._horizon())
            twin._options, twin._future = None, future
            schedule = self._told.known_by(self._tick)
        made = list(self._forecasts.made) if future is None else []
        twin._begin(schedule, b"")
        twin._forecasts.made = made
        twin._observe(last.reward, last.breakdown, last.flags, last.info)
        if record:  # its trace begins in mid-episode and carries the state it begins in
            twin._begin(schedule, twin.snapshot())
            twin._forecasts.made = made
        return twin

    def planning(self) -> Planning:
        """Forks on redrawn futures, for a planning policy's context."""
        self._alive()
        return Planning(self._pack, self._world)

    # -- what is known of it --------------------------------------------------------------------------
    def digest(self) -> str:
        """32 hex digits over the whole state of the world."""
        self._alive()
        return self._world.digest(0)

    @property
    def city(self) -> CityPack:
        return self._pack

    @property
    def trace(self) -> Trace:
        """The frames played so far."""
        self._alive()
        if self._recorder is None:
            raise NoEpisodeError("This session keeps no trace.", "Make it with record=True.")
        about: dict[str, object] = {"policy": self.policy_name, "future": self._future}
        if self._options is not None:
            about |= {
                "seed": self._options.world.seed,
                "scenario": self._options.scenario.name,
                "options": dict(self._options.asked),
            }
        return self._recorder.trace(about)

    def host_view(self) -> dict[str, object]:
        """What names the future, for the host alone: never on an agent's channel before the end."""
        self._alive()
        tick = self._tick
        view: dict[str, object] = {
            "seed": None,
            "scenario": None,
            "options": None,
            "future": self._future,
            "tick": tick,
            "schedule": [event_facts(self._pack, e) for e in self._schedule],
            "predictions": self._forecasts.known(tick),
        }
        if self._options is not None:
            view["seed"] = self._options.world.seed
            view["scenario"] = self._options.scenario.name
            view["options"] = dict(self._options.asked)
        return view


def _parse(text: object, obs: LiveObservation) -> tuple[ParseResult, str | None]:
    """The parser's verdict, and the text as a trace keeps it (no longer than the parser reads)."""
    result = parse_action(text, obs)
    if isinstance(text, bytes | bytearray):
        text = bytes(text[:MAX_BYTES]).decode("utf-8", "replace")
    return result, text[:MAX_BYTES].encode("utf-8", "replace").decode() if isinstance(text, str) else None


EVGridCore = Session


def make_session(city: CityPack | str = "bengaluru", *, record: bool = True) -> Session:
    """A session of the city called `city`."""
    return Session(city, record=record)
