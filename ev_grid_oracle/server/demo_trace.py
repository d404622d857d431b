"""A trace file as a demo session: the recorded run in one lane, the baseline on the same world in the other.

The file is a receipt, so it is verified before anything of it is shown, and then played from its own answers. The
session is like any other from there on: events, stream, looking into decisions.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode import capture as k
from ev_grid_oracle.episode.interventions import SPAWN
from ev_grid_oracle.episode.replay import verify_trace
from ev_grid_oracle.episode.trace import SOURCES, Trace
from ev_grid_oracle.schema.errors import EpisodeOverError, OptionError, TraceError
from ev_grid_oracle.server.demo_session import MAX_TICKS, DemoSession
from ev_grid_oracle.server.lanes import Badge, Lane, Said

MAGIC = b"EVGRID-TRACE "
_WRITE = "Write one with evgrid run --out run.evt."


def read_trace(data: bytes, city: CityPack) -> Trace:
    """The trace in the bytes of a file, verified; `TraceError` says in one sentence why it cannot be shown."""
    if not data.startswith(MAGIC):
        raise TraceError("The file is no trace.", _WRITE)
    with tempfile.TemporaryDirectory() as folder:  # traces are read from files
        path = Path(folder) / "run.evt"
        path.write_bytes(data)
        trace = Trace.load(path)
    of = trace.header.get("city")
    if not isinstance(of, Mapping) or of.get("id") != city.id:
        raise TraceError("The trace is of another city than the server's.", "Serve that city: EVGRID_CITY.")
    if trace.start:
        raise TraceError("The trace begins in the middle of an episode.", "Record it from its start.")
    if any(done.kind != SPAWN for done in trace.interventions):
        raise TraceError("The trace is of a game of two agents.", _WRITE)
    if not 0 < len(trace) <= MAX_TICKS:
        raise TraceError(f"The trace has {len(trace)} ticks, shown are 1 to {MAX_TICKS}.", _WRITE)
    report = verify_trace(trace, city)
    if not report.ok:
        raise TraceError(report.message, "Record it again.")
    return trace


class TraceLane(Lane):
    """Plays what a trace says; its badge names who acted then."""

    def __init__(self, city: CityPack, told: Trace) -> None:
        super().__init__(city, "baseline", 1.0)
        self.told = told
        acted = str(told.header.get("policy") or "external")[:100]
        self.badge = Badge(acted, acted, self._source(0), "played from a trace file, which was verified")

    def _source(self, t: int) -> str:
        return SOURCES[int(self.told.heads[t, k.H_SOURCE])]

    def _answers(self, row: npt.NDArray[np.float64]) -> tuple[Said, str]:
        t = self.session.observation.state.tick
        if t >= len(self.told):
            raise EpisodeOverError("The trace ends here.", "Start another session with /demo/new.")
        self.badge.source = source = self._source(t)
        text = self.told.texts.get(t)
        if text is not None:
            return text, source
        if self.told.heads[t, k.H_REFUSED]:
            return [{}], source  # refused without a text: all of these are alike
        return self.told.part("answers", t).copy(), source


class TraceSession(DemoSession):
    """A demo session whose lane `oracle` is a verified trace."""

    def __init__(self, session_id: str, city: CityPack, told: Trace) -> None:
        self.told = told
        options = told.header["options"]
        if not isinstance(options, Mapping):
            raise TraceError("The trace's header lacks its options.", "Record it again.")
        policy = str(told.header.get("policy") or "external")
        super().__init__(session_id, city, dict(options), {"baseline": "baseline", "oracle": policy}, 60.0)

    def _lane(self, name: str, city: CityPack, policy: str, timeout_s: float) -> Lane:
        return (
            TraceLane(city, self.told) if name == "oracle" else super()._lane(name, city, policy, timeout_s)
        )

    def play(self) -> list[dict[str, object]]:
        """Cars that were spawned before the tick, then the tick."""
        if self.tick >= len(self.told) and not self.done:
            raise EpisodeOverError("The trace ends here.", "Start another session with /demo/new.")
        done = self.told.interventions_at(self.tick)
        return [*(super(TraceSession, self).spawn(dict(one.given)) for one in done), self.step()]

    def spawn(self, car: dict[str, object]) -> dict[str, object]:
        """Refused: what was recorded stays what it was."""
        raise OptionError("This session plays a trace, nothing can be added.", "Start one with /demo/new.")

    def state(self) -> dict[str, object]:
        """As any session's, and what the trace is."""
        lane = self.lanes["oracle"].badge.asked
        return {**super().state(), "trace": {"policy": lane, "ticks": len(self.told)}}
