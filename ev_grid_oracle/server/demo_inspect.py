"""Why a lane did what it did: prompt, answer, parse, verdict and reward of a tick, and another policy's answer.

The tick is played up to again on a session of its own, from the lane's trace, and the digest says that it is the
same world; the running lane is never touched. What another policy would have done is its answer to the same
observation, starting afresh in this tick.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.ids import NOBODY, car_id
from ev_grid_oracle.episode.observe import LiveObservation
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.episode.spawn import spawn
from ev_grid_oracle.episode.trace import Trace
from ev_grid_oracle.policies.base import PolicyContext
from ev_grid_oracle.policies.llm.resolve import allowed_models
from ev_grid_oracle.policies.registry import make_policy
from ev_grid_oracle.protocol import parse_action
from ev_grid_oracle.protocol.render import render_actions
from ev_grid_oracle.reward.terms import TERM_NAMES
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.codes import CODES
from ev_grid_oracle.schema.enums import ActionKind, Rate
from ev_grid_oracle.schema.errors import OptionError, TraceError

I32 = npt.NDArray[np.int32]


@dataclass
class _Twin:
    """A session that has played the first ticks of a lane's trace."""

    session: Session
    played: int = 0


class Inspector:
    """Looks into the ticks of a demo session's lanes.

    Args:
        city: the lanes'.
    """

    def __init__(self, city: CityPack) -> None:
        self._city = city
        self._twins: dict[str, _Twin] = {}
        self._asked: dict[tuple[str, int, str], list[dict[str, object]]] = {}

    def inspect(self, lane: str, trace: Trace, tick: int, ask: str | None) -> dict[str, object]:
        """The decision of `lane` in `tick`; `ask` names the policy to compare with, None for none.

        Raises:
            TraceError: the tick has not been played.
            UnknownPolicyError: there is no policy `ask`.
        """
        frame = trace.frame(tick) if tick >= 0 else None
        if frame is None:
            raise TraceError(f"Tick {tick} has not been played.", "Ask for one that has.")
        session = self._stand(lane, trace, tick)
        observation = session.observation
        own = _actions(trace.part("answers", tick), observation)
        text = frame.text
        written = _text(own)
        said = text if text is not None else written
        parsed = parse_action(said, observation)
        breakdown = frame.breakdown
        return {
            "lane": lane,
            "tick": tick,
            "source": frame.source,
            "same_world": tick == 0 or session.digest() == _digest_before(trace, tick),
            "prompt": observation.prompt if observation.pending else None,
            "pending": list(observation.pending_ids),
            "text": said,
            "text_is": "the agent's text" if text is not None else "written from the policy's decision",
            "parse": {
                "ok": parsed.ok,
                "actions": len(parsed.actions),
                "errors": [
                    {"code": e.code, "line": e.line, "message": e.message, "hint": CODES[e.code].cure}
                    for e in parsed.errors
                ],
            },
            "answers": _listed(frame.answers, observation),
            "waterfall": [{"name": name, "value": breakdown[name]} for name in TERM_NAMES],
            "settle": frame.settle,
            "total": frame.reward,
            "flags": frame.flags,
            "other": None
            if ask is None
            else {"policy": ask, "answers": self._other(lane, session, tick, ask)},
        }

    def _stand(self, lane: str, trace: Trace, tick: int) -> Session:
        """A session at the start of `tick`, interventions of it included."""
        twin = self._twins.get(lane)
        if twin is None or twin.played > tick:
            session = Session(self._city, record=False)
            session.reset(**trace.header["options"])  # type: ignore[arg-type]  # resolve() checks every one
            twin = self._twins[lane] = _Twin(session)
            self._intervene(session, trace, 0)
        while twin.played < tick:
            t = twin.played
            text = trace.texts.get(t)
            if text is not None:
                twin.session.step(text)
            else:
                twin.session.step(np.ascontiguousarray(trace.part("answers", t)))
            twin.played += 1
            self._intervene(twin.session, trace, twin.played)
        return twin.session

    @staticmethod
    def _intervene(session: Session, trace: Trace, tick: int) -> None:
        for done in trace.interventions_at(tick):
            spawn(session, **done.given)

    def _other(self, lane: str, session: Session, tick: int, ask: str) -> list[dict[str, object]]:
        if (lane, tick, ask) not in self._asked:
            policy = make_policy(ask, allow=allowed_models())
            city = packed(self._city)
            policy.begin(PolicyContext(city, 0, session.planning()))
            out = np.zeros((city.layout.dims["MP"], r.N_DCOL), np.int32)
            n = policy.answer(session.observation.row.copy(), out)
            self._asked[lane, tick, ask] = [_action_facts(a) for a in _actions(out[:n], session.observation)]
        return self._asked[lane, tick, ask]


def _digest_before(trace: Trace, tick: int) -> str:
    """Digest of the world at the start of `tick`."""
    done = trace.interventions_at(tick)
    return done[-1].digest if done else trace.frame(tick - 1).digest


def _actions(rows: I32, observation: LiveObservation) -> list[Action]:
    """Decision rows as actions."""
    return [
        Action(
            kind=ActionKind(row[r.D_KIND]),
            station_id=None if row[r.D_STATION] < 0 else observation.station_ids[row[r.D_STATION]],
            rate=Rate(row[r.D_RATE]),
            defer_minutes=row[r.D_DEFER],
            reason="policy decision",
            confidence=row[r.D_CONF] / 10000.0,
            ev_id=None if row[r.D_SEQ] == NOBODY else car_id(row[r.D_SEQ]),
        )
        for row in rows.tolist()
        if row[r.D_KIND] >= 0
    ]


def _text(actions: list[Action]) -> str:
    """The decision in the protocol's words; empty where it has none (a rule may name what no text can)."""
    try:
        return render_actions(actions) if actions else ""
    except OptionError:
        return ""


def _action_facts(a: Action) -> dict[str, object]:
    return {
        "ev_id": a.ev_id,
        "action_type": a.kind.name.lower(),
        "station_id": a.station_id,
        "charge_rate": a.rate.name.lower(),
        "defer_minutes": a.defer_minutes,
    }


def _listed(answers: list[dict[str, object]], observation: LiveObservation) -> list[dict[str, object]]:
    """A frame's answers with the verdict's sentence."""
    out = []
    for given in answers:
        station = int(str(given["station"]))
        code = str(given["code"])
        about = {k: v for k, v in given.items() if k != "station"}
        about["station_id"] = None if station < 0 else observation.station_ids[station]
        about["verdict"] = CODES[code].sentence if code else "Legal."
        out.append(about)
    return out
