"""The World: a batch of environments as three arrays, and what one can do to them apart from a step.

`reset`, `observe`, `fork`, `snapshot`, `restore`, `digest`. The step itself is composed in the episode
room, which adds verification and reward between the physics.
"""

from __future__ import annotations

import struct
import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack, Scenario
from ev_grid_oracle.city.packed import MAX_EVENTS, PackedCity, packed
from ev_grid_oracle.city.travel import link_states
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.axes import MAX_SEED, MAX_TICKS, SETTLE_TICKS
from ev_grid_oracle.schema.enums import CarState, DayType, EventKind, Season
from ev_grid_oracle.schema.errors import CapacityError, OptionError, SnapshotError
from ev_grid_oracle.sim.fork import redraw
from ev_grid_oracle.sim.hashing import digest
from ev_grid_oracle.sim.observe import observe
from ev_grid_oracle.sim.start import mark_tables, warm_up

SNAPSHOT_MAGIC = b"EVGS"
SNAPSHOT_VERSION = 1
SIM_VERSION = 3
_HEADER = struct.Struct("<4sHH16sIIII")


@dataclass(frozen=True)
class WorldOptions:
    """What `reset` may be told about one environment, already checked and resolved.

    Attributes:
        start_min: minute of the day of tick 0.
        weekday: 0 Monday to 6 Sunday; a plain weekday starts on a Wednesday.
        persona: every request is of this persona (-1: the mixed fleet).
        participation: share of all cars that ask the dispatcher.
    """

    seed: int
    scenario: Scenario
    start_min: int
    season: int = Season.SUMMER
    weekday: int = 2
    persona: int = -1
    ticks: int = 48
    participation: float = 0.0
    open_demand: bool = True
    settle: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= MAX_SEED:
            raise OptionError(f"Seed {self.seed} is out of range.", f"Choose 0 to {MAX_SEED}.")
        if not 1 <= self.ticks <= MAX_TICKS:
            raise OptionError(f"An episode of {self.ticks} ticks is out of range.", f"Choose 1 to {MAX_TICKS}.")


@dataclass
class Scratch:
    """What one thread needs beside the rows."""

    w: npt.NDArray[np.float64]  # (6, D x FL) loads and currents of the power flow of the power flow
    wp: npt.NDArray[np.float64]  # (K + 3, SP) slot powers; sum, share and finished of each station
    own: npt.NDArray[np.float64]
    enter: npt.NDArray[np.int32]
    o: npt.NDArray[np.float64]
    dec: npt.NDArray[np.int32]
    codes: npt.NDArray[np.int32]
    travel: npt.NDArray[np.float64]
    extra: npt.NDArray[np.float64]
    added: npt.NDArray[np.float64]
    times: npt.NDArray[np.float64]
    out: npt.NDArray[np.float64]
    due: npt.NDArray[np.float64]
    sf: npt.NDArray[np.float64]
    si: npt.NDArray[np.int32]

    @classmethod
    def of(cls, layout: r.Layout) -> Scratch:
        d = layout.dims
        return cls(
            w=np.zeros((6, d["D"] * d["FL"])),
            wp=np.zeros((d["K"] + 3, d["SP"])),
            own=np.zeros(8),
            enter=np.zeros((5, 3), np.int32),
            o=np.zeros(layout.sizes["o"]),
            dec=np.zeros((d["MP"], r.N_DCOL), np.int32),
            codes=np.zeros(d["SP"], np.int32),
            travel=np.zeros(d["SP"]),
            extra=np.zeros((d["MP"], 3)),
            added=np.zeros(d["F"]),
            times=np.zeros(d["K"]),
            out=np.zeros(8),
            due=np.zeros(d["SP"]),
            sf=np.zeros(layout.sizes["f"]),
            si=np.zeros(layout.sizes["i"], np.int32),
        )


