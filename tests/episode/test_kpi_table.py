"""KPIs from accounts made by hand, and from an episode told by its own trace."""

from __future__ import annotations

import json

import numpy as np
import pytest

from ev_grid_oracle.city.model import CityPack
from ev_grid_oracle.episode.kpis import KPI_NAMES, KPIS, group_names, kpi_table, kpis_of
from ev_grid_oracle.episode.session import Session
from ev_grid_oracle.schema import rows as r


def test_names_are_unique_and_every_row_is_whole() -> None:
    assert len(set(KPI_NAMES)) == len(KPIS)
    for kpi in KPIS:
        assert kpi.unit and kpi.sentence.endswith(".") and kpi.better in ("lower", "higher", "neither")


def test_accounts_made_by_hand(city_toy: CityPack) -> None:
    a = np.zeros(r.N_EP)
    for index, value in (
        (r.A_MTC, 900.0), (r.A_NREQ, 10), (r.A_WMTC, 1600.0), (r.A_NWALK, 20), (r.A_FLATE, 250.0),
        (r.A_NFLEX, 5), (r.A_MTP, 160.0), (r.A_NPLUG, 8), (r.A_LOST, 1), (r.A_STRANDED, 1), (r.A_SERVED, 8),
        (r.A_WLOST, 2), (r.A_FMISS, 1), (r.A_WAITSUM, 99.0), (r.A_PLUGGED, 11), (r.A_FLOOR, 1500.0),
        (r.A_BRIER, 0.5), (r.A_NBRIER, 2), (r.T_OVER_KVA, 100.0), (r.T_OVER_MIN, 10.0), (r.T_KWH, 200.0),
        (r.T_RKWH, 50.0), (r.T_FORMAT, 30.0), (r.EP_WAIT_P, 120.0), (r.EP_WAIT_P + 8, 2),
        (r.EP_WAIT_Z + 1, 45.0), (r.EP_WAIT_Z + 33, 1),
    ):  # fmt: skip
        a[index] = value
    k = kpis_of(a, city_toy)
    assert k["minutes_to_charged"] == 90.0 and k["walkin_minutes_to_charged"] == 80.0
    assert k["minutes_to_plug"] == 20.0 and k["flexible_late_minutes"] == 50.0
    assert (k["lost"], k["lost_share"], k["stranded_share"], k["walkin_lost_share"]) == (1.0, 0.1, 0.1, 0.1)
    assert k["flexible_missed_share"] == 0.2 and k["avg_wait_minutes"] == 9.0
    assert k["composite_car_minutes"] == 900.0 + 1600.0 + 250.0 + 0.3 * 100.0 + 3.0 * 10.0
    assert k["avoidable_car_minutes"] == k["composite_car_minutes"] - 1500.0  # type: ignore[operator]
    assert k["renewable_energy_share"] == k["renewable_mean"] == 0.25
    assert k["invalid_actions"] == 3.0 and k["brier"] == 0.25
    assert k["wait_taxi"] == 60.0 and k["wait_private"] is None
    assert k["wait_zone_Z-N"] == 45.0 and k["wait_zone_Z-C"] is None


def test_nobody_gives_none_and_never_nan(city_toy: CityPack) -> None:
    k = kpis_of(np.zeros(r.N_EP), city_toy)
    for name in (
        "minutes_to_charged",
        "walkin_minutes_to_charged",
        "renewable_energy_share",
        "brier",
        "lost_share",
    ):
        assert k[name] is None
    assert k["lost"] == 0.0 and set(k) == {*KPI_NAMES, *group_names(city_toy)}
    json.dumps(k, allow_nan=False)


def test_a_batch_is_its_episodes(city_toy: CityPack) -> None:
    accounts = np.random.Generator(np.random.PCG64(1)).integers(0, 3, (6, r.N_EP)).astype(np.float64)
    table = kpi_table(accounts, city_toy)
    for e in range(6):
        for name, value in kpis_of(accounts[e], city_toy).items():
            assert table[name][e] == value or (value is None and np.isnan(table[name][e]))


def test_kpis_agree_with_the_trace(city_toy: CityPack) -> None:
    """Sums of the frames' facts are the accounts, the settle apart (cut episodes have none)."""
    session = Session(city_toy)
    obs = session.reset(seed=3, ticks=40, settle=False)
    texts = 0
    while not obs.done:
        texts += obs.state.tick % 7 == 0
        obs = session.step("rubbish" if obs.state.tick % 7 == 0 else None)
    kpis = obs.info["kpis"]
    assert isinstance(kpis, dict)
    facts = np.sum([f.facts for f in session.trace], axis=0)
    assert kpis["energy_kwh"] == pytest.approx(facts[r.T_KWH]) and kpis["invalid_actions"] == texts
    assert kpis["anti_cheat_steps"] == sum(bool(f.flags) for f in session.trace)
    assert kpis["grid_stress_events"] == facts[r.T_STRESS_EV]
    assert kpis["requests"] + kpis["flexible"] == facts[r.T_REQ] and kpis["walkins"] == facts[r.T_WALK]
    assert kpis["requests"] == kpis["served"] + kpis["lost"] + kpis["stranded"], (
        "unfinished cars count as lost"
    )
    assert kpis_of(session.trace.accounts, city_toy) == kpis
    assert kpis["minutes_to_charged"] <= 240.0 and kpis["floor"] <= kpis["composite_car_minutes"]
