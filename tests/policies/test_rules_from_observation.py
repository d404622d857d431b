"""Both rules, played from what the Observation says in plain Python, give the kernels' answers."""

from __future__ import annotations

import numpy as np
import pytest

from ev_grid_oracle.city.lookup import own_minutes
from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.city.packed import packed
from ev_grid_oracle.episode.answers import decision_rows
from ev_grid_oracle.episode.batch import Batch
from ev_grid_oracle.episode.observe import LiveObservation
from ev_grid_oracle.episode.options import resolve
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.policies.base import PolicyContext
from ev_grid_oracle.policies.registry import make_policy
from ev_grid_oracle.schema import rows as r
from ev_grid_oracle.schema.action import Action
from ev_grid_oracle.schema.enums import RATE_KW, ActionKind, Rate
from ev_grid_oracle.schema.observation import EVRequest

WAIT, OCCUPIED_MIN, PRICE, QUEUE = 1.2, 50.0, 0.3, 2.0


def baseline_answers(obs: LiveObservation) -> list[Action]:
    """The baseline as its description reads."""
    st = obs.state.stations
    out = []
    for k, car in enumerate(obs.pending):
        table = obs.candidates(k)
        costs = {}
        for s in np.flatnonzero(table.usable):
            if st.occupied[s] >= st.slots_up[s]:
                continue
            cost = table.travel_min[s] + WAIT * st.slot_free_min[s, 0] + PRICE * st.price_inr_kwh[s]
            cost += QUEUE * st.queued[s]
            costs[int(s)] = cost + (OCCUPIED_MIN if st.occupied[s] / st.slots_up[s] > 0.85 else 0.0)
        if costs:
            best = min(costs, key=lambda s: (costs[s], s))
            out.append(
                Action(ActionKind.ROUTE, obs.station_ids[best], Rate.FAST, 0, car.ev_id, confidence=0.5)
            )
        elif car.patience_left_min > 5.0:
            out.append(Action(ActionKind.DEFER, None, Rate.FAST, 5, car.ev_id, confidence=0.5))
    return out


def greedy_answers(obs: LiveObservation) -> list[Action]:
    """`greedy_counting` from candidate tables: least score, critical cars first, each answer counted."""
    g = dict(zip(r.GREEDY_NAMES, r.GREEDY_TUNED, strict=False))
    st, fd = obs.state.stations, obs.state.feeders
    out: list[Action] = []
    carrier = None
    present = fd.limit_frac
    ahead = (fd.base_next_frac[:, 1] + np.maximum(fd.load_frac - fd.base_frac, 0.0)) / present
    strained = np.flatnonzero((ahead > g["dr_from_frac"]) & (fd.heat_frac > g["dr_heat_frac"]))
    if len(strained):
        worst = int(strained[np.argmax(ahead[strained])])
        loads = np.where(st.feeder == worst, st.load_kw, 0.0)
        s = int(np.argmax(loads))
        patient = [k for k, c in enumerate(obs.pending) if not c.critical and c.patience_left_min > 5.0]
        if loads[s] > 0.0 and patient:
            carrier = max(patient, key=lambda k: (obs.pending[k].patience_left_min, -k))
            rate = Rate(max(int(st.rate[s]) - 1, 0))
            minutes = int(g["dr_minutes"])
            ev_id = obs.pending[carrier].ev_id
            out.append(
                Action(ActionKind.LOAD_SHIFT, obs.station_ids[s], rate, minutes, ev_id, confidence=0.5)
            )
    for critical in (True, False):
        for k, car in enumerate(obs.pending):
            if car.critical == critical and k != carrier:
                answer = _greedy_one(obs, k, car, tuple(out), g)
                if answer is not None:
                    out.append(answer)
    return out


def _greedy_one(
    obs: LiveObservation, k: int, car: EVRequest, given: tuple[Action, ...], g: dict[str, float]
) -> Action | None:
    table = obs.candidates(k, given)
    if not table.usable.any():
        return None
    best = int(np.argmin(table.score))
    rate, wait = Rate(int(table.best_rate[best])), float(table.wait_min[best])
    if car.flexible:
        slots = float(np.isfinite(obs.state.stations.slot_free_min[best]).sum())
        busy = 1.0 - table.free_at_arrival[best] / slots
        u = 1.0 - table.feeder_headroom_frac[best]
        room = busy < g["flex_busy_frac"] and u < g["flex_feeder_frac"]
        own = _own_min(obs, car, best, rate, float(table.travel_min[best]), g)
        slack = (car.ready_in_min or 0.0) - table.travel_min[best] - wait - own
        defer = int(g["flex_defer_min"])
        if not room and slack > g["flex_slack_min"] + defer and car.patience_left_min > defer:
            return Action(ActionKind.DEFER, None, rate, defer, car.ev_id, confidence=0.5)
    sure = 0.9 if wait + 5.0 < car.patience_left_min else 0.3
    return Action(ActionKind.ROUTE, obs.station_ids[best], rate, 0, car.ev_id, confidence=sure)