def event_rows(city: PackedCity, scenario: Scenario) -> npt.NDArray[np.float64]:
    """(n, 8) schedule of a scenario in the kernels' form, one row per target, links as whole states."""
    pack, out = city.pack, []
    for event in scenario.events:
        if event.kind in (EventKind.LINK_SPEED, EventKind.LINK_CLOSED):
            continue
        for target in event.targets or (-1,):
            out.append((event.tick, event.kind, target, event.value, event.announced_ticks, 0))
    told = {e.tick: e for e in scenario.events if e.kind in (EventKind.LINK_SPEED, EventKind.LINK_CLOSED)}
    announced = replace(scenario, events=tuple(e for e in scenario.events if e.announced_ticks >= 0))
    known: dict[int, int] = defaultdict(int)  # the state of the links by announced changes alone
    for tick, state in link_states(announced, len(pack.roads.link_from)):
        known[tick] = city.bank.state_id(state)
    for tick, state in link_states(scenario, len(pack.roads.link_from)):
        number = city.bank.state_id(state)
        out.append((tick, r.K_LINKSTATE, -1, number, told[tick].announced_ticks, known[tick]))
    if len(out) > MAX_EVENTS:
        raise CapacityError(
            f"Scenario {scenario.name!r} has {len(out)} single events; an environment holds {MAX_EVENTS}.",
            "Address whole groups (no target means all) instead of single ones.",
        )
    return np.array(sorted(out, key=lambda e: (e[0], e[1], e[2])), np.float64).reshape(-1, r.N_ECOL)


