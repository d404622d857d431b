"""A run is a receipt: play a trace again and see that every number in it is true.

`verify_trace` starts the episode that the header names (or the state the trace begins in), gives the recorded
answers, repeats what a host did beside them (`episode.interventions`), and compares frame by frame: digest of the
world, reward and its terms, facts, flags, stations, feeders, cars. The first frame and field that differ are named. Where the agent's text is in the trace, it is
parsed again, so a text cannot claim another answer than the one that was played.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.load import load_city
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode import capture as k
from ev_grid_oracle.episode.interventions import H_INTERVENED, SPAWN
from ev_grid_oracle.episode.ma_price import order_price
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.episode.spawn import spawn
from ev_grid_oracle.episode.trace import SOURCES, Trace
from ev_grid_oracle.reward.terms import FLAG_NAMES, TERM_NAMES
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.errors import EVGridError, TraceError
from ev_grid_oracle.sim.world import SIM_VERSION

_HEADS = {k.H_TICK: "tick", k.H_MINUTE: "minute_of_day", k.H_ANSWERS: "answers", k.H_REFUSED: "refused",
          k.H_CARS: "cars", k.H_PENDING: "pending", k.H_DEFERRED: "deferred", k.H_DONE: "done",
          k.H_SOURCE: "source", H_INTERVENED: "interventions"}  # fmt: skip
_NUMBERS = {k.G_REWARD: "reward", k.G_LOAD: "grid_load", k.G_RENEW: "renewable", k.G_CARBON: "carbon",
            k.G_MEANREN: "mean_renewable"}  # fmt: skip
_FEEDER = ("feeder_kva", "feeder_base_kva", "feeder_rating_kva", "feeder_heat")


@dataclass(frozen=True)
class Report:
    """Outcome of a verification.

    Attributes:
        ok: every frame is what the simulator gives.
        frames: frames compared and found equal.
        tick: first tick that differs, None if none does.
        field: the field that differs there.
        message: one sentence.
    """

    ok: bool
    frames: int
    tick: int | None
    field: str
    message: str

    def to_dict(self) -> dict[str, object]:
        return dict(self.__dict__)


def verify_trace(trace: Trace | str | Path, city: CityPack | None = None) -> Report:
    """Simulate a trace, or the file of one, again and compare.

    Args:
        city: needed only where the city is not one that comes with the package.

    Raises:
        TraceError: the file is no trace, or of a city, scenario or simulator that is not at hand.
    """
    told = trace if isinstance(trace, Trace) else Trace.load(trace)
    session = _session(told, city)
    stopped = ""
    for t in range(len(told)):
        stopped = _play(session, told, t)
        if stopped:
            break
    mine = session.trace
    for t in range(len(mine)):
        field = _difference(told, mine, t)
        if field:
            return _differs(told, t, field)
    if stopped:
        return _differs(told, len(mine), stopped)
    tick = session.observation.state.tick
    after = _intervene(session, told, tick) or _unplaced(told, tick)
    if after:
        message = f"What was done after the last tick is not what the simulator gives: {after} differs."
        return Report(False, len(told), tick, after, message)
    mine = session.trace
    for field, a, b in (("accounts", told.accounts, mine.accounts), ("settle", told.settle, mine.settle)):
        if a.tobytes() != b.tobytes():
            message = f"The {field} after the last tick are not what the simulator gives."
            return Report(False, len(told), None, field, message)
    return Report(True, len(told), None, "", f"All {len(told)} ticks are what the simulator gives.")


def _differs(told: Trace, t: int, field: str) -> Report:
    tick = int(told.heads[t, k.H_TICK])
    return Report(False, t, tick, field, f"Tick {tick} is not what the simulator gives: {field} differs.")


def trace_of(
    city: CityPack,
    options: dict[str, object],
    answers: npt.NDArray[np.int32],
    counts: npt.NDArray[np.int32],
    rewards: npt.NDArray[np.float64] | None = None,
    *,
    policy: str = "external",
    source: str = "policy",
) -> Trace:
    """The trace of an episode that a batch has played.

    Args:
        options: of `reset`, by name.
        answers: (T, MD, 8) decision rows by tick, counts (T,) how many of them.
        rewards: (T,) of the batch; `TraceError` if the session's differ.
    """
    session = Session(city)
    session.policy_name = policy
    obs = session.reset(**options)  # type: ignore[arg-type]  # resolve() checks every one
    for t in range(len(counts)):
        if obs.done:
            break
        obs = session.step(answers[t, : counts[t]], source=source)
        if rewards is not None and obs.reward != rewards[t]:
            raise TraceError(f"Tick {t} gave reward {rewards[t]} in the batch and {obs.reward} alone.")
    return session.trace


def _session(told: Trace, city: CityPack | None) -> Session:
    head = told.header
    if head.get("sim_version") != SIM_VERSION:
        raise TraceError(
            f"The trace is of simulator {head.get('sim_version')}, this is {SIM_VERSION}.", "Record it again."
        )
    try:
        if told.start:
            session = Session.restore(told.start, city)
        else:
            named = cast("dict[str, str]", head["city"])
            pack = city or load_city(named["id"])
            if pack.sha256 != named["sha256"]:
                raise TraceError(
                    f"City {named['id']!r} has changed since the trace was made.", "Record it again."
                )
            session = Session(pack)
            session.reset(**cast("dict[str, object]", head["options"]))  # type: ignore[arg-type]
            named_so = (session.host_view()["seed"], session.host_view()["scenario"])
            if named_so != (head["seed"], head["scenario"]):
                raise TraceError(
                    "The header's seed and scenario are not those of its options.", "Record it again."
                )
    except TraceError:
        raise
    except EVGridError as exc:
        raise TraceError(f"The episode of the trace cannot be started: {exc.message}", exc.hint) from exc
    except (KeyError, TypeError, AttributeError) as exc:
        raise TraceError("The trace's header lacks what a replay needs.", "Record it again.") from exc
    return session


def _play(session: Session, told: Trace, t: int) -> str:
    """Play frame `t`; why that was not possible, "" if it was."""
    tick = int(told.heads[t, k.H_TICK])
    source = int(told.heads[t, k.H_SOURCE])
    if session.observation.done or tick != session.observation.state.tick:
        return "tick"
    if not 0 <= source < len(SOURCES):
        return "source"
    if told.heads[t, H_INTERVENED] != len(told.interventions_at(tick)):
        return "interventions"
    differs = _intervene(session, told, tick)
    if differs:
        return differs
    text = told.texts.get(tick)
    try:
        if text is not None:
            session.step(text, source=SOURCES[source])
        elif told.heads[t, k.H_REFUSED]:
            session.step(
                [{}], source=SOURCES[source]
            )  # what was refused without a text: all of these are alike
        else:
            session.step(told.part("answers", t), source=SOURCES[source])
    except EVGridError:
        return "answers"
    return ""


def _intervene(session: Session, told: Trace, tick: int) -> str:
    """Do to the world what a host did at the start of `tick`; the kind of the first that differs, "" if none."""
    for done in told.interventions_at(tick):
        try:
            if done.kind == SPAWN:
                spawn(session, **done.given)
            else:
                order_price(session, done.given.get("mult"))
        except (EVGridError, TypeError):  # a key of `given` may be none of an argument
            return done.kind
        if session.digest() != done.digest:
            return done.kind
    return ""


def _unplaced(told: Trace, tick: int) -> str:
    """Kind of an intervention at a tick that the trace never stood at, "" if there is none."""
    ticks = {int(t) for t in told.heads[:, k.H_TICK]} | {tick}
    return next((done.kind for done in told.interventions if done.tick not in ticks), "")


def _difference(told: Trace, mine: Trace, t: int) -> str:
    """Name of the first field in which frame `t` differs, "" if none does."""
    n_s, n_f = told.shape
    numbers = _first(told.numbers[t].view(np.uint64), mine.numbers[t].view(np.uint64))
    heads = _first(told.heads[t], mine.heads[t])
    if numbers == k.G_REWARD:
        return "reward"
    if heads is not None and heads in (k.H_ANSWERS, k.H_REFUSED):
        return _HEADS[heads]
    if told.part("answers", t).tobytes() != mine.part("answers", t).tobytes():
        return "answers"
    if numbers is not None:
        return _number_name(numbers, n_s, n_f)
    if heads is not None:
        return _head_name(heads, n_s)
    if told.words[t].tobytes() != mine.words[t].tobytes():
        return "digest"
    return "" if told.part("cars", t).tobytes() == mine.part("cars", t).tobytes() else "cars"


def _first(a: npt.NDArray[np.generic], b: npt.NDArray[np.generic]) -> int | None:
    """First index at which two rows differ."""
    unequal = np.flatnonzero(a != b)
    return int(unequal[0]) if len(unequal) else None


def _number_name(index: int, n_s: int, n_f: int) -> str:
    if index < k.N_GRID:
        return _NUMBERS.get(index, "grid")
    parts: Sequence[tuple[int, str]] = (
        *((1, f"breakdown.{name}") for name in TERM_NAMES),
        (r.N_TK, "facts"),
        (n_s, "station_kw"),
        *((n_f, name) for name in _FEEDER),
    )
    left = index - k.N_GRID
    for size, name in parts:
        if left < size:
            return name
        left -= size
    return "numbers"


def _head_name(index: int, n_s: int) -> str:
    if index < k.N_HEAD:
        return _HEADS.get(index, "head")
    left = index - k.N_HEAD
    if left < r.N_FLAGS:
        return f"flags.{FLAG_NAMES[left]}"
    return "occupied" if left < r.N_FLAGS + n_s else "queued"