def _own_min(
    obs: LiveObservation, car: EVRequest, s: int, rate: Rate, eta_min: float, g: dict[str, float]
) -> float:
    """Minutes at the plug under the rate's cap, longer where the site's limit is shared."""
    city = obs._decoder.city
    pack, st = city.pack, obs.state.stations
    v = pack.vehicles.names.index(car.vehicle)
    own = own_minutes(city.cf, city.ci, city.layout.at, v, s, car.soc_frac, car.target_frac, RATE_KW[rate])
    slow, no_dc = st.rate[s] == Rate.SLOW, car.dc_kw == 0.0
    vehicle_kw = car.ac_kw if slow or no_dc else car.dc_kw
    socket_kw = float(pack.stations.ac_socket_kw[s]) if no_dc and not slow else RATE_KW[st.rate[s]]
    kw = min(vehicle_kw, socket_kw, RATE_KW[rate])
    crowd = (st.load_kw[s] * max(1.0 - 0.01 * eta_min, 0.4) + kw) / max(st.limit_kw[s], 1.0)
    if crowd > 1.0:
        own *= 1.0 + g["site_share_weight"] * (min(crowd, 3.0) - 1.0)
    return float(own)


def _as_set(session: Session, answers: list[Action]) -> list[tuple[int, ...]]:
    rows = np.zeros((max(len(answers), 1), r.N_DCOL), np.int32)
    n = decision_rows(answers, [], {name: s for s, name in enumerate(session.city.stations.ids)}, rows)
    return [tuple(row) for row in rows[:n].tolist()]


@pytest.mark.parametrize("name", ["baseline", "greedy_counting"])
@pytest.mark.parametrize("scenario", ["baseline", "transformer_derate", "station_outage"])
def test_played_from_the_observation_equals_the_kernel(city_blr: CityPack, name: str, scenario: str) -> None:
    ticks, seed = 30, 21
    rule = baseline_answers if name == "baseline" else greedy_answers
    policy = make_policy(name)
    session = Session(city_blr)
    options: dict[str, object] = {"seed": seed, "scenario": scenario, "ticks": ticks, "participation": 0.5}
    obs = session.reset(**options)  # type: ignore[arg-type]
    policy.begin(PolicyContext(packed(city_blr)))
    out = np.zeros((128, r.N_DCOL), np.int32)
    kinds = set()
    rewards = []
    while not obs.done:
        n = policy.answer(obs.row, out)
        mine = rule(obs)
        assert _as_set(session, mine) == [tuple(row) for row in out[:n].tolist()], obs
        kinds |= {a.kind for a in mine}
        obs = session.step(mine, source=policy.source)
        rewards.append(obs.reward)
    assert ActionKind.ROUTE in kinds
    batch = Batch(city_blr, 1, max_answers=128)
    batch.reset([resolve(city_blr, **options).world])
    assert batch.play(name, ticks)[:, 0].tolist() == rewards
    assert batch.world.digest(0) == session.digest()


def test_the_rules_meet_all_their_branches(city_blr: CityPack) -> None:
    """In a strained city the rules also defer and shift load, so the comparison above means something."""
    seen: dict[str, set[int]] = {"baseline": set(), "greedy_counting": set()}
    for name, kinds in seen.items():
        batch = Batch(city_blr, 4, max_answers=128)
        batch.reset(
            [
                resolve(city_blr, seed=s, scenario="transformer_derate", ticks=48, settle=False).world
                for s in range(4)
            ]
        )
        answers = np.zeros((48, 4, 128, r.N_DCOL), np.int32)
        counts = np.zeros((48, 4), np.int32)
        batch.play(name, 48, (answers, counts))
        for t in range(48):
            for e in range(4):
                kinds |= set(answers[t, e, : counts[t, e], r.D_KIND].tolist())
    assert seen["baseline"] >= {0} and seen["greedy_counting"] == {0, 1, 2}