class World:
    """`n` environments of one city.

    Attributes:
        f: (n, NF) float64, i: (n, NI) int32, u: (n, streams) uint64: the state, see schema.rows.
        city: the packed city; `cf`, `ci`, `at` its rows and offsets.
    """

    def __init__(self, pack: CityPack, n: int = 1) -> None:
        self.city = packed(pack)
        self.layout = self.city.layout
        self.cf, self.ci, self.at = self.city.cf, self.city.ci, self.layout.at
        self.bank = self.city.bank
        self.n = n
        self.f = np.zeros((n, self.layout.sizes["f"]))
        self.i = np.zeros((n, self.layout.sizes["i"]), np.int32)
        self.u = np.zeros((n, r.N_STREAMS), np.uint64)
        self.scratch = Scratch.of(self.layout)
        self.link_to = pack.roads.link_to.astype(np.int32)
        self._yo = int(self.at[r.Y])
        self.i[:, self._yo + r.Y_DONE] = 2  # nothing plays before its reset
        self._keep = np.zeros(r.N_Y, np.int32)
        self._known: set[tuple[bytes, bytes]] = set()
        self._city_tag = bytes.fromhex(pack.sha256)[:16]

    # -- views ------------------------------------------------------------------------------------
    def view(self, name: str) -> npt.NDArray[np.generic]:
        """A field of every environment, for instance ``view("ST_OCC")`` -> (n, SP) int32."""
        row = next(s.row for s in r.FIELDS if s.name == name)
        return self.layout.view(self.f if row == "f" else self.i, name)

    def scalar(self, e: int, index: int) -> int:
        """Int scalar `Y_*` of environment `e`."""
        return int(self.i[e, self._yo + index])

    def bank_arrays(self) -> tuple[npt.NDArray[np.generic], ...]:
        """minutes, km, step, link_minutes, index: fetched anew per call, since the bank grows."""
        b = self.bank
        return b.minutes, b.km, b.step, b.link_minutes, b.index

    # -- reset ------------------------------------------------------------------------------------
    def reset(self, envs: Sequence[int], options: Sequence[WorldOptions]) -> None:
        """Start new episodes: state as after the warm-up, at tick 0."""
        mark = np.zeros(self.bank.index.shape, np.bool_)
        warm = self.city.pack.constants.warmup_ticks
        schedules: dict[str, npt.NDArray[np.float64]] = {}
        for e, o in zip(envs, options, strict=True):
            if o.scenario.name not in schedules:
                schedules[o.scenario.name] = event_rows(self.city, o.scenario)
                if mark.shape != self.bank.index.shape:
                    grown = np.zeros(self.bank.index.shape, np.bool_)
                    grown[: len(mark)] = mark
                    mark = grown
            self._set_options(e, o, schedules[o.scenario.name], warm)
            last = o.ticks + (SETTLE_TICKS if o.settle else 0) + 1
            mark_tables(self.f[e], self.i[e], self.u[e], self.cf, self.at, -warm, last, self._keep, mark)
        self.bank.ensure(np.argwhere(mark))
        s = self.scratch
        minutes, km, step, link_minutes, index = self.bank_arrays()
        for e in envs:
            warm_up(
                self.f[e], self.i[e], self.u[e], self.cf, self.ci, self.at, minutes, km, step, link_minutes, index,
                self.link_to, s.o, s.dec, s.w, s.wp, s.own, s.enter, s.codes, s.travel,
            )  # fmt: skip

    def _set_options(self, e: int, o: WorldOptions, schedule: npt.NDArray[np.float64], warm: int) -> None:
        self.f[e] = 0.0
        self.i[e] = 0
        self.u[e] = np.random.SeedSequence(o.seed).generate_state(r.N_STREAMS, np.uint64)
        y = self.i[e, self._yo :]
        for index, value in (
            (r.Y_TICKS, o.ticks), (r.Y_START, o.start_min), (r.Y_SEASON, o.season), (r.Y_CALENDAR, o.weekday),
            (r.Y_NEV, len(schedule)), (r.Y_SETTLE, int(o.settle)), (r.Y_OPEN, int(o.open_demand)),
            (r.Y_PERSONA, o.persona), (r.Y_WARM, warm), (r.Y_JAM, -1), (r.Y_TICK, -warm),
            (r.Y_DAYTYPE, int(DayType.SUNDAY if o.weekday == 6 else DayType.WEEKDAY)),
        ):  # fmt: skip
            y[index] = value
        self.layout.view(self.f[e], "X")[r.X_PART] = o.participation
        self.layout.view(self.f[e], "EV")[: len(schedule)] = schedule

    # -- looking ----------------------------------------------------------------------------------
    def observe(self, e: int, out: npt.NDArray[np.float64] | None = None) -> npt.NDArray[np.float64]:
        """The observation row of environment `e` (a new array unless `out` is given)."""
        row = np.zeros(self.layout.sizes["o"]) if out is None else out
        observe(self.f[e], self.i[e], self.cf, self.ci, self.at, row)
        return row

    def digest(self, e: int) -> str:
        """32 hex digits over the whole state of environment `e`."""
        words = digest(self.f[e].view(np.uint64), self.i[e].view(np.uint64), self.i[e], self.u[e], self.at)
        return f"{int(words[0]):016x}{int(words[1]):016x}"

    # -- copies -----------------------------------------------------------------------------------
    def copy(self, source: int, target: int, other: World | None = None) -> None:
        """Environment `target` of `other` (default: this world) becomes a copy of `source`: the true future."""
        to = other or self
        to.f[target] = self.f[source]
        to.i[target] = self.i[source]
        to.u[target] = self.u[source]

    def redraw(self, e: int, future: int, horizon: int) -> None:
        """Give environment `e` another future (see sim.fork), for at most `horizon` ticks."""
        s = self.scratch
        minutes, km = self.bank.minutes, self.bank.km
        redraw(self.f[e], self.i[e], self.u[e], self.cf, self.ci, self.at, minutes, km, s.own, s.enter, future)
        self.ensure_tables(e, horizon)

    def ensure_tables(self, e: int, horizon: int) -> None:
        """Make the travel tables of the next `horizon` ticks of environment `e`."""
        tick = self.scalar(e, r.Y_TICK)
        mark = np.zeros(self.bank.index.shape, np.bool_)
        mark_tables(self.f[e], self.i[e], self.u[e], self.cf, self.at, tick, tick + horizon, self._keep, mark)
        self.bank.ensure(np.argwhere(mark & (self.bank.index < 0)))

    def snapshot(self, e: int) -> bytes:
        """The state of environment `e` as checked bytes (version, city, CRC-32); never pickle."""
        parts = (self.f[e].data, self.i[e].data, self.u[e].data)
        crc = 0
        for part in parts:
            crc = zlib.crc32(part, crc)
        head = _HEADER.pack(
            SNAPSHOT_MAGIC, SNAPSHOT_VERSION, SIM_VERSION, self._city_tag, self.f.shape[1], self.i.shape[1],
            r.N_STREAMS, crc,
        )  # fmt: skip
        return b"".join((head, *parts))

    def restore(self, e: int, blob: bytes) -> None:
        """Environment `e` becomes what `snapshot` kept; `SnapshotError` says what does not fit."""
        self.check_snapshot(blob)
        at = _HEADER.size
        n_f, n_i = self.f.shape[1], self.i.shape[1]
        self.f[e] = np.frombuffer(blob, np.float64, n_f, at)
        self.i[e] = np.frombuffer(blob, np.int32, n_i, at + 8 * n_f)
        self.u[e] = np.frombuffer(blob, np.uint64, r.N_STREAMS, at + 8 * n_f + 4 * n_i)
        self._tables_for(e)
        self.i[e, self._yo + r.Y_TRAVEL] = self.bank.index.reshape(-1)[self.scalar(e, r.Y_KEY)]

    def _tables_for(self, e: int) -> None:
        """Make every travel table that a restored environment will read, once per episode and process."""
        episode = (self.u[e].tobytes(), self.layout.view(self.f[e], "EV").tobytes())
        if episode in self._known:
            return
        shape = self.bank.index.shape
        cars = self.layout.view(self.i[e], "CAR")
        keys = {self.scalar(e, r.Y_KEY), *cars[cars[:, r.C_STATE] == CarState.ENROUTE, r.C_BANK].tolist()}
        if max(keys) >= self.bank.index.size:
            raise SnapshotError(
                "The snapshot is of a schedule that changes roads and is not part of this city pack.",
                "Add the scenario to the pack, or reset with it first.",
            )
        self.bank.ensure([tuple(int(v) for v in np.unravel_index(key, shape)) for key in keys])  # type: ignore[misc]
        self.ensure_tables(e, self.scalar(e, r.Y_TICKS) - self.scalar(e, r.Y_TICK) + SETTLE_TICKS + 1)
        self._known.add(episode)

    def check_snapshot(self, blob: bytes) -> None:
        """Raise `SnapshotError` unless `blob` is a whole snapshot of this city and version."""
        if not isinstance(blob, bytes | bytearray | memoryview) or len(blob) < _HEADER.size:
            raise SnapshotError("This is not a snapshot: it is too short.", "Use the bytes that snapshot() returned.")
        magic, version, sim, tag, n_f, n_i, n_u, crc = _HEADER.unpack_from(blob)
        if magic != SNAPSHOT_MAGIC:
            raise SnapshotError("This is not a snapshot.", "Use the bytes that snapshot() returned.")
        if (version, sim) != (SNAPSHOT_VERSION, SIM_VERSION):
            raise SnapshotError(
                f"The snapshot is of version {version}.{sim}, this library reads {SNAPSHOT_VERSION}.{SIM_VERSION}.",
                "Re-simulate it from its trace.",
            )
        if tag != self._city_tag or (n_f, n_i, n_u) != (self.f.shape[1], self.i.shape[1], r.N_STREAMS):
            raise SnapshotError("The snapshot is of another city.", "Restore it with the city it was taken in.")
        body = memoryview(blob)[_HEADER.size :]
        if len(body) != 8 * n_f + 4 * n_i + 8 * n_u or zlib.crc32(body) != crc:
            raise SnapshotError("The snapshot is damaged (length or checksum).", "Take it again.")
