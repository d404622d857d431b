"""The observation row as an `Observation`: light to make, decoded where it is looked at.

A step copies the row (what a control room may know, see `sim.observe`) and what the scenario has told so
far; arrays, requests, candidate tables and the prompt are made on first access. Nothing here refers to the
world: no seed, no scenario name, no event that has not been told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.lookup import NO_ROUTE
from ev_grid_oracle.city.model import ScenarioEvent
from ev_grid_oracle.city.packed import PackedCity
from ev_grid_oracle.episode import candidates as c
from ev_grid_oracle.episode.answers import decision_rows
from ev_grid_oracle.episode.ids import car_id
from ev_grid_oracle.episode.told import announcement
from ev_grid_oracle.protocol import build_prompt
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.enums import DayType, Season
from ev_grid_oracle.schema.observation import (
    Announcement,
    Candidates,
    EVRequest,
    FeederState,
    GridState,
    Observation,
    StationState,
)

F64 = npt.NDArray[np.float64]
I32 = npt.NDArray[np.int32]

_DAYS = tuple(d.name.lower() for d in DayType)
_SEASONS = tuple(s.name.lower() for s in Season)
_HUGE = 1.0e6  # from here on a number of the row means "none"


class Decoder:
    """Reads observation rows of one city; shared by all its sessions, holds public facts only."""

    def __init__(self, city: PackedCity) -> None:
        pack, dims = city.pack, city.layout.dims
        self.city = city
        self.n_s, self.n_f = dims["S"], dims["F"]
        self.station_ids: tuple[str, ...] = pack.stations.ids
        self.station_index = {name: k for k, name in enumerate(pack.stations.ids)}
        self.feeder_ids: tuple[str, ...] = pack.grid.feeder_ids
        self.zone_ids: tuple[str, ...] = pack.zones.ids
        self._walkin_min = city.layout.view(city.cf, "K_WSLOT")[: self.n_s].astype(np.float64)
        self._x = int(city.layout.at[r.O_X])
        self._pend = int(city.layout.at[r.O_PEND])
        self._fields = {f.name: self._place(f.name) for f in r.FIELDS if f.row == "o"}

    # -- numbers that the session itself needs --------------------------------------------------------
    def scalar(self, row: F64, index: int) -> float:
        """Scalar `OX_*` of a row."""
        return float(row[self._x + index])

    def pending_seqs(self, row: F64) -> list[int]:
        """Numbers of the pending cars, in the protocol's order."""
        n = int(row[self._x + r.OX_NPEND])
        first = self._pend + r.P_SEQ
        return [int(v) for v in row[first : first + n * r.N_PCOL : r.N_PCOL].tolist()]

    # -- parts of an observation ----------------------------------------------------------------------
    def pending(self, row: F64) -> tuple[EVRequest, ...]:
        """All pending requests."""
        n = int(row[self._x + r.OX_NPEND])
        table = row[self._pend : self._pend + n * r.N_PCOL].reshape(n, r.N_PCOL).tolist()
        return tuple(self._request(values) for values in table)

    def _request(self, p: list[float]) -> EVRequest:
        pack = self.city.pack
        v, node = int(p[r.P_VEHICLE]), int(p[r.P_NODE])
        battery = float(pack.vehicles.battery_kwh[v])
        flexible = p[r.P_FLEX] > 0.0
        return EVRequest(
            ev_id=car_id(int(p[r.P_SEQ])),
            persona=pack.personas.names[int(p[r.P_PERSONA])],
            vehicle=pack.vehicles.names[v],
            node=node,
            zone=int(pack.roads.node_zone[node]),
            soc_frac=p[r.P_SOC],
            target_frac=p[r.P_TGT],
            battery_kwh=battery,
            need_kwh=max(p[r.P_TGT] - p[r.P_SOC], 0.0) * battery,
            ac_kw=float(pack.vehicles.ac_kw[v]),
            dc_kw=float(pack.vehicles.dc_kw[v]),
            urgency_frac=p[r.P_URG],
            critical=p[r.P_CRIT] > 0.0,
            emergency=p[r.P_EMERG] > 0.0,
            flexible=flexible,
            ready_in_min=p[r.P_READY] if flexible else None,
            patience_left_min=p[r.P_PAT],
            waited_min=p[r.P_WAITED],
            deferrals=int(p[r.P_NDEF]),
        )

    def state(self, row: F64) -> GridState:
        """The city, every array a copy."""
        x = row[self._x : self._x + 32].tolist()
        n = int(x[r.OX_NINB])
        inbound = self._view(row, "O_INBND")[:n]
        return GridState(
            tick=int(x[r.OX_TICK]),
            ticks=int(x[r.OX_TICKS]),
            minute_of_day=int(x[r.OX_MOD]),
            day_type=_DAYS[int(x[r.OX_DAYTYPE])],
            season=_SEASONS[int(x[r.OX_SEASON])],
            stations=self._stations(row),
            feeders=self._feeders(row),
            grid_load_frac=x[r.OX_GRID],
            renewable_frac=x[r.OX_RENEW],
            carbon_g_kwh=x[r.OX_CARBON],
            renewable_next_frac=self._view(row, "O_RNEXT").copy(),
            ratio_city=x[r.OX_RATIO],
            inbound_station=inbound[:, r.I_STATION].astype(np.int32),
            inbound_eta_min=inbound[:, r.I_ETA].copy(),
            inbound_slot_min=inbound[:, r.I_OWN].copy(),
            inbound_announced=inbound[:, r.I_ANN] > 0.0,
            traffic=x[r.OX_TRAFFIC],
        )

    def _place(self, name: str) -> tuple[slice, tuple[int, ...]]:
        """Where a field lies in an observation row, and its shape: known once, read every tick."""
        whole = np.arange(self.city.layout.sizes["o"])
        part = self.city.layout.view(whole, name)
        first = int(part.flat[0]) if part.size else 0
        return slice(first, first + part.size), part.shape

    def _view(self, row: F64, name: str) -> F64:
        where, shape = self._fields[name]
        return row[where].reshape(shape)

    def _station(self, row: F64, name: str) -> F64:
        return self._view(row, name)[: self.n_s].copy()

    def _stations(self, row: F64) -> StationState:
        pack = self.city.pack
        return StationState(
            occupied=self._station(row, "O_OCC").astype(np.int32),
            queued=self._station(row, "O_QUEUE").astype(np.int32),
            inbound=self._station(row, "O_INB").astype(np.int32),
            slots_up=self._station(row, "O_UP").astype(np.int32),
            supplied=self._station(row, "O_SUP") > 0.0,
            load_kw=self._station(row, "O_KW"),
            limit_kw=self._station(row, "O_LIMIT"),
            cap_kw=_infinite(self._station(row, "O_DRCAP")),
            cap_left_min=self._station(row, "O_DRLEFT"),
            price_inr_kwh=self._station(row, "O_PRICE"),
            slot_free_min=_infinite(self._station(row, "O_FREE")),
            usual_walkins_h=self._station(row, "O_USUAL"),
            ratio=self._station(row, "O_RATIO"),
            walkin_slot_min=self._walkin_min.copy(),
            rate=pack.stations.rate.astype(np.int32),
            feeder=pack.stations.feeder.astype(np.int32),
        )

    def _feeders(self, row: F64) -> FeederState:
        nominal = self.city.pack.grid.feeder_kva
        return FeederState(
            load_frac=self._view(row, "O_FS") / nominal,
            limit_frac=self._view(row, "O_FKVA") / nominal,
            heat_frac=self._view(row, "O_FHEAT").copy(),
            base_frac=self._view(row, "O_FBASE") / nominal,
            base_next_frac=self._view(row, "O_FNEXT") / nominal[:, None],
            rating_kva=nominal.copy(),
            min_voltage_pu=self._view(row, "O_FVMIN").copy(),
            transformer_heat_frac=self._station(row, "O_TRHEAT"),
        )

    def candidates(self, row: F64, index: int, assumed: Sequence[Action] = ()) -> Candidates:
        """The candidate table of pending car `index`, routes of `assumed` counted as inbound."""
        city, d = self.city, self.city.layout.dims
        seqs = self.pending_seqs(row)
        if not 0 <= index < len(seqs):
            raise IndexError(f"There is no pending car {index}; {len(seqs)} are pending.")
        given = np.zeros((max(len(assumed), 1), r.N_DCOL), np.int32)
        n = decision_rows(assumed, seqs, self.station_index, given)
        table = np.zeros((d["SP"], c.N_COLUMNS))
        c.candidate_table(
            row, city.cf, city.ci, city.layout.at, city.bank.minutes, city.bank.km, index, given, n,
            np.zeros(d["SP"], np.int32), np.zeros(d["SP"]), np.zeros((d["MP"], 3)), np.zeros(d["F"]),
            np.zeros(d["K"]), np.zeros(8), table,
        )  # fmt: skip
        t = table[: self.n_s]
        codes = t[:, c.T_CODE].astype(int)
        no_way = t[:, c.T_TRAVEL] >= NO_ROUTE
        return Candidates(
            usable=codes == r.V_OK,
            refusal=tuple(r.VERDICT_CODES[k] for k in codes),
            travel_min=np.where(no_way, np.nan, t[:, c.T_TRAVEL]),
            travel_kwh=np.where(no_way, np.nan, t[:, c.T_KWH]),
            own_min=_infinite(t[:, c.T_OWN]),
            free_at_arrival=t[:, c.T_FREE].copy(),
            free_30_later=t[:, c.T_FREE30].copy(),
            wait_min=_infinite(t[:, c.T_WAIT]),
            walkins_until=np.where(no_way, np.nan, t[:, c.T_UNTIL]),
            walkins_hour=t[:, c.T_HOUR].copy(),
            site_headroom_kw=t[:, c.T_SITE].copy(),
            feeder_headroom_frac=t[:, c.T_FEEDER].copy(),
            best_rate=t[:, c.T_RATE].astype(np.int32),
            score=_infinite(t[:, c.T_SCORE]),
        )


