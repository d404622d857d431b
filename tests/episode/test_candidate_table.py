"""The candidate table against the verifier, the dispatch rule and arithmetic on the observation."""

from __future__ import annotations

import numpy as np
import pytest
from session_tools import until_pending

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.episode.validate import validate_action
from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.enums import ActionKind, Rate


@pytest.fixture
def evening(city_blr: CityPack) -> Session:
    session = Session(city_blr, record=False)
    session.reset(seed=4, ticks=30)
    return session


def test_refusals_are_the_verifiers(evening: Session) -> None:
    """Every station for the first car of several ticks, each tried on a fork."""
    seen = set()
    for _ in range(20):
        obs = until_pending(evening, 1, reach=False)
        table = obs.candidates(0)
        for s, name in enumerate(obs.station_ids):
            action = Action(ActionKind.ROUTE, name, Rate.FAST, 0, obs.pending_ids[0])
            after = evening.fork().step(action)
            errors = after.info["errors"]
            code = errors[0]["code"] if errors else ""  # type: ignore[index]
            assert table.refusal[s] == code and bool(table.usable[s]) == (code == "")
            ok, reason = validate_action(obs, action)
            assert (ok, reason.split(":")[0]) == (code == "", code)
            seen.add(code)
        if {"", "E_UNREACHABLE", "E_DETOUR"} <= seen:
            break
        evening.step()
    assert {"", "E_UNREACHABLE", "E_DETOUR"} <= seen


def test_columns_follow_from_the_observation(evening: Session) -> None:
    obs = until_pending(evening)
    st, car, table = obs.state.stations, obs.pending[0], obs.candidates(0)
    reach = np.isfinite(table.travel_min)
    assert (table.travel_min[reach] >= 1.0).all()
    assert np.allclose(table.walkins_hour, st.usual_walkins_h)
    assert np.allclose(table.walkins_until[reach], st.usual_walkins_h[reach] * table.travel_min[reach] / 60.0)
    assert np.allclose(table.site_headroom_kw, st.limit_kw - st.load_kw)
    assert (table.free_30_later >= table.free_at_arrival).all()
    assert (table.free_at_arrival <= st.slots_up).all()
    usable = table.usable
    assert np.isfinite(table.score[usable]).all() and np.isinf(table.score[~usable]).all()
    assert (table.best_rate[usable] <= st.rate[usable]).all()
    fast = usable & (st.rate == 1)
    low = 60.0 * car.need_kwh / 0.92 / 30.0  # never quicker than the slot's power
    assert (table.own_min[fast] >= low - 1e-9).all()
    no_dc = car.dc_kw == 0.0
    assert not (no_dc and usable[st.rate == 2].any())


def test_assumed_routes_count_as_inbound(evening: Session) -> None:
    obs = until_pending(evening, 3)
    before = obs.candidates(0)
    s = int(np.flatnonzero(before.usable)[0])
    crowd = tuple(
        Action(ActionKind.ROUTE, obs.station_ids[s], Rate.FAST, 0, ev_id)
        for k, ev_id in enumerate(obs.pending_ids)
        if k and obs.candidates(k).usable[s] and obs.candidates(k).travel_min[s] <= before.travel_min[s]
    )
    after = obs.candidates(0, crowd)
    assert after.free_at_arrival[s] <= before.free_at_arrival[s] - min(len(crowd), before.free_at_arrival[s])
    others = np.arange(len(before.usable)) != s
    assert np.array_equal(after.free_at_arrival[others], before.free_at_arrival[others])
    same = obs.candidates(0, (Action(ActionKind.DEFER, None, Rate.FAST, 5, obs.pending_ids[1]),))
    assert np.array_equal(same.score, before.score)
    nobody = obs.candidates(0, (Action(ActionKind.ROUTE, obs.station_ids[s], Rate.FAST, 0, "EV-99999"),))
    assert np.array_equal(nobody.score, before.score)
    with pytest.raises(IndexError):
        obs.candidates(99)


@pytest.mark.parametrize(
    ("action", "code"),
    [
        (Action(ActionKind.DEFER, None, Rate.FAST, 5), ""),
        (Action(ActionKind.DEFER, None, Rate.FAST, 240), "E_TIME_WINDOW"),
        (Action(ActionKind.DEFER, None, Rate.FAST, 0), "E_SEMANTIC"),
        (Action(ActionKind.DEFER, None, Rate.FAST, 5, "EV-99999"), "E_UNKNOWN_CAR"),
        (Action(ActionKind.LOAD_SHIFT, "BLR-05", Rate.ULTRA_FAST, 5), "E_RATE"),
        (Action(ActionKind.LOAD_SHIFT, "BLR-05", Rate.SLOW, 0), ""),
        (Action(ActionKind.LOAD_SHIFT, None, Rate.ULTRA_FAST, 10), ""),
        (Action(ActionKind.NONE), ""),
        (Action(ActionKind.ROUTE, "TOY-A"), "E_STATION"),
        (Action(ActionKind.ROUTE, None), "E_SEMANTIC"),
        (Action(ActionKind.DEFER, None, Rate.FAST, 300), "E_RANGE"),
    ],
)
def test_validate_says_what_a_step_would(evening: Session, action: Action, code: str) -> None:
    obs = until_pending(evening)
    ok, reason = validate_action(obs, action)
    assert (ok, reason.split(":")[0]) == (not code, code)
    errors = evening.fork().step(action).info["errors"]
    assert [e["code"] for e in errors][:1] == ([code] if code else [])  # type: ignore[index, attr-defined]


def test_deferrals_round_up_to_whole_ticks(evening: Session) -> None:
    obs = until_pending(evening)
    patience = int(obs.pending[0].patience_left_min)
    for minutes in range(1, patience + 6):
        action = Action(ActionKind.DEFER, None, Rate.FAST, minutes)
        legal = -(-minutes // 5) * 5 <= patience
        assert validate_action(obs, action)[0] == legal
        assert (evening.fork().step(action).info["errors"] == []) == legal
