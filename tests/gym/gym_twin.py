"""NumPy twin of the observation vector: every column from the decoded `Observation`, by name."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.interfaces.spaces import BLOCKS, SLOTS
from ev_grid_oracle.schema.enums import EventKind
from ev_grid_oracle.schema.observation import Observation

F64 = npt.NDArray[np.float64]
BIG = 1.0e9
SEASONS = ("winter", "summer", "monsoon", "post_monsoon")
VALUE_SCALE = {"slots": 16.0, "heat": 10.0}


def twin(obs: Observation, city: CityPack) -> dict[str, F64]:
    """Block -> (.., columns) as the vector should hold it (scaled and cut)."""
    raw = {
        "cars": cars(obs),
        "candidates": candidates(obs),
        "stations": stations(obs),
        "feeders": feeders(obs),
        "told": told(obs, city),
        "clock": clock(obs),
    }
    for name, columns in BLOCKS.items():
        for k, c in enumerate(columns):
            raw[name][..., k] = np.clip(raw[name][..., k] / c.scale, c.low, c.high)
    shown = min(len(obs.pending), SLOTS)
    raw["candidates"][shown:] = 0.0  # an empty slot is all zeros
    return raw


def cars(obs: Observation) -> F64:
    out = np.zeros((SLOTS, len(BLOCKS["cars"])))
    for k, c in enumerate(obs.pending[:SLOTS]):
        out[k, :14] = (
            1.0, c.soc_frac, c.target_frac, c.need_kwh, c.ac_kw, c.dc_kw, c.urgency_frac, c.critical, c.emergency,
            c.flexible, c.ready_in_min or 0.0, c.patience_left_min, c.waited_min, c.deferrals,
        )  # fmt: skip
    return out


def candidates(obs: Observation) -> F64:
    st = obs.state.stations
    out = np.zeros((SLOTS, len(st.rate), len(BLOCKS["candidates"])))
    hourly = st.usual_walkins_h * st.ratio
    for k in range(min(len(obs.pending), SLOTS)):
        t = obs.candidates(k)
        travel = np.where(np.isnan(t.travel_min), BIG, t.travel_min)
        columns = (
            t.usable, travel, np.minimum(t.own_min, BIG), t.free_at_arrival, t.free_30_later,
            np.minimum(t.wait_min, BIG), hourly * travel / 60.0, hourly, st.walkin_slot_min,
            st.load_kw / np.maximum(st.limit_kw, 1.0), t.feeder_headroom_frac, st.rate, st.price_inr_kwh, st.ratio,
        )  # fmt: skip
        out[k] = np.stack([np.asarray(c, np.float64) for c in columns], axis=1)
    return out


def stations(obs: Observation) -> F64:
    st, f = obs.state.stations, obs.state.feeders
    named = [any(n in a.targets for a in obs.announcements) for n in obs.station_ids]
    columns = (
        st.occupied, st.slots_up, st.queued, st.inbound, st.supplied, st.load_kw / np.maximum(st.limit_kw, 1.0),
        st.limit_kw, np.minimum(st.cap_kw, BIG), st.cap_left_min, st.price_inr_kwh,
        np.minimum(st.slot_free_min[:, 0], BIG), st.usual_walkins_h, st.ratio, st.walkin_slot_min,
        f.transformer_heat_frac, st.rate, named,
    )  # fmt: skip
    return np.stack([np.asarray(c, np.float64) for c in columns], axis=1)


def feeders(obs: Observation) -> F64:
    f = obs.state.feeders
    named = [any(n in a.targets for a in obs.announcements) for n in obs.feeder_ids]
    supplied = ~np.isnan(f.min_voltage_pu)
    columns = (
        f.load_frac / f.limit_frac, f.limit_frac, f.heat_frac, f.base_frac / f.limit_frac,
        f.base_next_frac[:, 6] / f.limit_frac, f.base_next_frac[:, 12] / f.limit_frac,
        np.where(supplied, 1.0 - np.nan_to_num(f.min_voltage_pu), 0.0), supplied, f.rating_kva, named,
    )  # fmt: skip
    return np.stack([np.asarray(c, np.float64) for c in columns], axis=1)


def told(obs: Observation, city: CityPack) -> F64:
    out = np.zeros((len(EventKind), len(BLOCKS["told"])))
    for a in sorted(obs.announcements, key=lambda a: -max(a.in_ticks, 0)):
        s = sum(t in obs.station_ids for t in a.targets)
        f = sum(t in obs.feeder_ids for t in a.targets)
        share = s / len(obs.station_ids) if s else f / len(obs.feeder_ids) if f else 1.0
        row = (1.0, max(a.in_ticks, 0), a.value / VALUE_SCALE.get(a.kind, 1.0), share)
        out[EventKind[a.kind.upper()]] = row
    return out


def clock(obs: Observation) -> F64:
    s = obs.state
    return np.array(
        [
            s.tick / s.ticks, s.ticks - s.tick, s.minute_of_day, 1.0 - abs(s.minute_of_day - 720) / 720,
            s.day_type == "sunday", *(s.season == name for name in SEASONS), s.grid_load_frac, s.renewable_frac,
            s.renewable_next_frac[6], s.renewable_next_frac[12], s.carbon_g_kwh, s.ratio_city, s.traffic,
            len(obs.pending),
        ]
    )  # fmt: skip