def _infinite(values: F64) -> F64:
    """`values` with everything that stands for "none" as inf."""
    return np.where(values >= _HUGE, np.inf, values)


class LiveObservation(Observation):
    """An `Observation` over one row; fields are decoded when first read.

    Attributes:
        row: (NO,) float64, the kernels' form of the same facts (see schema.rows, fields ``O_*``); a copy.
    """

    row: F64

    def __init__(
        self,
        decoder: Decoder,
        row: F64,
        told: tuple[ScenarioEvent, ...],
        reward: float | None,
        breakdown: Mapping[str, float],
        flags: tuple[str, ...],
        done: int,
        info: Mapping[str, object],
    ) -> None:
        self.__dict__.update(
            row=row, _decoder=decoder, _told=told, station_ids=decoder.station_ids,
            feeder_ids=decoder.feeder_ids, zone_ids=decoder.zone_ids, city_name=decoder.city.pack.name,
            discom=decoder.city.pack.discom, reward=reward, breakdown=breakdown, flags=flags,
            done=done != 0, terminated=done == 1, truncated=done == 2, info=info,
            candidates_of=partial(decoder.candidates, row), render_prompt=build_prompt,
        )  # fmt: skip

    if not TYPE_CHECKING:  # a checker shall see the fields of `Observation`, and no others

        def __getattr__(self, name: str) -> object:
            make = _LAZY.get(name)
            if make is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            value = make(self)
            self.__dict__[name] = value
            return value

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        """Observations are compared by identity: what they hold is arrays."""
        return self is other

    def __repr__(self) -> str:
        tick = int(self._decoder.scalar(self.row, r.OX_TICK))
        return f"<Observation tick {tick}, {len(self.pending_ids)} pending, reward {self.reward}>"

    @property
    def pending_ids(self) -> tuple[str, ...]:
        """Ids of the pending cars, first first."""
        return tuple(car_id(seq) for seq in self._decoder.pending_seqs(self.row))

    _decoder: Decoder
    _told: tuple[ScenarioEvent, ...]


def _announcements(obs: LiveObservation) -> tuple[Announcement, ...]:
    decoder = obs._decoder
    tick = int(decoder.scalar(obs.row, r.OX_TICK))
    return tuple(announcement(decoder.city.pack, event, tick) for event in obs._told)


_LAZY: Mapping[str, Callable[[LiveObservation], object]] = {
    "pending": lambda obs: obs._decoder.pending(obs.row),
    "state": lambda obs: obs._decoder.state(obs.row),
    "announcements": _announcements,
}
